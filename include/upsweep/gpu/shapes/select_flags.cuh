// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <iterator>

#include <upsweep/gpu/primitive/vector.cuh>
#include <upsweep/gpu/primitive/warp.cuh>
#include <upsweep/gpu/source/array.cuh>
#include <upsweep/gpu/source/shifted_rows.cuh>

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

// The flags of a thread's vectors. What of them is in memory is loaded a step before it is looked at: where bytes that are flags do not lie as the
// elements do, by the two words of memory in which they lie.
template <class Shape, class Flags>
class thread_flags {
    using flag = std::iter_value_t<Flags>;
    using vector_t = lane_vector<flag, Shape::vector>;
    static constexpr bool may_shift =
        has_words<Shape::vector, Flags> && sizeof(flag) == 1 && sizeof(vector_t) >= sizeof(unsigned);

public:
    // Those of tile k of a block.
    template <class Block>
    __device__ void load(const Block& block, std::uint64_t k)
    {
        block.for_each_vector(k, [&](int r, std::uint64_t first, int begin, int end) {
            const Flags from = block.flags() + first;
            if constexpr (may_shift)
                if (r == 0) // and of the vectors behind it
                    shift_ = static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(from) % sizeof(vector_t));
            if (begin == 0 && end == Shape::vector) {
                if (may_shift ? shift_ == 0 : is_aligned<Shape::vector>(from)) {
                    vectors_[r] = load_vector<Shape::vector>(from);
                    return;
                }
                if constexpr (may_shift) {
                    if (have_words(block, first)) {
                        vectors_[r] = load_vector<Shape::vector>(from - shift_);
                        behind_[r] = load_vector<Shape::vector>(from - shift_ + Shape::vector);
                        return;
                    }
                }
            }
            const int before = static_cast<int>(shift_);
            if (begin == 0 && end == Shape::vector && before == 0) {
                vectors_[r] = gather_vector<Shape::vector>(from);
                return;
            }
            vectors_[r] = gather(from, begin, end, -before);
            if constexpr (may_shift)
                if (before != 0)
                    behind_[r] = gather(from, begin, end, Shape::vector - before);
        });
    }
    // Those of vector r of the thread, which lies in shared memory at `place`.
    template <class T>
    __device__ unsigned of(const Flags&, int r, const T*, int begin, int end) const
    {
        vector_t vector = vectors_[r];
        if constexpr (may_shift)
            if (shift_ != 0)
                vector = shifted_vector(vector, behind_[r], shift_);
        return bits_of<Shape::vector>(begin, end, [&](int j) { return static_cast<bool>(vector[j]); });
    }

private:
    // Whether the words of a vector have memory of flags alone.
    template <class Block>
    __device__ bool have_words(const Block& block, std::uint64_t first) const
    {
        return first >= shift_ && first - shift_ + 2 * Shape::vector <= block.count();
    }
    // Of the flags from `from` on those from number `at` to before number at + Shape::vector that are from number begin to before number end.
    __device__ static vector_t gather(Flags from, int begin, int end, int at)
    {
        typename vector_t::elements all{};
#pragma unroll
        for (int j = 0; j < Shape::vector; ++j)
            if (at + j >= begin && at + j < end)
                all.element[j] = from[at + j];
        return vector_t::of(all);
    }

    vector_t vectors_[Shape::rows];                  // or the words in which they begin
    vector_t behind_[may_shift ? Shape::rows : 1]{}; // the words behind those
    unsigned shift_ = 0;                             // bytes of a word before a vector, the same for all
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
