// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>
#include <upsweep/op.hpp>
#include <upsweep/types.hpp>

#include "targets.hpp"

// What the tests expect: the canonical order taken literally, from its two sentences (docs/fold-order.md).
namespace upsweep::test {

// The total of an aligned block of 2^k elements is the total of its left half (+) the total of its right half.
template <class T, class Op>
std::remove_const_t<T> block_total(std::span<T> block, const Op& op)
{
    if (block.size() == 1)
        return block[0];
    const std::size_t half = block.size() / 2;
    return op(block_total(block.first(half), op), block_total(block.subspan(half), op));
}

// The fold of m elements combines the totals of the blocks that the binary digits of m name, largest first, from left
// to right.
template <class T, class Op>
std::remove_const_t<T> literal_fold(std::span<T> in, const Op& op)
{
    std::size_t done = std::bit_floor(in.size());
    std::remove_const_t<T> result = block_total(in.first(done), op);
    while (done < in.size()) {
        const std::size_t block = std::bit_floor(in.size() - done);
        result = op(result, block_total(in.subspan(done, block), op));
        done += block;
    }
    return result;
}

// The folds of the first 1, 2, ..., n elements. fold(m) is fold(m without its lowest binary digit) (+) the last block.
template <class T, class Op>
host_array<std::remove_const_t<T>> literal_folds(std::span<T> in, const Op& op)
{
    host_array<std::remove_const_t<T>> folds(in.size());
    for (std::size_t m = 1; m <= in.size(); ++m) {
        const std::size_t block = m & -m;
        const auto last = block_total(in.subspan(m - block, block), op);
        folds[m - 1] = m == block ? last : op(folds[m - block - 1], last);
    }
    return folds;
}

// An element as the type in which it is folded, and a fold as the type of a result, in which NaN has one pattern.
template <class To, class From>
To as_expected(const From& value)
{
    if constexpr (std::is_floating_point_v<From> && (std::is_floating_point_v<To> || sub_word_float<To>))
        if (value != value)
            return convert<To>(std::numeric_limits<float>::quiet_NaN());
    return convert<To>(value);
}
template <class To, class From>
host_array<To> converted(std::span<From> in)
{
    host_array<To> out(in.size());
    std::ranges::transform(in, out.begin(), [](const auto& value) { return as_expected<To>(value); });
    return out;
}

// Equal to the bit: NaN has one pattern in results.
template <class T>
bool same_bits(const T& a, const T& b)
{
    if constexpr (std::is_floating_point_v<T>)
        return std::memcmp(&a, &b, sizeof a) == 0; // NOLINT(*-suspicious-memory-comparison)
    else if constexpr (sub_word_float<T>)
        return a.bits == b.bits;
    else
        return a == b;
}

template <class T>
std::string printed(const T& value)
{
    if constexpr (sub_word_float<T>)
        return ::testing::PrintToString(static_cast<float>(value));
    else
        return ::testing::PrintToString(value);
}

template <class T>
::testing::AssertionResult bits_equal(const T& got, const T& expected)
{
    if (same_bits(got, expected))
        return ::testing::AssertionSuccess();
    return ::testing::AssertionFailure() << printed(got) << " instead of " << printed(expected);
}

template <class T>
::testing::AssertionResult bits_equal(const host_array<T>& got, const host_array<T>& expected)
{
    if (got.size() != expected.size())
        return ::testing::AssertionFailure() << got.size() << " elements instead of " << expected.size();
    for (std::size_t i = 0; i < got.size(); ++i)
        if (!same_bits(got[i], expected[i]))
            return ::testing::AssertionFailure() << "element " << i << " of " << got.size() << " is " << printed(got[i])
                                                 << " instead of " << printed(expected[i]);
    return ::testing::AssertionSuccess();
}

} // namespace upsweep::test
