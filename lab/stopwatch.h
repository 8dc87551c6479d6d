// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Times the launches of a rung where somebody asks for it, which is on a GPU, by events around each launch.
#pragma once

#include <cuda_runtime.h>

#include <stdexcept>
#include <string>
#include <vector>

namespace lab {

inline void check(cudaError_t error, const char* what)
{
    if (error != cudaSuccess)
        throw std::runtime_error(std::string(what) + " failed: " + cudaGetErrorString(error));
}

class stopwatch {
public:
    stopwatch()
    {
        check(cudaMalloc(&washed_, wash), "cudaMalloc");
        check(cudaEventCreate(&begin_), "cudaEventCreate");
        check(cudaEventCreate(&end_), "cudaEventCreate");
    }
    ~stopwatch()
    {
        cudaEventDestroy(end_);
        cudaEventDestroy(begin_);
        cudaFree(washed_);
    }
    stopwatch(const stopwatch&) = delete;
    stopwatch& operator=(const stopwatch&) = delete;

    template <class F>
    void time(F launch)
    {
        // This evicts the data from the cache, so that the kernel reads from memory. While it runs, the host enqueues the
        // launch, so that the time of the way from host to GPU is not taken, too.
        check(cudaMemsetAsync(washed_, 0, wash), "cudaMemset");
        check(cudaEventRecord(begin_), "cudaEventRecord");
        launch();
        check(cudaEventRecord(end_), "cudaEventRecord");
        check(cudaEventSynchronize(end_), "the kernel");
        float ms = 0;
        check(cudaEventElapsedTime(&ms, begin_, end_), "cudaEventElapsedTime");
        milliseconds.back() += static_cast<double>(ms);
        ++launches;
    }

    void begin_repetition()
    {
        milliseconds.push_back(0);
        launches = 0;
    }

    std::size_t elements = 0, bytes = 0; // that the algorithm takes, and must move
    unsigned launches = 0;               // of one repetition
    std::vector<double> milliseconds;    // of each repetition: the sum of its launches

private:
    static constexpr std::size_t wash = std::size_t{1} << 28;
    void* washed_ = nullptr;
    cudaEvent_t begin_{}, end_{};
};

inline stopwatch* timing = nullptr;

// Whether `once` is right each time. Its launches are timed if there is a stopwatch.
template <class F>
bool repeat(unsigned repetitions, std::size_t elements, std::size_t bytes, F once)
{
    for (unsigned i = 0; i < repetitions; ++i) {
        if (timing != nullptr) {
            timing->elements = elements;
            timing->bytes = bytes;
            timing->begin_repetition();
        }
        if (!once())
            return false;
    }
    return true;
}

} // namespace lab
