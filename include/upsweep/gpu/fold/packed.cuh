// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>

#include <upsweep/fold_order.hpp>
#include <upsweep/gpu/target/device.cuh>
#include <upsweep/op.hpp>

// Folds of 8- and 16-bit integers, word by word. A vector of 16 bytes has too many of them to fold one at a time at the speed of the
// memory, so sums, which wrap, minima, maxima and bit operators are computed on the 32-bit words that hold several elements.
//
// The operator is applied to both halves of a word at once. A half has one element of 16 bits, or a byte. Sums of bytes have theirs at
// the lower end, where nothing comes to it from below; the others at the upper end, where what lies below a byte changes no minimum, so
// that the odd bytes of a word are where they belong as they are, and the even ones after a shift.
namespace upsweep::gpu {

template <class Op, class Acc>
inline constexpr bool is_packed = !std::is_same_v<Acc, bool> && std::is_integral_v<Acc> && sizeof(Acc) <= 2 &&
                                  (std::is_same_v<Op, plus> || detail::is_extremum<Op> || detail::is_bitwise<Op>);

// The type in which totals of such integers are folded: as wide as a register, so that nothing is cut off or extended in between.
template <class Op, class T>
using word_accumulator_t =
    std::conditional_t<std::is_signed_v<T> && detail::is_extremum<Op>, std::int32_t, std::uint32_t>;

// A logical operator on the truth of its operands, 0 or 1, in words.
template <class Logical>
struct on_truths {
    using bitwise = std::conditional_t<std::is_same_v<Logical, logical_and>, bit_and, bit_or>;

    __device__ unsigned operator()(unsigned a, unsigned b) const { return bitwise{}(a, b); }
    template <std::same_as<unsigned> T>
    UPSWEEP_HOST_DEVICE static constexpr T identity()
    {
        return Logical::template identity<bool>() ? 1 : 0;
    }
};

namespace packed {

// The operator on the lower and on the upper halves of two words. A sum of the lower ones may touch the upper ones.
template <class T, class Op>
__device__ unsigned apply(unsigned a, unsigned b)
{
    if constexpr (std::is_same_v<Op, plus>)
        return a + b;
    else if constexpr (std::is_same_v<Op, minimum>)
        return std::is_signed_v<T> ? __vmins2(a, b) : __vminu2(a, b);
    else if constexpr (std::is_same_v<Op, maximum>)
        return std::is_signed_v<T> ? __vmaxs2(a, b) : __vmaxu2(a, b);
    else if constexpr (std::is_same_v<Op, bit_and>)
        return a & b;
    else if constexpr (std::is_same_v<Op, bit_or>)
        return a | b;
    else
        return a ^ b;
}

// An element where it is in a lower half.
template <class T, class Op>
UPSWEEP_HOST_DEVICE constexpr unsigned in_half(T element)
{
    constexpr int place = sizeof(T) == 1 && !std::is_same_v<Op, plus> ? 8 : 0;
    return static_cast<unsigned>(static_cast<std::make_unsigned_t<T>>(element)) << place;
}

// The results of an inclusive scan of the elements of a word. `before` has the result before them in both halves, and then their last
// one; of sums of 16 bits the lower half alone counts.
template <class T, class Op>
__device__ unsigned scan_word(unsigned word, unsigned& before)
{
    if constexpr (std::is_same_v<Op, plus> && sizeof(T) == 2) {
        const unsigned first = word + before;
        const unsigned second = (word >> 16) + first;
        before = second;
        return __byte_perm(first, second, 0x5410);
    } else {
        constexpr unsigned neutral = in_half<T, Op>(Op::template identity<T>());
        if constexpr (sizeof(T) == 2) {
            const unsigned results = apply<T, Op>(word, apply<T, Op>(before, __byte_perm(neutral, word, 0x5410)));
            before = __byte_perm(results, 0, 0x3232);
            return results;
        } else {
            constexpr bool is_sum = std::is_same_v<Op, plus>;
            constexpr unsigned lower_bytes = 0x00ff00ffU;
            const unsigned even = is_sum ? word & lower_bytes : word << 8;
            const unsigned odd = is_sum ? word >> 8 & lower_bytes : word;
            const unsigned pairs = apply<T, Op>(even, odd);
            const unsigned before_pairs = apply<T, Op>(before, __byte_perm(neutral, pairs, 0x5410));
            const unsigned even_results = apply<T, Op>(even, before_pairs);
            const unsigned odd_results = apply<T, Op>(pairs, before_pairs);
            before = __byte_perm(odd_results, 0, is_sum ? 0x4242 : 0x3232);
            return __byte_perm(even_results, odd_results, is_sum ? 0x6240 : 0x7351);
        }
    }
}

} // namespace packed

// before + the sum of the bytes in four words, signed or not as Sum is.
template <class Sum>
__device__ Sum add_bytes(const uint4& words, Sum before)
{
    constexpr Sum ones = 0x01010101;
    before = __dp4a(static_cast<Sum>(words.x), ones, before);
    before = __dp4a(static_cast<Sum>(words.y), ones, before);
    before = __dp4a(static_cast<Sum>(words.z), ones, before);
    return __dp4a(static_cast<Sum>(words.w), ones, before);
}

// The fold of the elements in four words, of which sums count modulo 2^8 or 2^16.
template <class T, class Op>
__device__ word_accumulator_t<Op, T> packed_total(const uint4& words)
{
    using namespace packed;
    if constexpr (std::is_same_v<Op, plus> && sizeof(T) == 1) {
        return add_bytes(words, 0U);
    } else if constexpr (std::is_same_v<Op, plus>) {
        const unsigned low = words.x + words.y + words.z + words.w;
        const unsigned high = (words.x >> 16) + (words.y >> 16) + (words.z >> 16) + (words.w >> 16);
        return low + high;
    } else {
        const auto of_pairs = [](unsigned word) { return sizeof(T) == 1 ? apply<T, Op>(word, word << 8) : word; };
        const unsigned both = apply<T, Op>(apply<T, Op>(of_pairs(words.x), of_pairs(words.y)),
                                           apply<T, Op>(of_pairs(words.z), of_pairs(words.w)));
        const unsigned total = apply<T, Op>(both, both << 16); // in the upper half
        return static_cast<word_accumulator_t<Op, T>>(total) >> (32 - 8 * sizeof(T));
    }
}

// The results of a scan of the elements in four words, after `before`. In an exclusive scan a result does not include the element
// itself.
template <class T, scan_kind Kind, class Op>
__device__ uint4 packed_scan(const uint4& words, T before)
{
    unsigned last = packed::in_half<T, Op>(before) * 0x00010001U;
    uint4 results;
    results.x = packed::scan_word<T, Op>(words.x, last);
    results.y = packed::scan_word<T, Op>(words.y, last);
    results.z = packed::scan_word<T, Op>(words.z, last);
    results.w = packed::scan_word<T, Op>(words.w, last);
    if constexpr (Kind == scan_kind::exclusive) {
        constexpr unsigned bits = 8 * sizeof(T);
        // Where the element before a word is, seen from the word.
        const unsigned first = static_cast<unsigned>(static_cast<std::make_unsigned_t<T>>(before)) << (32 - bits);
        results.w = __funnelshift_l(results.z, results.w, bits);
        results.z = __funnelshift_l(results.y, results.z, bits);
        results.y = __funnelshift_l(results.x, results.y, bits);
        results.x = __funnelshift_l(first, results.x, bits);
    }
    return results;
}

// How elements of 8 or 16 bits are folded word by word: the total of those in four words, and the results of a scan of them after
// `before`.
template <class Op, class T>
struct packed_form {
    static constexpr bool exists = is_packed<Op, T>;
    using accumulator = word_accumulator_t<Op, T>;

