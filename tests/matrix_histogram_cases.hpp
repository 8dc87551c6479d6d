// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <upsweep/matrix_histogram.hpp>

#include "bin_reference.hpp"
#include "samples.hpp"
#include "targets.hpp"

// Histograms of matrices: of all elements, of each row, of each channel; on every target. matrix_histogram.cpp and
// gpu/matrix_histogram.cu instantiate the suites.
namespace upsweep::test {

namespace up = upsweep;

// A matrix in the middle of other elements, which are as likely to be counted where they should not be.
struct matrix_shape {
    std::size_t rows;
    std::size_t columns;
    std::size_t gap;    // bytes behind a row, in multiples of the alignment
    std::size_t before; // elements
};

inline std::string name_of(const matrix_shape& shape)
{
    return std::to_string(shape.rows) + " x " + std::to_string(shape.columns) + ", gap " + std::to_string(shape.gap) +
           ", at " + std::to_string(shape.before);
}

template <class Target, class T>
class matrix_in_memory {
public:
    matrix_in_memory(std::mt19937_64& random, const matrix_shape& shape)
        : shape_(shape), pitch_(shape.columns * sizeof(T) + shape.gap * alignof(T)),
          on_host_(random_samples<T>(random, shape.before + (shape.rows * pitch_ + sizeof(T) - 1) / sizeof(T) + 1)),
          on_target_(on_host_.span())
    {
    }

    up::matrix<T> view() const { return at(on_target_.const_span().data()); }
    up::matrix<T> host_view() const { return at(on_host_.begin()); }

private:
    up::matrix<T> at(const T* first) const { return {first + shape_.before, shape_.rows, shape_.columns, pitch_}; }

    matrix_shape shape_;
    std::size_t pitch_;
    host_array<T> on_host_;
    target_array<Target, T> on_target_;
};

// The counters of several histograms, as many parts as the matrix has rows or channels: part_of(row, column) tells
// where an element counts.
struct histograms {
    std::vector<std::uint64_t> counts;
    std::vector<up::outside> out_of_range;

