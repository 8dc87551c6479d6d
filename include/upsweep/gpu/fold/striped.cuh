// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <upsweep/gpu/primitive/vector.cuh>
#include <upsweep/gpu/source/array.cuh>

// How a warp loads and stores its part of a tile at the full width of memory: in the striped arrangement of vector.cuh.
namespace upsweep::gpu {

// The chunk that begins at element `first`. In place of elements behind the end a lane gets others of the tile, which begins
// at `tile`: a scan's results do not depend on what follows them.
template <class In, class T, int Count, int Rows>
__device__ void load_striped(In in, unsigned first, unsigned tile, unsigned count,
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

template <class Out, class T, int Count, int Rows>
__device__ void store_striped(Out out, unsigned first, unsigned count, const lane_vector<T, Count> (&vectors)[Rows])
{
    const bool aligned = is_aligned<Count>(out);
#pragma unroll
    for (int r = 0; r < Rows; ++r) {
        const unsigned to = first + static_cast<unsigned>((r * lanes + lane_id()) * Count);
        if constexpr (has_words<Count, Out>) {
            if (aligned && to + Count <= count) {
                store_vector<Count>(out + to, vectors[r]);
                continue;
            }
        }
#pragma unroll
        for (int j = 0; j < Count; ++j)
            if (to + j < count)
                out[to + j] = vectors[r][j];
    }
}

} // namespace upsweep::gpu
