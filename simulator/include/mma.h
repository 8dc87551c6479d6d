// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#error "tensor cores (nvcuda::wmma) are not simulated: multiply with ordinary arithmetic"
