// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// What the simulator does not have. A program that calls one of these functions is refused by the compiler, which names the
// call's line and says what to do.
#pragma once

#include "upsweep/simulator/cuda/driver_types.h"

#define UPSWEEP_NOT_SIMULATED(result, name, reason) __attribute__((error(reason))) result name(...);

#define UPSWEEP_NO_GRAPHS                                                                                              \
    "CUDA graphs are not simulated: launch the kernels in a stream, without capturing or building a graph"
#define UPSWEEP_NO_GRAPH(name) UPSWEEP_NOT_SIMULATED(cudaError_t, name, UPSWEEP_NO_GRAPHS)
UPSWEEP_NO_GRAPH(cudaStreamBeginCapture)
UPSWEEP_NO_GRAPH(cudaStreamEndCapture)
UPSWEEP_NO_GRAPH(cudaStreamGetCaptureInfo)
UPSWEEP_NO_GRAPH(cudaGraphCreate)
UPSWEEP_NO_GRAPH(cudaGraphDestroy)
UPSWEEP_NO_GRAPH(cudaGraphInstantiate)
UPSWEEP_NO_GRAPH(cudaGraphInstantiateWithFlags)
UPSWEEP_NO_GRAPH(cudaGraphLaunch)
UPSWEEP_NO_GRAPH(cudaGraphUpload)
UPSWEEP_NO_GRAPH(cudaGraphExecDestroy)
UPSWEEP_NO_GRAPH(cudaGraphExecUpdate)
UPSWEEP_NO_GRAPH(cudaGraphAddKernelNode)
UPSWEEP_NO_GRAPH(cudaGraphAddMemcpyNode)
UPSWEEP_NO_GRAPH(cudaGraphAddMemcpyNode1D)
UPSWEEP_NO_GRAPH(cudaGraphAddMemsetNode)
UPSWEEP_NO_GRAPH(cudaGraphAddHostNode)
UPSWEEP_NO_GRAPH(cudaGraphAddEmptyNode)
UPSWEEP_NO_GRAPH(cudaGraphAddChildGraphNode)
UPSWEEP_NO_GRAPH(cudaGraphAddDependencies)
UPSWEEP_NO_GRAPH(cudaGraphGetNodes)
UPSWEEP_NO_GRAPH(cudaGraphClone)
UPSWEEP_NO_GRAPH(cudaGraphExecKernelNodeSetParams)
UPSWEEP_NO_GRAPH(cudaGraphAddNode)
UPSWEEP_NO_GRAPH(cudaGraphAddMemAllocNode)
UPSWEEP_NO_GRAPH(cudaGraphAddMemFreeNode)
UPSWEEP_NO_GRAPH(cudaGraphConditionalHandleCreate)
UPSWEEP_NO_GRAPH(cudaStreamBeginCaptureToGraph)
UPSWEEP_NO_GRAPH(cudaStreamUpdateCaptureDependencies)
#undef UPSWEEP_NO_GRAPH
using cudaGraphConditionalHandle = unsigned long long;
struct cudaKernelNodeParams {
    void* func;
    dim3 gridDim, blockDim;
    unsigned sharedMemBytes;
    void **kernelParams, **extra;
};
struct cudaMemsetParams {
    void* dst;
    std::size_t pitch;
    unsigned value, elementSize;
    std::size_t width, height;
};
struct cudaHostNodeParams {
    cudaHostFn_t fn;
    void* userData;
};
struct cudaMemAllocNodeParams {
    cudaMemPoolProps poolProps;
    const cudaMemAccessDesc* accessDescs;
    std::size_t accessDescCount, bytesize;
    void* dptr;
};

#define UPSWEEP_NO_PROCESSES                                                                                           \
    "memory and events shared between processes are not simulated: use one process, whose threads share its memory"