    __device__ static accumulator total(const uint4& words) { return packed_total<T, Op>(words); }
    template <scan_kind Kind>
    __device__ static uint4 scan(const uint4& words, accumulator before)
    {
        return packed_scan<T, Kind, Op>(words, static_cast<T>(before));
    }
};

// Of a disjunction the first element decides that is true, of a conjunction the first that is false. Each byte or half of a word
// gets the number of such elements up to it, which is not zero where the result has been decided.
template <class Logical, class T>
    requires(sizeof(T) <= 2)
struct packed_form<on_truths<Logical>, T> {
    static constexpr bool exists = true;
    using accumulator = unsigned;

    __device__ static unsigned total(const uint4& words) { return decides_any(words) != is_or ? 0 : 1; }

    template <scan_kind Kind>
    __device__ static uint4 scan(const uint4& words, unsigned before)
    {
        unsigned decided = is_or ? before : 1 - before;
        const unsigned first = decided;
        uint4 all{scan_word(words.x, decided), scan_word(words.y, decided), scan_word(words.z, decided),
                  scan_word(words.w, decided)};
        if constexpr (Kind == scan_kind::exclusive) {
            all.w = __funnelshift_l(all.z, all.w, bits);
            all.z = __funnelshift_l(all.y, all.z, bits);
            all.y = __funnelshift_l(all.x, all.y, bits);
            all.x = all.x << bits | first;
        }
        return {results(all.x), results(all.y), results(all.z), results(all.w)};
    }

private:
    static constexpr bool is_or = std::is_same_v<Logical, logical_or>;
    static constexpr int bits = 8 * sizeof(T);
    static constexpr unsigned ones = sizeof(T) == 1 ? 0x01010101U : 0x00010001U;
    static constexpr unsigned highest = ones << (bits - 1);
    static constexpr unsigned one = std::is_same_v<T, f16> ? 0x3c00 : std::is_same_v<T, bf16> ? 0x3f80 : 1;

    // The highest bit of each element tells whether it is true: whether any bit is set, of a float any but the sign.
    __device__ static unsigned truths(unsigned word)
    {
        const unsigned carried = (word & ~highest) + ~highest;
        return (sub_word_float<T> ? carried : carried | word) & highest;
    }
    __device__ static bool decides_any(const uint4& words)
    {
        if constexpr (is_or)
            return ((words.x | words.y | words.z | words.w) & (sub_word_float<T> ? ~highest : ~0U)) != 0;
        else
            return (truths(words.x) & truths(words.y) & truths(words.z) & truths(words.w)) != highest;
    }

    // One in each element up to which the scan has been decided. `decided` is whether it has been before the word, and then
    // at its end.
    __device__ static unsigned scan_word(unsigned word, unsigned& decided)
    {
        const unsigned deciding = (is_or ? truths(word) : truths(word) ^ highest) >> (bits - 1);
        const unsigned numbers = deciding * ones + (~highest + decided * ones);
        const unsigned results = (numbers & highest) >> (bits - 1);
        decided = results >> (32 - bits);
        return results;
    }
    __device__ static unsigned results(unsigned decided) { return (is_or ? decided : decided ^ ones) * one; }
};

} // namespace upsweep::gpu

namespace upsweep::detail {

template <class Logical>
inline constexpr bool is_builtin<gpu::on_truths<Logical>> = true;

} // namespace upsweep::detail
