// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>

#include <upsweep/gpu/primitive/vector.cuh>
#include <upsweep/gpu/source/array.cuh>

// Elements of a source that are so few that each thread has all of its own in registers at once. As with small folds,
// the fewer instructions the better: each of them is fetched from memory and used once.
namespace upsweep::gpu {

template <class Source>
struct few_elements {
    using value_type = std::iter_value_t<Source>;
    static constexpr int elements = elements_of<Source>;
    // Vectors of a thread. With more vectors of small elements, using them would take longer than reading them.
    static constexpr int rows = sizeof(value_type) < 4 ? 2 : 4;
    static constexpr int threads = 1024; // threads of a block
    // How many elements a block reads in one row of vectors.
    static constexpr unsigned row = unsigned{threads} * elements;

    // Whether elements of the source can be read in this way at all.
    static constexpr bool is_possible = may_have_words<elements, Source>;

    Source in;

    // Whether so many blocks can read so many elements. Vectors of them must be aligned.
    bool are_few(int blocks, std::uint64_t count) const
    {
        return count <= static_cast<std::uint64_t>(blocks) * row * rows && is_aligned<elements>(in);
    }
};

// At most so many blocks, unless these cannot have all elements.
template <int Rows, class Source>
unsigned useful_blocks(const few_elements<Source>&, int most, std::uint64_t count)
{
    constexpr unsigned row = few_elements<Source>::row;
    const unsigned rows = std::max((static_cast<unsigned>(count) + row - 1) / row, 1U);
    return std::max(std::min(rows, static_cast<unsigned>(most)), (rows + Rows - 1) / Rows);
}

// A row of the grid is a vector for each thread of all blocks; a thread reads one in each row.
template <int Rows, class Source>
class source_reader<Rows, few_elements<Source>> {
    using few = few_elements<Source>;
    static constexpr int elements = few::elements;

public:
    __device__ source_reader(const few& from, std::uint64_t count, unsigned block, unsigned blocks)
        : in_(from.in), count_(static_cast<unsigned>(count)), first_(block * few::row + threadIdx.x * elements),
          row_(blocks * few::row), is_first_(block == 0)
    {
#pragma unroll
        for (int r = 0; r < Rows; ++r)
            if (has_vector(r))
                vectors_[r] = load_vector<elements>(in_ + (first_ + r * row_));
    }

    template <class F>
    __device__ void for_each(F take) const
    {
#pragma unroll
        for (int r = 0; r < Rows; ++r)
            if (has_vector(r))
                take(vectors_[r]);
        if (is_first_ && threadIdx.x < count_ % elements)
            take(gather_vector<1>(in_ + (count_ - 1 - threadIdx.x)));
    }

private:
    __device__ bool has_vector(int r) const { return first_ + r * row_ + elements <= count_; }

    Source in_;
    unsigned count_;
    unsigned first_;
    unsigned row_;
    bool is_first_; // whether this is the first block, which reads the elements behind the last vector
    lane_vector<std::iter_value_t<Source>, elements> vectors_[Rows];
};

} // namespace upsweep::gpu
