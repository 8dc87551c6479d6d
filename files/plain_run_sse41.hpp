// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include <upsweep/files.hpp>

#include "intrinsics.hpp"
#include "plain_number.hpp"

// Text that is nothing but numbers and white space, parsed a vector at a time: up to 16 characters of a number at once,
// with no branch that depends on where its digits end, which no processor can predict.
namespace upsweep::files::sse41 {

#define UPSWEEP_SSE41 __attribute__((target("sse4.1")))

inline bool is_supported()
{
    static const bool is = __builtin_cpu_supports("sse4.1") != 0;
    return is;
}

// A bit for each of the 64 bytes at p that is white space.
UPSWEEP_SSE41 inline std::uint64_t spaces_of(const char* p)
{
    std::uint64_t spaces = 0;
    for (int part = 0; part < 4; ++part) {
        const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p) + part);
        const __m128i from_tab = _mm_sub_epi8(bytes, _mm_set1_epi8('\t'));
        const __m128i control = _mm_cmpeq_epi8(_mm_min_epu8(from_tab, _mm_set1_epi8('\r' - '\t')), from_tab);
        const __m128i space = _mm_or_si128(control, _mm_cmpeq_epi8(bytes, _mm_set1_epi8(' ')));
        spaces |= static_cast<std::uint64_t>(static_cast<unsigned>(_mm_movemask_epi8(space))) << (16 * part);
    }
    return spaces;
}

// Loaded from offset n, the first is the shuffle that moves the first n bytes of a vector to its end and clears the
// others; the second has ones in the last n bytes.
alignas(32) inline constexpr std::uint8_t move_to_end[32] = {
    0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
    0,    1,    2,    3,    4,    5,    6,    7,    8,    9,    10,   11,   12,   13,   14,   15};
alignas(32) inline constexpr std::uint8_t ones_at_end[32] = {
    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,
    0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};

// The 16 digits of a vector as a number: pairs, groups of four, groups of eight, all.
UPSWEEP_SSE41 inline std::uint64_t number_of_digits(__m128i digits)
{
    const __m128i pairs = _mm_maddubs_epi16(digits, _mm_set1_epi16(0x010a)); // 10, 1
    const __m128i fours = _mm_madd_epi16(pairs, _mm_set1_epi32(0x00010064)); // 100, 1
    const __m128i packed = _mm_packus_epi32(fours, fours);
    const __m128i eights = _mm_madd_epi16(packed, _mm_set1_epi32(0x00012710)); // 10000, 1
    const auto both = static_cast<std::uint64_t>(_mm_cvtsi128_si64(eights));
    return (both & 0xffffffffU) * 100000000 + (both >> 32);
}

// The number in [p, stop), where it is plain and has at most 16 characters; 17 must be readable.
template <class T>
UPSWEEP_SSE41 inline bool parse_wide(const char* p, const char* stop, T& value)
{
    const bool negative = *p == '-';
    p += negative;
    const auto length = static_cast<std::size_t>(stop - p);
    if (length - 1 >= 16)
        return false;

    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
    const __m128i offsets = _mm_sub_epi8(bytes, _mm_set1_epi8('0'));
    const __m128i is_digit = _mm_cmpeq_epi8(_mm_min_epu8(offsets, _mm_set1_epi8(9)), offsets);
    const auto inside = (1U << length) - 1;
    const unsigned others = ~static_cast<unsigned>(_mm_movemask_epi8(is_digit)) & inside;
    __m128i digits = _mm_shuffle_epi8(offsets, _mm_loadu_si128(reinterpret_cast<const __m128i*>(move_to_end + length)));

    std::size_t decimals = 0;
    if (others != 0) {
        const auto whole = static_cast<std::size_t>(std::countr_zero(others));
        const bool is_one_point = (others & (others - 1)) == 0 && p[whole] == '.' && length > 1;
        if (!is_one_point || !std::is_floating_point_v<T>)
            return false;
        // The digits before the point take its place.
        decimals = length - whole - 1;
        const __m128i behind = _mm_loadu_si128(reinterpret_cast<const __m128i*>(ones_at_end + decimals));
        digits = _mm_blendv_epi8(_mm_slli_si128(digits, 1), digits, behind);
    }
    return plain_value(number_of_digits(digits), decimals, negative, value);
}

// Parses numbers from p on, until one is malformed or the end is near. Returns where the next one may begin.
template <class T>
UPSWEEP_SSE41 const char* parse_run(const char* p, const char* end, T*& values)
{
    constexpr std::ptrdiff_t window = 64;
    constexpr std::ptrdiff_t margin = 32; // parse_wide reads beyond the number
    T* out = values;
    const char* token = p;
    for (; end - p >= window + margin; p += window) {
        for (std::uint64_t spaces = spaces_of(p); spaces != 0; spaces &= spaces - 1) {
            const char* const stop = p + std::countr_zero(spaces);
            if (stop != token) {
                const std::string_view text(token, static_cast<std::size_t>(stop - token));
                if (!parse_wide(token, stop, *out) && parse_number(text, *out) != number_error::none) {
                    values = out;
                    return token;
                }
                ++out;
            }
            token = stop + 1;
        }
    }
    values = out;
    return token;
}

#undef UPSWEEP_SSE41

} // namespace upsweep::files::sse41
