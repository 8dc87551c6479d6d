// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstddef>
#include <random>
#include <span>
#include <vector>

#include <gtest/gtest.h>
#include <upsweep/upsweep.hpp>

#include "../../expected.hpp"
#include "../../samples.hpp"
#include "../../targets.hpp"

// What the tests that need a GPU share.
namespace upsweep::test {

inline void check(cudaError_t code) { gpu::check("test", code); }

class stream {
public:
    stream() { check(cudaStreamCreateWithFlags(&handle_, cudaStreamNonBlocking)); }
    stream(const stream&) = delete;
    stream& operator=(const stream&) = delete;
    ~stream() { cudaStreamDestroy(handle_); }

    operator cudaStream_t() const { return handle_; }
    void wait() const { check(cudaStreamSynchronize(handle_)); }

private:
    cudaStream_t handle_ = nullptr;
};

// What a call puts on a stream, as a graph.
class captured {
public:
    template <class Call>
    captured(cudaStream_t on, const Call& call) : on_(on)
    {
        cudaGraph_t graph{};
        check(cudaStreamBeginCapture(on, cudaStreamCaptureModeThreadLocal));
        call();
        check(cudaStreamEndCapture(on, &graph));
        check(cudaGraphInstantiate(&work_, graph, 0));
        check(cudaGraphDestroy(graph));
    }
    captured(const captured&) = delete;
    captured& operator=(const captured&) = delete;
    ~captured() { cudaGraphExecDestroy(work_); }

    void launch() const { check(cudaGraphLaunch(work_, on_)); }

private:
    cudaStream_t on_;
    cudaGraphExec_t work_ = nullptr;
};

// Memory of the GPU whose contents nobody sets.
class device_bytes {
public:
    explicit device_bytes(std::size_t size) : size_(size) { check(cudaMalloc(&first_, size)); }
    device_bytes(const device_bytes&) = delete;
    device_bytes& operator=(const device_bytes&) = delete;
    ~device_bytes() { cudaFree(first_); }

    std::size_t size() const { return size_; }
    template <class T>
    T* as() const
    {
        return static_cast<T*>(first_);
    }

private:
    void* first_ = nullptr;
    std::size_t size_;
};

// Arrays are filled on the default stream, for which other streams do not wait.
inline void wait_for_contents() { check(cudaStreamSynchronize(nullptr)); }

inline std::size_t free_device_bytes()
{
    std::size_t free = 0;
    std::size_t total = 0;
    check(cudaMemGetInfo(&free, &total));
    return free;
}

template <class T>
__global__ void count_differences(const T* got, const T* expected, std::size_t count, unsigned long long* differences)
{
    for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count;
         i += std::size_t{gridDim.x} * blockDim.x)
        if (got[i] != expected[i])
            atomicAdd(differences, 1);
}

// Compares arrays on the GPU, in order of a stream, without waiting.
class comparison {
public:
    explicit comparison(cudaStream_t stream) : stream_(stream), differences_(sizeof(unsigned long long))
    {
        check(cudaMemsetAsync(differences_.as<void>(), 0, differences_.size(), stream));
    }

    template <class T>
    void expect_same(std::span<const T> got, std::span<const T> expected)
    {
        count_differences<<<256, 256, 0, stream_>>>(reinterpret_cast<const unsigned char*>(got.data()),
                                                    reinterpret_cast<const unsigned char*>(expected.data()),
                                                    got.size_bytes(), differences_.as<unsigned long long>());
        check(cudaGetLastError());
    }

    // Bytes that differed in all comparisons so far. Waits for them.
    unsigned long long differences() const
    {
        unsigned long long count = 0;
        check(cudaMemcpyAsync(&count, differences_.as<void>(), sizeof count, cudaMemcpyDeviceToHost, stream_));
        check(cudaStreamSynchronize(stream_));
        return count;
    }

private:
    cudaStream_t stream_;
    device_bytes differences_;
};

// An array of random elements with its folds by the CPU engine, on the GPU.
template <class T>
struct example {
    using total = result_t<plus, T>;

    explicit example(const host_array<T>& values)
        : in(values.span()), sum(host_array<total>{reduce(cpu{}, values.span())}.span()),
          inclusive(scanned(values, [](auto... arguments) { inclusive_scan(cpu{}, arguments...); }).span()),
          exclusive(scanned(values, [](auto... arguments) { exclusive_scan(cpu{}, arguments...); }).span())
    {
        wait_for_contents();
    }
    example(std::mt19937_64& random, std::size_t n) : example(random_array<T>(random, n)) {}

    target_array<cuda, T> in;
    target_array<cuda, total> sum;
    target_array<cuda, T> inclusive;
    target_array<cuda, T> exclusive;

private:
    template <class Scan>
    static host_array<T> scanned(const host_array<T>& values, Scan scan)
    {
        host_array<T> results(values.size());
        scan(values.span(), results.span());
        return results;
    }
};

// Where a GPU writes the folds of an example.
template <class T>
struct results {
    explicit results(std::size_t n) : sum(1), scan(n) { wait_for_contents(); }

    // Puts the three folds on the target's stream, and their comparison with what is expected.
    void fold(const cuda& gpu, example<T>& given, comparison& compared)
    {
        reduce(gpu, given.in.const_span(), sum.span().data(), plus{});
        compared.expect_same(sum.const_span(), given.sum.const_span());
        inclusive_scan(gpu, given.in.const_span(), scan.span());
        compared.expect_same(scan.const_span(), given.inclusive.const_span());
        exclusive_scan(gpu, given.in.const_span(), scan.span());
        compared.expect_same(scan.const_span(), given.exclusive.const_span());
    }

    target_array<cuda, typename example<T>::total> sum;
    target_array<cuda, T> scan;
};

// 1 ... 10^digits, each order of magnitude as often as any other.
inline std::size_t random_size(std::mt19937_64& random, int digits)
{
    return static_cast<std::size_t>(std::pow(10.0, digits * static_cast<double>(random() % 100'000) * 1e-5));
}

} // namespace upsweep::test
