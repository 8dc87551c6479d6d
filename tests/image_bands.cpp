// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Integral images on the CPU in one pass: of all extents around those of squares, tiles and bands, however they lie in memory, on several threads.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include <gtest/gtest.h>
#include <upsweep/image.hpp>

#include "image_reference.hpp"
#include "samples.hpp"
#include "targets.hpp"

namespace upsweep::test {

namespace {

constexpr std::size_t tile = 4096; // bytes of a row of a tile
constexpr std::size_t large = std::size_t{1} << 17;
constexpr int poison = 77;

// Dense images one behind the other.
template <class T, class Sum>
void expect_images(const cpu& target, std::size_t images, std::size_t rows, std::size_t columns)
{
    auto random = generator();
    const std::size_t size = rows * columns;
    const host_array<T> elements = random_array<T>(random, images * size);
    host_array<Sum> sums(images * size);
    std::ranges::fill(sums, poison);
    integral_image(target, view<const T, 3>(elements.span().data(), {images, rows, columns}),
                   view<Sum, 3>(sums.span().data(), {images, rows, columns}));
    for (std::size_t k = 0; k < images; ++k) {
        host_array<T> image(size);
        host_array<Sum> result(size);
        for (std::size_t i = 0; i < size; ++i) {
            image[i] = elements[k * size + i];
            result[i] = sums[k * size + i];
        }
        ASSERT_TRUE(bits_equal(result, expected_integral(converted<Sum>(image.span()), rows, columns)))
            << "image " << k << " of " << images << ", " << rows << " x " << columns << ", " << target.threads
            << " threads";
    }
}

template <class T, class Sum>
void expect_all_extents()
{
    constexpr std::size_t columns_of_tile = tile / sizeof(Sum);
    for (const std::size_t rows : {8, 9, 15, 16, 17, 31, 32, 33, 65, 130})
        for (const std::size_t columns : {8, 9, 15, 16, 17, 63, 64, 65, 100})
            expect_images<T, Sum>(cpu{1}, 1, rows, columns);
    for (const std::size_t columns :
         {columns_of_tile - 1, columns_of_tile, columns_of_tile + 1, 2 * columns_of_tile + 9})
        expect_images<T, Sum>(cpu{1}, 1, 20, columns);
    // So that several threads follow one another, of which the last tile and band may be any part.
    for (const int threads : {2, 3, 7})
        for (const std::size_t columns : {large / 128, large / 256 + 1, large / 1024 + 13})
            expect_images<T, Sum>(cpu{threads}, 1, static_cast<std::size_t>(threads) * large / columns + 5, columns);
    expect_images<T, Sum>(cpu{3}, 50, 28, 28);
    expect_images<T, Sum>(cpu{2}, 3, 300, 200);
    expect_images<T, Sum>(cpu{2}, 2, 400, 400);
}

} // namespace

TEST(image_bands, of_floats) { expect_all_extents<float, float>(); }
TEST(image_bands, of_bytes) { expect_all_extents<std::uint8_t, std::uint32_t>(); }
#ifndef UPSWEEP_TEST_FEW_TYPES
TEST(image_bands, of_floats_in_f64) { expect_all_extents<float, double>(); }
TEST(image_bands, of_doubles) { expect_all_extents<double, double>(); }
TEST(image_bands, of_signed_bytes_in_64_bits) { expect_all_extents<std::int8_t, std::int64_t>(); }
TEST(image_bands, of_half_floats) { expect_images<f16, float>(cpu{1}, 2, 70, 150); }
TEST(image_bands, of_other_half_floats) { expect_images<bf16, float>(cpu{2}, 1, 700, 450); }
TEST(image_bands, of_truths) { expect_images<bool, std::int64_t>(cpu{1}, 2, 70, 150); }
TEST(image_bands, of_integers_as_floats) { expect_images<std::int32_t, double>(cpu{2}, 1, 700, 450); }
#endif

// Rows with gaps, columns with gaps, images backwards, and transposed ones, from and to.
TEST(image_bands, wherever_elements_lie)
{
    auto random = generator();
    constexpr std::size_t rows = 37;
    constexpr std::size_t columns = 83;
    constexpr std::size_t room = 4 * (rows + 1) * (columns + 1);
    using strides = std::array<std::ptrdiff_t, 2>;
    struct place {
        std::ptrdiff_t first;
        strides steps;
    };
    const std::array places{
        place{0, {83, 1}},
        place{5, {90, 1}},
        place{1, {200, 2}},
        place{3, {1, 41}},
        place{36 * 83 + 82, {-83, -1}},
        place{36 * 90, {-90, 1}},
    };
    for (const place& from : places)
        for (const place& to : places) {
            const host_array<float> memory = random_array<float>(random, room);
            const view<const float, 2> in(memory.span().data() + from.first, {rows, columns}, from.steps);
            host_array<float> out(room);
            std::ranges::fill(out, poison);
            host_array<float> expected = out;
            host_array<float> elements(rows * columns);
            for (std::size_t r = 0; r < rows; ++r)
                for (std::size_t c = 0; c < columns; ++c)
                    elements[r * columns + c] = in(r, c);
            const auto sums = expected_integral(elements, rows, columns);
            const view<float, 2> places_of_sums(expected.span().data() + to.first, {rows, columns}, to.steps);
            for (std::size_t r = 0; r < rows; ++r)
                for (std::size_t c = 0; c < columns; ++c)
                    places_of_sums(r, c) = sums[r * columns + c];
            integral_image(cpu{1}, in, view<float, 2>(out.span().data() + to.first, {rows, columns}, to.steps));
            ASSERT_TRUE(bits_equal(out, expected)) << from.first << " to " << to.first;
        }
}

TEST(image_bands, in_place)
{
    auto random = generator();
    for (const int threads : {1, 2}) {
        const std::size_t rows = 500;
        const std::size_t columns = 700;
        host_array<float> values = random_array<float>(random, rows * columns);
        const auto expected = expected_integral(values, rows, columns);
        const view<float, 2> image(values.span().data(), {rows, columns});
        integral_image(cpu{threads}, image, image);
        ASSERT_TRUE(bits_equal(values, expected));
    }
}

// Infinities of both signs, NaN of any bits, and sums of zeros of either sign.
TEST(image_bands, what_is_no_number)
{
    auto random = generator();
    const std::size_t rows = 40;
    const std::size_t columns = 100;
    for (int trial = 0; trial < 20; ++trial) {
        host_array<float> values = random_array<float>(random, rows * columns);
        for (std::size_t k = 0; k < values.size() && trial < 2; ++k)
            values[k] = trial == 0 || k % 3 != 0 ? -0.0F : 0.0F;
        for (const float x : {std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity(),
                              std::bit_cast<float>(0xffc12345U), std::numeric_limits<float>::max()})
            if (trial > 1)
                values[random() % values.size()] = x;
        host_array<float> sums(rows * columns);
        std::ranges::fill(sums, poison);
        integral_image(cpu{1}, view<const float, 2>(values.span().data(), {rows, columns}),
                       view<float, 2>(sums.span().data(), {rows, columns}));
        host_array<float> expected = expected_integral(values, rows, columns);
        for (float& sum : expected)
            if (std::isnan(sum))
                sum = std::numeric_limits<float>::quiet_NaN();
        ASSERT_TRUE(bits_equal(sums, expected)) << trial;
    }
}

TEST(image_bands, squares)
{
    auto random = generator();
    const std::size_t rows = 300;
    const std::size_t columns = 500;
    const host_array<float> values = random_array<float>(random, rows * columns);
    host_array<float> sums(rows * columns);
    host_array<float> squares(rows * columns);
    std::ranges::fill(sums, poison);
    std::ranges::fill(squares, poison);
    integral_images(cpu{2}, view<const float, 2>(values.span().data(), {rows, columns}),
                    view<float, 2>(sums.span().data(), {rows, columns}),
                    view<float, 2>(squares.span().data(), {rows, columns}));
    host_array<float> products = values;
    for (float& product : products)
        product *= product;
    EXPECT_TRUE(bits_equal(sums, expected_integral(values, rows, columns)));
    EXPECT_TRUE(bits_equal(squares, expected_integral(products, rows, columns)));
}

// More than goes through the caches: rows are streamed, to any address.
TEST(image_bands, large_ones)
{
    auto random = generator();
    const std::size_t rows = 2100;
    const std::size_t columns = 4099;
    const std::size_t pitch = columns + 2;
    const host_array<std::uint8_t> values = random_array<std::uint8_t>(random, rows * columns);
    host_array<std::uint32_t> sums(rows * pitch);
    std::ranges::fill(sums, poison);
    integral_image(cpu{2}, view<const std::uint8_t, 2>(values.span().data(), {rows, columns}),
                   view<std::uint32_t, 2>(sums.span().data() + 1, {rows, columns}, {pitch, 1}));
    host_array<std::uint32_t> above(columns);
    for (std::size_t r = 0; r < rows; ++r) {
        std::uint32_t row = 0;
        ASSERT_EQ(sums[r * pitch], 77U);
        for (std::size_t c = 0; c < columns; ++c) {
            row += values[r * columns + c];
            above[c] += row;
            ASSERT_EQ(sums[r * pitch + 1 + c], above[c]) << r << " " << c;
        }
        ASSERT_EQ(sums[r * pitch + 1 + columns], 77U);
    }
}

} // namespace upsweep::test
