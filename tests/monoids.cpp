// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Monoids of the user, on every target: ones whose operands may not be swapped, ones over structs, ones that accumulate in
// another type than the elements', and ones that fail.
#include <array>
#include <chrono>
#include <cstdint>
#include <limits>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <upsweep/upsweep.hpp>

#include "expected.hpp"
#include "samples.hpp"
#include "targets.hpp"

namespace up = upsweep;
using namespace upsweep::test;

namespace {

template <class Target>
class monoids : public ::testing::Test {
};
using targets = ::testing::Types<up::cpu>;
TYPED_TEST_SUITE(monoids, targets);

constexpr std::size_t many = 150001; // several pieces for every thread

// Reduces and scans in every variant of the target and compares with a plain loop, which associativity makes exact.
template <class Target, class T, class Monoid>
void expect_loop(const std::vector<T>& values, const Monoid& monoid)
{
    host_array<T> inclusive(values.size());
    host_array<T> exclusive(values.size());
    T total = monoid.neutral;
    for (std::size_t i = 0; i < values.size(); ++i) {
        exclusive[i] = total;
        total = monoid(total, values[i]);
        inclusive[i] = total;
    }
    const target_array<Target, T> in{std::span<const T>(values)};
    on_every_variant<Target>([&](const Target& target) {
        ASSERT_EQ(up::reduce(target, in.const_span(), monoid), total);
        target_array<Target, T> out(values.size());
        up::inclusive_scan(target, in.const_span(), out.span(), monoid);
        ASSERT_TRUE(bits_equal(out.to_host(), inclusive));
        up::exclusive_scan(target, in.const_span(), out.span(), monoid);
        ASSERT_TRUE(bits_equal(out.to_host(), exclusive));
    });
}

// x -> scale * x + shift modulo 2^64. Composition is associative and not commutative; its scan is a linear recurrence.
struct affine {
    std::uint64_t scale = 1;
    std::uint64_t shift = 0;
    friend bool operator==(const affine&, const affine&) = default;
};
constexpr auto then = [](affine f, affine g) { return affine{g.scale * f.scale, g.scale * f.shift + g.shift}; };

TYPED_TEST(monoids, compose_affine_maps_in_order)
{
    auto random = generator();
    std::vector<affine> maps(many);
    for (affine& map : maps)
        map = {random() | 1, random()};
    expect_loop<TypeParam>(maps, up::monoid{then, affine{}, up::ordered});
}

// 2 x 2 matrices modulo a prime: the Fibonacci numbers are a scan.
using matrix = std::array<std::uint32_t, 4>;
constexpr std::uint64_t prime = 998244353;
constexpr auto matrix_product = [](const matrix& a, const matrix& b) {
    const auto entry = [&](int row, int column) {
        const std::uint64_t sum = std::uint64_t{a[2 * row]} * b[column] + std::uint64_t{a[2 * row + 1]} * b[2 + column];
        return static_cast<std::uint32_t>(sum % prime);
    };
    return matrix{entry(0, 0), entry(0, 1), entry(1, 0), entry(1, 1)};
};
constexpr matrix unit_matrix{1, 0, 0, 1};

TYPED_TEST(monoids, multiply_matrices_in_order)
{
    auto random = generator();
    std::vector<matrix> matrices(many);
    for (matrix& m : matrices)
        for (std::uint32_t& entry : m)
            entry = static_cast<std::uint32_t>(random() % prime);
    expect_loop<TypeParam>(matrices, up::monoid{matrix_product, unit_matrix, up::ordered});
}

TYPED_TEST(monoids, fibonacci_numbers_are_a_scan)
{
    const std::vector<matrix> steps(50, matrix{1, 1, 1, 0});
    const target_array<TypeParam, matrix> in{std::span<const matrix>(steps)};
    target_array<TypeParam, matrix> powers(steps.size());
    up::inclusive_scan(TypeParam{}, in.const_span(), powers.span(),
                       up::monoid{matrix_product, unit_matrix, up::ordered});
    const host_array<matrix> results = powers.to_host();
    std::uint32_t fibonacci = 0;
    std::uint32_t next = 1;
    for (std::size_t i = 0; i < steps.size(); ++i) {
        const auto after = static_cast<std::uint32_t>((std::uint64_t{fibonacci} + next) % prime);
        fibonacci = next;
        next = after;
        ASSERT_EQ(results[i][1], fibonacci) << i;
    }
}

// The first element that is not empty: ordered, idempotent, and sensitive to any swap.
TYPED_TEST(monoids, keep_the_first_that_is_not_null)
{
    auto random = generator();
    std::vector<std::optional<std::uint32_t>> values(many);
    for (auto& value : values)
        if (random() % 5 == 0)
            value = static_cast<std::uint32_t>(random());
    const auto first = [](const std::optional<std::uint32_t>& a, const std::optional<std::uint32_t>& b) {
        return a ? a : b;
    };
    expect_loop<TypeParam>(values, up::monoid{first, std::optional<std::uint32_t>{}, up::ordered});
}

// The place of the least value, the lowest index among equals.
struct placed {
    float value = std::numeric_limits<float>::infinity();
    std::uint32_t index = std::numeric_limits<std::uint32_t>::max();
    friend bool operator==(const placed&, const placed&) = default;
};

TYPED_TEST(monoids, find_the_place_of_the_minimum)
{
    auto random = generator();
    std::vector<placed> values(many);
    for (std::uint32_t i = 0; i < many; ++i)
        values[i] = {static_cast<float>(random() % 1000), i};
    const auto lesser = [](const placed& a, const placed& b) {
        return b.value < a.value || (b.value == a.value && b.index < a.index) ? b : a;
    };
    expect_loop<TypeParam>(values, up::monoid{lesser, placed{}, up::commutative});
}

// The state of an operator travels with it.
TYPED_TEST(monoids, carry_their_state)
{
    auto random = generator();
    std::vector<std::uint64_t> values(many);
    for (std::uint64_t& value : values)
        value = random() % 1000003;
    volatile std::uint64_t source = 1000003; // unknown to the compiler: the state is really carried
    const std::uint64_t modulus = source;
    const auto add = [modulus](std::uint64_t a, std::uint64_t b) { return (a + b) % modulus; };
    expect_loop<TypeParam>(values, up::monoid{add, std::uint64_t{0}, up::commutative});
}

// Without a tag a monoid is ordered: the assumption that cannot go wrong.
TEST(monoid, is_ordered_unless_said_otherwise)
{
    const auto sum = [](int a, int b) { return a + b; };
    static_assert(std::same_as<decltype(up::monoid{sum, 0}), decltype(up::monoid{sum, 0, up::ordered})>);
    static_assert(!std::same_as<decltype(up::monoid{sum, 0}), decltype(up::monoid{sum, 0, up::commutative})>);
}

// A floating-point monoid of the user folds in the canonical order like any other.
TYPED_TEST(monoids, of_floats_follow_the_canonical_order)
{
    auto random = generator();
    const host_array<float> values = random_array<float>(random, many);
    const auto hypotenuse = [](float a, float b) { return std::sqrt(a * a + b * b); }; // associative but for rounding
    const up::monoid monoid{hypotenuse, 0.0F, up::commutative};
    host_array<float> positive = values;
    for (float& value : positive)
        value = std::abs(value) + 1.0F; // 0 is neutral, to the bit, for numbers whose squares do not underflow
    const target_array<TypeParam, float> in(positive.span());
    on_every_variant<TypeParam>([&](const TypeParam& target) {
        for (const std::size_t n : {std::size_t{1}, std::size_t{2}, std::size_t{1000}, std::size_t{many}})
            ASSERT_TRUE(bits_equal(up::reduce(target, in.const_span().first(n), monoid),
                                   literal_fold(positive.first(n), hypotenuse)));
    });
}

// Elements become the monoid's type before they are folded: from numbers to what is known about them.
struct extent {
    int least = std::numeric_limits<int>::max();
    int greatest = std::numeric_limits<int>::min();
    std::uint64_t count = 0;

