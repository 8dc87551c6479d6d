// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>

#include <upsweep/qualifiers.hpp>

// Sums of floating-point numbers without an error. A sum is a fixed-point number as wide as the whole range of the
// type, which is Kulisch's accumulator. It is kept as digits of 32 bits in words of 64: a number of either sign is
// added to three words at most, threads may add in any order, and nobody waits for a carry. The sum is rounded once,
// when it is read.
namespace upsweep::detail {

template <class F>
struct float_format {
    using bits = std::conditional_t<std::same_as<F, float>, std::uint32_t, std::uint64_t>;
    static constexpr int fraction_bits = std::numeric_limits<F>::digits - 1;
    static constexpr bits fraction_mask = (bits{1} << fraction_bits) - 1;
    static constexpr int special_exponent =
        2 * std::numeric_limits<F>::max_exponent - 1; // the field of infinity and NaN
    // Bits are counted from the lowest one that a number of this type can have, which stands for 2^-lowest.
    static constexpr int lowest = fraction_bits + std::numeric_limits<F>::max_exponent - 2;
    static constexpr int highest = fraction_bits + special_exponent - 2;
};

// A finite number: (-1)^negative * mantissa * 2^(position - lowest).
struct float_parts {
    std::uint64_t mantissa;
    int position;
    bool negative;
};

template <class F>
UPSWEEP_HOST_DEVICE int exponent_field(F x)
{
    using format = float_format<F>;
    return static_cast<int>(std::bit_cast<typename format::bits>(x) >> format::fraction_bits) &
           format::special_exponent;
}

template <class F>
UPSWEEP_HOST_DEVICE float_parts parts_of(F x)
{
    using format = float_format<F>;
    const auto bits = std::bit_cast<typename format::bits>(x);
    const int exponent = exponent_field(x);
    const std::uint64_t implicit = exponent != 0 ? 1 : 0;
    return {(bits & format::fraction_mask) | implicit << format::fraction_bits, exponent != 0 ? exponent - 1 : 0,
            bits >> (8 * sizeof(F) - 1) != 0};
}

// What has been added to a sum that no finite number expresses, as bits of one word.
inline constexpr std::uint64_t given_nan = 1;
inline constexpr std::uint64_t given_plus_infinity = 2;
inline constexpr std::uint64_t given_minus_infinity = 4;

// How many words a sum has: its digits, the lowest one first, and one word for the NaN and infinities it has been
// given.
template <class F>
struct sum_format {
    static constexpr int digits = (float_format<F>::highest + 1) / 32 + 2;
    static constexpr int words = digits + 1;
};

// The sum of integers is one word, modulo 2^64.
template <std::integral I>
struct sum_format<I> {
    static constexpr int words = 1;
};

// So many numbers of any size may be added before the digits of a sum must be carried.
inline constexpr std::uint64_t most_summands = std::uint64_t{1} << 31;

// Adds x to a sum. Words has add(i, value), which adds to word number i of the sum, and mark(given) for NaN and
// infinities.
template <std::floating_point F, class Words>
UPSWEEP_HOST_DEVICE void add_exactly(F x, const Words& words)
{
    if (exponent_field(x) == float_format<F>::special_exponent)
        return words.mark(x != x ? given_nan : x > 0 ? given_plus_infinity : given_minus_infinity);
    const float_parts parts = parts_of(x);
    const int digit = parts.position / 32;
    const int shift = parts.position % 32;
    const std::uint64_t low = parts.mantissa << shift;
    const std::uint64_t over = parts.mantissa >> 1 >> (63 - shift);
    const std::int64_t sign = parts.negative ? -1 : 1;
    words.add(digit, sign * static_cast<std::int64_t>(low & 0xffffffffU));
    words.add(digit + 1, sign * static_cast<std::int64_t>(low >> 32));
    words.add(digit + 2, sign * static_cast<std::int64_t>(over));
}

template <std::integral I, class Words>
UPSWEEP_HOST_DEVICE void add_exactly(I x, const Words& words)
{
    words.add(0, static_cast<std::int64_t>(x));
}

// Adds the number whole * 2^32 + fraction to a sum, in units of bit number `position`.
template <class Words>
UPSWEEP_HOST_DEVICE void add_fixed_point(std::int64_t whole, std::uint32_t fraction, int position, const Words& words)
{
    const int digit = position / 32;
    const int shift = position % 32;
    const std::uint64_t low = static_cast<std::uint64_t>(whole) << 32 | fraction;
    const std::uint64_t lower = low << shift;
    const std::int64_t upper =
        shift != 0 ? static_cast<std::int64_t>(static_cast<std::uint64_t>(whole >> 32) << shift | low >> (64 - shift))
                   : whole >> 32;
    words.add(digit, static_cast<std::int64_t>(lower & 0xffffffffU));
    words.add(digit + 1, static_cast<std::int64_t>(lower >> 32));
    words.add(digit + 2, static_cast<std::int64_t>(static_cast<std::uint32_t>(upper)));
    words.add(digit + 3, upper >> 32);
}

// Returns a number rounded to nearest, ties to even. It is given by its sign, the number of its highest bit, its upper
// 64 bits, and whether there is any more below these.
template <class F>
UPSWEEP_HOST_DEVICE F rounded(bool negative, std::uint64_t upper, bool more, int top)
{
    using format = float_format<F>;
    using bits = typename format::bits;
    constexpr int kept = format::fraction_bits + 1;
    constexpr bits infinity = static_cast<bits>(format::special_exponent) << format::fraction_bits;
    bits magnitude;
    if (top < kept) {
        magnitude = static_cast<bits>(upper >> (63 - top));
    } else {
        std::uint64_t mantissa = upper >> (64 - kept);
        const std::uint64_t rest = upper << kept;
        constexpr std::uint64_t half = std::uint64_t{1} << 63;
        if (rest > half || (rest == half && (more || mantissa % 2 != 0)))
            ++mantissa; // The carry into the exponent, where there is one, is right.
        const int exponent = top - format::fraction_bits;
        magnitude = exponent >= format::special_exponent
                        ? infinity
                        : (static_cast<bits>(exponent) << format::fraction_bits) + static_cast<bits>(mantissa);
        magnitude = magnitude < infinity ? magnitude : infinity;
    }
    return std::bit_cast<F>(static_cast<bits>(static_cast<bits>(negative) << (8 * sizeof(F) - 1) | magnitude));
}

// Carries the digits of a sum, so that most_summands may be added again. word(i) is word number i of the sum, set(i,
// value) replaces it.
template <std::floating_point F, class Word, class Set>
UPSWEEP_HOST_DEVICE void carry_digits(const Word& word, const Set& set)
{
    constexpr int last = sum_format<F>::digits - 1;
    std::int64_t carry = 0;
    for (int i = 0; i < last; ++i) {
        carry += word(i);
        set(i, carry & 0xffffffff);
        carry >>= 32;
    }
    set(last, word(last) + carry);
}

// Returns a sum, rounded once. A sum of zero is +0. word(i) is word number i of the sum.
template <std::floating_point F, class Word>
UPSWEEP_HOST_DEVICE F rounded_sum(const Word& word)
{
    constexpr int digits = sum_format<F>::digits;
    const auto given = static_cast<std::uint64_t>(word(digits));
    if (given != 0) {
        constexpr F infinity = std::numeric_limits<F>::infinity();
        return given == given_plus_infinity    ? infinity
               : given == given_minus_infinity ? -infinity
                                               : std::numeric_limits<F>::quiet_NaN();
    }
    std::int64_t carry = 0;
    for (int i = 0; i < digits; ++i)
        carry = (word(i) + carry) >> 32;
    const bool negative = carry < 0;

    // The result has its bits from the highest digit of the magnitude that is not zero and the two digits below it. The
    // loop goes upwards through the digits and remembers the last two; below those it only matters whether any was not
    // zero.
    std::uint32_t one_before = 0;
    std::uint32_t two_before = 0;
    std::uint32_t before = 0; // the bits of all digits before these, together
    std::uint32_t first = 0;
    std::uint64_t after = 0;
    bool more = false;
    int highest = 0;
    carry = 0;
    for (int i = 0; i < digits; ++i) {
        carry += negative ? -word(i) : word(i);
        const auto digit = static_cast<std::uint32_t>(carry);
        carry >>= 32;
        if (digit != 0) {
            first = digit;
            after = std::uint64_t{one_before} << 32 | two_before;
            more = before != 0;
            highest = i;
        }
        before |= two_before;
        two_before = one_before;
        one_before = digit;
    }
    if (first == 0)
        return 0;
    const int zeros = std::countl_zero(first);
    const std::uint64_t upper = (std::uint64_t{first} << 32 | after >> 32) << zeros | after << 32 >> 1 >> (63 - zeros);
    more |= static_cast<std::uint32_t>(after << zeros) != 0;
    return rounded<F>(negative, upper, more, 32 * highest + 31 - zeros);
}
template <std::integral I, class Word>
UPSWEEP_HOST_DEVICE I rounded_sum(const Word& word)
{
    return static_cast<I>(word(0));
}

} // namespace upsweep::detail
