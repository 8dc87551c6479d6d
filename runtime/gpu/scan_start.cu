// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Folds of no elements, and the initial value of inclusive scans of segments and runs, whose kernels know one only of exclusive scans.
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

// What a fold of no elements is, or an initial value that comes before folds.
template <class T>
struct fold_start {
    any_op<T> op; // unless it is one of those that have kernels of their own
    T init{};
    bool has_init;

    fold_start(const shape_fold& fold, const void* from) : op(make_any_op<T>(fold)), has_init(from != nullptr)
    {
        if (has_init)
            std::memcpy(&init, from, sizeof(T));
    }

    __device__ T first() const
    {
        return has_init ? init : op.neutral; // a sum of nothing is +0
    }
    __device__ T before(const T& fold) const { return as_result<T, any_op<T>>(folded_with(fold)); }

private:
    __device__ T folded_with(const T& fold) const
    {
        if constexpr (std::floating_point<T>)
            if (op.op == UPSWEEP_LOG_SUM_EXP)
                return log_sum_exp{}(init, fold);
        return op.op == UPSWEEP_PLUS ? plus{}(init, fold) : op(init, fold);
    }
};

template <class T>
__global__ void fill_kernel(T* elements, std::uint64_t count, fold_start<T> start)
{
    for_each_element(count, [&](std::uint64_t i) { elements[i] = start.first(); });
}

// Of segments, what lies before the first one and behind the last is left alone.
template <class T>
__global__ void put_init_kernel(T* results, std::uint64_t count, const std::uint64_t* offsets, std::uint64_t segments,
                                fold_start<T> start)
{
    for_each_element(count, [&](std::uint64_t i) {
        if (offsets == nullptr || (i >= offsets[0] && i < offsets[segments]))
            results[i] = start.before(results[i]);
    });
}

} // namespace

void fill(const device& gpu, const shape_fold& fold, const elements& results, const void* value)
{
    const upsweep::gpu::current_device current(gpu.target.device());
    with_folded_type(fold.dtype, [&]<class T>(T) {
        upsweep::gpu::launch(gpu.target, "reduce_axis", fill_kernel<T>, grid_of_elements(results.count),
                             reinterpret_cast<T*>(results.data), results.count, fold_start<T>(fold, value));
    });
}

void put_init(const device& gpu, const shape_fold& fold, const elements& results, const elements* offsets,
              const void* init)
{
    const upsweep::gpu::current_device current(gpu.target.device());
    with_folded_type(fold.dtype, [&]<class T>(T) {
        upsweep::gpu::launch(gpu.target, "scan", put_init_kernel<T>, grid_of_elements(results.count),
                             reinterpret_cast<T*>(results.data), results.count,
                             offsets != nullptr ? reinterpret_cast<const std::uint64_t*>(offsets->data) : nullptr,
                             offsets != nullptr ? offsets->count - 1 : 0, fold_start<T>(fold, init));
    });
}

} // namespace upsweep::runtime::gpu
