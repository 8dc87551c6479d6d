// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <upsweep/partial.hpp>
#include <upsweep/reduce.hpp>

#include "expected.hpp"
#include "gpu/operators.cuh"
#include "samples.hpp"
#include "targets.hpp"

// Partials, on every target: parts of an array, folded apart and merged in any order, have the bits of the whole.
namespace upsweep::test {

// Borders that cut n elements into parts, of which some are empty and many end beside a power of two.
inline std::vector<std::size_t> random_borders(std::mt19937_64& random, std::size_t n)
{
    std::vector<std::size_t> borders{0, 0, n};
    for (int i = 0; i < 9; ++i)
        borders.push_back((random() % 2 == 0 ? random() : (std::size_t{1} << random() % 18) + random() % 3 - 1) % n);
    std::ranges::sort(borders);
    return borders;
}

// The partials of the parts between the borders, in random order.
template <class T, class Op, class Target>
std::vector<partial<T, Op>> partials_of(const Target& target, std::span<const T> in,
                                        const std::vector<std::size_t>& borders, Op op, std::mt19937_64& random)
{
    std::vector<partial<T, Op>> parts;
    for (std::size_t i = 1; i < borders.size(); ++i)
        parts.push_back(
            reduce_partial(target, in.subspan(borders[i - 1], borders[i] - borders[i - 1]), borders[i - 1], op));
    std::ranges::shuffle(parts, random);
    return parts;
}

// Merges partials as a tree of random shape: any two of them, until one is left.
template <class T, class Op>
partial<T, Op> merged_at_random(std::vector<partial<T, Op>> parts, std::mt19937_64& random)
{
    while (parts.size() > 1) {
        std::swap(parts[random() % parts.size()], parts.back());
        const partial<T, Op> other = std::move(parts.back());
        parts.pop_back();
        parts[random() % parts.size()].merge(other);
    }
    return parts.front();
}

template <class Target, class T, class Op>
void expect_partials_of_random_cuts(Op op, std::size_t n)
{
    auto random = generator();
    const host_array<T> values = random_array<T>(random, n);
    const target_array<Target, T> in(values.span());
    const auto expected = reduce(Target{}, in.const_span(), op);
    const std::vector<std::byte> bytes = reduce_partial(Target{}, in.const_span(), 0, op).bytes();
    on_every_variant<Target>([&](const Target& target) {
        const auto borders = random_borders(random, n);
        const auto all = merged_at_random(partials_of(target, in.const_span(), borders, op, random), random);
        ASSERT_EQ(all.count(), n);
        ASSERT_TRUE(bits_equal(all.value(), expected)) << n << " elements";
        ASSERT_EQ(all.bytes(), bytes);
        ASSERT_TRUE(bits_equal(partial<T, Op>::from_bytes(bytes, op).value(), expected));
    });
}

template <class F>
void expect_refused(F f, const std::string& words)
{
    try {
        f();
        FAIL() << "no error, where one tells of " << words;
    } catch (const error& failure) {
        EXPECT_EQ(failure.kind(), error_kind::invalid_argument);
        EXPECT_NE(std::string(failure.what()).find(words), std::string::npos)
            << failure.what() << " does not tell of " << words;
    }
}

template <class On>
class partials : public ::testing::Test {
};
TYPED_TEST_SUITE_P(partials);

TYPED_TEST_P(partials, of_random_cuts_are_the_whole)
{
    using target = typename TypeParam::target;
    using element = typename TypeParam::element;
    for (const std::size_t n : {std::size_t{1}, std::size_t{1000}, sampled<target>(300007)}) {
        expect_partials_of_random_cuts<target, element>(plus{}, n);
        expect_partials_of_random_cuts<target, element>(multiplies{}, n);
        expect_partials_of_random_cuts<target, element>(minimum{}, n);
        expect_partials_of_random_cuts<target, element>(maximum{}, n);
        expect_partials_of_random_cuts<target, element>(logical_and{}, n);
        expect_partials_of_random_cuts<target, element>(logical_or{}, n);
        if constexpr (std::is_integral_v<element>) {
            expect_partials_of_random_cuts<target, element>(bit_and{}, n);
            expect_partials_of_random_cuts<target, element>(bit_or{}, n);
            expect_partials_of_random_cuts<target, element>(bit_xor{}, n);
        }
    }
}

REGISTER_TYPED_TEST_SUITE_P(partials, of_random_cuts_are_the_whole);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(partials);

template <class Target>
class partial_on : public ::testing::Test {
};
TYPED_TEST_SUITE_P(partial_on);

// Wherever an aligned range of the canonical order lies, it is one block; others are cut as the positions say.
TYPED_TEST_P(partial_on, positions_decide_where_blocks_begin)
{
    auto random = generator();
    const host_array<float> values = random_array<float>(random, 4096);
    const target_array<TypeParam, float> in(values.span());
    const TypeParam target{};
    const std::uint64_t far = std::uint64_t{1} << 62;
    EXPECT_EQ(reduce_partial(target, in.const_span(), far, plus{}).blocks().size(), 1U);
    EXPECT_EQ(reduce_partial(target, in.const_span(), 4096, plus{}).blocks().size(), 1U);
    EXPECT_EQ(reduce_partial(target, in.const_span(), 2048, plus{}).blocks().size(), 2U);
    EXPECT_EQ(reduce_partial(target, in.const_span(), far + 1, plus{}).blocks().size(), 13U);
    const auto last = reduce_partial(target, in.const_span().first(7), (far << 1) - 7, plus{});
    ASSERT_EQ(last.blocks().size(), 3U);
    EXPECT_TRUE(bits_equal(last.blocks()[2].total, literal_fold(values.span().subspan(3, 4), plus{})));
    expect_refused([&] { (void)reduce_partial(target, in.const_span(), (far << 1) - 4095, plus{}); }, "beyond 2^63");
    expect_refused([&] { (void)reduce_partial(target, in.const_span(), ~std::uint64_t{0}, plus{}); }, "beyond 2^63");
}

TYPED_TEST_P(partial_on, overlaps_and_gaps_are_named)
{
    auto random = generator();
    const target_array<TypeParam, double> in(random_array<double>(random, 1000).span());
    const TypeParam target{};
    const auto part = [&](std::size_t first, std::size_t end) {
        return reduce_partial(target, in.const_span().subspan(first, end - first), first, plus{});
    };
    auto some = part(0, 300);
    const std::vector<std::byte> before = some.bytes();
    expect_refused([&] { some.merge(part(299, 500)); }, "element 299 is in both");
    expect_refused([&] { some.merge(some); }, "are in both");
    EXPECT_EQ(some.bytes(), before); // A refused merge has changed nothing.
    some.merge(part(512, 600));
    expect_refused([&] { (void)some.value(); }, "elements 300 to 511 are missing");
    expect_refused([&] { (void)part(1, 2).value(); }, "element 0 is missing");
    some.merge(part(300, 512));
    EXPECT_TRUE(bits_equal(some.value(), reduce(target, in.const_span().first(600), plus{})));
}

TYPED_TEST_P(partial_on, no_elements)
{
    const TypeParam target{};
    auto nothing = reduce_partial(target, std::span<const float>{}, 17, plus{});
    EXPECT_TRUE(bits_equal(nothing.value(), 0.0F));
    EXPECT_EQ(nothing.bytes().size(), 24U);
    nothing.merge(nothing);
    EXPECT_EQ(nothing.count(), 0U);
    EXPECT_THROW((void)reduce_partial(target, std::span<const float>{}, 0, minimum{}).value(), error);
}

// Matrices, of which no two commute, and maps of floating-point numbers, where the order of operations shows, too.
TYPED_TEST_P(partial_on, ordered_monoids_of_the_user)
{
    expect_partials_of_random_cuts<TypeParam, matrix>(product, sampled<TypeParam>(100003));
    expect_partials_of_random_cuts<TypeParam, affine>(composition, sampled<TypeParam>(100003));
}

REGISTER_TYPED_TEST_SUITE_P(partial_on, positions_decide_where_blocks_begin, overlaps_and_gaps_are_named, no_elements,
                            ordered_monoids_of_the_user);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(partial_on);

} // namespace upsweep::test
