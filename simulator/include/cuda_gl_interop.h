// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#error "OpenGL is not simulated: keep the image in an array of cudaMalloc and copy it with cudaMemcpy"
