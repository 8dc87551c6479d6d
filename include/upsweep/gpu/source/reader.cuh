// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>

#include <upsweep/gpu/primitive/vector.cuh>
#include <upsweep/gpu/source/array.cuh>

// Elements for which only their number counts, not their order: each thread takes what suits the memory.
namespace upsweep::gpu {

// A lane's elements of a row, and a warp's of several rows that are on their way at once.
template <class It, int Rows>
struct sample_shape {
    static constexpr int elements = vector_elements<sizeof(std::iter_value_t<It>)>;
    static constexpr int row = elements * lanes;
    static constexpr int chunk = row * Rows;
};

// How many blocks are useful, of at most so many: a chunk for each.
template <class It, int Rows>
unsigned useful_blocks(int most, std::uint64_t count)
{
    const std::uint64_t chunks = std::max<std::uint64_t>(count / sample_shape<It, Rows>::chunk, 1);
    return static_cast<unsigned>(std::min(chunks, static_cast<std::uint64_t>(most)));
}

// The elements that fall to a thread of block `block` of `blocks`. The warps take chunks in turn, the last block what does not
// make one up. Reading begins as soon as there is a reader, and goes on while elements are taken: the registers of a row are
// filled again when it is done.
template <int Rows, class It>
class sample_reader {
    using sample = std::iter_value_t<It>;
    using shape = sample_shape<It, Rows>;
    static constexpr int elements = shape::elements;
    static constexpr bool can_be_misaligned = !has_words<elements, It> || alignof(sample) < sizeof(sample);

public:
    __device__ sample_reader(It in, std::uint64_t count, unsigned block, unsigned blocks)
        : in_(in), before_(elements_before_alignment<elements>(in, count)), chunks_((count - before_) / shape::chunk),
          rest_(count - chunks_ * shape::chunk), aligned_(!can_be_misaligned || is_aligned<elements>(in + before_)),
          stride_(blockDim.x / lanes * blocks), next_(in)
    {
        const unsigned first = block + threadIdx.x / lanes * blocks;
        rounds_ = static_cast<unsigned>((chunks_ + stride_ - 1) / stride_);
        mine_ = rounds_ - (rounds_ != 0 && std::uint64_t{rounds_ - 1} * stride_ + first >= chunks_ ? 1 : 0);
        next_ = in + (before_ + std::uint64_t{first} * shape::chunk) + lane_id() * elements;
        if (mine_ != 0)
            read<Rows>(0);
    }

    // Calls take(vectors) for the vectors of each chunk, in order, so many at once; then, whether they had a chunk or
    // not, all threads call pace(taken).
    template <int AtOnce, class F, class Pace>
    __device__ void for_each_batch_of_vectors(F take, Pace pace)
    {
        static_assert(Rows % AtOnce == 0);
        for (unsigned round = 0; round < rounds_; ++round) {
            const bool taken = round < mine_;
            const bool more = round + 1 < mine_;
            next_ = next_ + std::uint64_t{stride_} * shape::chunk;
#pragma unroll
            for (int row = 0; row < Rows; row += AtOnce) {
                if (taken)
                    take(vectors_ + row);
                if (more)
                    read<AtOnce>(row);
                pace(taken);
            }
        }
    }

    // The same one by one.
    template <int AtOnce, class F, class Pace>
    __device__ void for_each_of_chunks(F take, Pace pace)
    {
        for_each_batch_of_vectors<AtOnce>(
            [&](const lane_vector<sample, elements>* vectors) {
#pragma unroll
                for (int r = 0; r < AtOnce; ++r)
                    take(vectors[r]);
            },
            pace);
    }

    // The same for the elements in no chunk, one by one, by one block.
    template <class F>
    __device__ void for_each_of_rest(F take) const
    {
        for (std::uint64_t i = threadIdx.x; i < rest_; i += blockDim.x)
            take(gather_vector<1>(in_ + (i < before_ ? i : i + chunks_ * shape::chunk)));
    }

private:
    template <int Count>
    __device__ void read(int row)
    {
#pragma unroll
        for (int r = row; r < row + Count; ++r) {
            const It from = next_ + r * shape::row;
            vectors_[r] = aligned_ ? load_vector<elements>(from) : gather_vector<elements>(from);
        }
    }

    It in_;
    std::uint64_t before_; // the first that is aligned
    std::uint64_t chunks_;
    std::uint64_t rest_; // elements in no chunk
    bool aligned_;
    unsigned stride_;
    unsigned rounds_; // of chunks for all warps; in the last one, some have none
    unsigned mine_;   // in how many of them this warp has a chunk
    It next_;         // what this lane reads of the next chunk of its warp
    lane_vector<sample, elements> vectors_[Rows];
};

} // namespace upsweep::gpu
