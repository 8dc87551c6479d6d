// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>

#include <upsweep/engine.hpp>
#include <upsweep/gpu/fold/line_start.cuh>
#include <upsweep/gpu/fold/reduce.cuh>
#include <upsweep/gpu/shapes/pieces.cuh>
#include <upsweep/gpu/shapes/scan_heads.cuh>
#include <upsweep/gpu/shapes/segments.cuh>
#include <upsweep/gpu/shapes/warp_segments.cuh>
#include <upsweep/gpu/source/strided.cuh>
#include <upsweep/gpu/target/cuda.cuh>
#include <upsweep/op.hpp>
#include <upsweep/qualifiers.hpp>
#include <upsweep/verb/axis.hpp>

// The engines of segments between offsets.
namespace upsweep::gpu {

// The source of the numbers of offsets that are wrong; for others, of the largest number.
template <class Offset>
struct wrong_offsets {
    using value_type = std::uint64_t;
    using difference_type = std::ptrdiff_t;

    const Offset* offsets;
    std::uint64_t elements; // that the array has
    std::uint64_t first = 0;

    UPSWEEP_HOST_DEVICE wrong_offsets operator+(std::uint64_t n) const { return {offsets, elements, first + n}; }
    __device__ std::uint64_t operator[](std::uint64_t n) const
    {
        const std::uint64_t k = first + n;
        const Offset offset = offsets[k];
        const bool is_negative = std::signed_integral<Offset> && offset < 0;
        const bool is_wrong =
            is_negative || static_cast<std::uint64_t>(offset) > elements || (k != 0 && offset < offsets[k - 1]);
        return is_wrong ? k : ~std::uint64_t{0};
    }
};

// Marks the heads of 32 segments of which each lane has one, and those that are the last ones of their tiles. The bits of one word are put
// together by the first lane that has any.
template <class Index>
__device__ void mark_heads(std::uint64_t begin, std::uint64_t end, std::uint64_t all, const heads_memory<Index>& heads)
{
    const bool is_head = begin < end;
    if (is_head && (end == all || end / head_tile != begin / head_tile))
        heads.tiles[begin / head_tile] = {1, static_cast<Index>(begin)};

    const std::uint64_t word = begin / lanes;
    const bool differs = shuffle_down(word) != word;
    const bool is_last = differs || lane_id() == lanes - 1;
    const unsigned lasts = __ballot_sync(all_lanes, is_last ? 1 : 0);
    const int last = lane_id() + __ffs(static_cast<int>(lasts >> lane_id())) - 1;
    unsigned bits = is_head ? 1U << (begin % lanes) : 0;
    if (lasts != all_lanes) {
#pragma unroll
        for (int step = 1; step < lanes; step *= 2) {
            const unsigned others = __shfl_down_sync(all_lanes, bits, static_cast<unsigned>(step));
            bits |= lane_id() + step <= last ? others : 0;
        }
    }
    const bool is_first = lane_id() == 0 || (lasts >> (lane_id() - 1) & 1) != 0;
    if (is_first && bits != 0)
        atomicOr(heads.bits + word, bits);
}

inline constexpr int marked_segments = 4 * lanes; // of a warp

// Marks the heads of segments of at least one element among zeros, and tells which elements all of them have.
template <class Index, class Offset>
__global__ void __launch_bounds__(256)
    mark_heads_kernel(const Offset* offsets, std::uint64_t segments, heads_memory<Index> heads, head_extent* extent)
{
    const auto first = static_cast<std::uint64_t>(offsets[0]);
    const std::uint64_t all = static_cast<std::uint64_t>(offsets[segments]) - first;
    if (blockIdx.x == 0 && threadIdx.x == 0)
        *extent = {first, all};
    constexpr int groups = marked_segments / lanes; // whose offsets are read at once
    const std::uint64_t segment = warp_in_grid() * marked_segments;
    if (segment >= segments)
        return;
    std::uint64_t begin[groups + 1];
#pragma unroll
    for (int g = 0; g <= groups; ++g) {
        const std::uint64_t mine = segment + static_cast<unsigned>(g * lanes + (g < groups ? lane_id() : 0));
        begin[g] = static_cast<std::uint64_t>(offsets[mine < segments ? mine : segments]);
    }
#pragma unroll
    for (int g = 0; g < groups; ++g) {
        std::uint64_t end = shuffle_down(begin[g]);
        replace_if(lane_id() == lanes - 1, end, shuffle(begin[g + 1], 0));
        mark_heads(begin[g] - first, end - first, all, heads);
    }
}

// Calls f(heads) with the heads of segments between offsets, of so many elements in all at most.
template <class Offset, class F>
void with_heads_of_segments(const cuda& target, std::string_view call, const Offset* offsets, std::uint64_t segments,
                            std::uint64_t elements, F f)
{
    with_index(elements, [&]<class Index>(Index) {
        const std::size_t bytes = heads_memory<Index>::bytes(elements);
        auto* const memory =
            static_cast<std::byte*>(target.workspace().memory(workspace_purpose::offsets, bytes + sizeof(head_extent)));
        const heads_memory<Index> heads(memory, elements);
        auto* const extent = reinterpret_cast<head_extent*>(memory + bytes);
        check(call, cudaMemsetAsync(memory, 0, bytes, target.stream()));
        launch(target, call, mark_heads_kernel<Index, Offset>,
               grid_of_warps((segments + marked_segments - 1) / marked_segments, 256), offsets, segments, heads,
               extent);
        const bool are_joined = head_tiles(elements) > few_head_tiles;
        if (are_joined)
            scan_tiles_of_heads(target, heads, elements);
        f(head_places(heads, extent, are_joined));
    });
}

} // namespace upsweep::gpu

