// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

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

} // namespace upsweep::gpu
