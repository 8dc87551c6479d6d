// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <upsweep/joint_histogram.hpp>

#include "bin_reference.hpp"
#include "samples.hpp"
#include "targets.hpp"

// Joint histograms, on every target. joint_histogram.cpp and gpu/joint_histogram.cu instantiate the suite.
namespace upsweep::test {

namespace up = upsweep;

inline constexpr double nan_sample = std::numeric_limits<double>::quiet_NaN();

// Bins that are told how many they are, for the reference.
inline std::size_t count_of(const up::edges& bins) { return bins.values.size() - 1; }
template <class Bins>
std::size_t count_of(const Bins& bins)
{
    return bins.count;
}

struct joint_counts {
    std::vector<std::uint64_t> counts;
    up::outside out_of_range;

    friend bool operator==(const joint_counts&, const joint_counts&) = default;
};

template <class... Ts, class... Bins, std::size_t... D>
joint_counts expected_joint(const std::tuple<host_array<Ts>...>& in, const std::tuple<Bins...>& bins,
                            std::index_sequence<D...>)
{
    joint_counts expected{std::vector<std::uint64_t>((count_of(std::get<D>(bins)) * ...)), {}};
    const std::tuple place{places<Ts>(std::get<D>(bins))...};
    for (std::size_t i = 0; i < std::get<0>(in).size(); ++i) {
        bool below = false;
        bool above = false;
        bool nan = false;
        std::size_t k = 0;
        const auto look = [&](std::size_t place, std::size_t count) {
            below |= place == count;
            above |= place == count + 1;
            nan |= place == count + 2;
            k = k * count + place;
        };
        (look(std::get<D>(place)(std::get<D>(in)[i]), count_of(std::get<D>(bins))), ...);
        if (nan)
            ++expected.out_of_range.nan;
        else if (above)
            ++expected.out_of_range.above;
        else if (below)
            ++expected.out_of_range.below;
        else
            ++expected.counts[k];
    }
    return expected;
}

// The joint histogram of the inputs, each of which begins at an element of its own number of a larger array.
template <class Target, class... Ts, class... Bins, std::size_t... D>
void expect_joint(const std::tuple<host_array<Ts>...>& in, const std::tuple<Bins...>& bins, std::index_sequence<D...> d,
                  std::size_t misplaced)
{
    const joint_counts expected = expected_joint(in, bins, d);
    const auto shifted = [](const auto& values, std::size_t by) {
        using element = std::remove_cvref_t<decltype(values[0])>;
        host_array<element> all(values.size() + by);
        std::ranges::copy(values, all.begin() + by);
        return all;
    };
    const std::tuple<target_array<Target, Ts>...> there{shifted(std::get<D>(in), misplaced * (D + 1)).span()...};
    const std::tuple spans{std::get<D>(there).const_span().subspan(misplaced * (D + 1))...};
    on_every_variant<Target>([&](const Target& target) {
        const std::vector<std::uint64_t> poison(expected.counts.size(), 0xa5a5a5a5a5a5a5a5);
        target_array<Target, std::uint64_t> counts{std::span<const std::uint64_t>(poison)};
        const up::outside out_of_range = up::joint_histogram(target, spans, bins, counts.span());
        const auto on_host = counts.to_host();
        EXPECT_EQ((joint_counts{{on_host.begin(), on_host.end()}, out_of_range}), expected);
    });
}

template <class Target, class... Ts, class... Bins>
void expect_joint(const std::tuple<host_array<Ts>...>& in, const std::tuple<Bins...>& bins)
{
    for (const std::size_t misplaced : {0, 1, 4})
        expect_joint<Target>(in, bins, std::index_sequence_for<Ts...>(), misplaced);
}

template <class... Ts>
std::tuple<host_array<Ts>...> random_points(std::mt19937_64& random, std::size_t count)
{
    return {random_samples<Ts>(random, count)...};
}

template <class Target>
class joint_histogram : public ::testing::Test {
};
TYPED_TEST_SUITE_P(joint_histogram);

TYPED_TEST_P(joint_histogram, the_last_dimension_varies_fastest)
{
    const std::tuple points{host_array<float>{0.5F, 1.5F, 1.5F, 2.5F}, host_array<int>{7, 7, 8, 7}};
    const std::tuple bins{up::even_bins{0, 2, 2}, up::integer_bins{6, 3}};
    const joint_counts expected = expected_joint(points, bins, std::make_index_sequence<2>());
    EXPECT_EQ(expected, (joint_counts{{0, 1, 0, 0, 1, 1}, {0, 1, 0}}));
    expect_joint<TypeParam>(points, bins);
}

// A point is counted once, whatever is beside its bins.
TYPED_TEST_P(joint_histogram, points_beside_the_bins)
{
    const std::tuple points{host_array<double>{nan_sample, -1, 5, 0.5, -1, 5, nan_sample, nan_sample},
                            host_array<double>{0.5, 5, -1, nan_sample, -1, 5, -1, 5}};
    const std::tuple bins{up::even_bins{0, 1, 2}, up::edges{0, 0.3, 1}};
    EXPECT_EQ(expected_joint(points, bins, std::make_index_sequence<2>()).out_of_range, (up::outside{1, 3, 4}));
    expect_joint<TypeParam>(points, bins);
}

struct is_odd {
    UPSWEEP_HOST_DEVICE int operator()(std::int32_t x) const { return x & 1; }
};

TYPED_TEST_P(joint_histogram, types_and_bins_of_every_kind)
{
    auto random = generator();
    const up::even_bins even{-20.3, 110.7, 13};
    const up::edges unequal{-3.5, 0, 0.1, 7, 99};
    for (const std::size_t n : {1, 31, 255, 257, 5000}) {
        SCOPED_TRACE(n);
        expect_joint<TypeParam>(random_points<float, float>(random, n), std::tuple{even, even});
        expect_joint<TypeParam>(random_points<std::int8_t, std::uint8_t>(random, n),
                                std::tuple{up::integer_bins{-10, 100}, up::integer_bins{0, 100}});
        expect_joint<TypeParam>(random_points<up::f16, double, std::int32_t>(random, n),
                                std::tuple{even, unequal, up::bins_by(is_odd{}, 2)});
        expect_joint<TypeParam>(random_points<std::int8_t, up::bf16, float>(random, n),
                                std::tuple{unequal, unequal, even});
        expect_joint<TypeParam>(random_points<std::uint64_t>(random, n), std::tuple{even});
        if (::testing::Test::HasFailure())
            return;
    }
}

// Integers and even bins: more bins than integers, edges between them and on them, ranges beyond the type.
TYPED_TEST_P(joint_histogram, even_bins_of_integers)
{
    auto random = generator();
    const auto points = random_points<std::int32_t, std::int16_t>(random, 3000);
    for (const up::even_bins& even :
         {up::even_bins{0, 1, 10}, up::even_bins{-20, 110, 130}, up::even_bins{-7.25, 100.75, 13},
          up::even_bins{-1e12, 1e12, 7}, up::even_bins{-40000, 40000, 11}, up::even_bins{1e17, 2e17, 5}})
        expect_joint<TypeParam>(points, std::tuple{even, up::even_bins{-20, 20, 7}});
}

// Tables for a lane, a block, a cluster, and beyond.
TYPED_TEST_P(joint_histogram, tables_of_every_size)
{
    auto random = generator();
    for (const std::size_t bins : {30, 200, 300, 400}) {
        const auto points = random_points<float, std::uint16_t>(random, 17001);
        const up::even_bins even{0, 100, bins};
        std::vector<double> unequal(bins + 1);
        for (std::size_t k = 0; k <= bins; ++k)
            unequal[k] = 0.25 * static_cast<double>(k) + (k % 3 == 0 ? 0.1 : 0.0);
        expect_joint<TypeParam>(points, std::tuple{even, even});
        expect_joint<TypeParam>(points, std::tuple{even, up::edges(unequal)});
    }
}

// Two images: all combinations of bins, or more than a block has room for.
TYPED_TEST_P(joint_histogram, pairs_of_bytes)
{
    auto random = generator();
    for (const std::size_t n : {1, 15, 16, 2100, 20003}) {
        const auto unsigned_ones = random_points<std::uint8_t, std::uint8_t>(random, n);
        const auto mixed = random_points<std::int8_t, std::uint8_t>(random, n);
        const up::even_bins even{-3.5, 200, 64};
        const up::integer_bins integers{-100, 256};
        const up::edges unequal{-128, -3.5, 0, 0.1, 7, 99};
        expect_joint<TypeParam>(unsigned_ones, std::tuple{even, even});
        expect_joint<TypeParam>(unsigned_ones, std::tuple{up::integer_bins{0, 256}, up::integer_bins{0, 256}});
        expect_joint<TypeParam>(mixed, std::tuple{integers, up::integer_bins{1, 255}});
        expect_joint<TypeParam>(mixed, std::tuple{unequal, even});
        expect_joint<TypeParam>(mixed, std::tuple{up::bins_by(is_odd{}, 2), unequal});
        expect_joint<TypeParam>(mixed, std::tuple{up::even_bins{-128, 127, 1000}, up::even_bins{0, 256, 300}});
        if (::testing::Test::HasFailure())
            return;
    }
}

TYPED_TEST_P(joint_histogram, of_no_points_is_zero)
{
    expect_joint<TypeParam>(std::tuple{host_array<float>(0), host_array<int>(0)},
                            std::tuple{up::even_bins{0, 1, 3}, up::integer_bins{0, 2}});
    expect_joint<TypeParam>(std::tuple{host_array<std::uint8_t>(0), host_array<std::int8_t>(0)},
                            std::tuple{up::even_bins{0, 1, 3}, up::integer_bins{0, 2}});
}

REGISTER_TYPED_TEST_SUITE_P(joint_histogram, the_last_dimension_varies_fastest, points_beside_the_bins,
                            types_and_bins_of_every_kind, even_bins_of_integers, tables_of_every_size, pairs_of_bytes,
                            of_no_points_is_zero);

} // namespace upsweep::test
