// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include <upsweep/op.hpp>

// The canonical order among the lanes of a warp: each lane holds the total of an aligned block, and lanes are in the
// order of the array.
namespace upsweep::gpu {

inline constexpr int lanes = 32;
inline constexpr int lane_levels = 5;
inline constexpr unsigned all_lanes = 0xffffffffU;

__device__ inline int lane_id() { return static_cast<int>(threadIdx.x % lanes); }
__device__ inline int warp_id() { return static_cast<int>(threadIdx.x / lanes); }
// The number of this warp in the grid.
__device__ inline std::uint64_t warp_in_grid()
{
    return std::uint64_t{blockIdx.x} * (blockDim.x / lanes) + static_cast<unsigned>(warp_id());
}

// Exchanges a value of any trivially copyable type, word by word.
template <class T, class F>
__device__ T exchange_words(const T& value, F exchange)
{
    static_assert(std::is_trivially_copyable_v<T>,
                  "a fold on a GPU passes values between threads: they must be trivially copyable");
    constexpr int words = (sizeof(T) + 3) / 4;
    std::uint32_t word[words] = {};
    std::memcpy(word, &value, sizeof(T));
#pragma unroll
    for (int k = 0; k < words; ++k)
        word[k] = exchange(word[k]);
    T result;
    std::memcpy(static_cast<void*>(&result), word, sizeof(T));
    return result;
}

// The value of the lane whose number differs from this one's in the bits of the mask.
template <class T>
__device__ T shuffle_xor(const T& value, int mask)
{
    return exchange_words(value, [mask](std::uint32_t word) { return __shfl_xor_sync(all_lanes, word, mask); });
}

template <class T>
__device__ T shuffle(const T& value, int from)
{
    return exchange_words(value, [from](std::uint32_t word) { return __shfl_sync(all_lanes, word, from); });
}

// The value of the next lane; lane 31 keeps its own.
template <class T>
__device__ T shuffle_down(const T& value)
{
    return exchange_words(value, [](std::uint32_t word) { return __shfl_down_sync(all_lanes, word, 1); });
}

// Conditional moves. They take values: a conditional expression would choose between addresses, and what has an address
// is not kept in registers.
template <class T>
__device__ void replace_if(bool condition, T& a, T b)
{
    const T before = a;
    a = condition ? b : before;
}

template <class T>
__device__ void swap_if(bool condition, T& a, T& b)
{
    const T before = a;
    replace_if(condition, a, b);
    replace_if(condition, b, before);
}

// mine (+) theirs, or theirs (+) mine where mine is the right operand. The library's own operators give the same bits
// either way.
template <class T, class Op>
__device__ detail::joined_t<T> combine(const Op& op, T mine, T theirs, bool mine_is_right)
{
    if constexpr (detail::is_builtin<Op>)
        return op(mine, theirs);
    else if constexpr (requires { op.joined(mine, theirs, mine_is_right); })
        return op.joined(mine, theirs, mine_is_right);
    else
        return swap_if(mine_is_right, mine, theirs), op(mine, theirs);
}

// The total of the blocks of 2^(End - Level) lanes that differ in bits Level to End - 1 of their numbers. Every one of these lanes gets it.
template <int Level, int End, class T, class Op>
__device__ auto total_of_lanes(const T& mine, const Op& op)
{
    if constexpr (Level == End)
        return mine;
    else
        return total_of_lanes<Level + 1, End>(
            combine(op, mine, shuffle_xor(mine, 1 << Level), (lane_id() >> Level & 1) != 0), op);
}

// The same of so many rows of totals, of which lanes hold those of 2^Level lanes of each. 2^Joined rows that follow one another are joined.
template <int Level, int Joined, int Rows, class T, class Op>
__device__ auto total_of_rows(const T (&totals)[Rows], const Op& op)
{
    if constexpr (Rows > 1) {
        const bool right = (lane_id() >> Level & 1) != 0;
        detail::joined_t<T> joined[Rows / 2];
#pragma unroll
        for (int r = 0; r < Rows / 2; ++r) {
            T kept = totals[2 * r];
            T sent = totals[2 * r + 1];
            swap_if(right, kept, sent);
            joined[r] = combine(op, kept, shuffle_xor(sent, 1 << Level), right);
        }
        return total_of_rows<Level + 1, Joined>(joined, op);
    } else {
        // Lanes now hold row lane % 2^Level of 2^Level lanes each: first the lanes of a row, then the rows.
        return total_of_lanes<0, Joined>(total_of_lanes<Level, lane_levels>(totals[0], op), op);
    }
}

// The totals of so many groups of Rows * 32 aligned blocks, of which this lane holds number 32 r + lane in totals[r]. While there are
// several rows, a step halves the rows that a lane keeps, so that eight rows take 12 exchanges and not 40. A lane gets the total of group
// number lane / Rows, modulo how many there are.
template <int Rows, int All, class T, class Op>
__device__ auto warp_totals(const T (&totals)[All], const Op& op)
{
    return total_of_rows<0, std::countr_zero(static_cast<unsigned>(Rows))>(totals, op);
}

// The same of one group, whose total every lane gets.
template <int Rows, class T, class Op>
__device__ auto warp_total(const T (&totals)[Rows], const Op& op)
{
    return warp_totals<Rows>(totals, op);
}

// The tree over the lanes of a warp, each of which holds the total of one aligned block.
template <class T, int Levels = lane_levels>
struct warp_tree {
    T sibling[Levels]; // [k]: the total of the 2^k lanes that join this lane's 2^k lanes at the next level
    T total;           // of all 2^Levels lanes

