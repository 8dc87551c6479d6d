// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <iterator>

#include <upsweep/gpu/primitive/vector.cuh>
#include <upsweep/gpu/primitive/warp.cuh>
#include <upsweep/gpu/source/array.cuh>

// Which elements a selection (select.cuh) takes: flags that are in memory, that are computed of the elements, or the heads of runs of keys.
namespace upsweep::gpu {

// Flags that are computed of the elements.
template <class Predicate>
struct computed_flags {
    Predicate predicate;
};
// Those of keys that differ from the one before: the heads of runs.
template <class Key>
struct head_flags {
};

// A bit for each element from `begin` to before `end` of a vector of which is_set(its place there) says so.
template <int Count, class F>
__device__ unsigned bits_of(int begin, int end, F is_set)
{
    unsigned bits = 0;
#pragma unroll
    for (int j = 0; j < Count; ++j)
        if (j >= begin && j < end && is_set(j))
            bits |= 1U << j;
    return bits;
}

// The flags of a thread's vectors. What of them is in memory is loaded a step before it is looked at.
template <class Shape, class Flags>
class thread_flags {
    using vector_t = lane_vector<std::iter_value_t<Flags>, Shape::vector>;

public:
    // Those of tile k of a block.
    template <class Block>
    __device__ void load(const Block& block, std::uint64_t k)
    {
        block.for_each_vector(k, [&](int r, std::uint64_t first, int begin, int end) {
            if (begin == 0 && end == Shape::vector) {
                const Flags from = block.flags() + first;
                if (is_aligned<Shape::vector>(from))
                    vectors_[r] = load_vector<Shape::vector>(from);
                else
                    vectors_[r] = gather_vector<Shape::vector>(from);
            } else {
                typename vector_t::elements all{};
#pragma unroll
                for (int j = 0; j < Shape::vector; ++j)
                    if (j >= begin && j < end)
                        all.element[j] = block.flags()[first + static_cast<unsigned>(j)];
                vectors_[r] = vector_t::of(all);
            }
        });
    }
    // Those of vector r of the thread, which lies in shared memory at `place`.
    template <class T>
    __device__ unsigned of(const Flags&, int r, const T*, int begin, int end) const
    {
        return bits_of<Shape::vector>(begin, end, [&](int j) { return static_cast<bool>(vectors_[r][j]); });
    }

private:
    vector_t vectors_[Shape::rows];
};
template <class Shape, class Predicate>
class thread_flags<Shape, computed_flags<Predicate>> {
public:
    template <class Block>
    __device__ void load(const Block&, std::uint64_t)
    {
    }
    template <class T>
    __device__ unsigned of(const computed_flags<Predicate>& flags, int, const T* place, int begin, int end) const
    {
        const auto elements = *reinterpret_cast<const lane_vector<T, Shape::vector>*>(place);
        return bits_of<Shape::vector>(begin, end,
                                      [&](int j) { return static_cast<bool>(flags.predicate(elements[j])); });
    }
};
// The key before a vector lies before it in shared memory, but for the first one of a warp.
template <class Shape, class Key>
class thread_flags<Shape, head_flags<Key>> {
public:
    template <class Block>
    __device__ void load(const Block& block, std::uint64_t k)
    {
        block.for_each_vector(k, [&](int r, std::uint64_t first, int, int) {
            if (r != 0)
                return;
            of_all_ = 0 - first;
            if (lane_id() == 0 && first - 1 < block.count()) // the first tile may begin before the first key
                before_ = gather_vector<1>(block.in() + (first - 1));
        });
    }
    __device__ unsigned of(const head_flags<Key>&, int r, const Key* place, int begin, int end) const
    {
        const auto keys = *reinterpret_cast<const lane_vector<Key, Shape::vector>*>(place);
        Key before = before_[0];
        if (r != 0 || lane_id() != 0)
            before = place[-1];
        unsigned heads =
            bits_of<Shape::vector>(begin, end, [&](int j) { return !((j != 0 ? keys[j - 1] : before) == keys[j]); });
        if (r == 0 && of_all_ < Shape::vector)
            heads |= 1U << of_all_;
        return heads;
    }

private:
    lane_vector<Key, 1> before_; // the first one of this warp, as lane 0 has it
    // Where the first key of all, which is a head, is in the thread's first vector, if it is there.
    std::uint64_t of_all_ = ~std::uint64_t{0};
};

} // namespace upsweep::gpu
