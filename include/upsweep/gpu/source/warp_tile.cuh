// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <iterator>

#include <upsweep/gpu/primitive/vector.cuh>
#include <upsweep/gpu/primitive/warp.cuh>
#include <upsweep/gpu/source/array.cuh>
#include <upsweep/gpu/source/shifted.cuh>

// How a warp loads its only warp tile, of at most 2^32 elements in all, and stores the results.
namespace upsweep::gpu {

// Loads the warp tile of `in` that begins at element `first`, in the striped arrangement of vector.cuh. The tile of the
// block, which is not empty, begins at element `tile`. In place of a vector behind the end of the array a lane loads the
// first vector of the block's tile.
template <class Source, class T, int Count, int Rows>
__device__ void load_striped(Source in, unsigned first, unsigned tile, unsigned count,
                             lane_vector<T, Count> (&vectors)[Rows])
{
    const unsigned mine = first + static_cast<unsigned>(lane_id() * Count);
    const bool has_whole = is_aligned<Count>(in) && tile + Count <= count;
    if (has_whole)
#pragma unroll
        for (int r = 0; r < Rows; ++r) {
            const unsigned from = mine + r * Count * lanes;
            vectors[r] = load_vector<Count>(in + (from + Count <= count ? from : tile));
        }
    if (!has_whole || count % Count != 0)
#pragma unroll
        for (int r = 0; r < Rows; ++r) {
            const unsigned from = mine + r * Count * lanes;
            if (has_whole && (from >= count || from + Count <= count))
                continue;
            vectors[r] = gather_within<Count>(in, count, from);
        }
}

// The same, where the lanes get their vectors later, in the blocked arrangement, at the full width of memory. Loading begins when this is
// constructed; the arrangement is changed by way of shared memory that the warp has for itself. Behind the end of the
// array there are other elements of it: results do not depend on what follows the end, and operators get only what is in
// the array. An array that is known to be aligned is not shifted.
template <class Source, int Count, int Rows, bool MayShift = may_be_shifted<Count, Rows, Source>>
class warp_tile_loader {
    using element = std::iter_value_t<Source>;
    using vector = lane_vector<element, Count>;

public:
    __device__ warp_tile_loader(Source in, unsigned first, unsigned tile, unsigned count)
    {
        if constexpr (MayShift) {
            const shifted_tile<Count, Rows, Source> shifted(in);
            is_shifted_ = !is_aligned<Count>(in) && shifted.is_possible() && first + Count * Rows * lanes <= count;
            if (is_shifted_) {
                const Source tile_of_warp = in + first;
                shifted.for_each_word(tile_of_warp, 0,
                                      [&](int r, int, Source at) { vectors_[r] = load_vector<Count>(at); });
                shifted.for_each_edge([&](int, int from) { edge_ = tile_of_warp[from]; });
                return;
            }
        }
        load_striped(in, first, tile, count, vectors_);
    }

    __device__ void blocked(vector (&vectors)[Rows], vector* shared, const Source& in)
    {
        if constexpr (MayShift) {
            if (is_shifted_) {
                const shifted_tile<Count, Rows, Source> shifted(in);
                shifted.for_each_word(in, 0, [&](int r, int place, Source) { shared[place] = vectors_[r]; });
                shifted.for_each_edge([&](int j, int) {
                    reinterpret_cast<element*>(shared + swizzled<Rows>(Rows * lanes - 1))[j] = edge_;
                });
                __syncwarp();
                vector words[Rows + 1];
                words[0] = shared[gpu::blocked<Rows>(Rows - 1, (lane_id() + lanes - 1) % lanes)];
#pragma unroll
                for (int r = 0; r < Rows; ++r)
                    words[r + 1] = shared[gpu::blocked<Rows>(r)];
                shifted.to_pieces(words, vectors);
                return;
            }
        }
        striped_to_blocked(vectors_, shared);
#pragma unroll
        for (int r = 0; r < Rows; ++r)
            vectors[r] = vectors_[r];
    }

private:
    bool is_shifted_ = false;
    vector vectors_[Rows]; // in the striped arrangement, or words of a shifted tile
    element edge_;         // of a shifted tile
};

// Stores a warp tile that is in the blocked arrangement, as far as it lies before the end of the array.
template <bool MayShift, class Out, int Count, int Rows>
__device__ void store_warp_tile(Out out, unsigned first, unsigned count,
                                lane_vector<std::iter_value_t<Out>, Count> (&vectors)[Rows],
                                lane_vector<std::iter_value_t<Out>, Count>* shared)
{
    if constexpr (MayShift && may_be_shifted<Count, Rows, Out>) {
        const shifted_tile<Count, Rows, Out> shifted(out);
        if (shifted.is_possible() && !shifted.begins_at_line() && first + Count * Rows * lanes <= count) {
            shifted.to_words(vectors);
            __syncwarp(); // other lanes have read what was there
#pragma unroll
            for (int r = 0; r < Rows; ++r)
                shared[blocked<Rows>(r)] = vectors[r];
            __syncwarp();
            const Out tile_of_warp = out + first;
            shifted.for_each_word(tile_of_warp, shifted.words_to_line(),
                                  [&](int, int place, Out at) { store_vector<Count>(at, shared[place]); });
            const auto* const last = shared + swizzled<Rows>(Rows * lanes - 1);
            shifted.for_each_edge(
                [&](int j, int to) { tile_of_warp[to] = reinterpret_cast<const std::iter_value_t<Out>*>(last)[j]; });
            return;
        }
    }
    blocked_to_striped(vectors, shared);
    const bool aligned = is_aligned<Count>(out);
#pragma unroll
    for (int r = 0; r < Rows; ++r) {
        const unsigned to = first + static_cast<unsigned>((r * lanes + lane_id()) * Count);
        if constexpr (may_have_words<Count, Out>) {
            if (aligned && to + Count <= count) {
                store_vector<Count>(address_of(out + to), vectors[r]);
                continue;
            }
        }
        scatter_within<Count>(out, count, to, vectors[r]);
    }
}

} // namespace upsweep::gpu