    warp_tree() = default;

    // The up-sweep of Blelloch (1990).
    template <class Op>
    __device__ warp_tree(const T& mine, const Op& op) : total(mine)
    {
#pragma unroll
        for (int k = 0; k < Levels; ++k) {
            sibling[k] = shuffle_xor(total, 1 << k);
            total = combine(op, total, sibling[k], (lane_id() >> k & 1) != 0);
        }
    }

    // The down-sweep: before (+) the fold of the lanes before this one, by the binary digits of the lane's number.
    template <class Op>
    __device__ T fold_before(T before, const Op& op) const
    {
#pragma unroll
        for (int k = Levels - 1; k >= 0; --k)
            if ((lane_id() >> k & 1) != 0)
                before = op(before, sibling[k]);
        return before;
    }
};

// The first of `count` numbers for which is_before(number) does not hold; it holds for those before it. The lanes of a warp call this
// together: each of them looks at one of 32 places in every step of the search.
template <class F>
__device__ std::uint64_t partition_point_of_warp(std::uint64_t count, F is_before)
{
    std::uint64_t low = 0;
    for (std::uint64_t high = count; low < high;) {
        const std::uint64_t step = (high - low + lanes - 1) / lanes;
        const std::uint64_t mine = low + (static_cast<unsigned>(lane_id()) + 1) * step - 1;
        const bool before = mine < high && is_before(mine);
        const auto steps = static_cast<unsigned>(__popc(__ballot_sync(all_lanes, before ? 1 : 0)));
        low += steps * step;
        if (steps < lanes && low + step - 1 < high)
            high = low + step - 1;
    }
    return low;
}

// The first lane whose `end` is more than i, of ends that ascend with the lanes; the last lane if there is none.
__device__ inline int lane_before_end(int end, int i)
{
    int lane = 0;
#pragma unroll
    for (int step = lanes / 2; step > 0; step /= 2)
        if (shuffle(end, lane + step - 1) <= i)
            lane += step;
    return lane;
}

// The total of 2^k elements of one thread, as a tree.
template <int Count, class T, class Op>
__device__ auto lane_total(const T* elements, const Op& op)
{
    if constexpr (Count == 1) {
        return elements[0];
    } else {
        using half = decltype(lane_total<Count / 2>(elements, op));
        return static_cast<detail::joined_t<half>>(
            op(lane_total<Count / 2>(elements, op), lane_total<Count / 2>(elements + Count / 2, op)));
    }
}

// before (+) the fold of the elements before each of 2^k elements of one thread.
template <int Count, class T, class Op>
__device__ void lane_folds(const T& before, const T* elements, T* folds, const Op& op)
{
    if constexpr (Count == 1) {
        folds[0] = before;
    } else {
        lane_folds<Count / 2>(before, elements, folds, op);
        lane_folds<Count / 2>(op(before, lane_total<Count / 2>(elements, op)), elements + Count / 2, folds + Count / 2,
                              op);
    }
}

// Of the folds before so many values, that before number `count`.
template <int Count, class Acc>
__device__ Acc fold_number(const Acc (&folds)[Count], int count)
{
    Acc result = folds[0];
#pragma unroll
    for (int r = 1; r < Count; ++r)
        replace_if(r == count, result, folds[r]);
    return result;
}

// An array in shared memory of values whose type may have a constructor, which would not be allowed there.
template <class T, int Count>
struct raw_array {
    alignas(T) alignas(16) unsigned char bytes[Count * sizeof(T)];
    __device__ T& operator[](int i) { return reinterpret_cast<T*>(bytes)[i]; }
};

} // namespace upsweep::gpu
