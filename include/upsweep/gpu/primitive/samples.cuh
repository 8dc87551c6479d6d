// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <iterator>

#include <upsweep/gpu/primitive/tile.cuh>

// Elements for which only their number counts, not their order: each thread takes what suits the memory.
namespace upsweep::gpu {

// A lane's elements of a row, and a warp's of several rows that are on their way at once.
template <class It, int Rows>
struct sample_shape {
    static constexpr int elements = vector_elements<sizeof(std::iter_value_t<It>)>;
    static constexpr int row = elements * lanes;
    static constexpr int chunk = row * Rows;
};

// How many elements stand before the first that is aligned for vectors; none where no element is.
template <int Count, class It>
__device__ std::uint64_t elements_before_alignment(It it, std::uint64_t count)
{
    if constexpr (has_words<Count, It>) {
        constexpr std::uintptr_t bytes = sizeof(std::iter_value_t<It>);
        const std::uintptr_t misplaced = reinterpret_cast<std::uintptr_t>(it) % (Count * bytes);
        if (misplaced == 0 || misplaced % bytes != 0)
            return 0;
        const std::uint64_t before = Count - misplaced / bytes;
        return before < count ? before : count;
    } else {
        return 0;
    }
}

// Calls take(element) for the elements that fall to this thread of this block of `blocks`. The warps take chunks in turn, the
// last block what does not make one up. After each round all threads call pace(round);
// returns how many rounds there were.
template <int Rows, class It, class F, class Pace>
__device__ std::uint64_t for_each_sample(It in, std::uint64_t count, unsigned block, unsigned blocks, F take, Pace pace)
{
    using shape = sample_shape<It, Rows>;
    constexpr int elements = shape::elements;
    const std::uint64_t before = elements_before_alignment<elements>(in, count);
    const std::uint64_t chunks = (count - before) / shape::chunk;
    using sample = std::iter_value_t<It>;
    constexpr bool can_be_misaligned = !has_words<elements, It> || alignof(sample) < sizeof(sample);
    const bool aligned = !can_be_misaligned || is_aligned<elements>(in + before);
    const It first = in + before + lane_id() * elements;
    const unsigned warps = blockDim.x / lanes;
    const std::uint64_t rounds = (chunks + warps * blocks - 1) / (warps * blocks);
    std::uint64_t chunk = block + threadIdx.x / lanes * blocks;
    for (std::uint64_t round = 0; round < rounds; ++round, chunk += warps * blocks) {
        if (chunk < chunks) {
            lane_vector<sample, elements> vectors[Rows];
#pragma unroll
            for (int r = 0; r < Rows; ++r) {
                const It from = first + (chunk * shape::chunk + static_cast<unsigned>(r * shape::row));
                vectors[r] = aligned ? load_vector<elements>(from) : gather_vector<elements>(from);
            }
#pragma unroll
            for (int r = 0; r < Rows; ++r)
#pragma unroll
                for (int j = 0; j < elements; ++j)
                    take(vectors[r][j]);
        }
        pace(round);
    }
    if (block == blocks - 1) {
        for (std::uint64_t i = threadIdx.x; i < before; i += blockDim.x)
            take(in[i]);
        for (std::uint64_t i = before + chunks * shape::chunk + threadIdx.x; i < count; i += blockDim.x)
            take(in[i]);
    }
    return rounds;
}

} // namespace upsweep::gpu
