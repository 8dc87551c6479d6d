// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <upsweep/image.hpp>
#include <upsweep/scan.hpp>

#include "expected.hpp"
#include "image_reference.hpp"
#include "refusal.hpp"
#include "samples.hpp"
#include "targets.hpp"

// Integral images with and without a border, of elements and of their squares, and what is asked of them.
namespace upsweep::test {

template <class Target>
class images : public ::testing::Test {
};
TYPED_TEST_SUITE_P(images);

// One with zeros before the first row and column, and its elements `stride` apart.
template <class Sum>
host_array<Sum> with_zeros(const host_array<Sum>& sums, std::size_t rows, std::size_t columns)
{
    host_array<Sum> all((rows + 1) * (columns + 1));
    for (std::size_t r = 0; r < rows; ++r)
        std::copy_n(sums.begin() + r * columns, columns, all.begin() + (r + 1) * (columns + 1) + 1);
    return all;
}

template <class Target, class T, class Sum, class Square>
void expect_integral_images()
{
    auto random = generator();
    for (const auto& extents : {std::pair(1UL, 1UL), std::pair(3UL, 1500UL), std::pair(70UL, 33UL),
                                std::pair(300UL, 257UL), std::pair(2049UL, 3UL)}) {
        const std::size_t rows = extents.first;
        const std::size_t columns = extents.second;
        const host_array<T> values = random_array<T>(random, rows * columns);
        const target_array<Target, T> there(values.span());
        const view<const T, 2> in(there.const_span().data(), {rows, columns});
        host_array<Square> squares = converted<Square>(values.span());
        for (Square& square : squares)
            square = multiplies{}(square, square);
        const auto sums = expected_integral(converted<Sum>(values.span()), rows, columns);
        const auto sums_of_squares = expected_integral(squares, rows, columns);
        on_every_variant<Target>([&](const Target& target) {
            target_array<Target, Sum> out(rows * columns);
            target_array<Target, Square> out_of_squares(rows * columns);
            integral_images(target, in, view<Sum, 2>(out.span().data(), {rows, columns}),
                            view<Square, 2>(out_of_squares.span().data(), {rows, columns}));
            ASSERT_TRUE(bits_equal(out.to_host(), sums));
            ASSERT_TRUE(bits_equal(out_of_squares.to_host(), sums_of_squares));

            target_array<Target, Sum> bordered((rows + 1) * (columns + 1));
            target_array<Target, Square> transposed((rows + 1) * (columns + 1));
            integral_images(target, in, view<Sum, 2>(bordered.span().data(), {rows + 1, columns + 1}),
                            view<Square, 2>(transposed.span().data(), {rows + 1, columns + 1},
                                            {1, static_cast<std::ptrdiff_t>(rows + 1)}));
            ASSERT_TRUE(bits_equal(bordered.to_host(), with_zeros(sums, rows, columns)));
            const auto got = transposed.to_host();
            const auto expected = with_zeros(sums_of_squares, rows, columns);
            for (std::size_t r = 0; r <= rows; ++r)
                for (std::size_t c = 0; c <= columns; ++c)
                    ASSERT_TRUE(bits_equal(got[c * (rows + 1) + r], expected[r * (columns + 1) + c]));

            target_array<Target, Sum> alone((rows + 1) * (columns + 1));
            integral_image(target, in, view<Sum, 2>(alone.span().data(), {rows + 1, columns + 1}));
            ASSERT_TRUE(bits_equal(alone.to_host(), bordered.to_host()));
        });
    }
}
TYPED_TEST_P(images, of_bytes_and_their_squares)
{
    expect_integral_images<TypeParam, std::uint8_t, std::uint32_t, std::uint64_t>();
}
TYPED_TEST_P(images, of_floats_and_their_squares) { expect_integral_images<TypeParam, float, float, double>(); }

// Rectangles of every kind in an image: some without elements, some of all.
inline std::vector<std::int32_t> random_rectangles(std::mt19937_64& random, std::size_t count, std::size_t rows,
                                                   std::size_t columns)
{
    std::vector<std::int32_t> all;
    for (std::size_t k = 0; k < count; ++k) {
        std::size_t r[2] = {random() % (rows + 1), random() % (rows + 1)};
        std::size_t c[2] = {random() % (columns + 1), random() % (columns + 1)};
        if (k % 7 == 0)
            r[0] = c[0] = 0;
        if (k % 11 == 0)
            r[1] = r[0];
        for (const std::size_t i :
             {std::min(r[0], r[1]), std::min(c[0], c[1]), std::max(r[0], r[1]), std::max(c[0], c[1])})
            all.push_back(static_cast<std::int32_t>(i));
    }
    return all;
}

// S(r, c) of an integral image without border.
template <class Sum>
Sum sum_before(const host_array<Sum>& sums, std::size_t columns, std::size_t r, std::size_t c)
{
    return r == 0 || c == 0 ? Sum{} : sums[(r - 1) * columns + c - 1];
}

TYPED_TEST_P(images, rectangles_of_bytes)
{
    auto random = generator();
    constexpr std::size_t rows = 45;
    constexpr std::size_t columns = 61;
    constexpr std::size_t count = sampled<TypeParam>(10007);
    const auto pixels = random_array<std::uint8_t>(random, rows * columns);
    const target_array<TypeParam, std::uint8_t> there(pixels.span());
    const auto boxes = random_rectangles(random, count, rows, columns);
    const target_array<TypeParam, std::int32_t> boxes_there{std::span<const std::int32_t>(boxes)};
    const view<const std::int32_t, 2> rectangles(boxes_there.const_span().data(), {count, 4});
    host_array<std::uint64_t> sums(count);
    host_array<double> means(count);
    host_array<double> variances(count);
    for (std::size_t k = 0; k < count; ++k) {
        std::uint64_t sum = 0;
        std::uint64_t squares = 0;
        std::uint64_t n = 0;
        for (std::int32_t r = boxes[4 * k]; r < boxes[4 * k + 2]; ++r)
            for (std::int32_t c = boxes[4 * k + 1]; c < boxes[4 * k + 3]; ++c, ++n) {
                const std::uint64_t x = pixels[static_cast<std::size_t>(r) * columns + static_cast<std::size_t>(c)];
                sum += x;
                squares += x * x;
            }
        sums[k] = sum;
        means[k] = as_expected<double>(static_cast<double>(sum) / static_cast<double>(n));
        variances[k] = as_expected<double>(static_cast<double>(n * squares - sum * sum) / static_cast<double>(n * n));
    }
    for (const image_border border : {without_border, zero_border}) {
        const std::size_t more = border == zero_border ? 1 : 0;
        target_array<TypeParam, std::uint32_t> image((rows + more) * (columns + more));
        target_array<TypeParam, std::uint64_t> image_of_squares(image.span().size());
        const view<std::uint32_t, 2> s(image.span().data(), {rows + more, columns + more});
        const view<std::uint64_t, 2> q(image_of_squares.span().data(), {rows + more, columns + more});
        integral_images(TypeParam{}, view<const std::uint8_t, 2>(there.const_span().data(), {rows, columns}), s, q);
        on_every_variant<TypeParam>([&](const TypeParam& target) {
            target_array<TypeParam, std::uint64_t> of_sums(count);
            target_array<TypeParam, double> of_means(count);
            target_array<TypeParam, double> of_variances(count);
            rectangle_sum(target, s, rectangles, of_sums.span(), border);
            rectangle_mean(target, s, rectangles, of_means.span(), border);
            rectangle_variance(target, s, q, rectangles, of_variances.span(), border);
            ASSERT_TRUE(bits_equal(of_sums.to_host(), sums));
            ASSERT_TRUE(bits_equal(of_means.to_host(), means));
            ASSERT_TRUE(bits_equal(of_variances.to_host(), variances));
        });
    }
}

TYPED_TEST_P(images, rectangles_of_floats)
{
    auto random = generator();
    constexpr std::size_t rows = 37;
    constexpr std::size_t columns = 29;
    constexpr std::size_t count = 500;
    const auto sums = random_array<float>(random, rows * columns); // any numbers can be an integral image
    auto squares = random_array<double>(random, rows * columns);
    squares[columns + 3] = std::numeric_limits<double>::infinity();
    const target_array<TypeParam, float> sums_there(sums.span());
    const target_array<TypeParam, double> squares_there(squares.span());
    const auto boxes = random_rectangles(random, count, rows, columns);
    // Columns of the array of rectangles lie one after the other.
    std::vector<std::int64_t> transposed(4 * count);
    for (std::size_t i = 0; i < boxes.size(); ++i)
        transposed[i % 4 * count + i / 4] = boxes[i];
    const target_array<TypeParam, std::int64_t> boxes_there{std::span<const std::int64_t>(transposed)};
    const view<const std::int64_t, 2> rectangles(boxes_there.const_span().data(), {count, 4},
                                                 {1, static_cast<std::ptrdiff_t>(count)});
    const view<const float, 2> s(sums_there.const_span().data(), {rows, columns});
    const view<const double, 2> q(squares_there.const_span().data(), {rows, columns});
    target_array<TypeParam, float> of_sums(count);
    target_array<TypeParam, f16> of_means(count);
    target_array<TypeParam, double> of_variances(count);
    rectangle_sum(TypeParam{}, s, rectangles, of_sums.span());
    rectangle_mean(TypeParam{}, s, rectangles, of_means.span());
    rectangle_variance(TypeParam{}, s, q, rectangles, of_variances.span());
    const auto got_sums = of_sums.to_host();
    const auto got_means = of_means.to_host();
    const auto got_variances = of_variances.to_host();
    for (std::size_t k = 0; k < count; ++k) {
        const auto at = [&](std::size_t i) { return static_cast<std::size_t>(boxes[4 * k + i]); };
        const std::size_t n = (at(2) - at(0)) * (at(3) - at(1));
        const auto over = [&]<class Sum>(const host_array<Sum>& all) {
            const auto before = [&](std::size_t r, std::size_t c) { return sum_before(all, columns, at(r), at(c)); };
            return n == 0 ? Sum{} : (before(2, 3) - before(0, 3)) - (before(2, 1) - before(0, 1));
        };
        const float sum = over(sums);
        ASSERT_TRUE(bits_equal(got_sums[k], sum)) << k;
        ASSERT_TRUE(bits_equal(got_means[k], as_expected<f16>(sum / static_cast<float>(n)))) << k;
        const double mean = static_cast<double>(sum) / static_cast<double>(n);
        const double variance = over(squares) / static_cast<double>(n) - mean * mean;
        ASSERT_TRUE(bits_equal(got_variances[k], as_expected<double>(variance < 0 ? 0.0 : variance))) << k;
    }
}

TYPED_TEST_P(images, slices)
{
    auto random = generator();
    constexpr std::size_t size = 3000;
    constexpr std::size_t count = sampled<TypeParam>(5003);
    const auto values = random_array<std::int32_t>(random, size);
    host_array<std::int64_t> with_zero(size + 1);
    for (std::size_t i = 0; i < size; ++i)
        with_zero[i + 1] = with_zero[i] + values[i];
    std::vector<std::uint32_t> slices;
    for (std::size_t k = 0; k < count; ++k) {
        const auto a = static_cast<std::uint32_t>(random() % (size + 1));
        const auto b = k % 5 == 0 ? a : static_cast<std::uint32_t>(random() % (size + 1));
        slices.push_back(std::min(a, b));
        slices.push_back(std::max(a, b));
    }
    host_array<std::int64_t> expected(count);
    for (std::size_t k = 0; k < count; ++k)
        expected[k] = with_zero[slices[2 * k + 1]] - with_zero[slices[2 * k]];
    const target_array<TypeParam, std::int64_t> bordered(with_zero.span());
    const target_array<TypeParam, std::int64_t> scanned(std::span<const std::int64_t>(with_zero.span()).subspan(1));
    const target_array<TypeParam, std::uint32_t> slices_there{std::span<const std::uint32_t>(slices)};
    const view<const std::uint32_t, 2> boxes(slices_there.const_span().data(), {count, 2});
    on_every_variant<TypeParam>([&](const TypeParam& target) {
        target_array<TypeParam, std::int64_t> out(count);
        slice_sum(target, scanned.const_span(), boxes, out.span());
        ASSERT_TRUE(bits_equal(out.to_host(), expected));
        target_array<TypeParam, std::int64_t> again(count);
        slice_sum(target, bordered.const_span(), boxes, again.span(), zero_border);
        ASSERT_TRUE(bits_equal(again.to_host(), expected));
    });
}

// Windows are the rectangles around each element, cut off at the borders of the image.
TYPED_TEST_P(images, windows)
{
    auto random = generator();
    for (const auto& extents : {std::pair(1UL, 1UL), std::pair(40UL, 67UL), std::pair(3UL, 1000UL)}) {
        const std::size_t rows = extents.first;
        const std::size_t columns = extents.second;
        const auto pixels = random_array<float>(random, rows * columns);
        const target_array<TypeParam, float> there(pixels.span());
        for (const image_border border : {without_border, zero_border}) {
            const std::size_t more = border == zero_border ? 1 : 0;
            target_array<TypeParam, float> image((rows + more) * (columns + more));
            const view<float, 2> sums(image.span().data(), {rows + more, columns + more});
            integral_image(TypeParam{}, view<const float, 2>(there.const_span().data(), {rows, columns}), sums);
            for (const auto& halves : {std::pair(0UL, 0UL), std::pair(2UL, 3UL), std::pair(100UL, 33UL),
                                       std::pair(1UL, 66UL), std::pair(0UL, std::size_t{1} << 62)}) {
                const std::size_t half_rows = halves.first;
                const std::size_t half_columns = halves.second;
                std::vector<std::int64_t> around;
                for (std::size_t r = 0; r < rows; ++r)
                    for (std::size_t c = 0; c < columns; ++c)
                        for (const std::size_t i :
                             {r - std::min(r, half_rows), c - std::min(c, half_columns),
                              std::min(rows, r + half_rows + 1), std::min(columns, c + half_columns + 1)})
                            around.push_back(static_cast<std::int64_t>(i));
                const target_array<TypeParam, std::int64_t> boxes{std::span<const std::int64_t>(around)};
                target_array<TypeParam, double> expected(rows * columns);
                rectangle_mean(TypeParam{}, sums,
                               view<const std::int64_t, 2>(boxes.const_span().data(), {rows * columns, 4}),
                               expected.span(), border);
                on_every_variant<TypeParam>([&](const TypeParam& target) {
                    target_array<TypeParam, double> out(rows * columns);
                    window_mean(target, sums, half_rows, half_columns,
                                view<double, 2>(out.span().data(), {rows, columns}), border);
                    ASSERT_TRUE(bits_equal(out.to_host(), expected.to_host()));
                });
                // Sums and means whose rows are columns of memory.
                target_array<TypeParam, double> out(rows * columns);
                const auto pitch = static_cast<std::ptrdiff_t>(rows);
                window_mean(TypeParam{}, sums, half_rows, half_columns,
                            view<double, 2>(out.span().data(), {rows, columns}, {1, pitch}), border);
                const auto got = out.to_host();
                for (std::size_t i = 0; i < rows * columns; ++i)
                    ASSERT_TRUE(bits_equal(got[i % columns * rows + i / columns], expected.to_host()[i]));
            }
        }
    }
}

TYPED_TEST_P(images, what_is_refused)
{
    target_array<TypeParam, float> memory(400);
    float* const data = memory.span().data();
    const view<const float, 2> sums(data, {4, 6});
    target_array<TypeParam, double> out(3);
    const host_array<double> before = out.to_host();
    const auto query = [&](std::initializer_list<int> numbers, std::size_t width, image_border border) {
        const host_array<int> all(numbers);
        const target_array<TypeParam, int> there(all.span());
        rectangle_mean(TypeParam{}, sums, view<const int, 2>(there.const_span().data(), {all.size() / width, width}),
                       out.span(), border);
    };
    const auto none = without_border;
    expect_refusal([&] { query({0, 0, 4, 6, 2, 0, 1, 3}, 4, none); }, {"rectangle_mean", "rectangle 1 of 2"});
    expect_refusal([&] { query({0, 0, 5, 6}, 4, none); }, {"rectangle 0 of 1", "beyond"});
    expect_refusal([&] { query({0, 0, 4, 7}, 4, none); }, {"rectangle 0 of 1"});
    expect_refusal([&] { query({0, -1, 4, 6}, 4, none); }, {"rectangle 0 of 1"});
    expect_refusal([&] { query({0, 0, 4, 6}, 4, zero_border); }, {"rectangle 0 of 1"});
    expect_refusal([&] { query({0, 0, 4, 6}, 2, none); }, {"2 numbers for each rectangle", "give 4"});
    expect_refusal([&] { query({0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 1, 1}, 4, none); }, {"shorter"});
    expect_refusal(
        [&] {
            const host_array<int> slice{2, 401};
            const target_array<TypeParam, int> there(slice.span());
            slice_sum(TypeParam{}, memory.const_span(), view<const int, 2>(there.const_span().data(), {1, 2}),
                      out.span());
        },
        {"slice_sum", "slice 0 of 1"});
    EXPECT_TRUE(bits_equal(out.to_host(), before));
    // The first of several, which threads find at the same time.
    const std::size_t many = 30000;
    std::vector<int> all(2 * many, 1);
    all[2 * 20001] = 2;
    all[2 * 9001] = 2;
    const target_array<TypeParam, int> there{std::span<const int>(all)};
    target_array<TypeParam, float> results(many);
    expect_refusal(
        [&] {
            slice_sum(TypeParam{}, memory.const_span(), view<const int, 2>(there.const_span().data(), {many, 2}),
                      results.span());
        },
        {"slice 9001 of 30000"});

    const host_array<float> untouched = memory.to_host();
    const view<const float, 2> in(data, {4, 6});
    expect_refusal(
        [&] {
            integral_image(TypeParam{}, in, view<float, 2>(data + 100, {5, 6}));
        },
        {"integral_image", "extents"});
    expect_refusal([&] { integral_image(TypeParam{}, in, view<float, 2>(data, {5, 7})); }, {"overlap"});
    expect_refusal(
        [&] {
            integral_image(TypeParam{}, in, view<float, 2>(data + 100, {5, 7}, {6, 1}));
        },
        {"same place"});
    expect_refusal(
        [&] {
            integral_images(TypeParam{}, in, view<float, 2>(data + 100, {4, 6}), view<float, 2>(data + 110, {4, 6}));
        },
        {"integral_images", "overlap"});
    expect_refusal(
        [&] {
            window_mean(TypeParam{}, sums, 1, 1, view<float, 2>(data + 100, {4, 5}));
        },
        {"window_mean", "extents"});
    expect_refusal([&] { window_mean(TypeParam{}, sums, 1, 1, view<float, 2>(data + 10, {4, 6})); }, {"overlap"});
    EXPECT_TRUE(bits_equal(memory.to_host(), untouched));
}

REGISTER_TYPED_TEST_SUITE_P(images, of_bytes_and_their_squares, of_floats_and_their_squares, rectangles_of_bytes,
                            rectangles_of_floats, slices, windows, what_is_refused);

} // namespace upsweep::test
