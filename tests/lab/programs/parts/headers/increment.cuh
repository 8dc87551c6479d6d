// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

__global__ void increment(int* counter) { *counter += 1; }
