// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <upsweep/weighted_histogram.hpp>

#include "expected.hpp"
#include "samples.hpp"
#include "targets.hpp"

// Weighted histograms, on every target: each sum is the exact one, rounded once, whatever the weights, their order and
// their bins. weighted_histogram.cpp and gpu/weighted_histogram.cu instantiate the suites.
namespace upsweep::test {

namespace up = upsweep;

// The exact sum of numbers as Shewchuk (1997) has it, and Python's math.fsum: doubles that do not overlap.
class reference_sum {
public:
    void add(double x)
    {
        if (!std::isfinite(x)) {
            special_ += x;
            is_special_ = true;
            return;
        }
        std::size_t kept = 0;
        for (double y : partials_) {
            if (std::abs(x) < std::abs(y))
                std::swap(x, y);
            const double sum = x + y;
            const double rest = y - (sum - x);
            if (rest != 0)
                partials_[kept++] = rest;
            x = sum;
        }
        partials_.resize(kept);
        partials_.push_back(x);
    }

    template <class Sum>
    Sum rounded() const
    {
        if (is_special_)
            return static_cast<Sum>(special_);
        double high = 0;
        double low = 0;
        std::size_t n = partials_.size();
        while (n > 0 && low == 0) {
            const double before = high;
            high = before + partials_[--n];
            low = partials_[n] - (high - before);
        }
        if (std::is_same_v<Sum, float>) {
            // To odd, so that the second rounding sees what the first one dropped.
            if (low != 0 && std::bit_cast<std::uint64_t>(high) % 2 == 0)
                high = std::nextafter(high, low > 0 ? HUGE_VAL : -HUGE_VAL);
        } else if (n > 0 && low != 0 && (low < 0) == (partials_[n - 1] < 0)) {
            // A tie that what follows decides.
            const double doubled = low * 2;
            const double next = high + doubled;
            if (doubled == next - high)
                high = next;
        }
        return static_cast<Sum>(high) + Sum{0}; // no negative zero
    }

private:
    std::vector<double> partials_; // by magnitude
    double special_ = 0;
    bool is_special_ = false;
};

// Sums of integers, modulo 2^64.
struct reference_integer_sum {
    std::uint64_t total = 0;