    friend bool operator==(const histograms&, const histograms&) = default;
};

template <class T, class Bins, class PartOf>
histograms expected_histograms(const up::matrix<T>& in, const Bins& bins, std::size_t count, std::size_t parts,
                               PartOf part_of)
{
    histograms expected{std::vector<std::uint64_t>(parts * count), std::vector<up::outside>(parts)};
    const auto place = places<T>(bins);
    for (std::size_t r = 0; r < in.rows; ++r)
        for (std::size_t c = 0; c < in.columns; ++c) {
            const std::size_t part = part_of(r, c);
            count_place(place(in.row(r)[c]), expected.counts.data() + part * count, count, expected.out_of_range[part]);
        }
    return expected;
}

// What f(target, counts, out_of_range) writes, into memory with other contents, by every variant of the target.
template <class Target, class Counter = std::uint64_t, class F>
void expect_histograms(const histograms& expected, F f)
{
    on_every_variant<Target>([&](const Target& target) {
        const std::vector<Counter> poison(expected.counts.size(), static_cast<Counter>(0xa5a5a5a5a5a5a5a5));
        const std::vector<up::outside> poison_beside(expected.out_of_range.size(), up::outside{1, 2, 3});
        target_array<Target, Counter> counts{std::span<const Counter>(poison)};
        target_array<Target, up::outside> out_of_range{std::span<const up::outside>(poison_beside)};
        f(target, counts.span(), out_of_range.span());
        const auto counted = counts.to_host();
        const auto counted_beside = out_of_range.to_host();
        EXPECT_EQ((histograms{{counted.begin(), counted.end()}, {counted_beside.begin(), counted_beside.end()}}),
                  expected);
    });
}

template <class Target, class T, class Bins>
void expect_one_histogram(const up::matrix<T>& there, const up::matrix<T>& here, const Bins& bins, std::size_t count)
{
    const auto expected =
        expected_histograms(here, bins, count, 1, [](std::size_t, std::size_t) { return std::size_t{0}; });
    expect_histograms<Target>({expected.counts, {}},
                              [&](const Target& target, std::span<std::uint64_t> counts, std::span<up::outside>) {
                                  EXPECT_EQ(up::histogram(target, there, bins, counts), expected.out_of_range[0]);
                              });
}

template <class Target, class T, class Bins>
void expect_row_histograms(const up::matrix<T>& there, const up::matrix<T>& here, const Bins& bins, std::size_t count)
{
    const auto expected =
        expected_histograms(here, bins, count, here.rows, [](std::size_t row, std::size_t) { return row; });
    expect_histograms<Target>(expected, [&](const Target& target, auto counts, auto out_of_range) {
        up::histogram_rows(target, there, bins, counts, out_of_range);
    });
}

template <class Target, class T, class Bins>
void expect_channel_histograms(const up::matrix<T>& there, const up::matrix<T>& here, std::size_t channels,
                               const Bins& bins, std::size_t count)
{
    const auto expected = expected_histograms(here, bins, count, channels,
                                              [&](std::size_t, std::size_t column) { return column % channels; });
    expect_histograms<Target>(expected, [&](const Target& target, auto counts, auto out_of_range) {
        up::histogram_channels(target, there, channels, bins, counts, out_of_range);
    });
}

// The same with bins of each channel's own.
template <class Target, class T, class Bins>
void expect_channel_histograms(const up::matrix<T>& there, const up::matrix<T>& here, const std::vector<Bins>& bins)
{
    const std::size_t channels = bins.size();
    histograms expected{{}, std::vector<up::outside>(channels)};
    for (std::size_t channel = 0; channel < channels; ++channel) {
        const std::size_t count = up::detail::bin_count(bins[channel]);
        const auto place = places<T>(bins[channel]);
        std::vector<std::uint64_t> counts(count);
        for (std::size_t r = 0; r < here.rows; ++r)
            for (std::size_t c = channel; c < here.columns; c += channels)
                count_place(place(here.row(r)[c]), counts.data(), count, expected.out_of_range[channel]);
        expected.counts.insert(expected.counts.end(), counts.begin(), counts.end());
    }
    expect_histograms<Target>(expected, [&](const Target& target, auto counts, auto out_of_range) {
        up::histogram_channels(target, there, channels, bins, counts, out_of_range);
    });
}

// Twice as many as expected, by f(target, counts, out_of_range) that adds, to counters that f has added to before.
template <class Target, class F>
void expect_accumulated(histograms expected, F f)
{
    for (std::uint64_t& count : expected.counts)
        count *= 2;
    for (up::outside& each : expected.out_of_range)
        each = {2 * each.below, 2 * each.above, 2 * each.nan};
    on_every_variant<Target>([&](const Target& target) {
        const std::vector<std::uint64_t> zeros(expected.counts.size());
        const std::vector<up::outside> zeros_beside(expected.out_of_range.size());
        target_array<Target, std::uint64_t> counts{std::span<const std::uint64_t>(zeros)};
        target_array<Target, up::outside> out_of_range{std::span<const up::outside>(zeros_beside)};
        f(target, counts.span(), out_of_range.span());
        f(target, counts.span(), out_of_range.span());
        const auto counted = counts.to_host();
        const auto counted_beside = out_of_range.to_host();
        EXPECT_EQ((histograms{{counted.begin(), counted.end()}, {counted_beside.begin(), counted_beside.end()}}),
                  expected);
    });
}

// Of each element type on a target.
template <class On>
class matrix_histogram_of : public ::testing::Test {
};
TYPED_TEST_SUITE_P(matrix_histogram_of);

// On each target.
template <class Target>
class matrix_histogram : public ::testing::Test {
};
TYPED_TEST_SUITE_P(matrix_histogram);

// Rows that are one element, that are not aligned like one another, that end in the middle of a vector.
inline constexpr matrix_shape telling_shapes[] = {{1, 1, 0, 0},     {1, 1000, 0, 3},  {7, 1, 0, 0},    {7, 1, 5, 1},
                                                  {40, 3, 0, 0},    {40, 3, 1, 1},    {33, 16, 16, 0}, {33, 16, 0, 1},
                                                  {33, 17, 15, 0},  {5, 257, 0, 0},   {5, 257, 7, 2},  {3, 1200, 80, 0},
                                                  {100, 100, 0, 0}, {100, 100, 28, 4}};

template <class Target, class T>
void expect_all_shapes(const up::even_bins& even)
{
    auto random = generator();
    for (const matrix_shape& shape : telling_shapes) {
        SCOPED_TRACE(name_of(shape));
        const matrix_in_memory<Target, T> memory(random, shape);
        const auto there = memory.view();
        const auto here = memory.host_view();
        expect_one_histogram<Target>(there, here, even, even.count);
        expect_row_histograms<Target>(there, here, even, even.count);
        for (const std::size_t channels : {1, 2, 3, 4, 5, 8, 16})
            if (shape.columns % channels == 0)
                expect_channel_histograms<Target>(there, here, channels, even, even.count);
        if (::testing::Test::HasFailure())
            return;
    }
}

TYPED_TEST_P(matrix_histogram_of, rows_of_every_kind)
{
    expect_all_shapes<typename TypeParam::target, typename TypeParam::element>(up::even_bins{-20.3, 110.7, 11});
}

// The arithmetic gives way to a search, where it would be wrong.
TYPED_TEST_P(matrix_histogram, bins_too_narrow_for_arithmetic)
{
    auto random = generator();
    const matrix_in_memory<TypeParam, float> memory(random, {20, 30, 3, 1});
    const up::even_bins narrow{16, std::nextafter(16.0F, 17.0F), 5};
    expect_row_histograms<TypeParam>(memory.view(), memory.host_view(), narrow, 5);
    expect_channel_histograms<TypeParam>(memory.view(), memory.host_view(), 6, narrow, 5);
}

struct parity {
    template <class T>
    UPSWEEP_HOST_DEVICE int operator()(const T& x) const
    {
        return static_cast<int>(x) % 2;
    }
};

TYPED_TEST_P(matrix_histogram, bins_of_every_kind)
{
    auto random = generator();
    const matrix_in_memory<TypeParam, float> floats(random, {30, 60, 2, 1});
    const up::edges unequal{-3.5, 0, 0.1, 7, 99};
    expect_one_histogram<TypeParam>(floats.view(), floats.host_view(), unequal, 4);
    expect_row_histograms<TypeParam>(floats.view(), floats.host_view(), unequal, 4);
    expect_channel_histograms<TypeParam>(floats.view(), floats.host_view(), 3, unequal, 4);

    const matrix_in_memory<TypeParam, std::int8_t> bytes(random, {30, 60, 2, 1});
    expect_one_histogram<TypeParam>(bytes.view(), bytes.host_view(), up::integer_bins{-10, 30}, 30);
    expect_row_histograms<TypeParam>(bytes.view(), bytes.host_view(), up::integer_bins{-10, 30}, 30);
    for (const std::size_t channels : {3, 4, 6})
        for (const std::int64_t first : {-10, 100})
            expect_channel_histograms<TypeParam>(bytes.view(), bytes.host_view(), channels, up::integer_bins{first, 30},
                                                 30);
    expect_channel_histograms<TypeParam>(bytes.view(), bytes.host_view(), 3, unequal, 4);

    const matrix_in_memory<TypeParam, std::int32_t> integers(random, {30, 60, 0, 1});
    const up::bins_by by_parity(parity{}, 1);
    expect_one_histogram<TypeParam>(integers.view(), integers.host_view(), by_parity, 1);
    expect_row_histograms<TypeParam>(integers.view(), integers.host_view(), by_parity, 1);
    expect_channel_histograms<TypeParam>(integers.view(), integers.host_view(), 4, by_parity, 1);
}

TYPED_TEST_P(matrix_histogram, bins_of_each_channel)
{
    auto random = generator();
    for (const matrix_shape& shape : {matrix_shape{30, 60, 2, 1}, matrix_shape{1, 3000, 0, 1}}) {
        const matrix_in_memory<TypeParam, float> floats(random, shape);
        expect_channel_histograms<TypeParam>(
            floats.view(), floats.host_view(),
            std::vector{up::even_bins{-20, 110, 7}, up::even_bins{0, 1, 300}, up::even_bins{0, 9e30, 1}});
        expect_channel_histograms<TypeParam>(floats.view(), floats.host_view(),
                                             std::vector{up::edges{-3.5, 0, 0.1, 7, 99}, up::edges{5, 6}});
        const matrix_in_memory<TypeParam, std::int8_t> bytes(random, shape);
        expect_channel_histograms<TypeParam>(bytes.view(), bytes.host_view(),
                                             std::vector{up::integer_bins{-10, 30}, up::integer_bins{100, 1},
                                                         up::integer_bins{-128, 256}, up::integer_bins{0, 5}});
        expect_channel_histograms<TypeParam>(bytes.view(), bytes.host_view(),
                                             std::vector(6, up::edges{-100, 0, 0.1, 7, 99}));
        const matrix_in_memory<TypeParam, std::uint16_t> integers(random, shape);
        expect_channel_histograms<TypeParam>(
            integers.view(), integers.host_view(),
            std::vector{up::integer_bins{1, 40000}, up::integer_bins{0, 10}, up::integer_bins{3, 60000}});
    }
    // Rows of one pixel, many of which make a block, with gaps and without.
    for (const matrix_shape& shape : {matrix_shape{1000, 3, 0, 0}, matrix_shape{1000, 3, 1, 1}}) {
        const matrix_in_memory<TypeParam, float> floats(random, shape);
        expect_channel_histograms<TypeParam>(
            floats.view(), floats.host_view(),
            std::vector{up::even_bins{-20, 110, 7}, up::even_bins{0, 1, 300}, up::even_bins{0, 9e30, 1}});
    }
    const matrix_in_memory<TypeParam, float> floats(random, {2, 6, 0, 0});
    target_array<TypeParam, std::uint64_t> counts(7);
    target_array<TypeParam, up::outside> out_of_range(3);
    const auto refused = [&](std::size_t channels, const std::vector<up::even_bins>& bins, std::size_t places = 2) {
        EXPECT_THROW(up::histogram_channels(TypeParam{}, floats.view(), channels, bins, counts.span(),
                                            out_of_range.span().first(places)),
                     up::error);
    };
    refused(3, {up::even_bins{0, 1, 3}, up::even_bins{0, 1, 4}});
    refused(2, {up::even_bins{0, 1, 3}, up::even_bins{0, 1, 4}}, 1);
    refused(2, {up::even_bins{0, 1, 3}, up::even_bins{0, 1, 4}}, 3);
    refused(2, {up::even_bins{0, 1, 3}, up::even_bins{0, 1, 3}});
    refused(2, {up::even_bins{0, 1, 7}, up::even_bins{1, 0, 0}});
    refused(3, {up::even_bins{0, 1, 3}, up::even_bins{0, 1, 2}, up::even_bins{0, 1, 2}});
    refused(3, {up::even_bins{0, 1, 3}, up::even_bins{0, 1, 2}, up::even_bins{0, 1, 3}}, 3);
}

TYPED_TEST_P(matrix_histogram, rows_and_channels_accumulate)
{
    auto random = generator();
    const up::even_bins even{-20, 110, 9};
    const auto by_row = [](std::size_t row, std::size_t) { return row; };
    for (const matrix_shape& shape : {matrix_shape{30, 60, 1, 1}, matrix_shape{3, 30000, 0, 0}}) {
        const matrix_in_memory<TypeParam, float> floats(random, shape);
        const matrix_in_memory<TypeParam, std::uint8_t> bytes(random, shape);
        expect_accumulated<TypeParam>(expected_histograms(floats.host_view(), even, 9, shape.rows, by_row),
                                      [&](const TypeParam& target, auto counts, auto out_of_range) {
                                          up::histogram_rows_accumulate(target, floats.view(), even, counts,
                                                                        out_of_range);
                                      });
        expect_accumulated<TypeParam>(expected_histograms(bytes.host_view(), even, 9, shape.rows, by_row),
                                      [&](const TypeParam& target, auto counts, auto out_of_range) {
                                          up::histogram_rows_accumulate(target, bytes.view(), even, counts,
                                                                        out_of_range);
                                      });
        const auto by_channel = [](std::size_t, std::size_t column) { return column % 3; };
        expect_accumulated<TypeParam>(expected_histograms(bytes.host_view(), even, 9, 3, by_channel),
                                      [&](const TypeParam& target, auto counts, auto out_of_range) {
                                          up::histogram_channels_accumulate(target, bytes.view(), 3, even, counts,
                                                                            out_of_range);
                                      });
    }
    const matrix_in_memory<TypeParam, std::uint8_t> bytes(random, {2, 66000, 0, 5});
    expect_accumulated<TypeParam>(expected_histograms(bytes.host_view(), even, 9, 2, by_row),
                                  [&](const TypeParam& target, auto counts, auto out_of_range) {
                                      up::histogram_rows_accumulate(target, bytes.view(), even, counts, out_of_range);
                                  });
}

// Tables of a row that are more and less than a thread, a warp or a block has room for; long rows and short ones.
TYPED_TEST_P(matrix_histogram, rows_and_tables_of_every_size)
{
    auto random = generator();
    struct sizes {
        matrix_shape shape;
        std::size_t bins;
    };
    for (const auto& [shape, bins] :
         {sizes{{9, 40, 0, 0}, 3000}, sizes{{3, 100, 1, 0}, 60000}, sizes{{5, 6000, 0, 1}, 100},
          sizes{{3, 20000, 12, 0}, 2000}, sizes{{1, 30000, 0, 0}, 60000}, sizes{{700, 2, 0, 0}, 1},
          sizes{{130, 40, 3, 1}, 500}}) {
        SCOPED_TRACE(name_of(shape) + ", " + std::to_string(bins) + " bins");
        const matrix_in_memory<TypeParam, std::uint16_t> memory(random, shape);
        const up::integer_bins integers{3, bins};
        expect_row_histograms<TypeParam>(memory.view(), memory.host_view(), integers, bins);
        const std::size_t channels = shape.columns % 4 == 0 ? 4 : 2;
        if (channels * (bins + 3) < 200000)
            expect_channel_histograms<TypeParam>(memory.view(), memory.host_view(), channels, integers, bins);
    }
    // Long enough for a copy of the counters for each lane.
    const matrix_in_memory<TypeParam, std::uint8_t> bytes(random, {2, 66001, 0, 5});
    expect_row_histograms<TypeParam>(bytes.view(), bytes.host_view(), up::integer_bins{1, 250}, 250);
}

TYPED_TEST_P(matrix_histogram, equal_elements_lose_no_counts)
{
    const host_array<float> host = [] {
        host_array<float> values(40 * 1000);
        std::ranges::fill(values, 7.0F);
        return values;
    }();
    const target_array<TypeParam, float> there(host.span());
    const up::even_bins even{0, 10, 20};
    for (const std::size_t rows : {1, 4, 40, 4000}) {
        const std::size_t columns = host.size() / rows;
        const up::matrix<float> in(there.const_span().data(), rows, columns);
        histograms expected{std::vector<std::uint64_t>(rows * 20), std::vector<up::outside>(rows)};
        for (std::size_t r = 0; r < rows; ++r)
            expected.counts[r * 20 + 14] = columns;
        expect_histograms<TypeParam>(expected, [&](const TypeParam& target, auto counts, auto out_of_range) {
            up::histogram_rows(target, in, even, counts, out_of_range);
        });
    }
}

TYPED_TEST_P(matrix_histogram, of_nothing_are_zero)
{
    const target_array<TypeParam, float> one(1);
    for (const auto& [rows, columns] : {std::pair{5, 0}, std::pair{0, 5}, std::pair{0, 0}}) {
        const up::matrix<float> none(one.const_span().data(), static_cast<std::size_t>(rows),
                                     static_cast<std::size_t>(columns), 64);
        const auto parts = static_cast<std::size_t>(rows);
        const up::even_bins even{0, 1, 3};
        expect_histograms<TypeParam>({std::vector<std::uint64_t>(3), {}},
                                     [&](const TypeParam& target, auto counts, auto) {
                                         EXPECT_EQ(up::histogram(target, none, even, counts), up::outside{});
                                     });
        expect_histograms<TypeParam>({std::vector<std::uint64_t>(parts * 3), std::vector<up::outside>(parts)},
                                     [&](const TypeParam& target, auto counts, auto out_of_range) {
                                         up::histogram_rows(target, none, even, counts, out_of_range);
                                     });
        expect_histograms<TypeParam>({std::vector<std::uint64_t>(15), std::vector<up::outside>(5)},
                                     [&](const TypeParam& target, auto counts, auto out_of_range) {
                                         up::histogram_channels(target, none, 5, even, counts, out_of_range);
                                     });
    }
}

REGISTER_TYPED_TEST_SUITE_P(matrix_histogram_of, rows_of_every_kind);
REGISTER_TYPED_TEST_SUITE_P(matrix_histogram, bins_too_narrow_for_arithmetic, bins_of_every_kind, bins_of_each_channel,
                            rows_and_channels_accumulate, rows_and_tables_of_every_size, equal_elements_lose_no_counts,
                            of_nothing_are_zero);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(matrix_histogram); // in a program that has the suite of each type

} // namespace upsweep::test
