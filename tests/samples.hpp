// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <random>
#include <span>
#include <string>
#include <type_traits>

#include <gtest/gtest.h>
#include <upsweep/types.hpp>

#include "targets.hpp"

// Inputs on which order shows. They are new in every run: UPSWEEP_TEST_SEED replays one.
namespace upsweep::test {

inline std::uint64_t seed()
{
    static const std::uint64_t value = [] {
        const char* const given = std::getenv("UPSWEEP_TEST_SEED");
        return given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device{}();
    }();
    return value;
}

// A generator of the running test's own, so that a test replays alone.
inline std::mt19937_64 generator()
{
    const std::string name = ::testing::UnitTest::GetInstance()->current_test_info()->name();
    return std::mt19937_64(seed() ^ std::hash<std::string>{}(name));
}

// Integers: all bits random. Floating-point numbers: magnitudes over many binades, both signs, now and then a zero of
// either sign or a denormal; no infinity and no NaN, which would hide all that follows.
template <class T>
T random_value(std::mt19937_64& random)
{
    if constexpr (std::is_integral_v<T>) {
        return static_cast<T>(random() >> 7);
    } else {
        constexpr int reach = std::is_same_v<T, f16> ? 6 : 30;
        constexpr double smallest = std::is_same_v<T, f16>      ? 0x1p-24
                                    : std::is_same_v<T, double> ? std::numeric_limits<double>::denorm_min()
                                                                : 0x1p-133; // the smallest bf16, a denormal f32
        const double sign = random() % 2 == 0 ? 1.0 : -1.0;
        const std::uint64_t kind = random() % 16;
        double value = std::ldexp(1.0 + static_cast<double>(random() % 0x100000) * 0x1p-20,
                                  static_cast<int>(random() % (2 * reach + 1)) - reach);
        if (kind == 0)
            value = 0.0;
        else if (kind == 1)
            value = static_cast<double>(random() % 100) * smallest;
        if constexpr (sub_word_float<T>)
            return T(static_cast<float>(sign * value));
        else
            return static_cast<T>(sign * value);
    }
}

// A NaN as none of the library's results has it: negative, and with a payload.
template <class T>
T nan_with_payload()
{
    if constexpr (std::is_same_v<T, double>)
        return std::bit_cast<double>(std::uint64_t{0xfff8'0000'0001'2345});
    else if constexpr (std::is_same_v<T, float>)
        return std::bit_cast<float>(std::uint32_t{0xffc1'2345});
    else
        return T::from_bits(std::is_same_v<T, f16> ? 0xfe15 : 0xffd5);
}

template <class T>
host_array<T> random_array(std::mt19937_64& random, std::size_t size)
{
    host_array<T> values(size);
    for (T& value : values)
        value = random_value<T>(random);
    return values;
}

// Sizes around the borders of vectors, blocks and the pieces that threads take, and some in between.
inline constexpr std::array<std::size_t, 30> telling_sizes = {
    1,  2,   3,   4,   5,   7,    8,    15,   16,   17,   31,   32,   33,    63,     64,
    65, 100, 127, 255, 257, 1000, 1023, 1024, 1025, 2049, 4097, 8191, 65537, 131073, 200003};

// The same where a GPU may be simulated, which takes seconds for a large size: one of them is enough. That of elements of
// 16 bytes has more than a group of tiles, and as many elements as the large tiles begin with.
inline constexpr auto with_one_large_size(std::size_t large)
{
    std::array<std::size_t, 28> sizes{};
    std::copy_n(telling_sizes.begin(), 27, sizes.begin());
    sizes[27] = large;
    return sizes;
}
inline constexpr auto simulated_sizes = with_one_large_size(200003);
inline constexpr auto simulated_large_element_sizes = with_one_large_size(131073);

template <class Target>
inline constexpr std::span<const std::size_t> every_size = simulated_sizes;
template <>
inline constexpr std::span<const std::size_t> every_size<cpu> = telling_sizes;
template <class Target>
inline constexpr std::span<const std::size_t> large_element_sizes = simulated_large_element_sizes;
template <>
inline constexpr std::span<const std::size_t> large_element_sizes<cpu> = telling_sizes;

// The sizes with which a target tries operators that differ in nothing but the operator: all of them, or those that a
// simulated GPU does in a second.
template <class Target>
inline constexpr std::span<const std::size_t>
    operator_sizes = std::span(telling_sizes).first(target_traits<Target>::sampling == 1 ? telling_sizes.size() : 27);

} // namespace upsweep::test
