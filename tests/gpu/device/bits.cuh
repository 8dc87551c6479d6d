// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <type_traits>

#include <gtest/gtest.h>
#include <upsweep/upsweep.hpp>

#include "../../expected.hpp"
#include "../../samples.hpp"
#include "../../targets.hpp"

// What a GPU computes has the bits of what the CPU engine computes: every operator over the element types that a source
// names, each type in a source of its own, so that they are compiled side by side.
namespace upsweep::test {

// As many random elements as tell one place of an array from another: they come again after a number of elements that
// has no factor in common with the size of any tile.
inline constexpr std::size_t period = 1'000'003;

template <class T>
const host_array<T>& random_period()
{
    static const host_array<T> values = [] {
        std::mt19937_64 random(seed());
        return random_array<T>(random, period);
    }();
    return values;
}

// Each followed by about its inverse, so that products neither overflow nor vanish.
template <class T>
const host_array<T>& random_factors()
{
    static const host_array<T> values = [] {
        std::mt19937_64 random(seed());
        host_array<T> factors(period);
        for (std::size_t i = 0; i < period; ++i) {
            const double factor =
                std::ldexp(1.0 + static_cast<double>(random() % 4096) / 4096, static_cast<int>(random() % 13) - 6);
            factors[i] = convert<T>(i % 2 == 0 ? factor : 1 / convert<double>(factors[i - 1]));
        }
        return factors;
    }();
    return values;
}

// Elements by which the fold of many of them still changes: few are not neutral to an operator that soon has enough.
template <class T, class Op>
host_array<T> telling_array(std::mt19937_64& random, std::size_t size, Op)
{
    host_array<T> values(size);
    if constexpr (std::is_same_v<Op, bit_and> || std::is_same_v<Op, bit_or>) {
        std::ranges::fill(values, Op::template identity<T>());
        for (std::size_t bit = 0; bit < 8 * sizeof(T); ++bit) {
            T& value = values[random() % size];
            value = static_cast<T>(value ^ static_cast<T>(std::uint64_t{1} << bit));
        }
    } else if constexpr (std::is_same_v<Op, logical_and> || std::is_same_v<Op, logical_or>) {
        std::ranges::fill(values, convert<T>(Op::template identity<bool>()));
        values[size / 2 + random() % (size - size / 2)] = convert<T>(!Op::template identity<bool>());
    } else {
        const bool factors = std::is_same_v<Op, multiplies> && !std::is_integral_v<T>;
        const host_array<T>& given = factors ? random_factors<T>() : random_period<T>();
        for (std::size_t done = 0; done < size; done += period)
            std::copy_n(given.begin(), std::min(period, size - done), values.begin() + done);
    }
    return values;
}

template <class T, class Op>
void expect_bits_of_cpu(Op op)
{
    auto random = generator();
    const cuda gpu;
    for (const std::size_t most : {100U, 10'000U, 1'000'000U, 10'000'000U}) {
        const std::size_t n = most / 10 + random() % (most - most / 10) + 1;
        const std::size_t offset = random() % 17;
        SCOPED_TRACE(std::to_string(n) + " elements");
        const host_array<T> values = telling_array<T>(random, offset + n, op);
        const target_array<cuda, T> memory(values.span());
        const auto on_host = values.span().subspan(offset);
        const auto on_device = memory.const_span().subspan(offset);
        ASSERT_TRUE(bits_equal(reduce(gpu, on_device, op), reduce(cpu{}, on_host, op)));

        // Between others, which stay.
        const std::size_t offset_out = random() % 33;
        host_array<T> all = random_array<T>(random, n + 33);
        target_array<cuda, T> all_on_device(all.span());
        const auto expected = all.span().subspan(offset_out, n);
        const auto results = all_on_device.span().subspan(offset_out, n);
        inclusive_scan(cpu{}, on_host, expected, op);
        inclusive_scan(gpu, on_device, results, op);
        ASSERT_TRUE(bits_equal(all_on_device.to_host(), all)) << "inclusive scan, " << offset << " to " << offset_out;
        inclusive_scan(cpu{}, std::span<const T>(expected), expected, op);
        inclusive_scan(gpu, std::span<const T>(results), results, op);
        ASSERT_TRUE(bits_equal(all_on_device.to_host(), all)) << "in place from " << offset_out;
        if constexpr (std::is_same_v<Op, plus>) {
            exclusive_scan(cpu{}, on_host, expected, op);
            exclusive_scan(gpu, on_device, results, op);
            ASSERT_TRUE(bits_equal(all_on_device.to_host(), all)) << "exclusive scan";
            exclusive_scan(cpu{}, on_host, expected, op, values[0]);
            exclusive_scan(gpu, on_device, results, op, values[0]);
            ASSERT_TRUE(bits_equal(all_on_device.to_host(), all)) << "exclusive scan with an initial value";
        }
    }
}

template <class On>
class bits_of_cpu : public ::testing::Test {
};
TYPED_TEST_SUITE_P(bits_of_cpu);

TYPED_TEST_P(bits_of_cpu, plus) { expect_bits_of_cpu<typename TypeParam::element>(upsweep::plus{}); }
TYPED_TEST_P(bits_of_cpu, multiplies) { expect_bits_of_cpu<typename TypeParam::element>(upsweep::multiplies{}); }
TYPED_TEST_P(bits_of_cpu, minimum) { expect_bits_of_cpu<typename TypeParam::element>(upsweep::minimum{}); }
TYPED_TEST_P(bits_of_cpu, maximum) { expect_bits_of_cpu<typename TypeParam::element>(upsweep::maximum{}); }
TYPED_TEST_P(bits_of_cpu, logical_and) { expect_bits_of_cpu<typename TypeParam::element>(upsweep::logical_and{}); }
TYPED_TEST_P(bits_of_cpu, logical_or) { expect_bits_of_cpu<typename TypeParam::element>(upsweep::logical_or{}); }
REGISTER_TYPED_TEST_SUITE_P(bits_of_cpu, plus, multiplies, minimum, maximum, logical_and, logical_or);

// The operators that integers have on top of these.
template <class On>
class bitwise_of_cpu : public ::testing::Test {
};
TYPED_TEST_SUITE_P(bitwise_of_cpu);

TYPED_TEST_P(bitwise_of_cpu, bit_and) { expect_bits_of_cpu<typename TypeParam::element>(upsweep::bit_and{}); }
TYPED_TEST_P(bitwise_of_cpu, bit_or) { expect_bits_of_cpu<typename TypeParam::element>(upsweep::bit_or{}); }
TYPED_TEST_P(bitwise_of_cpu, bit_xor) { expect_bits_of_cpu<typename TypeParam::element>(upsweep::bit_xor{}); }
REGISTER_TYPED_TEST_SUITE_P(bitwise_of_cpu, bit_and, bit_or, bit_xor);

} // namespace upsweep::test
