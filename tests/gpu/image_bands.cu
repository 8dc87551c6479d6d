// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Integral images in one pass. The kernels are called by name: they are chosen for more rows than a test has, or for small images.
#include <cstddef>
#include <cstdint>

#include <gtest/gtest.h>
#include <upsweep/image.hpp>

#include "../image_reference.hpp"
#include "../samples.hpp"
#include "../targets.hpp"

namespace upsweep::test {

// Images one behind the other, whose rows lie `pitch` elements apart and begin at an offset.
struct placed_images {
    std::size_t images;
    std::size_t rows;
    std::size_t columns;
    std::size_t pitch;
    std::size_t offset;

    std::size_t reach() const { return images * rows * pitch + offset; }
    template <class T>
    view<T, 3> in(T* memory) const
    {
        return {memory + offset,
                {images, rows, columns},
                {static_cast<std::ptrdiff_t>(rows * pitch), static_cast<std::ptrdiff_t>(pitch), 1}};
    }
};

// Writes nothing but the images.
template <class Shape, class Lift, class T, class Sum>
void expect_bands(const placed_images& from, const placed_images& to)
{
    auto random = generator();
    const host_array<T> memory = random_array<T>(random, from.reach());
    const target_array<cuda, T> there(memory.span());
    target_array<cuda, Sum> out(to.reach());
    host_array<Sum> expected = out.to_host();
    const auto elements = from.in(memory.span().data());
    const auto results = to.in(expected.span().data());
    for (std::size_t i = 0; i < from.images; ++i) {
        host_array<Sum> values(from.rows * from.columns);
        for (std::size_t r = 0; r < from.rows; ++r)
            for (std::size_t c = 0; c < from.columns; ++c) {
                const Sum x = convert<Sum>(elements(i, r, c));
                values[r * from.columns + c] = std::is_same_v<Lift, gpu::squared> ? multiplies{}(x, x) : x;
            }
        const auto sums = expected_integral(values, from.rows, from.columns);
        for (std::size_t r = 0; r < from.rows; ++r)
            for (std::size_t c = 0; c < from.columns; ++c)
                results(i, r, c) = sums[r * from.columns + c];
    }
    const bool is_done = gpu::scan_bands_by<Shape, Lift>(cuda{}, "integral_image", from.in(there.const_span().data()),
                                                         to.in(out.span().data()));
    ASSERT_TRUE(is_done);
    EXPECT_TRUE(bits_equal(out.to_host(), expected))
        << from.images << " images of " << from.rows << " x " << from.columns << ", rows " << from.pitch
        << " apart from " << from.offset << " on";
}

// Shapes around a square, a block and groups of bands, from every place in a word on.
template <class Shape, class T, class Sum>
void expect_images(std::size_t rows, std::size_t columns)
{
    const std::size_t word = 16 / sizeof(T);
    const placed_images dense{1, rows, columns, columns, 0};
    expect_bands<Shape, gpu::unlifted, T, Sum>(dense, dense);
    const placed_images in_words{2, rows, columns, (columns + word) / word * word, word};
    expect_bands<Shape, gpu::unlifted, T, Sum>(in_words, {2, rows, columns, columns + 3, 1});
    for (const std::size_t offset : {std::size_t{1}, word - 1})
        expect_bands<Shape, gpu::unlifted, T, Sum>({2, rows, columns, columns + 5, offset},
                                                   {2, rows, columns, columns, 0});
}

template <class T, class Sum>
void expect_all_images()
{
    using shape = gpu::narrow_band_shape<T, scan_accumulator_t<plus, Sum>>;
    for (const std::size_t columns : {1, 31, 32, 33, 64, 255, 257})
        expect_images<shape, T, Sum>(33, columns);
    for (const std::size_t rows : {1, 5, 32, 64, 65})
        expect_images<shape, T, Sum>(rows, 40);
}

TEST(image_bands, of_floats) { expect_all_images<float, float>(); }
TEST(image_bands, of_floats_in_f64) { expect_all_images<float, double>(); }
TEST(image_bands, of_bytes) { expect_all_images<std::uint8_t, std::uint32_t>(); }
TEST(image_bands, of_bytes_in_64_bits) { expect_all_images<std::uint8_t, std::uint64_t>(); }
TEST(image_bands, of_half_floats_in_f32) { expect_all_images<f16, float>(); }
TEST(image_bands, of_doubles_in_f32) { expect_images<gpu::narrow_band_shape<double, float>, double, float>(40, 70); }

// Groups of 8 bands, and of 64.
TEST(image_bands, of_many_rows)
{
    expect_images<gpu::narrow_band_shape<float, float>, float, float>(32 * 9 + 1, 35);
    const placed_images tall{1, 32 * 66 + 7, 3, 3, 0};
    expect_bands<gpu::narrow_band_shape<float, float>, gpu::unlifted, float, float>(tall, tall);
    expect_bands<gpu::narrow_band_shape<float, double>, gpu::unlifted, float, double>(tall, tall);
}

// Steps of a block, as many as its binary counter has digits to carry.
TEST(image_bands, of_many_columns)
{
    const placed_images wide{1, 34, 256 * 9 + 100, 256 * 9 + 101, 2};
    expect_bands<gpu::narrow_band_shape<float, float>, gpu::unlifted, float, float>(wide, wide);
    expect_bands<gpu::wide_band_shape<float, float>, gpu::unlifted, float, float>(wide, wide);
    expect_bands<gpu::wide_band_shape<std::uint8_t, std::uint32_t>, gpu::unlifted, std::uint8_t, std::uint32_t>(wide,
                                                                                                                wide);
}

TEST(image_bands, of_squares)
{
    const placed_images some{3, 50, 70, 77, 1};
    expect_bands<gpu::narrow_band_shape<float, double>, gpu::squared, float, double>(some, some);
    expect_bands<gpu::narrow_band_shape<std::uint8_t, std::uint64_t>, gpu::squared, std::uint8_t, std::uint64_t>(some,
                                                                                                                 some);
}

// What is in shared memory has as many bytes as the wider of two types: wide images of doubles, summed in floats, have narrow blocks.
TEST(image_bands, of_doubles_in_f32_and_many_columns)
{
    auto random = generator();
    constexpr std::size_t rows = 8;
    constexpr std::size_t columns = 2100;
    const auto values = random_array<double>(random, rows * columns);
    const target_array<cuda, double> in(values.span());
    target_array<cuda, float> out(values.size());
    integral_image(cuda{}, view<const double, 2>(in.const_span().data(), {rows, columns}),
                   view<float, 2>(out.span().data(), {rows, columns}));
    EXPECT_TRUE(bits_equal(out.to_host(), expected_integral(converted<float>(values.span()), rows, columns)));
}

// States of totals of eight bytes lie where those of other kernels do, which take none of them for their own.
TEST(image_bands, before_other_scans)
{
    auto random = generator();
    constexpr std::size_t columns = 40;
    constexpr std::size_t rows = 1000;
    const cuda gpu;
    const auto values = random_array<double>(random, rows * columns);
    const target_array<cuda, double> in(values.span());
    const view<const double, 2> all(in.const_span().data(), {rows, columns});
    target_array<cuda, double> sums(values.size());
    target_array<cuda, double> scans(values.size());
    for (int i = 0; i < 3; ++i) {
        integral_image(gpu, all, view<double, 2>(sums.span().data(), {rows, columns}));
        inclusive_scan(gpu, all, axis{0}, view<double, 2>(scans.span().data(), {rows, columns}), plus{});
        EXPECT_TRUE(bits_equal(sums.to_host(), expected_integral(values, rows, columns)));
        ASSERT_TRUE(bits_equal(scans.to_host(), expected_columns(values, rows, columns)));
    }
}

// Results may replace elements. Rows that begin within words are left to other kernels then, whose threads touch no word of others.
TEST(image_bands, in_place)
{
    auto random = generator();
    for (const std::size_t columns : {64, 65}) {
        const std::size_t rows = 70;
        const auto values = random_array<float>(random, rows * columns);
        const target_array<cuda, float> there(values.span());
        const view<float, 2> image(const_cast<float*>(there.const_span().data()), {rows, columns});
        EXPECT_EQ(gpu::are_bands(view<const float, 2>(image), image), columns == 64);
        integral_image(cuda{}, image, image);
        EXPECT_TRUE(bits_equal(there.to_host(), expected_integral(values, rows, columns)));
    }
}

TEST(image_bands, which_images)
{
    const auto are_bands = [](std::size_t images, std::size_t rows, std::size_t columns, std::ptrdiff_t step = 1) {
        const auto pitch = static_cast<std::ptrdiff_t>(columns) * step;
        const view<const float, 3> in(nullptr, {images, rows, columns},
                                      {static_cast<std::ptrdiff_t>(rows) * pitch, pitch, step});
        const view<float, 3> out(reinterpret_cast<float*>(16), {images, rows, columns});
        return gpu::are_bands(in, out);
    };
    EXPECT_TRUE(are_bands(1, 16384, 16384));
    EXPECT_TRUE(are_bands(256, 480, 640));
    EXPECT_TRUE(are_bands(1, 20, 50));
    EXPECT_FALSE(are_bands(1, 20, 50, 2));   // columns lie apart
    EXPECT_FALSE(are_bands(1, 16, 1 << 20)); // few bands
    EXPECT_FALSE(are_bands(1, 1 << 20, 16)); // narrow
    EXPECT_FALSE(are_bands(1, 1, 1 << 16));  // one band, which would walk along all of it alone
    EXPECT_FALSE(are_bands(100000, 28, 28));
    EXPECT_FALSE(are_bands(4096, 1, 4096)); // bands with a row each
    EXPECT_FALSE(are_bands(4096, 33, 1024));
    EXPECT_TRUE(are_bands(4096, 28, 1024));
}

} // namespace upsweep::test
