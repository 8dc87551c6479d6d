// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <type_traits>

#include <upsweep/engine.hpp>
#include <upsweep/gpu/primitive/warp.cuh>
#include <upsweep/gpu/shapes/segments.cuh>
#include <upsweep/gpu/shapes/window.cuh>
#include <upsweep/gpu/source/strided.cuh>
#include <upsweep/gpu/target/cuda.cuh>
#include <upsweep/gpu/target/launch.cuh>
#include <upsweep/op.hpp>
#include <upsweep/range.hpp>
#include <upsweep/types.hpp>
#include <upsweep/verb/select.hpp>
#include <upsweep/view.hpp>

// Differences of neighbours. Each warp copies a window of elements into shared memory, of which its lanes read two for each result.
namespace upsweep::gpu {

inline constexpr int difference_warps = 4; // of a block

// Window number k has the elements from k * capacity - lead on, those of them that exist: it begins with a line of the output.
template <class In>
struct difference_windows {
    static constexpr int capacity = window_capacity<In>;
    std::uint64_t count; // of elements
    int lead;

    UPSWEEP_HOST_DEVICE std::uint64_t windows() const
    {
        return (count + static_cast<unsigned>(lead) + capacity - 1) / capacity;
    }
    __device__ std::uint64_t first(std::uint64_t window) const
    {
        return window == 0 ? 0 : window * capacity - static_cast<unsigned>(lead);
    }
    __device__ int size(std::uint64_t window) const
    {
        const std::uint64_t end = (window + 1) * capacity - static_cast<unsigned>(lead);
        return static_cast<int>((end < count ? end : count) - first(window));
    }
};

// In place, the element before a window is overwritten by another warp: it is kept before.
template <class Acc, class In>
__global__ void __launch_bounds__(256) keep_befores_kernel(In in, difference_windows<In> windows, Acc* befores)
{
    const std::uint64_t k = blockIdx.x * std::uint64_t{blockDim.x} + threadIdx.x;
    if (k != 0 && k < windows.windows())
        befores[k] = convert<Acc>(in[windows.first(k) - 1]);
}

template <class Acc, class In, class Out, class F>
__global__ void __launch_bounds__(difference_warps* lanes, 8)
    differences_kernel(In in, Out out, F f, difference_windows<In> windows, const Acc* befores)
{
    using element = std::iter_value_t<In>;
    using result = std::iter_value_t<Out>;
    using memory = window_memory<element, window_capacity<In>>;
    extern __shared__ __align__(16) uint4 dynamic[];
    memory& window = reinterpret_cast<memory*>(dynamic)[warp_id()];
    const std::uint64_t k = warp_in_grid();
    if (k >= windows.windows())
        return;
    const std::uint64_t first = windows.first(k);
    const int count = windows.size(k);
    Acc before{};
    if (lane_id() == 0 && k != 0)
        before = befores != nullptr ? befores[k] : convert<Acc>(in[first - 1]);
    const In from = in + first;
    const Out to = out + first;
    const int place = place_in_window(from);
    fill_window(window, from, place, count);
    for (int i = lane_id(); i < count; i += lanes) {
        const Acc here = convert<Acc>(window[place + i]);
        if (i != 0)
            before = convert<Acc>(window[place + i - 1]);
        Acc difference = as_result<Acc, plus>(here);
        if (i != 0 || k != 0)
            difference = as_result<Acc, plus>(f(here, before));
        to[i] = convert<result>(difference);
    }
}

template <class Acc, class In, class Out, class F>
void write_differences(const cuda& target, const In& in, const Out& out, std::uint64_t count, const F& f,
                       bool is_in_place)
{
    constexpr std::string_view call = "adjacent_difference";
    constexpr auto kernel = differences_kernel<Acc, In, Out, F>;
    constexpr std::size_t shared_bytes =
        difference_warps * sizeof(window_memory<std::iter_value_t<In>, window_capacity<In>>);
    difference_windows<In> windows{count, 0};
    if constexpr (std::is_pointer_v<Out>) {
        constexpr std::size_t size = sizeof(std::iter_value_t<Out>);
        const auto place = static_cast<int>(reinterpret_cast<std::uintptr_t>(out) % 128 / size);
        windows.lead = place < windows.capacity ? place : 0;
    }
    const std::uint64_t all = windows.windows();
    Acc* befores = nullptr;
    if (is_in_place) {
        befores = static_cast<Acc*>(target.workspace().memory(workspace_purpose::offsets, all * sizeof(Acc)));
        launch(target, call, keep_befores_kernel<Acc, In>, grid_shape{static_cast<unsigned>((all + 255) / 256), 256, 0},
               in, windows, befores);
    }
    grid_shape grid = grid_of_warps(all, difference_warps * lanes);
    grid.shared_bytes = shared_bytes;
    launch<kernel>(target, call, grid, in, out, f, windows, befores);
}

} // namespace upsweep::gpu

namespace upsweep::detail {

template <>
struct engine<cuda, verb::adjacent_difference> {
    template <class Acc, class In, class Out, class F>
    static void differences(const cuda& target, In in, Out out, std::size_t count, const F& f)
    {
        const gpu::current_device current(target.device());
        if (count == 0)
            return;
        bool is_in_place = false;
        if constexpr (is_in_memory<In> && is_in_memory<Out>)
            is_in_place = same_elements(in, out);
        gpu::with_sources(in, out, [&](const auto& from, const auto& to) {
            gpu::check_place(target, "adjacent_difference", from, count);
            gpu::check_place(target, "adjacent_difference", to, count);
            gpu::write_differences<Acc>(target, from, to, count, f, is_in_place);
        });
    }
};

} // namespace upsweep::detail
