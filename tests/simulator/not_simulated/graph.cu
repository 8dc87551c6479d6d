// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
// expect: graph.cu:11 | CUDA graphs are not simulated: launch the kernels in a stream
#include <cuda_runtime.h>

int main()
{
    cudaStream_t stream;
    cudaStreamCreate(&stream);
#ifndef FIXED
    cudaGraph_t graph;
    cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
    cudaStreamEndCapture(stream, &graph);
#endif
    return cudaStreamDestroy(stream);
}
