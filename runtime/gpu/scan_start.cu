// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// What scans of segments and runs begin with. Their kernels scan inclusively; an initial value comes before the results, and an exclusive
// scan is shifted by one, by kernels that go over the results once more.
#include <concepts>
#include <cstdint>
#include <cstring>

#include <upsweep/gpu/target/launch.cuh>

#include "any_op.hpp"
#include "device.cuh"
#include "elementwise.cuh"
#include "lines.hpp"
#include "shapes.hpp"

namespace upsweep::runtime::gpu {

namespace {

template <class T>
struct scan_begin {
    any_op<T> op; // unless it is one of those that have kernels of their own
    T init{};
    bool has_init;
    bool is_exclusive;

    scan_begin(const shape_fold& fold, const scan_start& start)
        : op(make_any_op<T>(fold)), has_init(start.init != nullptr), is_exclusive(start.kind == scan_kind::exclusive)
    {
        if (has_init)
            std::memcpy(&init, start.init, sizeof(T));
    }

    __device__ T first() const
    {
        return has_init ? init : op.neutral; // a sum of nothing is +0
    }
    __device__ T after(const T& fold) const { return has_init ? as_result<T, any_op<T>>(behind_init(fold)) : fold; }

private:
    __device__ T behind_init(const T& fold) const
    {
        if constexpr (std::floating_point<T>)
            if (op.op == UPSWEEP_LOG_SUM_EXP)
                return log_sum_exp{}(init, fold);
        return op.op == UPSWEEP_PLUS ? plus{}(init, fold) : op(init, fold);
    }
};

template <class T>
__global__ void fill_kernel(T* elements, std::uint64_t count, scan_begin<T> begin)
{
    for_each_element(count, [&](std::uint64_t i) { elements[i] = begin.first(); });
}

template <class T>
__global__ void begin_segments_kernel(const T* inclusive, T* results, std::uint64_t count, const std::uint64_t* offsets,
                                      std::uint64_t segments, scan_begin<T> begin)
{
    const std::uint64_t least = offsets[0] + (begin.is_exclusive ? 1 : 0);
    for_each_element(count, [&](std::uint64_t i) {
        if (i >= least && i < offsets[segments])
            results[i] = begin.after(inclusive[begin.is_exclusive ? i - 1 : i]);
    });
}

template <class T>
__global__ void first_of_segments_kernel(T* results, const std::uint64_t* offsets, std::uint64_t segments,
                                         scan_begin<T> begin)
{
    for_each_element(segments, [&](std::uint64_t k) {
        if (offsets[k] < offsets[k + 1])
            results[offsets[k]] = begin.first();
    });
}

template <class Key, class T>
__global__ void begin_runs_kernel(const Key* keys, const T* inclusive, T* results, std::uint64_t count,
                                  scan_begin<T> begin)
{
    for_each_element(count, [&](std::uint64_t i) {
        const bool is_first = begin.is_exclusive && (i == 0 || keys[i] != keys[i - 1]);
        results[i] = is_first ? begin.first() : begin.after(inclusive[begin.is_exclusive ? i - 1 : i]);
    });
}

} // namespace

void fill(const device& gpu, const shape_fold& fold, const elements& results, const void* value)
{
    const upsweep::gpu::current_device current(gpu.target.device());
    with_folded_type(fold.dtype, [&]<class T>(T) {
        upsweep::gpu::launch(gpu.target, "reduce_axis", fill_kernel<T>, grid_of_elements(results.count),
                             reinterpret_cast<T*>(results.data), results.count,
                             scan_begin<T>(fold, {scan_kind::exclusive, value}));
    });
}

void begin_segments(const device& gpu, const shape_fold& fold, const elements& inclusive, const elements& offsets,
                    const elements& results, const scan_start& start)
{
    const upsweep::gpu::current_device current(gpu.target.device());
    const std::uint64_t segments = offsets.count - 1;
    const auto* const bounds = reinterpret_cast<const std::uint64_t*>(offsets.data);
    with_folded_type(fold.dtype, [&]<class T>(T) {
        const scan_begin<T> begin(fold, start);
        auto* const to = reinterpret_cast<T*>(results.data);
        upsweep::gpu::launch(gpu.target, "segmented_scan", begin_segments_kernel<T>, grid_of_elements(results.count),
                             reinterpret_cast<const T*>(inclusive.data), to, results.count, bounds, segments, begin);
        if (begin.is_exclusive)
            upsweep::gpu::launch(gpu.target, "segmented_scan", first_of_segments_kernel<T>, grid_of_elements(segments),
                                 to, bounds, segments, begin);
    });
}

void begin_runs(const device& gpu, const shape_fold& fold, const elements& keys, const elements& inclusive,
                const elements& results, const scan_start& start)
{
    const upsweep::gpu::current_device current(gpu.target.device());
    with_folded_type(fold.dtype, [&]<class T>(T) {
        const auto begin = [&]<class Key>(Key) {
            upsweep::gpu::launch(gpu.target, "scan_by_key", begin_runs_kernel<Key, T>, grid_of_elements(results.count),
                                 reinterpret_cast<const Key*>(keys.data), reinterpret_cast<const T*>(inclusive.data),
                                 reinterpret_cast<T*>(results.data), results.count, scan_begin<T>(fold, start));
        };
        if (keys.bytes() == 4)
            begin(std::uint32_t{});
        else
            begin(std::uint64_t{});
    });
}

} // namespace upsweep::runtime::gpu
