// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// A new target is an engine and no face: the public templates, their checks and their errors are those of every target.
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <upsweep/upsweep.hpp>

namespace up = upsweep;

namespace {

// Lets a CPU do the work and writes down how many calls have come through the checks.
struct noted_target {
    int* calls;
};

} // namespace

template <>
inline constexpr bool up::is_target<noted_target> = true;

template <class Verb>
struct up::detail::engine<noted_target, Verb> {
    template <class... Arguments>
    static void count(const noted_target& target, Arguments&&... arguments)
    {
        ++*target.calls;
        engine<cpu, Verb>::count(cpu{2}, std::forward<Arguments>(arguments)...);
    }
    template <class... Arguments>
    static void add_up(const noted_target& target, Arguments&&... arguments)
    {
        ++*target.calls;
        engine<cpu, Verb>::add_up(cpu{2}, std::forward<Arguments>(arguments)...);
    }
    template <class Accumulator, class... Arguments>
    static void fold(const noted_target& target, Arguments&&... arguments)
    {
        ++*target.calls;
        engine<cpu, Verb>::template fold<Accumulator>(cpu{2}, std::forward<Arguments>(arguments)...);
    }
    template <scan_kind Kind, class Accumulator, class... Arguments>
    static void scan(const noted_target& target, Arguments&&... arguments)
    {
        ++*target.calls;
        engine<cpu, Verb>::template scan<Kind, Accumulator>(cpu{2}, std::forward<Arguments>(arguments)...);
    }
};

