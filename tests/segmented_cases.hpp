// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <upsweep/segmented.hpp>

#include "expected.hpp"
#include "refusal.hpp"
#include "samples.hpp"
#include "segment_cuts.hpp"
#include "targets.hpp"
#include "view_shapes.hpp"

// Segments of every mix of lengths: each has the bits of the canonical order on its elements alone, and nothing else is written.
namespace upsweep::test {

template <class Target>
class segments : public ::testing::Test {
};
TYPED_TEST_SUITE_P(segments);

template <class Target, class T, class Result, class Offset, class Op>
void expect_segment_folds(Op op)
{
    using accumulator = accumulator_t<Op, T>;
    on_every_cut<Target, Offset>([&](const auto& cut, auto& random) {
        const host_array<T> values = random_array<T>(random, cut.elements);
        const std::size_t count = cut.offsets.size() - 1;
        host_array<Result> expected(count);
        for (std::size_t k = 0; k < count; ++k) {
            const auto first = static_cast<std::size_t>(cut.offsets[k]);
            const auto length = static_cast<std::size_t>(cut.offsets[k + 1]) - first;
            const auto line = converted<accumulator>(values.span().subspan(first, length));
            expected[k] =
                as_expected<Result>(length == 0 ? fold_of_nothing<accumulator>(op) : literal_fold(line.span(), op));
        }
        const target_array<Target, T> in(values.span());
        const target_array<Target, Offset> offsets{std::span<const Offset>(cut.offsets)};
        on_every_variant<Target>([&](const Target& target) {
            target_array<Target, Result> out(count);
            check_offsets(target, offsets.const_span(), cut.elements);
            segmented_reduce(target, in.const_span(), offsets.const_span(), out.span(), op);
            ASSERT_TRUE(bits_equal(out.to_host(), expected));
        });
    });
}

TYPED_TEST_P(segments, sums_of_floats) { expect_segment_folds<TypeParam, float, float, std::int32_t>(plus{}); }
TYPED_TEST_P(segments, maxima_of_bytes)
{
    expect_segment_folds<TypeParam, std::int8_t, std::int8_t, std::uint64_t>(maximum{});
}
TYPED_TEST_P(segments, compositions)
{
    expect_segment_folds<TypeParam, wrapping_map, wrapping_map, std::int64_t>(wrapping_composition);
}

// scan(target, in, offsets, out); expected(line).
template <class Target, class T, class Offset, class Scan, class Expected>
void expect_segment_scans(Scan scan, Expected expected_of_line)
{
    on_every_cut<Target, Offset>([&](const auto& cut, auto& random) {
        const host_array<T> values = random_array<T>(random, cut.elements);
        const target_array<Target, T> in(values.span());
        const target_array<Target, Offset> offsets{std::span<const Offset>(cut.offsets)};
        const auto expected_in = [&](host_array<T> all) {
            for (std::size_t k = 0; k + 1 < cut.offsets.size(); ++k) {
                const auto first = static_cast<std::size_t>(cut.offsets[k]);
                const auto length = static_cast<std::size_t>(cut.offsets[k + 1]) - first;
                std::ranges::copy(expected_of_line(values.span().subspan(first, length)).span(), all.begin() + first);
            }
            return all;
        };
        on_every_variant<Target>([&](const Target& target) {
            target_array<Target, T> out(cut.elements);
            const host_array<T> expected = expected_in(out.to_host());
            scan(target, in.const_span(), offsets.const_span(), out.span());
            ASSERT_TRUE(bits_equal(out.to_host(), expected));
        });
        target_array<Target, T> in_place(values.span());
        scan(Target{}, in_place.const_span(), offsets.const_span(), in_place.span());
        ASSERT_TRUE(bits_equal(in_place.to_host(), expected_in(values))) << "in place";
    });
}

TYPED_TEST_P(segments, inclusive_scans)
{
    expect_segment_scans<TypeParam, float, std::int64_t>(
        [](const TypeParam& target, auto in, auto offsets, auto out) {
            segmented_inclusive_scan(target, in, offsets, out, plus{});
        },
        [](std::span<const float> line) { return converted<float>(literal_folds(line, plus{}).span()); });
}
TYPED_TEST_P(segments, exclusive_scans)
{
    expect_segment_scans<TypeParam, double, std::uint32_t>(
        [](const TypeParam& target, auto in, auto offsets, auto out) {
            segmented_exclusive_scan(target, in, offsets, out, plus{});
        },
        [](std::span<const double> line) {
            auto results = converted<double>(literal_folds(line, plus{}).span());
            std::shift_right(results.begin(), results.end(), 1);
            if (results.size() != 0)
                results[0] = 0;
            return results;
        });
}
TYPED_TEST_P(segments, exclusive_scans_with_an_initial_value)
{
    static constexpr wrapping_map first{5, 9};
    expect_segment_scans<TypeParam, wrapping_map, std::int32_t>(
        [](const TypeParam& target, auto in, auto offsets, auto out) {
            segmented_exclusive_scan(target, in, offsets, out, wrapping_composition, first);
        },
        [](std::span<const wrapping_map> line) {
            host_array<wrapping_map> results(line.size());
            const auto folds = literal_folds(line, wrapping_composition);
            for (std::size_t i = 0; i < line.size(); ++i)
                results[i] = i == 0 ? first : wrapping_composition(first, folds[i - 1]);
            return results;
        });
}

TYPED_TEST_P(segments, wrong_offsets_are_named_on_request)
{
    const auto wrong = [&](const std::vector<std::int32_t>& offsets) {
        const target_array<TypeParam, std::int32_t> there{std::span<const std::int32_t>(offsets)};
        return refusal_of([&] { check_offsets(TypeParam{}, there.const_span(), 10); });
    };
    EXPECT_EQ(wrong({0, 3, 3, 10}), "no error");
    EXPECT_NE(wrong({0, 3, 2, 10}).find("offset 2 of 4"), std::string::npos);
    EXPECT_NE(wrong({0, 3, 5, 11}).find("offset 3 of 4"), std::string::npos);
    EXPECT_NE(wrong({-1, 3, 5, 10}).find("offset 0 of 4"), std::string::npos);
    EXPECT_NE(wrong({}).find("no offsets"), std::string::npos);
    std::vector<std::int32_t> many(300'000, 4); // the first of several
    many[250'001] = 3;
    many[70'000] = 11;
    EXPECT_NE(wrong(many).find("offset 70000 of 300000"), std::string::npos);

    const target_array<TypeParam, float> in(10);
    target_array<TypeParam, float> out(10);
    const std::vector<std::int32_t> three{0, 3, 5, 10};
    const target_array<TypeParam, std::int32_t> offsets{std::span<const std::int32_t>(three)};
    const auto call = [&](std::size_t results) {
        return refusal_of([&] {
            segmented_reduce(TypeParam{}, in.const_span(), offsets.const_span(), out.span().first(results), plus{});
        });
    };
    EXPECT_EQ(call(3), "no error");
    EXPECT_NE(call(2).find("fewer elements than segments"), std::string::npos);
}

REGISTER_TYPED_TEST_SUITE_P(segments, sums_of_floats, maxima_of_bytes, compositions, inclusive_scans, exclusive_scans,
                            exclusive_scans_with_an_initial_value, wrong_offsets_are_named_on_request);

} // namespace upsweep::test