    extent() = default;
    explicit extent(int value) : least(value), greatest(value), count(1) {}
    friend bool operator==(const extent&, const extent&) = default;
};
constexpr auto unite = [](const extent& a, const extent& b) {
    extent result;
    result.least = std::min(a.least, b.least);
    result.greatest = std::max(a.greatest, b.greatest);
    result.count = a.count + b.count;
    return result;
};

TYPED_TEST(monoids, may_accumulate_in_another_type)
{
    auto random = generator();
    std::vector<int> values(many);
    for (int& value : values)
        value = static_cast<int>(random() % 2000000) - 1000000;
    extent expected;
    for (const int value : values)
        expected = unite(expected, extent(value));
    const target_array<TypeParam, int> in{std::span<const int>(values)};
    const up::monoid monoid{unite, extent{}, up::commutative};
    on_every_variant<TypeParam>([&](const TypeParam& target) {
        ASSERT_EQ(up::reduce(target, in.const_span(), monoid), expected);
        target_array<TypeParam, extent> out(values.size());
        up::inclusive_scan(target, in.const_span(), out.span(), monoid);
        ASSERT_EQ(out.to_host()[many - 1], expected);
        ASSERT_EQ(out.to_host()[0], extent(values[0]));
    });
}

// Elements of a kilobyte, of which few fit a cache.
struct large {
    std::array<std::uint32_t, 256> lanes{};
    friend bool operator==(const large&, const large&) = default;
};

TYPED_TEST(monoids, may_have_large_elements)
{
    auto random = generator();
    std::vector<large> values(1001);
    for (large& value : values)
        for (std::uint32_t& lane : value.lanes)
            lane = static_cast<std::uint32_t>(random());
    const auto add = [](const large& a, const large& b) {
        large sum;
        for (std::size_t k = 0; k < sum.lanes.size(); ++k)
            sum.lanes[k] = a.lanes[k] + b.lanes[k];
        return sum;
    };
    expect_loop<TypeParam>(values, up::monoid{add, large{}, up::commutative});
}

// Elements that own memory: the free monoid.
TYPED_TEST(monoids, may_own_memory)
{
    std::vector<std::string> letters(3000);
    for (std::size_t i = 0; i < letters.size(); ++i)
        letters[i] = std::string(i % 3, static_cast<char>('a' + i % 26));
    const auto concatenate = [](const std::string& a, const std::string& b) { return a + b; };
    expect_loop<TypeParam>(letters, up::monoid{concatenate, std::string{}, up::ordered});
}

TYPED_TEST(monoids, of_nothing_give_their_identity)
{
    EXPECT_EQ(up::reduce(TypeParam{}, std::span<const affine>{}, up::monoid{then, affine{}, up::ordered}), affine{});
    EXPECT_EQ(up::reduce(TypeParam{}, std::span<const int>{}, up::monoid{unite, extent{}}), extent{});
}

TYPED_TEST(monoids, put_init_before_the_first_element)
{
    const std::vector<affine> maps = {{2, 1}, {3, 0}, {1, 5}};
    const affine init{7, 7};
    target_array<TypeParam, affine> out(3);
    up::exclusive_scan(TypeParam{}, target_array<TypeParam, affine>{std::span<const affine>(maps)}.const_span(),
                       out.span(), up::monoid{then, affine{}, up::ordered}, init);
    const host_array<affine> results = out.to_host();
    EXPECT_EQ(results[0], init);
    EXPECT_EQ(results[1], then(init, maps[0]));
    EXPECT_EQ(results[2], then(init, then(maps[0], maps[1])));
}

// An operator that throws ends the call with its own exception, on every number of threads, and nothing hangs.
TEST(monoid, may_throw)
{
    const std::vector<int> values(1 << 20, 1);
    std::vector<int> out(values.size());
    const auto fragile = [](int a, int b) {
        if (a + b > 300000)
            throw std::domain_error("too much");
        return a + b;
    };
    on_every_variant<up::cpu>([&](up::cpu target) {
        EXPECT_THROW((void)up::reduce(target, values, up::monoid{fragile, 0}), std::domain_error);
        EXPECT_THROW(up::inclusive_scan(target, values, out, up::monoid{fragile, 0}), std::domain_error);
        EXPECT_EQ(up::reduce(target, values, up::plus{}), 1 << 20);
    });
}

// A piece that fails while others are about to pass on their totals: the slow step is the one that combines whole pieces.
TEST(monoid, may_throw_at_any_time)
{
    std::vector<int> values(1 << 20, 1);
    std::vector<int> out(values.size());
    const auto fragile = [](int a, int b) {
        if (a < 0 || b < 0)
            throw std::domain_error("a negative element");
        if (a >= 65536 && b >= 65536)
            std::this_thread::sleep_for(std::chrono::microseconds(300));
        return a + b;
    };
    for (std::size_t place = 5; place < values.size(); place += values.size() / 16) {
        values[place] = -1;
        EXPECT_THROW(up::inclusive_scan(up::cpu{8}, values, out, up::monoid{fragile, 0}), std::domain_error);
        values[place] = 1;
    }
}

} // namespace
