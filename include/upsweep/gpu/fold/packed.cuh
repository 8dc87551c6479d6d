// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <type_traits>

#include <upsweep/fold_order.hpp>
#include <upsweep/op.hpp>

// Sums of 8- and 16-bit integers, which wrap, by arithmetic on the 32-bit words that hold them: a vector of 16 bytes has
// too many of them to take one at a time at the speed of the memory.
namespace upsweep::gpu {

template <class Op, class Acc>
inline constexpr bool is_packed =
    !std::is_same_v<Acc, bool> && std::is_same_v<Op, plus> && std::is_integral_v<Acc> && sizeof(Acc) <= 2;

// The sum of the elements in four words, modulo 2^8 or 2^16.
template <class T>
__device__ T packed_total(const uint4& word)
{
    if constexpr (sizeof(T) == 1) {
        constexpr unsigned ones = 0x01010101U;
        return static_cast<T>(
            __dp4a(word.x, ones, __dp4a(word.y, ones, __dp4a(word.z, ones, __dp4a(word.w, ones, 0U)))));
    } else {
        const unsigned low = word.x + word.y + word.z + word.w;
        const unsigned high = (word.x >> 16) + (word.y >> 16) + (word.z >> 16) + (word.w >> 16);
        return static_cast<T>(low + high);
    }
}

// before + the sum of the bytes in four words, signed or not as Sum is.
template <class Sum>
__device__ Sum add_bytes(const uint4& word, Sum before)
{
    constexpr Sum ones = 0x01010101;
    before = __dp4a(static_cast<Sum>(word.x), ones, before);
    before = __dp4a(static_cast<Sum>(word.y), ones, before);
    before = __dp4a(static_cast<Sum>(word.z), ones, before);
    return __dp4a(static_cast<Sum>(word.w), ones, before);
}

// before + the running sums of the elements of a word; `before` becomes the last of them.
template <class T>
__device__ unsigned packed_scan(unsigned word, unsigned& before)
{
    if constexpr (sizeof(T) == 1) {
        // Two sums of 16 bits in a word, of which the lower 8 count: those of the even bytes and those of the odd ones.
        constexpr unsigned lower = 0x00ff00ffU;
        const unsigned even = word & lower;
        const unsigned pairs = even + ((word >> 8) & lower);
        const unsigned carry = pairs << 16;
        const unsigned both = (before & 0xffU) * 0x00010001U;
        const unsigned odd_sums = pairs + carry + both;
        before = odd_sums >> 16;
        return ((even + carry + both) & lower) | (odd_sums & lower) << 8;
    } else {
        const unsigned first = word + before;
        const unsigned second = (word >> 16) + first;
        before = second;
        return __byte_perm(first, second, 0x5410);
    }
}

// The same for four words; exclusive: without the element itself.
template <class T, scan_kind Kind>
__device__ uint4 packed_scan(const uint4& word, T before)
{
    unsigned last = static_cast<std::make_unsigned_t<T>>(before);
    const unsigned first = last << (32 - 8 * sizeof(T)); // where the element before a word is, seen from the word
    uint4 sums;
    sums.x = packed_scan<T>(word.x, last);
    sums.y = packed_scan<T>(word.y, last);
    sums.z = packed_scan<T>(word.z, last);
    sums.w = packed_scan<T>(word.w, last);
    if constexpr (Kind == scan_kind::exclusive) {
        constexpr unsigned bits = 8 * sizeof(T);
        sums.w = __funnelshift_l(sums.z, sums.w, bits);
        sums.z = __funnelshift_l(sums.y, sums.z, bits);
        sums.y = __funnelshift_l(sums.x, sums.y, bits);
        sums.x = __funnelshift_l(first, sums.x, bits);
    }
    return sums;
}

} // namespace upsweep::gpu