UPSWEEP_NOT_SIMULATED(cudaError_t, cudaIpcGetMemHandle, UPSWEEP_NO_PROCESSES)
UPSWEEP_NOT_SIMULATED(cudaError_t, cudaIpcOpenMemHandle, UPSWEEP_NO_PROCESSES)
UPSWEEP_NOT_SIMULATED(cudaError_t, cudaIpcCloseMemHandle, UPSWEEP_NO_PROCESSES)
UPSWEEP_NOT_SIMULATED(cudaError_t, cudaIpcGetEventHandle, UPSWEEP_NO_PROCESSES)
UPSWEEP_NOT_SIMULATED(cudaError_t, cudaIpcOpenEventHandle, UPSWEEP_NO_PROCESSES)
struct cudaIpcMemHandle_t {
    char reserved[64];
};
struct cudaIpcEventHandle_t {
    char reserved[64];
};

#define UPSWEEP_NO_GRAPHICS                                                                                            \
    "memory shared with OpenGL, Vulkan or other software is not simulated: use cudaMalloc, and copy with cudaMemcpy"
using cudaExternalMemory_t = struct CUexternalMemory_st*;
using cudaExternalSemaphore_t = struct CUexternalSemaphore_st*;
using cudaGraphicsResource_t = struct cudaGraphicsResource*;
UPSWEEP_NOT_SIMULATED(cudaError_t, cudaImportExternalMemory, UPSWEEP_NO_GRAPHICS)
UPSWEEP_NOT_SIMULATED(cudaError_t, cudaImportExternalSemaphore, UPSWEEP_NO_GRAPHICS)
UPSWEEP_NOT_SIMULATED(cudaError_t, cudaExternalMemoryGetMappedBuffer, UPSWEEP_NO_GRAPHICS)
UPSWEEP_NOT_SIMULATED(cudaError_t, cudaGraphicsMapResources, UPSWEEP_NO_GRAPHICS)
UPSWEEP_NOT_SIMULATED(cudaError_t, cudaGraphicsUnmapResources, UPSWEEP_NO_GRAPHICS)
UPSWEEP_NOT_SIMULATED(cudaError_t, cudaGraphicsUnregisterResource, UPSWEEP_NO_GRAPHICS)
UPSWEEP_NOT_SIMULATED(cudaError_t, cudaGraphicsResourceGetMappedPointer, UPSWEEP_NO_GRAPHICS)
UPSWEEP_NOT_SIMULATED(cudaError_t, cudaGraphicsSubResourceGetMappedArray, UPSWEEP_NO_GRAPHICS)
UPSWEEP_NOT_SIMULATED(cudaError_t, cudaGraphicsGLRegisterBuffer, UPSWEEP_NO_GRAPHICS)
UPSWEEP_NOT_SIMULATED(cudaError_t, cudaGraphicsGLRegisterImage, UPSWEEP_NO_GRAPHICS)
UPSWEEP_NOT_SIMULATED(cudaError_t, cudaGLSetGLDevice, UPSWEEP_NO_GRAPHICS)

// The exchanges between the lanes of a warp that had no mask, which no GPU since Volta has.
#define UPSWEEP_NO_MASK(result, name)                                                                                  \
    UPSWEEP_NOT_SIMULATED(result, name,                                                                                \
                          #name " has no mask: call " #name                                                            \
                                "_sync, whose first argument is the mask of the lanes that take part "                 \
                                "(0xffffffff for a whole warp)")
#define UPSWEEP_NO_SHUFFLE(name)                                                                                       \
    template <class T, class... Rest>                                                                                  \
    __attribute__((error(#name " has no mask: call " #name                                                             \
                               "_sync, whose first argument is the mask of the lanes that take part "                  \
                               "(0xffffffff for a whole warp)"))) T                                                    \
    name(T value, Rest... rest);
UPSWEEP_NO_SHUFFLE(__shfl)
UPSWEEP_NO_SHUFFLE(__shfl_up)
UPSWEEP_NO_SHUFFLE(__shfl_down)
UPSWEEP_NO_SHUFFLE(__shfl_xor)
#undef UPSWEEP_NO_SHUFFLE
UPSWEEP_NO_MASK(unsigned, __ballot)
UPSWEEP_NO_MASK(int, __all)
UPSWEEP_NO_MASK(int, __any)
#undef UPSWEEP_NO_MASK