    template <class W>
    void add(W weight)
    {
        total += static_cast<std::uint64_t>(static_cast<std::int64_t>(weight));
    }
    template <class Sum>
    Sum rounded() const
    {
        return static_cast<Sum>(total);
    }
};

template <class Sum>
struct weighted_result_of {
    std::vector<Sum> sums;
    up::weight_outside<Sum> out_of_range;
};

template <class Sum>
::testing::AssertionResult bits_equal(const weighted_result_of<Sum>& got, const weighted_result_of<Sum>& expected)
{
    const auto listed = [](weighted_result_of<Sum> result) {
        result.sums.insert(result.sums.end(),
                           {result.out_of_range.below, result.out_of_range.above, result.out_of_range.nan});
        return host_array<Sum>(std::span<const Sum>(result.sums));
    };
    return bits_equal(listed(got), listed(expected));
}

// What is expected of samples that are their own bins.
template <class W>
auto expected_sums(std::span<const std::int32_t> samples, std::span<const W> weights, std::size_t bins)
{
    using sum = up::weight_sum_t<W>;
    using reference = std::conditional_t<std::is_integral_v<W>, reference_integer_sum, reference_sum>;
    std::vector<reference> sums(bins + 2);
    for (std::size_t i = 0; i < samples.size(); ++i) {
        const auto k = static_cast<std::size_t>(samples[i]);
        auto& to = sums[samples[i] < 0 ? bins : k < bins ? k : bins + 1];
        if constexpr (up::sub_word_float<W>)
            to.add(static_cast<double>(static_cast<float>(weights[i])));
        else
            to.add(weights[i]);
    }
    weighted_result_of<sum> result{std::vector<sum>(bins), {}};
    for (std::size_t k = 0; k < bins; ++k)
        result.sums[k] = as_expected<sum>(sums[k].template rounded<sum>());
    result.out_of_range.below = as_expected<sum>(sums[bins].template rounded<sum>());
    result.out_of_range.above = as_expected<sum>(sums[bins + 1].template rounded<sum>());
    return result;
}

// The weighted histogram in the first variant of the target, which all others must equal.
template <class Target, class T, class W, class Bins>
auto summed(std::span<const T> samples, std::span<const W> weights, const Bins& bins, std::size_t count)
{
    using sum = up::weight_sum_t<W>;
    const target_array<Target, T> in(samples);
    const target_array<Target, W> weights_there(weights);
    std::vector<weighted_result_of<sum>> results;
    on_every_variant<Target>([&](const Target& target) {
        const std::vector<sum> poison(count, sum(77));
        target_array<Target, sum> sums{std::span<const sum>(poison)};
        const auto out_of_range =
            up::weighted_histogram(target, in.const_span(), weights_there.const_span(), bins, sums.span());
        const host_array<sum> on_host = sums.to_host();
        results.push_back({std::vector<sum>(on_host.begin(), on_host.end()), out_of_range});
        EXPECT_TRUE(bits_equal(results.back(), results.front()));
    });
    return results.front();
}

template <class Target, class T, class W, class Bins>
auto summed(const std::vector<T>& samples, const std::vector<W>& weights, const Bins& bins, std::size_t count)
{
    return summed<Target, T, W>(std::span<const T>(samples), std::span<const W>(weights), bins, count);
}

// The sum of weights in one bin.
template <class Target, class W>
up::weight_sum_t<W> sum_of(const std::vector<W>& weights)
{
    const std::vector<std::int32_t> samples(weights.size(), 0);
    return summed<Target, std::int32_t, W>(samples, weights, up::integer_bins{0, 1}, 1).sums[0];
}

// Samples below 0, in the bins and above.
inline host_array<std::int32_t> random_samples(std::mt19937_64& random, std::size_t n, std::size_t bins)
{
    host_array<std::int32_t> samples(n);
    for (std::int32_t& sample : samples)
        sample = static_cast<std::int32_t>(random() % (bins + 3)) - 1;
    return samples;
}

struct which_third {
    UPSWEEP_HOST_DEVICE int operator()(int x) const { return x % 3; }
};

// How many samples are many: enough for all threads of the target to be busy.
template <class Target>
inline constexpr std::size_t many_weights = 600001;

// Of each type of weights on a target.
template <class On>
class weighted_histogram_of : public ::testing::Test {
};
TYPED_TEST_SUITE_P(weighted_histogram_of);

// On each target.
template <class Target>
class weighted_histogram_on : public ::testing::Test {
};
TYPED_TEST_SUITE_P(weighted_histogram_on);

// Magnitudes over many binades, of both signs, zeros and denormals among them.
TYPED_TEST_P(weighted_histogram_of, sums_are_exact)
{
    using target = typename TypeParam::target;
    using weight = typename TypeParam::element;
    auto random = generator();
    const std::array<std::pair<std::size_t, std::size_t>, 6> cases{
        {{1, 1}, {257, 3}, {1000, 500}, {many_weights<target>, 40}, {many_weights<target>, 700}, {5000, 9000}}};
    for (const auto& [n, bins] : cases) {
        const host_array<std::int32_t> samples = random_samples(random, n, bins);
        const host_array<weight> weights = random_array<weight>(random, n);
        ASSERT_TRUE(bits_equal(
            summed<target, std::int32_t, weight>(samples.span(), weights.span(), up::integer_bins{0, bins}, bins),
            expected_sums<weight>(samples.span(), weights.span(), bins)))
            << n << " samples, " << bins << " bins";
    }
}

// Weights of about one size, as most are, where each has as many bits as its type.
TYPED_TEST_P(weighted_histogram_of, sums_of_alike_weights_are_exact)
{
    using target = typename TypeParam::target;
    using weight = typename TypeParam::element;
    auto random = generator();
    for (const double size : {1.0, 1000.0, 1e-4}) {
        const std::size_t n = many_weights<target>;
        const host_array<std::int32_t> samples = random_samples(random, n, 100);
        host_array<weight> weights(n);
        for (weight& w : weights) {
            const double uniform = std::uniform_real_distribution<double>(-0.1, 1)(random);
            if constexpr (std::is_integral_v<weight>)
                w = static_cast<weight>(static_cast<std::int64_t>(uniform * 120));
            else
                w = up::convert<weight>(uniform * size);
        }
        ASSERT_TRUE(bits_equal(
            summed<target, std::int32_t, weight>(samples.span(), weights.span(), up::integer_bins{0, 100}, 100),
            expected_sums<weight>(samples.span(), weights.span(), 100)))
            << "weights of " << size;
    }
}

// Many samples in one bin, in a few bins, in one bin after the other.
TYPED_TEST_P(weighted_histogram_of, skew_changes_no_sum)
{
    using target = typename TypeParam::target;
    using weight = typename TypeParam::element;
    auto random = generator();
    constexpr std::size_t bins = 6000;
    const std::size_t n = many_weights<target> / 2;
    for (const std::size_t kind : {1, 2, 5, 0}) {
        host_array<std::int32_t> samples(n);
        for (std::size_t i = 0; i < n; ++i)
            samples[i] = static_cast<std::int32_t>(kind != 0 ? random() % kind * 32 + (random() % 50 == 0 ? i % 100 : 0)
                                                             : i * bins / n);
        const host_array<weight> weights = random_array<weight>(random, n);
        ASSERT_TRUE(bits_equal(
            summed<target, std::int32_t, weight>(samples.span(), weights.span(), up::integer_bins{0, bins}, bins),
            expected_sums<weight>(samples.span(), weights.span(), bins)))
            << "distribution " << kind;
    }
}

TYPED_TEST_P(weighted_histogram_of, order_changes_no_bit)
{
    using target = typename TypeParam::target;
    using weight = typename TypeParam::element;
    auto random = generator();
    const std::size_t n = 3001;
    host_array<std::int32_t> samples = random_samples(random, n, 4);
    host_array<weight> weights = random_array<weight>(random, n);
    const auto sums_now = [&] {
        return summed<target, std::int32_t, weight>(samples.span(), weights.span(), up::integer_bins{0, 4}, 4);
    };
    const auto before = sums_now();
    for (int shuffle = 0; shuffle < 3; ++shuffle) {
        for (std::size_t i = n - 1; i > 0; --i) {
            const std::size_t j = random() % (i + 1);
            std::swap(samples[i], samples[j]);
            std::swap(weights[i], weights[j]);
        }
        ASSERT_TRUE(bits_equal(sums_now(), before));
    }
}

// --- what is rounded, and how ----------------------------------------------------------------------------------------

TYPED_TEST_P(weighted_histogram_on, ties_are_rounded_to_even)
{
    EXPECT_EQ((sum_of<TypeParam, float>({0x1p24F, 1})), 0x1p24F);
    EXPECT_EQ((sum_of<TypeParam, float>({0x1p24F, 1, 0x1p-149F})), 0x1p24F + 2);
    EXPECT_EQ((sum_of<TypeParam, float>({0x1p24F, 1, -0x1p-149F})), 0x1p24F);
    EXPECT_EQ((sum_of<TypeParam, float>({0x1p24F, 1, 2})), 0x1p24F + 4);
    EXPECT_EQ((sum_of<TypeParam, float>({-0x1p24F, -1, -0x1p-149F})), -0x1p24F - 2);
    EXPECT_EQ((sum_of<TypeParam, double>({0x1p53, 1})), 0x1p53);
    EXPECT_EQ((sum_of<TypeParam, double>({0x1p53, 1, 0x1p-1074})), 0x1p53 + 2);
    EXPECT_EQ((sum_of<TypeParam, double>({0x1p53, 1, 2})), 0x1p53 + 4);
}

TYPED_TEST_P(weighted_histogram_on, any_bit_below_decides_a_tie)
{
    std::vector<std::int32_t> samples;
    std::vector<float> weights;
    for (int k = 0; k < 149; ++k)
        for (const float weight : {0x1p24F, 1.0F, std::ldexp(1.0F, -1 - k)}) {
            samples.push_back(k);
            weights.push_back(weight);
        }
    for (const float sum : summed<TypeParam>(samples, weights, up::integer_bins{0, 149}, 149).sums)
        EXPECT_EQ(sum, 0x1p24F + 2);
}

TYPED_TEST_P(weighted_histogram_on, nothing_is_lost_between_large_numbers)
{
    EXPECT_EQ((sum_of<TypeParam, float>({1e30F, 1e-30F, -1e30F})), 1e-30F);
    EXPECT_EQ((sum_of<TypeParam, double>({1e308, 1e-308, -1e308})), 1e-308);
    EXPECT_EQ((sum_of<TypeParam, float>({3e38F, 3e38F, -3e38F})), 3e38F); // more than a float can be, on the way
    EXPECT_EQ((sum_of<TypeParam, double>({1e308, 1e308, -1e308})), 1e308);
    EXPECT_EQ((sum_of<TypeParam, float>({0x1p-149F, 0x1p-149F, 0x1p-126F})), 0x1p-126F + 0x1p-148F);
    EXPECT_EQ((sum_of<TypeParam, double>({0x1p-1074, 0x1p-1074})), 0x1p-1073);
}

TYPED_TEST_P(weighted_histogram_on, sums_beyond_the_largest_number_are_infinite)
{
    constexpr float most = std::numeric_limits<float>::max();
    constexpr float inf = std::numeric_limits<float>::infinity();
    EXPECT_EQ((sum_of<TypeParam, float>({most, most})), inf);
    EXPECT_EQ((sum_of<TypeParam, float>({-most, -most})), -inf);
    EXPECT_EQ((sum_of<TypeParam, float>({most, 0x1p102F})), most);
    EXPECT_EQ((sum_of<TypeParam, float>({most, 0x1p103F})), inf); // a tie
    EXPECT_EQ((sum_of<TypeParam, double>({1.7e308, 1.7e308})), std::numeric_limits<double>::infinity());
    EXPECT_EQ((sum_of<TypeParam, up::f16>({up::f16(65504.0F), up::f16(65504.0F)})), 131008.0F);
    EXPECT_EQ((sum_of<TypeParam, up::bf16>({up::bf16(0x1p127F), up::bf16(0x1p127F)})), inf);
}

TYPED_TEST_P(weighted_histogram_on, zeros_of_any_sign_make_zero)
{
    const auto is_plus_zero = [](auto sum) { return sum == 0 && !std::signbit(sum); };
    EXPECT_TRUE(is_plus_zero(sum_of<TypeParam, float>({-0.0F, -0.0F})));
    EXPECT_TRUE(is_plus_zero(sum_of<TypeParam, double>({-0.0})));
    EXPECT_TRUE(is_plus_zero(sum_of<TypeParam, float>({1.5F, -1.5F})));
    EXPECT_TRUE(is_plus_zero(sum_of<TypeParam, float>({})));
}

TYPED_TEST_P(weighted_histogram_on, what_is_no_number_stays_in_its_bin)
{
    constexpr double inf = std::numeric_limits<double>::infinity();
    constexpr double nan = std::numeric_limits<double>::quiet_NaN();
    const std::vector<std::int32_t> samples{0, 0, 1, 1, 2, 2, 3, 3, 4, -1, 9, 9};
    const std::vector<double> weights{inf, 1, -inf, -inf, inf, -inf, nan, 5, 2.5, nan, -inf, 1};
    const auto got = summed<TypeParam>(samples, weights, up::integer_bins{0, 5}, 5);
    EXPECT_TRUE(bits_equal(got, {{inf, -inf, nan, nan, 2.5}, {nan, -inf, 0}}));

    const std::vector<float> floats(weights.begin(), weights.end());
    constexpr auto float_inf = static_cast<float>(inf);
    constexpr auto float_nan = static_cast<float>(nan);
    EXPECT_TRUE(bits_equal(summed<TypeParam>(samples, floats, up::integer_bins{0, 5}, 5),
                           {{float_inf, -float_inf, float_nan, float_nan, 2.5F}, {float_nan, -float_inf, 0}}));
}

TYPED_TEST_P(weighted_histogram_on, integers_have_sums_modulo_2_to_64)
{
    constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
    constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min();
    EXPECT_EQ((sum_of<TypeParam, std::uint64_t>({most, 5, most})), std::uint64_t{3});
    EXPECT_EQ((sum_of<TypeParam, std::int64_t>({least, -1})), std::numeric_limits<std::int64_t>::max());
    EXPECT_EQ((sum_of<TypeParam, std::int8_t>({-128, -128, 1})), std::int64_t{-255});
    EXPECT_EQ((sum_of<TypeParam, std::uint32_t>({4294967295U, 4294967295U})), std::uint64_t{8589934590});
}

// --- which weights are in a bin --------------------------------------------------------------------------------------

// Weight i is 2^i, so that a sum tells the samples in it.
template <class Target, class T, class Bins>
void expect_members(const std::vector<T>& samples, const Bins& bins, const std::vector<std::uint64_t>& members,
                    const up::weight_outside<std::uint64_t>& out_of_range)
{
    std::vector<std::uint64_t> weights(samples.size());
    std::vector<float> floats(samples.size());
    for (std::size_t i = 0; i < weights.size(); ++i) {
        weights[i] = std::uint64_t{1} << i;
        floats[i] = static_cast<float>(weights[i]);
    }
    EXPECT_TRUE(bits_equal(summed<Target>(samples, weights, bins, members.size()), {members, out_of_range}));
    EXPECT_TRUE(bits_equal(summed<Target>(samples, floats, bins, members.size()),
                           {std::vector<float>(members.begin(), members.end()),
                            {static_cast<float>(out_of_range.below), static_cast<float>(out_of_range.above),
                             static_cast<float>(out_of_range.nan)}}));
}

TYPED_TEST_P(weighted_histogram_on, bins_of_every_kind)
{
    constexpr double nan = std::numeric_limits<double>::quiet_NaN();
    const std::vector<double> reals{-1, 0, 0.5, 1, 2.5, 3, 3.5, nan, 2};
    expect_members<TypeParam>(reals, up::even_bins{0, 3, 3}, {6, 8, 16 + 32 + 256}, {1, 64, 128});
    expect_members<TypeParam>(reals, up::edges{0, 0.75, 3}, {6, 8 + 16 + 32 + 256}, {1, 64, 128});
    const std::vector<float> floats(reals.begin(), reals.end());
    expect_members<TypeParam>(floats, up::even_bins{0, 3, 3}, {6, 8, 16 + 32 + 256}, {1, 64, 128});
    expect_members<TypeParam>(floats, up::edges{0, 0.75, 3}, {6, 8 + 16 + 32 + 256}, {1, 64, 128});
    const std::vector<std::int32_t> integers{-1, 0, 1, 2, 3, 7};
    expect_members<TypeParam>(integers, up::even_bins{0, 3, 3}, {2, 4, 8 + 16}, {1, 32, 0});
    expect_members<TypeParam>(integers, up::integer_bins{1, 2}, {4, 8}, {1 + 2, 16 + 32, 0});
    expect_members<TypeParam>(integers, up::bins_by(which_third{}, 2), {2 + 16, 4 + 32}, {1, 8, 0});
    const std::vector<std::uint8_t> bytes{0, 255, 7, 100};
    expect_members<TypeParam>(bytes, up::even_bins{5, 105, 2}, {4, 8}, {1, 2, 0});
}

// --- the calls -------------------------------------------------------------------------------------------------------

TYPED_TEST_P(weighted_histogram_on, weights_that_are_not_one_a_sample_are_refused)
{
    const std::vector<float> weights(3);
    const std::vector<std::int32_t> samples(4);
    try {
        (void)summed<TypeParam>(samples, weights, up::integer_bins{0, 2}, 2);
        FAIL() << "no error";
    } catch (const up::error& failure) {
        EXPECT_EQ(failure.kind(), up::error_kind::invalid_argument);
        EXPECT_NE(std::string(failure.what()).find("3 weights for 4 samples"), std::string::npos) << failure.what();
    }
}

TYPED_TEST_P(weighted_histogram_on, sums_that_are_not_one_a_bin_are_refused)
{
    const std::vector<float> weights(4);
    const std::vector<std::int32_t> samples(4);
    EXPECT_THROW((void)summed<TypeParam>(samples, weights, up::integer_bins{0, 2}, 3), up::error);
}

REGISTER_TYPED_TEST_SUITE_P(weighted_histogram_of, sums_are_exact, sums_of_alike_weights_are_exact, skew_changes_no_sum,
                            order_changes_no_bit);
REGISTER_TYPED_TEST_SUITE_P(weighted_histogram_on, ties_are_rounded_to_even, any_bit_below_decides_a_tie,
                            nothing_is_lost_between_large_numbers, sums_beyond_the_largest_number_are_infinite,
                            zeros_of_any_sign_make_zero, what_is_no_number_stays_in_its_bin,
                            integers_have_sums_modulo_2_to_64, bins_of_every_kind,
                            weights_that_are_not_one_a_sample_are_refused, sums_that_are_not_one_a_bin_are_refused);

} // namespace upsweep::test
