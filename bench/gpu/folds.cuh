// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// The contenders for one type of elements and one operator, and how their results are checked.
#pragma once

#include <cmath>
#include <cstring>
#include <limits>

#include <cub/cub.cuh>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <upsweep/upsweep.hpp>

#include "contenders.hpp"
#include "generated.cuh"
#include "peers.cuh"
#include "promises.cuh"
#include "roof.hpp"

namespace bench {

namespace up = upsweep;

// Up to here results are compared with the CPU's, element by element.
inline constexpr std::size_t compared_with_cpu = std::size_t{1} << 20;

template <class T>
__device__ T random_element(std::uint64_t i)
{
    if constexpr (std::integral<T>)
        return static_cast<T>(scattered(i));
    else if constexpr (std::floating_point<T> || up::sub_word_float<T>)
        return static_cast<T>(small_float(scattered(i)));
    else
        return T::random(scattered(2 * i), scattered(2 * i + 1));
}

template <class T>
__global__ void fill_kernel(T* out, std::size_t n)
{
    for (std::size_t i = std::size_t{blockIdx.x} * block + threadIdx.x; i < n; i += std::size_t{grid} * block)
        out[i] = random_element<T>(i);
}

// Whether two results are the same but for rounding, which `slack` allows. A sum of n of these elements is about
// sqrt(n) / 7, and CUB rounds it once for every tile, so that two orders differ by less than this for all n here;
// up to 2^24 floats one element too few or too many is more.
template <class T>
__host__ __device__ bool close(const T& a, const T& b, double slack)
{
    if constexpr (std::integral<T>)
        return a == b;
    else if constexpr (std::floating_point<T>)
        return fabs(static_cast<double>(a) - static_cast<double>(b)) <= slack;
    else if constexpr (requires { a.d; })
        return close(a.a, b.a, slack) && close(a.b, b.b, slack) && close(a.c, b.c, slack) && close(a.d, b.d, slack);
    else
        return close(a.a, b.a, slack) && close(a.b, b.b, slack);
}

template <class T>
double slack_of(std::size_t n)
{
    if constexpr (std::integral<T>)
        return 0;
    else {
        const double unit =
            std::same_as<T, double> ? std::numeric_limits<double>::epsilon() : std::numeric_limits<float>::epsilon();
        return 256 * unit * std::sqrt(static_cast<double>(n));
    }
}

template <class T>
__global__ void count_differences_kernel(const T* a, const T* b, std::size_t n, double slack, unsigned long long* count)
{
    for (std::size_t i = std::size_t{blockIdx.x} * block + threadIdx.x; i < n; i += std::size_t{grid} * block)
        if (!close(a[i], b[i], slack))
            atomicAdd(count, 1);
}

template <class T>
bool all_close(const T* a, const T* b, std::size_t n, cudaStream_t stream)
{
    const device_memory count(sizeof(unsigned long long));
    check(cudaMemsetAsync(count.data(), 0, count.bytes(), stream), "cudaMemsetAsync");
    count_differences_kernel<<<grid, block, 0, stream>>>(a, b, n, slack_of<T>(n), count.data<unsigned long long>());
    check(cudaGetLastError(), "count_differences_kernel");
    return to_host(count.data<unsigned long long>(), 1).front() == 0;
}

// A sum in the simplest way there is. Integers are added modulo 2^64, floats in double.
template <class T, class Sum>
__global__ void plain_sum_kernel(const T* in, std::size_t n, Sum* sum)
{
    Sum mine{};
    for (std::size_t i = std::size_t{blockIdx.x} * block + threadIdx.x; i < n; i += std::size_t{grid} * block)
        if constexpr (std::integral<T>)
            mine += static_cast<Sum>(in[i]);
        else
            mine += up::convert<double>(in[i]);
    atomicAdd(sum, mine);
}

template <class T>
auto plain_sum(const T* in, std::size_t n, cudaStream_t stream)
{
    using sum = std::conditional_t<std::integral<T>, unsigned long long, double>;
    const device_memory result(sizeof(sum));
    check(cudaMemsetAsync(result.data(), 0, result.bytes(), stream), "cudaMemsetAsync");
    plain_sum_kernel<<<grid, block, 0, stream>>>(in, n, result.data<sum>());
    check(cudaGetLastError(), "plain_sum_kernel");
    return to_host(result.data<sum>(), 1).front();
}

template <class T>
bool same_bits(const T& a, const T& b)
{
    return std::memcmp(&a, &b, sizeof(T)) == 0;
}

template <class T>
void fill(T* out, std::size_t n, cudaStream_t stream)
{
    fill_kernel<<<grid, block, 0, stream>>>(out, n);
    check(cudaGetLastError(), "fill_kernel");
}

inline void append(std::vector<contender>& contenders, const std::vector<contender>& more)
{
    contenders.insert(contenders.end(), more.begin(), more.end());
}

// What CUB calls an element.
template <class T>
struct peer_element {
    using type = T;
};
template <>
struct peer_element<up::f16> {
    using type = __half;
};
template <>
struct peer_element<up::bf16> {
    using type = __nv_bfloat16;
};

template <class T>
const typename peer_element<T>::type* to_peer(const T* first)
{
    return reinterpret_cast<const typename peer_element<T>::type*>(first);
}
template <class T>
typename peer_element<T>::type* to_peer(T* first)
{
    return reinterpret_cast<typename peer_element<T>::type*>(first);
}

// CUB's sum in the type of Upsweep's result: 64 bits for integers, float for 16-bit floats, which Sum cannot add to it.
template <class T, class Total>
cudaError_t peer_reduce(void* storage, std::size_t& bytes, const T* in, Total* out, std::size_t n, cudaStream_t stream)
{
    if constexpr (sizeof(T) == 2 && std::same_as<Total, float>)
        return cub::DeviceReduce::Reduce(storage, bytes, in, out, n, cuda::std::plus<float>{}, 0.0f, stream);
    else
        return cub::DeviceReduce::Sum(storage, bytes, in, out, n, stream);
}

template <class T>
void measure_reduce(session& run, const std::string& type)
{
    using total = up::result_t<up::plus, T>;
    if (!run.wants("reduce", type))
        return;
    const cudaStream_t stream = run.stream();
    const up::cuda gpu(stream);
    const device_memory in_memory(run.sizes().back() * sizeof(T));
    const device_memory result(sizeof(total));
    const T* const in = in_memory.data<const T>();
    total* const out = result.data<total>();
    fill(in_memory.data<T>(), run.sizes().back(), stream);

    for (const std::size_t n : run.sizes()) {
        const std::span<const T> elements(in, n);
        const auto expected = static_cast<total>(plain_sum(in, n, stream));
        const auto is_sum = [=] { return close(to_host(out, 1).front(), expected, slack_of<total>(n)); };
        const auto has_bits_of_cpu = [=] {
            if (n > compared_with_cpu)
                return true;
            const std::vector<T> copy = to_host(in, n);
            return same_bits(to_host(out, 1).front(), up::reduce(up::cpu{}, copy, up::plus{}));
        };

        std::vector<contender> contenders = read_roofs(stream, in, n * sizeof(T));
        contenders.push_back({"upsweep", "up::reduce", UPSWEEP_VERSION,
                              [=] { up::reduce(gpu, elements, out, up::plus{}); },
                              [=] { return is_sum() && has_bits_of_cpu(); }});
        contenders.push_back({"cub", up::sub_word_float<T> ? "DeviceReduce::Reduce" : "DeviceReduce::Sum",
                              cub_version(), with_storage([=](void* storage, std::size_t& bytes) {
                                  return peer_reduce(storage, bytes, to_peer(in), out, n, stream);
                              }),
                              is_sum});
        append(contenders, reductions_with_promise(in, out, n, stream, contenders.back()));
        run.measure({"reduce", type, "sum", n, n * sizeof(T)}, {result.data(), result.bytes()}, contenders);
    }
}

// Some elements of a scan, the last one included, against the reductions of what precedes them.
template <class T, class Op>
bool samples_are_reductions(const up::cuda& gpu, const T* in, const T* out, std::size_t n, const Op& op)
{
    using total = up::result_t<Op, T>;
    constexpr std::size_t samples = 32;
    const device_memory reductions(samples * sizeof(total));
    const device_memory sampled(samples * sizeof(T));
    for (std::size_t k = 0; k < samples; ++k) {
        const std::size_t i = k == 0 ? n - 1 : scattered(k) % n;
        up::reduce(gpu, std::span<const T>(in, i + 1), reductions.data<total>() + k, op);
        check(cudaMemcpyAsync(sampled.data<T>() + k, out + i, sizeof(T), cudaMemcpyDeviceToDevice, gpu.stream()),
              "cudaMemcpyAsync");
    }
    const std::vector<total> expected = to_host(reductions.data<total>(), samples);
    const std::vector<T> actual = to_host(sampled.data<T>(), samples);
    for (std::size_t k = 0; k < samples; ++k)
        if (!same_bits(actual[k], up::convert<T>(expected[k])))
            return false;
    return true;
}

// peer_scan(storage, bytes, in, out, n, stream) is CUB's call, named `peer_call`.
template <class T, class Op, class PeerScan>
void measure_scan(session& run, const std::string& type, const std::string& variant, Op op,
                  const std::string& peer_call, PeerScan peer_scan)
{
    if (!run.wants("scan", type))
        return;
    const cudaStream_t stream = run.stream();
    const up::cuda gpu(stream);
    const std::size_t most = run.sizes().back();
    const device_memory in_memory(most * sizeof(T));
    const device_memory out_memory(most * sizeof(T));
    const device_memory ours_memory(most * sizeof(T));
    const T* const in = in_memory.data<const T>();
    T* const out = out_memory.data<T>();
    T* const ours = ours_memory.data<T>();
    fill(in_memory.data<T>(), most, stream);

    for (const std::size_t n : run.sizes()) {
        const std::span<const T> elements(in, n);
        const auto is_right = [=] {
            if (n > compared_with_cpu)
                return samples_are_reductions(gpu, in, out, n, op);
            const std::vector<T> copy = to_host(in, n);
            std::vector<T> expected(n);
            up::inclusive_scan(up::cpu{}, copy, expected, op);
            return std::memcmp(expected.data(), to_host(out, n).data(), n * sizeof(T)) == 0;
        };
        const auto is_close = [=] {
            // CUB adds 16-bit floats in 16 bits: its results mean little once the running sum is large.
            if constexpr (up::sub_word_float<T>) {
                return true;
            } else {
                up::inclusive_scan(gpu, elements, std::span<T>(ours, n), op);
                return all_close(out, ours, n, stream);
            }
        };

        std::vector<contender> contenders = copy_roofs(stream, in, out, n * sizeof(T));
        contenders.push_back({"upsweep", "up::inclusive_scan", UPSWEEP_VERSION,
                              [=] { up::inclusive_scan(gpu, elements, std::span<T>(out, n), op); }, is_right});
        contenders.push_back({"cub", peer_call, cub_version(), with_storage([=](void* storage, std::size_t& bytes) {
                                  return peer_scan(storage, bytes, to_peer(in), to_peer(out), n, stream);
                              }),
                              is_close});
        if constexpr (std::same_as<Op, up::plus>)
            append(contenders, scans_with_promise(in, out, n, stream, contenders.back()));
        run.measure({"scan", type, variant, n, 2 * n * sizeof(T)}, {out_memory.data(), n * sizeof(T)}, contenders);
    }
}

struct peer_sum {
    template <class T>
    cudaError_t operator()(void* storage, std::size_t& bytes, const T* in, T* out, std::size_t n,
                           cudaStream_t stream) const
    {
        return cub::DeviceScan::InclusiveSum(storage, bytes, in, out, n, stream);
    }
};

template <class F>
struct peer_fold {
    F f;

    template <class T>
    cudaError_t operator()(void* storage, std::size_t& bytes, const T* in, T* out, std::size_t n,
                           cudaStream_t stream) const
    {
        return cub::DeviceScan::InclusiveScan(storage, bytes, in, out, f, n, stream);
    }
};

template <class T>
void measure_sums(session& run, const std::string& type)
{
    measure_reduce<T>(run, type);
    measure_scan<T>(run, type, "sum", up::plus{}, "DeviceScan::InclusiveSum", peer_sum{});
}

// A monoid of the user, of floats.
template <class F, class T>
void measure_operator(session& run, const std::string& name, F f, T identity)
{
    measure_scan<T>(run, std::to_string(sizeof(T) / sizeof(float)) + "xf32", name, up::monoid{f, identity, up::ordered},
                    "DeviceScan::InclusiveScan", peer_fold<F>{f});
}

} // namespace bench
