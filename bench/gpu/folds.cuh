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

#include <upsweep/reduce.hpp>
#include <upsweep/scan.hpp>

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
    const auto expected = to_host(reductions.data<total>(), samples);
    const std::vector<T> actual = to_host(sampled.data<T>(), samples);
    for (std::size_t k = 0; k < samples; ++k)
        if (!same_bits(actual[k], up::convert<T>(expected[k])))
            return false;
    return true;
}

// What a scan begins with, `init` in its placement. These are types, since an operator whose exclusive scan is not measured would take
// twice as long to compile with it.
struct inclusive {
    static constexpr const char* call = "up::inclusive_scan";
    static constexpr const char* init = "";

    template <class T, class Op>
    static void scan(const auto& target, std::span<const T> in, std::span<T> out, const Op& op)
    {
        up::inclusive_scan(target, in, out, op);
    }
};
struct exclusive {
    static constexpr const char* call = "up::exclusive_scan";
    static constexpr const char* init = "none";

    template <class T, class Op>
    static void scan(const auto& target, std::span<const T> in, std::span<T> out, const Op& op)
    {
        up::exclusive_scan(target, in, out, op);
    }
    template <class T, class Op>
    static T after_init(const T& fold, const Op&)
    {
        return fold;
    }
};
struct exclusive_after_one {
    static constexpr const char* call = "up::exclusive_scan";
    static constexpr const char* init = "init";

    template <class T, class Op>
    static void scan(const auto& target, std::span<const T> in, std::span<T> out, const Op& op)
    {
        up::exclusive_scan(target, in, out, op, T(1));
    }
    template <class T, class Op>
    static T after_init(const T& fold, const Op& op)
    {
        return static_cast<T>(op(T(1), fold));
    }
};

// What is folded, and what CUB is asked for: scan(storage, bytes, in, out, n, stream), a call of that name. CUB is left out where
// `peer` is a nullptr.
template <class Begin, class Op, class Peer>
struct scan_of {
    std::string name;
    Op op;
    std::string peer_call;
    Peer peer;
};

template <class Begin = inclusive, class Op, class Peer>
scan_of<Begin, Op, Peer> a_scan(const std::string& name, const Op& op, const std::string& peer_call, const Peer& peer)
{
    return {name, op, peer_call, peer};
}

// An exclusive scan on the GPU, against an inclusive one that is written to `ours`.
template <class Begin, class T, class Op>
bool is_shifted_inclusive(const up::cuda& gpu, std::span<const T> in, const T* out, T* ours, const Op& op)
{
    up::inclusive_scan(gpu, in, std::span<T>(ours, in.size()), op);
    const std::vector<T> inclusive_scan = to_host(ours, in.size());
    const std::vector<T> results = to_host(out, in.size());
    for (std::size_t i = 1; i < in.size(); ++i)
        if (!same_bits(results[i], Begin::after_init(inclusive_scan[i - 1], op)))
            return false;
    return true;
}

// One scan of n elements. `in_memory` has the elements and `out_memory` room for the results, both with 16 bytes more.
template <class T, class Begin, class Op, class Peer>
void measure_scan_at(session& run, const std::string& type, const scan_of<Begin, Op, Peer>& what,
                     const placement& place, std::size_t n, const device_memory& in_memory,
                     const device_memory& out_memory, const device_memory& ours_memory)
{
    const cudaStream_t stream = run.stream();
    const up::cuda gpu(stream);
    const auto at = [](const device_memory& memory, std::size_t offset) {
        return reinterpret_cast<T*>(memory.data() + offset);
    };
    T* const in = at(in_memory, place.offset_in);
    T* const out = place.in_place ? in : at(out_memory, place.offset_out);
    T* const ours = ours_memory.data<T>();
    const std::span<const T> elements(in, n);
    const Op op = what.op;
    fill(in, n, stream);

    const auto is_right = [=, &in_memory] {
        if (place.in_place) { // the elements are gone
            fill(in, n, stream);
            Begin::scan(gpu, elements, std::span<T>(ours, n), op);
            Begin::scan(gpu, elements, std::span<T>(out, n), op);
            return std::memcmp(to_host(ours, n).data(), to_host(out, n).data(), n * sizeof(T)) == 0;
        }
        if (n > compared_with_cpu) {
            if constexpr (std::same_as<Begin, inclusive>)
                return samples_are_reductions(gpu, in, out, n, op);
            else
                return is_shifted_inclusive<Begin>(gpu, elements, out, ours, op);
        }
        const std::vector<T> copy = to_host(in, n);
        std::vector<T> expected(n);
        Begin::scan(up::cpu{}, std::span<const T>(copy), std::span<T>(expected), op);
        return std::memcmp(expected.data(), to_host(out, n).data(), n * sizeof(T)) == 0;
    };
    const auto is_close = [=] {
        // CUB adds 16-bit floats in 16 bits: its results mean little once the running sum is large.
        if constexpr (up::sub_word_float<T>) {
            return true;
        } else if (place.in_place) {
            return true;
        } else {
            Begin::scan(gpu, elements, std::span<T>(ours, n), op);
            return all_close(out, ours, n, stream);
        }
    };

    std::vector<contender> contenders =
        copy_roofs(stream, in_memory.data(), out_memory.data(), n * sizeof(T)); // between aligned addresses
    contenders.push_back({"upsweep", Begin::call, UPSWEEP_VERSION,
                          [=] { Begin::scan(gpu, elements, std::span<T>(out, n), op); }, is_right});
    if constexpr (!std::is_null_pointer_v<Peer>) {
        const auto peer = what.peer;
        contenders.push_back(
            {"cub", what.peer_call, cub_version(), with_storage([=](void* storage, std::size_t& bytes) {
                 return peer(storage, bytes, to_peer(static_cast<const T*>(in)), to_peer(out), n, stream);
             }),
             is_close});
        if constexpr (std::same_as<Op, up::plus> && std::same_as<Begin, inclusive>)
            if (place == placement{})
                append(contenders, scans_with_promise(static_cast<const T*>(in), out, n, stream, contenders.back()));
    }
    const subject measured{"scan", type, what.name, n, 2 * n * sizeof(T), "", place};
    run.measure(measured, std::span<std::byte>(reinterpret_cast<std::byte*>(out), n * sizeof(T)), contenders);
}

// A scan of each size, between aligned addresses.
template <class T, class Begin, class Op, class Peer>
void measure_scan(session& run, const std::string& type, const scan_of<Begin, Op, Peer>& what,
                  std::vector<placement> places = {{}})
{
    if (!run.wants("scan", type))
        return;
    const std::size_t most = run.largest() * sizeof(T) + 16;
    const device_memory in(most), out(most), ours(most);
    for (placement& place : places)
        place.init = Begin::init;
    for (const std::size_t n : run.sizes())
        for (const placement& place : places)
            measure_scan_at<T>(run, type, what, place, n, in, out, ours);
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
    if (run.wants_axis("place") || run.wants_axis("operator"))
        return;
    measure_reduce<T>(run, type);
    measure_scan<T>(run, type, a_scan("sum", up::plus{}, "DeviceScan::InclusiveSum", peer_sum{}));
}

// A monoid of the user, of floats.
template <class F, class T>
void measure_operator(session& run, const std::string& name, F f, T identity)
{
    if (run.wants_axis("place") || run.wants_axis("operator"))
        return;
    measure_scan<T>(run, std::to_string(sizeof(T) / sizeof(float)) + "xf32",
                    a_scan(name, up::monoid{f, identity, up::ordered}, "DeviceScan::InclusiveScan", peer_fold<F>{f}));
}

} // namespace bench
