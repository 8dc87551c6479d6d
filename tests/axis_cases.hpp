// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <upsweep/axis.hpp>
#include <upsweep/image.hpp>

#include "line_shapes.hpp"
#include "view_shapes.hpp"

// Reduce and scan along each axis of views: every line has the bits of the canonical order on its elements alone, wherever they lie,
// and nothing beside the output is written.
namespace upsweep::test {

template <class Target>
class along_axis : public ::testing::Test {
};
TYPED_TEST_SUITE_P(along_axis);
template <class Target>
class scans_along_axis : public ::testing::Test { // in the simulator compiled beside the others
};
TYPED_TEST_SUITE_P(scans_along_axis);
template <class Target>
class along_axis_of_more_types : public ::testing::Test {
};
TYPED_TEST_SUITE_P(along_axis_of_more_types);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(along_axis_of_more_types); // in the simulator

template <class Result, class Acc, class Op, class T>
host_array<Result> expected_reductions(const host_array<T>& elements, const split& s, const Op& op)
{
    host_array<Result> all(s.lines());
    for (std::size_t line = 0; line < s.lines(); ++line)
        all[line] = as_expected<Result>(literal_fold(converted<Acc>(line_of(elements, s, line).span()).span(), op));
    return all;
}

template <class Target, class T, class Result, class Op>
void expect_reductions(Op op)
{
    using accumulator = accumulator_t<Op, T>;
    auto random = generator();
    on_every_axis<Target>([&](const auto& s, std::size_t k) {
        constexpr std::size_t rank = std::tuple_size_v<decltype(s.extents)>;
        const viewed_array<Target, T, rank> in(s, random);
        const split lines = split_at(s.extents, k);
        if (lines.length == 0 || lines.lines() == 0)
            return;
        const auto expected = expected_reductions<Result, accumulator>(in.elements(), lines, op);
        auto extents = s.extents;
        extents[k] = 1;
        on_every_variant<Target>([&](const Target& target) {
            target_array<Target, Result> out(expected.size());
            reduce(target, in.readable(), axis{k}, view<Result, rank>(out.span().data(), extents), op);
            ASSERT_TRUE(bits_equal(out.to_host(), expected));
        });
        if constexpr (rank > 1) { // without the axis, every other place
            std::array<std::size_t, rank - 1> others{};
            std::array<std::ptrdiff_t, rank - 1> strides{};
            for (std::size_t i = 0; i < rank - 1; ++i)
                others[i] = extents[i < k ? i : i + 1];
            std::ptrdiff_t stride = -2;
            for (std::size_t i = 0; i < rank - 1; stride *= static_cast<std::ptrdiff_t>(others[i++]))
                strides[i] = stride; // the first dimension is the fastest, and all run backwards
            target_array<Target, Result> spread(2 * expected.size());
            const view<Result, rank - 1> out(spread.span().data() + 2 * expected.size() - 1, others, strides);
            const host_array<Result> before = spread.to_host();
            reduce(Target{}, in.readable(), axis{k}, out, op);
            const host_array<Result> after = spread.to_host();
            for (std::size_t i = 0; i < expected.size(); ++i)
                ASSERT_TRUE(same_bits(after[2 * i], before[2 * i])) << "written between the results";
            const shape<rank - 1> of_out{others, strides};
            std::size_t line = 0;
            for (const std::ptrdiff_t offset : offsets_of(of_out)) {
                const auto at = static_cast<std::ptrdiff_t>(2 * expected.size()) - 1 + offset;
                ASSERT_TRUE(bits_equal(after[static_cast<std::size_t>(at)], expected[line++]));
            }
        }
    });
}

TYPED_TEST_P(along_axis, sums_of_floats) { expect_reductions<TypeParam, float, float>(plus{}); }
TYPED_TEST_P(along_axis_of_more_types, sums_of_bytes_as_doubles)
{
    expect_reductions<TypeParam, std::int8_t, double>(plus{});
}
TYPED_TEST_P(along_axis, products_of_half_floats) { expect_reductions<TypeParam, f16, float>(multiplies{}); }
TYPED_TEST_P(along_axis, composition)
{
    expect_reductions<TypeParam, wrapping_map, wrapping_map>(wrapping_composition);
}

// Scans of views into arrays, into views and in place: scan(target, in, axis, out), expected(line).
template <class Target, class T, class Out, class Scan, class Expected>
void expect_scans(Scan scan, Expected expected_of_line)
{
    auto random = generator();
    on_every_axis<Target>([&](const auto& s, std::size_t k) {
        constexpr std::size_t rank = std::tuple_size_v<decltype(s.extents)>;
        const viewed_array<Target, T, rank> in(s, random);
        const split lines = split_at(s.extents, k);
        const auto expected_of = [&](const host_array<T>& elements) {
            host_array<Out> all(elements.size());
            for (std::size_t line = 0; lines.length != 0 && line < lines.lines(); ++line) {
                const host_array<Out> results = expected_of_line(line_of(elements, lines, line));
                for (std::size_t i = 0; i < lines.length; ++i)
                    all[lines.at(line, i)] = results[i];
            }
            return all;
        };
        const host_array<Out> expected = expected_of(in.elements());
        on_every_variant<Target>([&](const Target& target) {
            target_array<Target, Out> out(in.size());
            scan(target, in.readable(), axis{k}, view<Out, rank>(out.span().data(), s.extents));
            ASSERT_TRUE(bits_equal(out.to_host(), expected)) << "to an array";
        });
        if constexpr (std::is_same_v<T, Out>) {
            if (!has_distinct_elements(s))
                return;
            viewed_array<Target, T, rank> to(s, random);
            scan(Target{}, in.readable(), axis{k}, to.writable());
            ASSERT_TRUE(bits_equal(to.written(), expected)) << "to a view";
            viewed_array<Target, T, rank> in_place(s, random);
            const host_array<T> expected_in_place = expected_of(in_place.elements());
            scan(Target{}, in_place.readable(), axis{k}, in_place.writable());
            ASSERT_TRUE(bits_equal(in_place.written(), expected_in_place)) << "in place";
        }
    });
}

template <class Out, class Acc, class T, class Op>
host_array<Out> inclusive_results(const host_array<T>& line, const Op& op)
{
    return converted<Out>(literal_folds(converted<Acc>(line.span()).span(), op).span());
}

TYPED_TEST_P(scans_along_axis, inclusive_scans_of_floats)
{
    expect_scans<TypeParam, float, float>(
        [](const TypeParam& target, const auto& in, axis along, const auto& out) {
            inclusive_scan(target, in, along, out, plus{});
        },
        [](const host_array<float>& line) { return inclusive_results<float, float>(line, plus{}); });
}
TYPED_TEST_P(scans_along_axis, exclusive_scans_of_bytes_as_half_floats)
{
    expect_scans<TypeParam, std::uint8_t, f16>(
        [](const TypeParam& target, const auto& in, axis along, const auto& out) {
            exclusive_scan(target, in, along, out, minimum{});
        },
        [](const host_array<std::uint8_t>& line) {
            host_array<f16> results = inclusive_results<f16, float>(line, minimum{});
            std::shift_right(results.begin(), results.end(), 1);
            if (results.size() != 0)
                results[0] = f16(std::numeric_limits<float>::infinity());
            return results;
        });
}
TYPED_TEST_P(scans_along_axis, exclusive_scans_with_an_initial_value)
{
    static constexpr wrapping_map first{3, 7};
    expect_scans<TypeParam, wrapping_map, wrapping_map>(
        [](const TypeParam& target, const auto& in, axis along, const auto& out) {
            exclusive_scan(target, in, along, out, wrapping_composition, first);
        },
        [](const host_array<wrapping_map>& line) {
            host_array<wrapping_map> results(line.size());
            const auto folds = literal_folds(line.span(), wrapping_composition);
            for (std::size_t i = 0; i < line.size(); ++i)
                results[i] = i == 0 ? first : wrapping_composition(first, folds[i - 1]);
            return results;
        });
}

TYPED_TEST_P(along_axis_of_more_types, whether_any_element_is_true)
{
    expect_reductions<TypeParam, float, bool>(logical_or{});
}
TYPED_TEST_P(along_axis_of_more_types, exclusive_scans_of_truths)
{
    expect_scans<TypeParam, bool, bool>([](const TypeParam& target, const auto& in, axis along,
                                           const auto& out) { exclusive_scan(target, in, along, out, logical_and{}); },
                                        [](const host_array<bool>& line) {
                                            host_array<bool> results =
                                                inclusive_results<bool, bool>(line, logical_and{});
                                            std::shift_right(results.begin(), results.end(), 1);
                                            if (results.size() != 0)
                                                results[0] = true;
                                            return results;
                                        });
}

TYPED_TEST_P(scans_along_axis, nan_has_one_pattern)
{
    auto random = generator();
    constexpr std::size_t rows = 40;
    constexpr std::size_t columns = 75;
    host_array<float> values = random_array<float>(random, rows * columns);
    for (std::size_t i = 3; i < values.size(); i += 17)
        values[i] = nan_with_payload<float>();
    const target_array<TypeParam, float> in(values.span());
    for (const std::size_t k : {0UL, 1UL}) {
        const split lines = split_at(std::array{rows, columns}, k);
        target_array<TypeParam, float> out(values.size());
        const view<const float, 2> matrix(in.const_span().data(), {rows, columns});
        inclusive_scan(TypeParam{}, matrix, axis{k}, view<float, 2>(out.span().data(), {rows, columns}), plus{});
        const host_array<float> got = out.to_host();
        for (std::size_t line = 0; line < lines.lines(); ++line)
            EXPECT_TRUE(bits_equal(line_of(got, lines, line),
                                   inclusive_results<float, float>(line_of(values, lines, line), plus{})));
    }
}

TYPED_TEST_P(along_axis, means)
{
    const host_array<int> values{1, 2, 3, -5, 6, 7};
    const target_array<TypeParam, int> in(values.span());
    target_array<TypeParam, double> out(3);
    const view<const int, 2> matrix(in.const_span().data(), {2, 3});
    mean(TypeParam{}, matrix, axis{0}, view<double, 1>(out.span().data(), {3}));
    EXPECT_TRUE(bits_equal(out.to_host(), host_array<double>{-2, 4, 5}));
    mean(TypeParam{}, matrix, axis{1}, view<double, 1>(out.span().data(), {2}));
    EXPECT_EQ(out.to_host()[0], 2.0);
    EXPECT_EQ(out.to_host()[1], 8.0 / 3.0);
}

TYPED_TEST_P(scans_along_axis, integral_images)
{
    auto random = generator();
    constexpr std::size_t images = 2;
    constexpr std::size_t rows = 37;
    constexpr std::size_t columns = 70;
    const auto values = random_array<std::uint8_t>(random, images * rows * columns);
    const target_array<TypeParam, std::uint8_t> in(values.span());
    target_array<TypeParam, std::uint32_t> out(values.size());
    integral_image(TypeParam{}, view<const std::uint8_t, 3>(in.const_span().data(), {images, rows, columns}),
                   view<std::uint32_t, 3>(out.span().data(), {images, rows, columns}));
    const host_array<std::uint32_t> sums = out.to_host();
    std::vector<std::uint32_t> above(columns); // of the rows of an image so far, column by column
    for (std::size_t i = 0; i < values.size(); ++i) {
        const std::size_t column = i % columns;
        above[column] = (i / columns % rows == 0 ? 0 : above[column]) + values[i];
        std::uint32_t expected = 0;
        for (std::size_t k = 0; k <= column; ++k)
            expected += above[k];
        ASSERT_EQ(sums[i], expected) << i;
    }
    // The same with a border of zeros.
    target_array<TypeParam, std::uint32_t> bordered(images * (rows + 1) * (columns + 1));
    integral_image(TypeParam{}, view<const std::uint8_t, 3>(in.const_span().data(), {images, rows, columns}),
                   view<std::uint32_t, 3>(bordered.span().data(), {images, rows + 1, columns + 1}));
    const host_array<std::uint32_t> with_zeros = bordered.to_host();
    for (std::size_t i = 0; i < with_zeros.size(); ++i) {
        const std::size_t row = i / (columns + 1) % (rows + 1);
        const std::size_t column = i % (columns + 1);
        const std::size_t image = i / ((rows + 1) * (columns + 1));
        const std::uint32_t expected =
            row == 0 || column == 0 ? 0 : sums[(image * rows + row - 1) * columns + column - 1];
        ASSERT_EQ(with_zeros[i], expected) << i;
    }
    // Floats in place: the bits are those of the rows first, and then of the columns.
    const host_array<float> pixels = random_array<float>(random, rows * columns);
    host_array<float> expected = pixels;
    for (const std::size_t k : {1UL, 0UL}) {
        const split lines = split_at(std::array{rows, columns}, k);
        for (std::size_t line = 0; line < lines.lines(); ++line) {
            const auto results = inclusive_results<float, float>(line_of(expected, lines, line), plus{});
            for (std::size_t i = 0; i < lines.length; ++i)
                expected[lines.at(line, i)] = results[i];
        }
    }
    target_array<TypeParam, float> image(pixels.span());
    const view<float, 2> in_place(image.span().data(), {rows, columns});
    integral_image(TypeParam{}, in_place, in_place);
    EXPECT_TRUE(bits_equal(image.to_host(), expected));
}

// --- nothing, and what is refused -----------------------------------------------------------------------------------

TYPED_TEST_P(along_axis, lines_without_elements)
{
    target_array<TypeParam, float> out(6);
    const auto to = view<float, 2>(out.span().data(), {2, 3});
    const view<const float, 3> in(static_cast<const float*>(nullptr), {2, 0, 3});
    reduce(TypeParam{}, in, axis{1}, to, plus{});
    for (const float zero : out.to_host())
        EXPECT_TRUE(same_bits(zero, 0.0F));
    mean(TypeParam{}, in, axis{1}, to);
    for (const float nan : out.to_host())
        EXPECT_TRUE(same_bits(nan, std::numeric_limits<float>::quiet_NaN()));
    EXPECT_THROW(reduce(TypeParam{}, in, axis{1}, to, minimum{}), error);
    EXPECT_NO_THROW(reduce(TypeParam{}, in, axis{0}, view<float, 2>(out.span().data(), {0, 3}), minimum{}));
    EXPECT_NO_THROW(inclusive_scan(TypeParam{}, in, axis{1}, view<float, 3>(nullptr, {2, 0, 3}), plus{}));
}

TYPED_TEST_P(along_axis, wrong_shapes_are_refused)
{
    target_array<TypeParam, float> memory(200);
    float* const data = memory.span().data();
    const view<const float, 2> in(data, {4, 6});
    const auto refused = [](auto call, const std::string& why) {
        try {
            call();
            FAIL() << "no error";
        } catch (const error& failure) {
            EXPECT_EQ(failure.kind(), error_kind::invalid_argument);
            EXPECT_NE(std::string(failure.what()).find(why), std::string::npos) << failure.what();
        }
    };
    const auto reduce_to = [&](const auto& out, std::size_t k) {
        return [&in, out, k] { reduce(TypeParam{}, in, axis{k}, out, plus{}); };
    };
    const auto scan_to = [&](const auto& out, std::size_t k) {
        return [&in, out, k] { inclusive_scan(TypeParam{}, in, axis{k}, out, plus{}); };
    };
    float* const apart = data + 100;
    refused(reduce_to(view<float, 1>(apart, {6}), 2), "axis 2 of a view of 2 dimensions");
    refused(reduce_to(view<float, 1>(apart, {4}), 0), "extents");
    refused(reduce_to(view<float, 2>(apart, {4, 6}), 0), "extents");
    refused(reduce_to(view<float, 1>(data + 20, {6}), 0), "overlap");
    refused(reduce_to(view<float, 1>(apart, {6}, {0}), 0), "same place");
    refused(scan_to(view<float, 2>(apart, {4, 6}), 2), "axis 2");
    refused(scan_to(view<float, 2>(apart, {6, 4}), 0), "extents");
    refused(scan_to(view<float, 2>(data + 1, {4, 6}), 0), "overlap");
    refused(scan_to(view<float, 2>(apart, {4, 6}, {5, 1}), 1), "same place");
}

REGISTER_TYPED_TEST_SUITE_P(along_axis, sums_of_floats, products_of_half_floats, composition, means,
                            lines_without_elements, wrong_shapes_are_refused);
REGISTER_TYPED_TEST_SUITE_P(scans_along_axis, inclusive_scans_of_floats, exclusive_scans_of_bytes_as_half_floats,
                            exclusive_scans_with_an_initial_value, nan_has_one_pattern, integral_images);
REGISTER_TYPED_TEST_SUITE_P(along_axis_of_more_types, sums_of_bytes_as_doubles, whether_any_element_is_true,
                            exclusive_scans_of_truths);

} // namespace upsweep::test
