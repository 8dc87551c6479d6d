// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "upsweep/simulator/cuda/errors.h"

#include "upsweep/simulator/cuda/runtime_api.h"

const char* cudaGetErrorString(cudaError_t error)
{
    switch (error) {
#define X(name, number, text)                                                                                          \
    case name: return text;
        UPSWEEP_CUDA_ERRORS(X)
#undef X
    }
    return "unrecognized error code";
}

const char* cudaGetErrorName(cudaError_t error)
{
    switch (error) {
#define X(name, number, text)                                                                                          \
    case name: return #name;
        UPSWEEP_CUDA_ERRORS(X)
#undef X
    }
    return "unrecognized error code";
}