namespace {

using counts_t = std::vector<std::uint64_t>;

constexpr up::integer_bins two_bins{.first = 1, .count = 2};
const std::vector<int> samples{0, 1, 1, 2, 3, 3};

TEST(third_target, reduces_and_scans)
{
    int calls = 0;
    const noted_target target{&calls};
    EXPECT_EQ(up::reduce(target, samples), 10);
    float greatest = 0;
    up::reduce(target, samples, &greatest, up::maximum{});
    EXPECT_EQ(greatest, 3);
    std::vector<int> out(6);
    up::inclusive_scan(target, samples, out);
    EXPECT_EQ(out, (std::vector<int>{0, 1, 2, 4, 7, 10}));
    up::exclusive_scan(target, samples, out);
    EXPECT_EQ(out, (std::vector<int>{0, 0, 1, 2, 4, 7}));
    up::exclusive_scan(target, samples, out, up::plus{}, 5);
    EXPECT_EQ(out, (std::vector<int>{5, 5, 6, 7, 9, 12}));
    EXPECT_EQ(calls, 5);
}

TEST(third_target, folds_lines_and_segments)
{
    int calls = 0;
    const noted_target target{&calls};
    const up::view<const int, 2> matrix(samples.data(), {2, 3}); // 0 1 1 and 2 3 3
    std::vector<std::int64_t> columns(3);
    up::reduce(target, matrix, up::axis{0}, up::view(columns), up::plus{});
    EXPECT_EQ(columns, (std::vector<std::int64_t>{2, 4, 4}));
    std::vector<int> out(6);
    up::inclusive_scan(target, matrix, up::axis{1}, up::view(out.data(), {2, 3}), up::plus{});
    EXPECT_EQ(out, (std::vector<int>{0, 1, 2, 2, 5, 8}));
    const std::vector<std::uint32_t> offsets{0, 2, 2, 6};
    up::segmented_reduce(target, samples, offsets, columns, up::plus{});
    EXPECT_EQ(columns, (std::vector<std::int64_t>{1, 0, 9}));
    up::segmented_exclusive_scan(target, samples, offsets, out, up::plus{}, 7);
    EXPECT_EQ(out, (std::vector<int>{7, 7, 7, 8, 10, 13}));
    EXPECT_EQ(calls, 4);
}

TEST(third_target, counts_a_range_and_a_matrix)
{
    int calls = 0;
    const noted_target target{&calls};
    counts_t counts(2);
    EXPECT_EQ(up::histogram(target, samples, two_bins, counts), (up::outside{1, 2, 0}));
    EXPECT_EQ(counts, (counts_t{2, 1}));

    up::outside out_of_range;
    const up::matrix<int> first_columns(samples.data(), 2, 2, 3 * sizeof(int)); // 0 1 and 2 3
    up::histogram(target, first_columns, two_bins, counts, &out_of_range);
    EXPECT_EQ(counts, (counts_t{1, 1}));
    EXPECT_EQ(out_of_range, (up::outside{1, 1, 0}));

    up::histogram_accumulate(target, samples, two_bins, counts, &out_of_range);
    up::histogram_accumulate(target, samples, two_bins, counts, out_of_range);
    EXPECT_EQ(counts, (counts_t{5, 3}));
    EXPECT_EQ(out_of_range, (up::outside{3, 5, 0}));
    EXPECT_EQ(calls, 4);
}

TEST(third_target, counts_rows_and_channels)
{
    int calls = 0;
    const noted_target target{&calls};
    const up::matrix<int> image(samples.data(), 2, 3);
    counts_t counts(6);
    std::vector<up::outside> out_of_range(3);
    up::histogram_rows(target, image, two_bins, std::span(counts).first(4), std::span(out_of_range).first(2));
    EXPECT_EQ(counts, (counts_t{2, 0, 0, 1, 0, 0}));
    EXPECT_EQ(out_of_range, (std::vector<up::outside>{{1, 0, 0}, {0, 2, 0}, {}}));
    up::histogram_channels(target, image, 3, two_bins, counts, out_of_range);
    up::histogram_channels_accumulate(target, image, 3, two_bins, counts, out_of_range);
    EXPECT_EQ(counts, (counts_t{0, 2, 2, 0, 2, 0}));
    EXPECT_EQ(out_of_range, (std::vector<up::outside>{{2, 0, 0}, {0, 2, 0}, {0, 2, 0}}));
    EXPECT_EQ(calls, 3);
}

TEST(third_target, counts_points_and_adds_up_weights)
{
    int calls = 0;
    const noted_target target{&calls};
    counts_t counts(4);
    EXPECT_EQ(up::joint_histogram(target, std::tuple{std::span(samples), std::span(samples)},
                                  std::tuple{two_bins, two_bins}, counts),
              (up::outside{1, 2, 0}));
    EXPECT_EQ(counts, (counts_t{2, 0, 0, 1}));

    const std::vector<float> weights{1, 2, 3, 4, 5, 6};
    std::array<float, 2> sums{};
    EXPECT_EQ(up::weighted_histogram(target, samples, weights, two_bins, sums), (up::weight_outside<float>{1, 11, 0}));
    EXPECT_EQ(sums, (std::array<float, 2>{5, 4}));
    EXPECT_EQ(calls, 2);
}

TEST(third_target, is_called_with_checked_arguments_alone)
{
    int calls = 0;
    const noted_target target{&calls};
    counts_t counts(3, 42);
    std::vector<up::outside> out_of_range(2);
    std::vector<float> sums(2);
    const up::matrix<int> image(samples.data(), 2, 3);
    const std::span<const int> few(samples.data(), 5);
    std::vector<int> too_short(5);
    EXPECT_THROW((void)up::reduce(target, std::vector<int>{}, up::minimum{}), up::error);
    EXPECT_THROW(up::inclusive_scan(target, samples, too_short), up::error);
    const up::view<const int, 2> rows(samples.data(), {2, 3});
    EXPECT_THROW(up::reduce(target, rows, up::axis{2}, up::view(too_short), up::plus{}), up::error);
    EXPECT_THROW(up::segmented_reduce(target, samples, std::vector<int>{}, too_short, up::plus{}), up::error);
    EXPECT_THROW(up::histogram(target, samples, two_bins, counts), up::error);
    EXPECT_THROW(up::histogram(target, up::matrix<int>(samples.data(), 2, 3, 1), two_bins, counts), up::error);
    EXPECT_THROW(up::histogram_rows(target, image, two_bins, counts, out_of_range), up::error);
    EXPECT_THROW(up::histogram_channels(target, image, 2, two_bins, counts, out_of_range), up::error);
    EXPECT_THROW(
        up::joint_histogram(target, std::tuple{std::span(samples), few}, std::tuple{two_bins, two_bins}, counts),
        up::error);
    EXPECT_THROW(up::weighted_histogram(target, samples, std::vector<float>(5), two_bins, sums), up::error);
    EXPECT_EQ(calls, 0);
    EXPECT_EQ(counts, counts_t(3, 42));
}

} // namespace
