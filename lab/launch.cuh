// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// What the ladders need around their kernels, on a GPU and in the simulator alike: launches, buffers, and an operator whose
// applications the simulator counts.
#pragma once

#include <cuda_runtime.h>

#include <functional>
#include <utility>
#include <vector>

#if __has_include("upsweep/simulator/device.h")
#include "upsweep/simulator/device.h"
#define LAB_SIMULATED 1
#else
#define LAB_SIMULATED 0
#endif

#include "ladder.h"
#include "stopwatch.h"

namespace lab {

template <class... P, class... A>
void launch(void (*kernel)(P...), unsigned grid, unsigned block, std::size_t shared, A... arguments)
{
    cudaLaunchConfig_t config{};
    config.gridDim = dim3(grid);
    config.blockDim = dim3(block);
    config.dynamicSmemBytes = shared;
    auto start = [&] { check(cudaLaunchKernelEx(&config, kernel, static_cast<P>(arguments)...), "the launch"); };
    if (timing != nullptr)
        timing->time(start);
    else
        start();
}

template <class T>
class buffer {
public:
    explicit buffer(std::size_t size) : size_(size) { check(cudaMalloc(&data_, size * sizeof(T)), "cudaMalloc"); }
    explicit buffer(const std::vector<T>& values) : buffer(values.size())
    {
        check(cudaMemcpy(data_, values.data(), size_ * sizeof(T), cudaMemcpyHostToDevice), "cudaMemcpy");
    }
    buffer(std::size_t size, T fill) : buffer(std::vector<T>(size, fill)) {}
    buffer(buffer&& other) noexcept : data_(std::exchange(other.data_, nullptr)), size_(other.size_) {}
    buffer& operator=(buffer&& other) noexcept
    {
        std::swap(data_, other.data_);
        std::swap(size_, other.size_);
        return *this;
    }
    ~buffer() { cudaFree(data_); }
    T* data() const { return data_; }
    std::size_t size() const { return size_; }
    std::vector<T> read() const
    {
        std::vector<T> values(size_);
        check(cudaMemcpy(values.data(), data_, size_ * sizeof(T), cudaMemcpyDeviceToHost), "cudaMemcpy");
        return values;
    }

private:
    T* data_ = nullptr;
    std::size_t size_;
};

template <class T>
buffer<T> zeros(std::size_t size)
{
    buffer<T> all(size);
    check(cudaMemset(all.data(), 0, size * sizeof(T)), "cudaMemset");
    return all;
}

// Numbers without a pattern, which are the same on every machine.
inline unsigned scrambled(unsigned i)
{
    i = (i ^ (i >> 16)) * 0x85ebca6bu;
    i = (i ^ (i >> 13)) * 0xc2b2ae35u;
    return i ^ (i >> 16);
}

// Numbers from -50 to 50, whose sums stay small.
inline std::vector<int> small_numbers(unsigned n)
{
    std::vector<int> values(n);
    for (unsigned i = 0; i < n; ++i)
        values[i] = static_cast<int>(scrambled(i) % 101u) - 50;
    return values;
}

// For the operator `composition`: slopes are odd, so that no map forgets what came before.
inline std::vector<unsigned> affine_maps(unsigned n)
{
    std::vector<unsigned> values(n);
    for (unsigned i = 0; i < n; ++i)
        values[i] = scrambled(i) | 1;
    return values;
}

inline unsigned blocks_for(std::size_t n, std::size_t block) { return static_cast<unsigned>((n + block - 1) / block); }

// An operator that reports each of its applications to the simulator.
template <class Op>
struct counted : Op {
    template <class T>
    __host__ __device__ T operator()(T a, T b) const
    {
#if LAB_SIMULATED
        upsweep::simulator::device::applied_operator();
#endif
        return Op::operator()(a, b);
    }
};

#if LAB_SIMULATED
// An element that is the set of the inputs folded into it, and the operator that records which sets it joined.
struct elements {
    unsigned set;
};

struct join {
    elements operator()(elements a, elements b) const
    {
        note(a, b);
        return {a.set | b.set};
    }
    static elements identity() { return {0}; }
    static void note(elements a, elements b);
};

inline std::vector<elements> single_elements(unsigned n)
{
    std::vector<elements> all(n);
    for (unsigned i = 0; i < n; ++i)
        all[i] = {1u << i};
    return all;
}
#endif

// The trace of a kernel that run(task, values_of, op) launches: with elements that remember what they were folded from, of which
// values_of(n) makes n. On a GPU there is none.
template <class F>
std::function<void(const task&)> traced([[maybe_unused]] F run)
{
#if LAB_SIMULATED
    return [run](const task& what) { run(what, single_elements, join()); };
#else
    return nullptr;
#endif
}

} // namespace lab
