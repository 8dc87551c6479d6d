// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <random>
#include <span>
#include <vector>

#include <gtest/gtest.h>
#include <upsweep/histogram.hpp>

#include "expected.hpp"
#include "samples.hpp"
#include "targets.hpp"

// Histograms, on every target: which bin a sample is in (docs/histogram.md), for every kind of bins, and that no sample
// is lost whatever the distribution. histogram.cpp and gpu/histogram.cu instantiate the suites.
namespace upsweep::test {

namespace up = upsweep;

using counts_t = std::vector<std::uint64_t>;

inline constexpr double inf = std::numeric_limits<double>::infinity();
inline constexpr double nan_value = std::numeric_limits<double>::quiet_NaN();

struct histogram_result {
    counts_t counts;
    up::outside out_of_range;

    friend bool operator==(const histogram_result&, const histogram_result&) = default;
    std::uint64_t samples() const
    {
        return std::accumulate(counts.begin(), counts.end(),
                               out_of_range.below + out_of_range.above + out_of_range.nan);
    }
};

// The histogram in the first variant of the target, which all others must equal.
template <class Target, class T, class Bins>
histogram_result counted(std::span<const T> samples, const Bins& bins, std::size_t count)
{
    const target_array<Target, T> in(samples);
    std::vector<histogram_result> results;
    on_every_variant<Target>([&](const Target& target) {
        const std::vector<std::uint64_t> poison(count, 0xa5a5a5a5a5a5a5a5);
        target_array<Target, std::uint64_t> counts{std::span<const std::uint64_t>(poison)};
        const outside out_of_range = up::histogram(target, in.const_span(), bins, counts.span());
        const host_array<std::uint64_t> on_host = counts.to_host();
        results.push_back({counts_t(on_host.begin(), on_host.end()), out_of_range});
        EXPECT_EQ(results.back(), results.front());
    });
    EXPECT_EQ(results.front().samples(), samples.size());
    return results.front();
}

template <class Target, class T, class Bins>
histogram_result counted(std::initializer_list<T> samples, const Bins& bins, std::size_t count)
{
    return counted<Target>(std::span<const T>(samples), bins, count);
}

// By a search among the edges, which have the type in which samples are compared with them.
template <class T, class Edge>
histogram_result searched(std::span<const T> samples, const std::vector<Edge>& edges)
{
    const std::size_t bins = edges.size() - 1;
    histogram_result result{counts_t(bins), {}};
    for (const T& sample : samples) {
        const auto x = up::convert<Edge>(sample);
        const auto above = std::ranges::upper_bound(edges, x);
        if (std::isnan(x))
            ++result.out_of_range.nan;
        else if (x < edges.front())
            ++result.out_of_range.below;
        else if (x > edges.back())
            ++result.out_of_range.above;
        else
            ++result.counts[std::min<std::size_t>(static_cast<std::size_t>(above - edges.begin()), bins) - 1];
    }
    return result;
}

// Bin functions.
struct tens {
    UPSWEEP_HOST_DEVICE int operator()(double x) const { return static_cast<int>(std::floor(x / 10)); }
};
struct to_unsigned {
    UPSWEEP_HOST_DEVICE std::uint64_t operator()(int x) const { return static_cast<std::uint64_t>(x); } // -1 is huge
};
struct to_char {
    UPSWEEP_HOST_DEVICE signed char operator()(int x) const { return static_cast<signed char>(x); }
};
struct is_positive {
    UPSWEEP_HOST_DEVICE bool operator()(int x) const { return x > 0; }
};
enum class side { left, right };
struct side_of {
    UPSWEEP_HOST_DEVICE side operator()(int x) const { return x < 0 ? side::left : side::right; }
};
struct point {
    float x;
    float y;
};
struct quadrant {
    UPSWEEP_HOST_DEVICE int operator()(const point& p) const { return (p.x < 0 ? 1 : 0) + (p.y < 0 ? 2 : 0); }
};

// How many samples are many: enough for all threads of the target to be busy.
template <class Target>
inline constexpr std::size_t many_samples = 600001;

// Of each element type on a target.
template <class On>
class histogram_of : public ::testing::Test {
};
TYPED_TEST_SUITE_P(histogram_of);

// On each target.
template <class Target>
class histogram_bins : public ::testing::Test {
};
TYPED_TEST_SUITE_P(histogram_bins);

// --- even bins ------------------------------------------------------------------------------------------------------

TYPED_TEST_P(histogram_of, even_bins_are_closed_below_and_the_last_one_above)
{
    using target = typename TypeParam::target;
    using element = typename TypeParam::element;
    host_array<element> samples(12);
    for (std::size_t i = 0; i < samples.size(); ++i)
        samples[i] = element(static_cast<float>(10 * i)); // 0, 10, ..., 110
    const auto counts = counted<target, element>(samples.span(), up::even_bins{20, 100, 4}, 4);
    EXPECT_EQ(counts.counts, (counts_t{2, 2, 2, 3})); // [20, 40) [40, 60) [60, 80) [80, 100]
    EXPECT_EQ(counts.out_of_range, (up::outside{2, 1, 0}));
}

// Every element type at blocks' borders, many threads, many bins: compared with a search among the edges.
TYPED_TEST_P(histogram_of, even_bins_agree_with_a_search)
{
    using target = typename TypeParam::target;
    using element = typename TypeParam::element;
    using compared = std::conditional_t<std::same_as<element, double> || std::is_integral_v<element>, double, float>;
    constexpr float lowest = std::unsigned_integral<element> ? 0 : -25;
    auto random = generator();
    for (const std::size_t bins : {1, 3, 100, 5000}) {
        const up::even_bins even{-20.3, 110.7, bins};
        std::vector<compared> edges(bins + 1);
        for (std::size_t k = 0; k < bins; ++k)
            edges[k] = static_cast<compared>(even.lo + static_cast<double>(k) *
                                                           ((even.hi - even.lo) / static_cast<double>(bins)));
        edges[bins] = static_cast<compared>(even.hi);

        for (const std::size_t n :
             {std::size_t{1}, std::size_t{255}, std::size_t{256}, std::size_t{1000}, many_samples<target>}) {
            host_array<element> samples(n);
            for (element& sample : samples)
                sample = element(std::uniform_real_distribution<float>(lowest, 115)(random));
            ASSERT_EQ((counted<target, element>(samples.span(), even, bins)), searched<element>(samples.span(), edges))
                << n << " samples, " << bins << " bins";
        }
    }
}

// Engines take samples in range together: one of them outside, or at an end, among many that are not, wherever it is.
template <class Target, class T>
void count_with_few_outside()
{
    constexpr T lo = T(-1.5);
    constexpr T hi = T(6.25);
    const up::even_bins bins{lo, hi, 61};
    std::vector<T> edges;
    for (const double edge : up::detail::even_edges(bins))
        edges.push_back(static_cast<T>(edge));
    const T few[] = {lo,
                     hi,
                     std::nextafter(lo, T(-9)),
                     std::nextafter(hi, T(9)),
                     std::nextafter(lo, T(9)),
                     std::nextafter(hi, T(-9)),
                     static_cast<T>(nan_value),
                     static_cast<T>(inf),
                     static_cast<T>(-inf),
                     std::numeric_limits<T>::max(),
                     -std::numeric_limits<T>::max(),
                     T(-0.0)};
    auto random = generator();
    for (const std::size_t distance : {1, 7, 97, 700, 5000}) {
        host_array<T> samples(20011);
        for (std::size_t i = 0; i < samples.size(); ++i)
            samples[i] = i % distance == distance / 2 ? few[random() % std::size(few)]
                                                      : lo + (hi - lo) * static_cast<T>(random() % 100000) / T(100000);
        const std::span<const T> all = samples.span();
        EXPECT_EQ((counted<Target>(all, bins, bins.count)), searched(all, edges)) << "one in " << distance;
    }
}
TYPED_TEST_P(histogram_bins, few_samples_outside_among_many_inside)
{
    count_with_few_outside<TypeParam, float>();
    count_with_few_outside<TypeParam, double>();
}

TYPED_TEST_P(histogram_bins, samples_on_an_edge_and_one_ulp_beside)
{
    const double edge = 0.1 * 3; // as even bins of width 0.1 have it: 0.30000000000000004
    const auto counts = counted<TypeParam, double>(
        {edge, std::nextafter(edge, 0.0), 0.0, std::nextafter(0.0, -1.0), 1.0, std::nextafter(1.0, 2.0)},
        up::even_bins{0, 1, 10}, 10);
    EXPECT_EQ(counts.counts, (counts_t{1, 0, 1, 1, 0, 0, 0, 0, 0, 1}));
    EXPECT_EQ(counts.out_of_range, (up::outside{1, 1, 0}));
}

TYPED_TEST_P(histogram_bins, nan_and_infinities_are_counted_apart)
{
    const auto counts = counted<TypeParam, double>({nan_value, -inf, inf, 0.5, -nan_value}, up::even_bins{0, 1, 2}, 2);
    EXPECT_EQ(counts.counts, (counts_t{0, 1}));
    EXPECT_EQ(counts.out_of_range, (up::outside{1, 1, 2}));
}

// The width of this range overflows f32, the inner edges of the next one are infinite in it, and the edges of the last
// one collapse: the arithmetic that proposes a bin must give way to a search.
TYPED_TEST_P(histogram_bins, ranges_beyond_the_type_of_the_samples)
{
    std::vector<float> wide(5000, 2.9e38F);
    wide[0] = -2.9e38F;
    auto counts = counted<TypeParam>(std::span<const float>(wide), up::even_bins{-3e38, 3e38, 31}, 31);
    EXPECT_EQ(counts.counts.front(), 1U);
    EXPECT_EQ(counts.counts.back(), 4999U);

    counts = counted<TypeParam, float>({-1.0F, 0.0F, 1.0F}, up::even_bins{-1e300, 1e300, 2}, 2);
    EXPECT_EQ(counts.counts, (counts_t{1, 2}));

    counts = counted<TypeParam, float>({1e6F, 1e6F + 0.0625F, 1e6F + 1}, up::even_bins{1e6, 1e6 + 1, 100}, 100);
    EXPECT_EQ(counts.samples(), 3U);
    EXPECT_EQ(counts.counts.back(), 1U);
}

// Floats on edges, beside them, of any bits, and in the range: with edges that floats have exactly and others, bins
// that are as narrow as floats, far from zero, or next to it.
TYPED_TEST_P(histogram_bins, floats_on_edges_and_beside_them)
{
    auto random = generator();
    host_array<float> samples(4003);
    for (const up::even_bins& bins :
         {up::even_bins{0, 512, 512}, up::even_bins{-1, 1, 1024}, up::even_bins{0.25, 0.75, 4096},
          up::even_bins{-0.5, 255.5, 256}, up::even_bins{0, 3 * 2048, 2048}, up::even_bins{0.1, 7.3, 1000},
          up::even_bins{1e5, 1e5 + 7, 14}, up::even_bins{-0x1p30, 0x1p30, 4096}, up::even_bins{0, 0x1p-90, 64},
          up::even_bins{0, 0x1p-120, 64}, up::even_bins{0, 1e-43, 1000}, up::even_bins{-1e-42, 1e-42, 999},
          up::even_bins{-0x1p15, 0x1p15, 1 << 16}, up::even_bins{5, 6, 1}}) {
        const std::vector<double> exact = detail::even_edges(bins);
        const std::vector<float> edges(exact.begin(), exact.end());
        for (float& sample : samples) {
            const float edge = edges[random() % edges.size()];
            const std::array<float, 6> choice{
                edge,
                std::nextafter(edge, static_cast<float>(-inf)),
                std::nextafter(edge, static_cast<float>(inf)),
                std::bit_cast<float>(static_cast<std::uint32_t>(random())),
                std::bit_cast<float>(static_cast<std::uint32_t>(random() % (1U << 23) | (random() % 2) << 31)),
                std::uniform_real_distribution<float>(edges.front(), edges.back())(random)};
            sample = choice[random() % choice.size()];
        }
        ASSERT_EQ((counted<TypeParam, float>(samples.span(), bins, bins.count)), searched<float>(samples.span(), edges))
            << bins.lo << " to " << bins.hi;
    }
}

// Ranges as wide as the type, where differences overflow it, and edges between, on and beside integers.
TYPED_TEST_P(histogram_bins, wide_ranges_of_integers)
{
    auto random = generator();
    host_array<std::int32_t> samples(3000);
    for (const up::even_bins& bins :
         {up::even_bins{-2147483648.0, 2147483648.0, 1000}, up::even_bins{-4e8, 6e8, 999},
          up::even_bins{-1e12, 1e12, 100}, up::even_bins{-300.5, 700, 1000}, up::even_bins{0, 500, 500},
          up::even_bins{-7.25, 1000.75, 13}, up::even_bins{-100, 400, 200}, up::even_bins{-3.75, 996.25, 800},
          up::even_bins{0.5, 1000, 2}, up::even_bins{0, 1000, 300}}) {
        const std::vector<double> edges = detail::even_edges(bins);
        for (std::size_t i = 0; i < samples.size(); ++i) {
            const double edge = edges[random() % edges.size()] + static_cast<double>(random() % 3) - 1;
            const bool fits = std::abs(edge) < 2147483647.0 && i % 4 != 0;
            samples[i] = fits ? static_cast<std::int32_t>(edge) : static_cast<std::int32_t>(random());
        }
        ASSERT_EQ((counted<TypeParam, std::int32_t>(samples.span(), bins, bins.count)),
                  searched<std::int32_t>(samples.span(), edges))
            << bins.lo << " to " << bins.hi;
    }
}

// Whole numbers as edges, one apart, of which the last belongs to the last bin.
TYPED_TEST_P(histogram_bins, of_width_one_among_integers)
{
    auto random = generator();
    host_array<std::int32_t> samples(3000);
    for (std::int32_t& sample : samples)
        sample = static_cast<std::int32_t>(random() % 60) - 20;
    samples[0] = std::numeric_limits<std::int32_t>::min();
    samples[1] = std::numeric_limits<std::int32_t>::max();
    for (const even_bins bins : {even_bins{-7, 23, 30}, even_bins{0, 1, 1}, even_bins{-2000000, -1999990, 10},
                                 even_bins{30, 1030, 1000}, even_bins{-20.5, 39.5, 60}})
        ASSERT_EQ((counted<TypeParam, std::int32_t>(samples.span(), bins, bins.count)),
                  searched<std::int32_t>(samples.span(), detail::even_edges(bins)))
            << bins.lo;
}

TYPED_TEST_P(histogram_bins, a_million_bins)
{
    auto random = generator();
    host_array<std::uint32_t> samples(2 * many_samples<TypeParam>);
    counts_t expected(1 << 20);
    for (std::uint32_t& sample : samples) {
        sample = static_cast<std::uint32_t>(random() % (1 << 20));
        ++expected[sample];
    }
    const auto counts = counted<TypeParam, std::uint32_t>(samples.span(), up::even_bins{0, 1 << 20, 1 << 20}, 1 << 20);
    EXPECT_EQ(counts.counts, expected);
}

// Constant, skewed and sorted samples lose no count to a race, and the order of samples does not matter.
TYPED_TEST_P(histogram_of, no_distribution_loses_counts)
{
    using target = typename TypeParam::target;
    using element = typename TypeParam::element;
    auto random = generator();
    host_array<element> samples(many_samples<target> + 100000);
    const up::even_bins bins{0, 128, 64};

    std::ranges::fill(samples, element(77.0F));
    counts_t constant(64);
    constant[38] = samples.size();
    EXPECT_EQ((counted<target, element>(samples.span(), bins, 64).counts), constant);

    for (element& sample : samples)
        sample = element(static_cast<float>(random() & random() & random() & 0x7f));
    const auto skewed = counted<target, element>(samples.span(), bins, 64);
    EXPECT_EQ(skewed.out_of_range, up::outside{});
    std::ranges::sort(samples, {}, [](const element& x) { return static_cast<double>(up::convert<float>(x)); });
    EXPECT_EQ((counted<target, element>(samples.span(), bins, 64)), skewed);
}

// --- edges ----------------------------------------------------------------------------------------------------------

TYPED_TEST_P(histogram_bins, edges_of_any_spacing)
{
    const auto counts =
        counted<TypeParam, double>({-2, -1, 0, 0.5, 1, 9.99, 10, 10.01, nan_value}, up::edges{-1, 0, 1, 10}, 3);
    EXPECT_EQ(counts.counts, (counts_t{1, 2, 3})); // [-1, 0) [0, 1) [1, 10]
    EXPECT_EQ(counts.out_of_range, (up::outside{1, 1, 1}));
}

TYPED_TEST_P(histogram_bins, edges_may_be_infinite)
{
    const auto counts =
        counted<TypeParam, float>({-1e30F, 0.0F, 1e30F, static_cast<float>(inf)}, up::edges{-inf, 0, inf}, 2);
    EXPECT_EQ(counts.counts, (counts_t{1, 3}));
}

TYPED_TEST_P(histogram_bins, edges_may_come_from_a_range)
{
    const std::vector<int> integers{0, 10, 20};
    EXPECT_EQ((counted<TypeParam, int>({0, 9, 10, 20}, up::edges(integers), 2).counts), (counts_t{2, 2}));
}

// 0.1F is above 0.1: edges are not rounded to the samples' type.
TYPED_TEST_P(histogram_bins, edges_are_compared_as_doubles)
{
    EXPECT_EQ((counted<TypeParam, float>({0.1F, std::nextafter(0.1F, 0.0F)}, up::edges{0, 0.1, 1}, 2).counts),
              (counts_t{1, 1}));
}

// --- integer bins ---------------------------------------------------------------------------------------------------

TYPED_TEST_P(histogram_bins, integer_bins_count_each_value)
{
    const auto counts = counted<TypeParam, int>({-3, -2, -1, 0, 0, 1, 2}, up::integer_bins{-2, 3}, 3);
    EXPECT_EQ(counts.counts, (counts_t{1, 1, 2}));
    EXPECT_EQ(counts.out_of_range, (up::outside{1, 2, 0}));
}

TYPED_TEST_P(histogram_bins, integer_bins_of_every_byte)
{
    host_array<std::uint8_t> bytes(1 << 20);
    for (std::size_t i = 0; i < bytes.size(); ++i)
        bytes[i] = static_cast<std::uint8_t>(i * i);
    counts_t expected(256);
    for (const std::uint8_t byte : bytes)
        ++expected[byte];
    EXPECT_EQ((counted<TypeParam, std::uint8_t>(bytes.span(), up::integer_bins{0, 256}, 256).counts), expected);
    EXPECT_EQ((counted<TypeParam, std::uint8_t>(bytes.span(), up::integer_bins{}, 256).counts), expected);
}

// 64-bit integers are not rounded on their way, at either end of their range.
TYPED_TEST_P(histogram_bins, integer_bins_are_exact)
{
    using wide = std::numeric_limits<std::int64_t>;
    EXPECT_EQ((counted<TypeParam, std::int64_t>({wide::max(), wide::max() - 1, wide::min()},
                                                up::integer_bins{wide::max() - 1, 2}, 2)),
              (histogram_result{{1, 1}, {1, 0, 0}}));
    EXPECT_EQ((counted<TypeParam, std::int64_t>({wide::min(), wide::max()}, up::integer_bins{wide::min(), 1}, 1)),
              (histogram_result{{1}, {0, 1, 0}}));
    EXPECT_EQ(
        (counted<TypeParam, std::uint64_t>({0, std::numeric_limits<std::uint64_t>::max()}, up::integer_bins{-1, 2}, 2)),
        (histogram_result{{0, 1}, {0, 1, 0}}));
    EXPECT_EQ((counted<TypeParam, std::int8_t>({-128, 127, 0}, up::integer_bins{-1000, 2000}, 2000).samples()), 3U);
}

TYPED_TEST_P(histogram_bins, integer_bins_of_bool)
{
    EXPECT_EQ((counted<TypeParam, bool>({true, false, true}, up::integer_bins{0, 2}, 2).counts), (counts_t{1, 2}));
}

// --- a bin function -------------------------------------------------------------------------------------------------

TYPED_TEST_P(histogram_bins, a_function_chooses_the_bin)
{
    const auto counts = counted<TypeParam, double>({-5, 0, 9, 10, 25, 30}, up::bins_by(tens{}, 3), 3);
    EXPECT_EQ(counts.counts, (counts_t{2, 1, 1}));
    EXPECT_EQ(counts.out_of_range, (up::outside{1, 1, 0}));
}

TYPED_TEST_P(histogram_bins, a_function_returns_any_integer)
{
    EXPECT_EQ((counted<TypeParam, int>({-1, 0, 1}, up::bins_by(to_unsigned{}, 2), 2)),
              (histogram_result{{1, 1}, {0, 1, 0}}));
    EXPECT_EQ((counted<TypeParam, int>({-1, 0, 1}, up::bins_by(to_char{}, 2), 2)),
              (histogram_result{{1, 1}, {1, 0, 0}}));
    EXPECT_EQ((counted<TypeParam, int>({-1, 0, 1}, up::bins_by(is_positive{}, 2), 2)), (histogram_result{{2, 1}, {}}));
    EXPECT_EQ((counted<TypeParam, int>({-1, 0, 1}, up::bins_by(side_of{}, 2), 2)), (histogram_result{{1, 2}, {}}));
}

// Samples of any type, since only the function looks at them.
TYPED_TEST_P(histogram_bins, a_function_takes_any_sample)
{
    std::vector<point> points(1000, point{1, -1});
    points[3] = {1, 1};
    EXPECT_EQ((counted<TypeParam>(std::span<const point>(points), up::bins_by(quadrant{}, 4), 4).counts),
              (counts_t{1, 0, 999, 0}));
}

TYPED_TEST_P(histogram_bins, of_no_samples_are_zero)
{
    EXPECT_EQ((counted<TypeParam>(std::span<const float>{}, up::even_bins{0, 1, 3}, 3)),
              (histogram_result{{0, 0, 0}, {}}));
}

REGISTER_TYPED_TEST_SUITE_P(histogram_of, even_bins_are_closed_below_and_the_last_one_above,
                            even_bins_agree_with_a_search, no_distribution_loses_counts);
REGISTER_TYPED_TEST_SUITE_P(histogram_bins, few_samples_outside_among_many_inside,
                            samples_on_an_edge_and_one_ulp_beside, floats_on_edges_and_beside_them,
                            nan_and_infinities_are_counted_apart, ranges_beyond_the_type_of_the_samples,
                            wide_ranges_of_integers, of_width_one_among_integers, a_million_bins, edges_of_any_spacing,
                            edges_may_be_infinite, edges_may_come_from_a_range, edges_are_compared_as_doubles,
                            integer_bins_count_each_value, integer_bins_of_every_byte, integer_bins_are_exact,
                            integer_bins_of_bool, a_function_chooses_the_bin, a_function_returns_any_integer,
                            a_function_takes_any_sample, of_no_samples_are_zero);
// Not every program has both.
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(histogram_of);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(histogram_bins);

} // namespace upsweep::test
