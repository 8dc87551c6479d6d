// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>
#include <upsweep/axis_histogram.hpp>

#include "bin_reference.hpp"
#include "line_shapes.hpp"
#include "refusal.hpp"
#include "samples.hpp"
#include "targets.hpp"
#include "view_shapes.hpp"

// Histograms along each axis of views: each line is counted for itself, wherever it lies, and nothing beside the counters
// is written.
namespace upsweep::test {

template <class Target>
class axis_histogram : public ::testing::Test {
};
TYPED_TEST_SUITE_P(axis_histogram);

// The counters in order of the view in which the bins have taken the place of the axis.
struct line_counts {
    std::vector<std::uint64_t> counts;
    std::vector<outside> out_of_range;
};

template <class T, class Bins>
line_counts expected_counts(const host_array<T>& elements, const split& s, const Bins& bins)
{
    const auto place = places<T>(bins);
    const std::size_t count = detail::bin_count(bins);
    line_counts all{std::vector<std::uint64_t>(s.lines() * count), std::vector<outside>(s.lines())};
    for (std::size_t line = 0; line < s.lines(); ++line) {
        std::vector<std::uint64_t> of_line(count);
        for (std::size_t i = 0; i < s.length; ++i)
            count_place(place(elements[s.at(line, i)]), of_line.data(), count, all.out_of_range[line]);
        for (std::size_t k = 0; k < count; ++k)
            all.counts[(line / s.inner * count + k) * s.inner + line % s.inner] = of_line[k];
    }
    return all;
}

// Into counters that lie as `to` says, in the middle of other memory.
template <class Target, class Counter, class T, std::size_t Rank, class Bins>
void expect_counts(const Target& target, const view<const T, Rank>& in, std::size_t k, const Bins& bins,
                   const line_counts& expected, const shape<Rank>& to, std::mt19937_64& random)
{
    viewed_array<Target, Counter, Rank> counts(to, random);
    const std::vector<outside> poison(expected.out_of_range.size() + 2, outside{1, 2, 3});
    target_array<Target, outside> beside{std::span<const outside>(poison)};
    histogram(target, in, axis{k}, bins, counts.writable(), beside.span().subspan(1, expected.out_of_range.size()));
    const host_array<Counter> written = counts.written();
    for (std::size_t i = 0; i < written.size(); ++i)
        ASSERT_EQ(written[i], static_cast<Counter>(expected.counts[i])) << "counter " << i;
    const host_array<outside> all = beside.to_host();
    for (std::size_t line = 0; line < expected.out_of_range.size(); ++line)
        ASSERT_EQ(all[line + 1], expected.out_of_range[line]) << "beside line " << line;
    EXPECT_EQ(all[0], poison[0]);
    EXPECT_EQ(all[all.size() - 1], poison[0]);
}

// Counters without gaps, and counters whose first dimension is the fastest, and all run backwards.
template <std::size_t Rank>
std::array<shape<Rank>, 2> shapes_of_counts(std::array<std::size_t, Rank> extents)
{
    std::array<shape<Rank>, 2> both{shape<Rank>{extents, {}}, shape<Rank>{extents, {}, 3}};
    std::ptrdiff_t stride = 1;
    for (std::size_t d = Rank; d-- > 0; stride *= static_cast<std::ptrdiff_t>(extents[d]))
        both[0].strides[d] = stride;
    stride = -2;
    for (std::size_t d = 0; d < Rank; stride *= static_cast<std::ptrdiff_t>(extents[d++]))
        both[1].strides[d] = stride;
    return both;
}

template <class Target, class T, class Counter, std::size_t Rank, class Bins>
void expect_histograms_along(const shape<Rank>& s, std::size_t k, const Bins& bins, std::mt19937_64& random)
{
    const viewed_array<Target, T, Rank> in(s, random);
    const line_counts expected = expected_counts(in.elements(), split_at(s.extents, k), bins);
    auto extents = s.extents;
    extents[k] = detail::bin_count(bins);
    const auto to = shapes_of_counts(extents);
    on_every_variant<Target>([&](const Target& target) {
        expect_counts<Target, Counter>(target, in.readable(), k, bins, expected, to[0], random);
    });
    expect_counts<Target, Counter>(Target{}, in.readable(), k, bins, expected, to[1], random);
}

template <class Target, class T, class Counter, class Bins>
void expect_histograms_of_all_shapes(const Bins& bins)
{
    auto random = generator();
    on_every_axis<Target>([&](const auto& s, std::size_t k) {
        if (!::testing::Test::HasFailure())
            expect_histograms_along<Target, T, Counter>(s, k, bins, random);
    });
}

// Of two dimensions alone: what other types share is compiled once, but for the kernels.
template <class Target, class T, class Counter, class Bins>
void expect_histograms_of_some_shapes(const Bins& bins)
{
    auto random = generator();
    for (const shape<2>& s : shapes_of_rank_2(sampled<Target>(many_elements<cpu> / 8))) {
        SCOPED_TRACE(::testing::PrintToString(s));
        for (std::size_t k = 0; k < 2 && !::testing::Test::HasFailure(); ++k)
            expect_histograms_along<Target, T, Counter>(s, k, bins, random);
    }
}

// The narrowest counters of a target.
template <class Target>
using narrow_counter = std::conditional_t<std::is_same_v<Target, cpu>, std::uint64_t, std::uint32_t>;

TYPED_TEST_P(axis_histogram, floats)
{
    expect_histograms_of_all_shapes<TypeParam, float, std::uint64_t>(even_bins{-3, 5, 7});
}
TYPED_TEST_P(axis_histogram, bytes)
{
    expect_histograms_of_some_shapes<TypeParam, std::uint8_t, narrow_counter<TypeParam>>(integer_bins{3, 5});
}

struct low_bits_of_a_map {
    UPSWEEP_HOST_DEVICE int operator()(const wrapping_map& map) const { return static_cast<int>(map.offset % 8) - 1; }
};
TYPED_TEST_P(axis_histogram, structures_by_a_function)
{
    expect_histograms_of_some_shapes<TypeParam, wrapping_map, std::uint64_t>(bins_by(low_bits_of_a_map{}, 5));
}

// Tables of every size: copies for all lanes, for some of them, for none, and more bins than fit into a table.
TYPED_TEST_P(axis_histogram, many_bins)
{
    auto random = generator();
    for (const std::size_t bins : {300, 2000, 30'000, 70'000}) {
        SCOPED_TRACE(std::to_string(bins) + " bins");
        const integer_bins integers{99, bins};
        for (const shape<2>& s :
             {shape<2>{{200, 5}, {5, 1}}, shape<2>{{150, 8}, {8, 1}}, shape<2>{{2, 500}, {501, 1}, 1}})
            expect_histograms_along<TypeParam, std::uint16_t, std::uint64_t>(s, s.extents[0] == 2 ? 1 : 0, integers,
                                                                             random);
    }
}

// Lines of which a multiprocessor has many, long and few columns, and columns by vectors.
TYPED_TEST_P(axis_histogram, shapes_of_every_kernel)
{
    auto random = generator();
    constexpr auto many = static_cast<std::ptrdiff_t>(sampled<TypeParam>(60'000));
    const auto count = static_cast<std::size_t>(many);
    const std::vector<shape<3>> all{{{1, 5, count}, {1, many, 1}},           {{1, count / 128, 256}, {1, 256, 1}},
                                    {{1, count / 100, 101}, {1, 101, 1}},    {{3, count / 128, 64}, {many, 64, 1}},
                                    {{count / 40, 2, 12}, {30, 15, 1}},      {{2, count / 30, 16}, {-many, -16, 1}, 2},
                                    {{count / 40, 30, 2}, {64, 2, 1}},       {{7, count / 7, 1}, {many / 7, 1, 1}},
                                    {{2, 3, count / 6}, {many, many / 3, 2}}};
    for (const auto& s : all) {
        SCOPED_TRACE(::testing::PrintToString(s));
        for (std::size_t k = 1; k < 3; ++k)
            expect_histograms_along<TypeParam, float, std::uint64_t>(s, k, even_bins{-3, 5, 7}, random);
    }
}

TYPED_TEST_P(axis_histogram, samples_that_are_nan)
{
    auto random = generator();
    const host_array<double> samples = random_samples<double>(random, 40 * 50);
    const target_array<TypeParam, double> in(samples.span());
    const edges bins{-20, 3, 4, 50, 110};
    for (std::size_t k = 0; k < 2; ++k) {
        const auto expected = expected_counts(samples, split_at<2>({40, 50}, k), bins);
        std::array<std::size_t, 2> extents{40, 50};
        extents[k] = 4;
        expect_counts<TypeParam, std::uint64_t>(TypeParam{}, view(in.const_span().data(), {40, 50}), k, bins, expected,
                                                shapes_of_counts(extents)[0], random);
    }
}

TYPED_TEST_P(axis_histogram, wrong_shapes_are_refused)
{
    const target_array<TypeParam, float> in(60);
    target_array<TypeParam, std::uint64_t> counts(100);
    target_array<TypeParam, outside> beside(60);
    const view<const float, 3> elements(in.const_span().data(), {3, 4, 5});
    const even_bins even{0, 1, 6};
    const auto refused = [&](std::size_t k, const std::array<std::size_t, 3>& extents, std::size_t places,
                             const even_bins& bins) {
        return refusal_of([&] {
            histogram(TypeParam{}, elements, axis{k}, bins, view<std::uint64_t, 3>(counts.span().data(), extents),
                      beside.span().first(places));
        });
    };
    EXPECT_EQ(refused(1, {3, 6, 5}, 15, even), "no error");
    EXPECT_NE(refused(3, {3, 6, 5}, 15, even).find("axis 3"), std::string::npos);
    EXPECT_NE(refused(1, {3, 4, 5}, 15, even).find("dimension 1"), std::string::npos);
    EXPECT_NE(refused(1, {3, 6, 4}, 15, even).find("dimension 2"), std::string::npos);
    EXPECT_NE(refused(1, {3, 6, 5}, 14, even).find("14 places"), std::string::npos);
    EXPECT_NE(refused(1, {3, 6, 5}, 15, even_bins{1, 0, 6}).find("range is empty"), std::string::npos);
    EXPECT_NE(refusal_of([&] {
                  histogram(TypeParam{}, elements, axis{1}, even,
                            view<std::uint64_t, 3>(counts.span().data(), {3, 6, 5}, {6, 1, 0}),
                            beside.span().first(15));
              }).find("same place"),
              std::string::npos);
}

REGISTER_TYPED_TEST_SUITE_P(axis_histogram, floats, bytes, structures_by_a_function, many_bins, shapes_of_every_kernel,
                            samples_that_are_nan, wrong_shapes_are_refused);

} // namespace upsweep::test