namespace upsweep::detail {

template <>
struct engine<cuda, verb::reduce_segments> {
    template <class Acc, class In, class Offset, class Out, class Op>
    static void fold(const cuda& target, In in, std::size_t count, std::span<const Offset> offsets, Out out,
                     const Op& op)
    {
        const gpu::current_device current(target.device());
        gpu::check_place(target, "segmented_reduce", offsets.data(), offsets.size());
        gpu::with_sources(in, out, [&](const auto& from, const auto& to) {
            gpu::check_place(target, "segmented_reduce", from, count);
            gpu::check_place(target, "segmented_reduce", to, offsets.size() - 1);
            using source_t = std::remove_cvref_t<decltype(from)>;
            const std::size_t segments = offsets.size() - 1;
            if constexpr (std::is_pointer_v<source_t>) {
                if (segments != 0 && gpu::are_long_segments<source_t>(segments, count))
                    return gpu::reduce_long_segments<Acc>(target, "segmented_reduce", from, count, offsets.data(),
                                                          segments, to, op, as_results_of<Op>{});
            }
            gpu::reduce_segments<Acc>(target, from, count, gpu::offset_segments<Offset>{offsets.data(), segments}, to,
                                      op, as_results_of<Op>{});
        });
    }
};

template <>
struct engine<cuda, verb::scan_segments> {
    template <scan_kind Kind, class Acc, class In, class Offset, class Out, class Op>
    static void scan(const cuda& target, In in, std::size_t count, std::span<const Offset> offsets, Out out,
                     const Op& op, const Acc* init)
    {
        const gpu::current_device current(target.device());
        gpu::check_place(target, "segmented_scan", offsets.data(), offsets.size());
        gpu::with_sources(in, out, [&](const auto& from, const auto& to) {
            gpu::check_place(target, "segmented_scan", from, count);
            gpu::check_place(target, "segmented_scan", to, count);
            using source_t = std::remove_cvref_t<decltype(from)>;
            using out_t = std::remove_cvref_t<decltype(to)>;
            const std::size_t segments = offsets.size() - 1;
            if (segments == 0 || count == 0)
                return;
            const auto start = gpu::start_of_segments<Kind>(op, init);
            if constexpr (gpu::may_be_scanned_by_warps<source_t, out_t>)
                if (gpu::are_segments_for_warps<std::iter_value_t<source_t>>(segments, count))
                    return gpu::scan_segments_by_warps<Acc>(target, "segmented_scan", from, count, offsets.data(),
                                                            segments, to, op, start);
            using start_t = std::remove_const_t<decltype(start)>;
            if constexpr (gpu::scans_by_heads<Acc, source_t, out_t, Op, start_t>)
                gpu::with_heads_of_segments(
                    target, "segmented_scan", offsets.data(), segments, count,
                    [&](const auto& heads) { gpu::scan_heads<Acc>(target, from, count, heads, to, op, start); });
            else
                gpu::scan_segments<Acc>(target, from, count, gpu::offset_segments<Offset>{offsets.data(), segments}, to,
                                        op, start);
        });
    }
};

template <>
struct engine<cuda, verb::check_segments> {
    template <class Offset>
    static std::optional<std::size_t> first_wrong(const cuda& target, std::span<const Offset> offsets,
                                                  std::size_t count)
    {
        const gpu::current_device current(target.device());
        gpu::check_place(target, "check_offsets", offsets.data(), offsets.size());
        const auto lowest = returned<cuda>::value<std::uint64_t>(target, "check_offsets", [&](std::uint64_t* result) {
            gpu::reduce<std::uint64_t>(target, gpu::wrong_offsets<Offset>{offsets.data(), count}, offsets.size(),
                                       minimum{}, result);
        });
        return lowest < offsets.size() ? std::optional<std::size_t>(lowest) : std::nullopt;
    }
};

} // namespace upsweep::detail
