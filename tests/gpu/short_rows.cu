// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Rows of two to four elements.
#include <cstddef>
#include <cstdint>

#include "rows_of_elements.cuh"

namespace upsweep::test {

namespace {

template <class T, class Op>
void expect_short_rows(const rows_of_elements<T>& of, const Op& op, std::size_t out_offset)
{
    of.expect_totals(op, [](const auto& lines, const auto& by, const auto& finish) {
        ASSERT_TRUE(gpu::are_short_rows(lines));
        gpu::reduce_short_rows<accumulator_t<Op, T>>(cuda{}, "reduce", lines, by, finish);
    });
    of.expect_scans(op, of.length, out_offset, [](const auto& lines, const auto& by) {
        ASSERT_TRUE(gpu::are_short_rows(lines));
        gpu::scan_short_rows(cuda{}, "scan", lines, by, inclusive<scan_accumulator_t<Op, T>>(by));
    });
}

// Fewer than a lane has, some of a warp, whole blocks, and one more; from the beginning of a vector on, and from within.
template <class T, class Op>
void expect_short_rows(const Op& op)
{
    for (const std::size_t length : {1, 2, 3, 4})
        for (const std::size_t rows : {2, 5, 100, 4096, 4097}) {
            expect_short_rows(rows_of_elements<T>{rows, length, length, 0}, op, 0);
            expect_short_rows(rows_of_elements<T>{rows, length, length, 1}, op, rows % 3);
        }
}

} // namespace

TEST(gpu_short_rows, of_floats) { expect_short_rows<float>(plus{}); }
TEST(gpu_short_rows, of_bytes)
{
    expect_short_rows<std::uint8_t>(plus{}); // results have eight times as many bytes
    expect_short_rows<std::int8_t>(minimum{});
}
TEST(gpu_short_rows, of_half_floats) { expect_short_rows<f16>(plus{}); }
TEST(gpu_short_rows, by_an_operator_of_the_user) { expect_short_rows<affine>(composition); }

TEST(gpu_short_rows, after_an_initial_value)
{
    const rows_of_elements<float> of{1000, 3, 3, 0};
    target_array<cuda, float> results(3000);
    const float init = 0.75F;
    gpu::scan_short_rows(cuda{}, "scan", detail::lines_of(of.matrix(), axis{1}, results.span().data(), 3, {3, 1}),
                         plus{}, exclusive(plus{}, init));
    host_array<float> expected(3000);
    for (std::size_t i = 0; i < 1000; ++i) {
        const auto row = of.row(i);
        expected[3 * i] = init;
        expected[3 * i + 1] = init + row[0];
        expected[3 * i + 2] = init + (row[0] + row[1]);
    }
    ASSERT_TRUE(bits_equal(results.to_host(), expected));
}

// As segments of equal length, whose windows begin anywhere in the lines of memory, which have other lengths for results.
template <class T, class Result>
void expect_segments_with_wider_results(std::size_t offset)
{
    constexpr std::size_t rows = 3000;
    constexpr std::size_t length = 9;
    const rows_of_elements<T> of{rows, length, length, offset};
    of.template expect_scans<Result>(plus{}, length, 3, [](const auto& lines, const auto& by) {
        using accumulator = scan_accumulator_t<plus, Result>;
        gpu::scan_segments<accumulator>(cuda{}, lines.in.data(), rows * length, gpu::equal_segments{length, rows},
                                        lines.out.data(), by, inclusive<accumulator>(by));
    });
}

TEST(gpu_short_rows, with_results_of_another_size)
{
    for (const std::size_t offset : {0, 1, 31, 100}) {
        expect_segments_with_wider_results<std::uint8_t, std::uint64_t>(offset);
        expect_segments_with_wider_results<f16, float>(offset);
    }
}

// Rows that lie apart, or whose results do, are for other kernels.
TEST(gpu_short_rows, that_lie_apart)
{
    target_array<cuda, float> results(1200);
    const auto are_short = [&](std::size_t pitch, std::ptrdiff_t out_pitch) {
        const rows_of_elements<float> of{300, 3, pitch, 1};
        return gpu::are_short_rows(detail::lines_of(of.matrix(), axis{1}, results.span().data(), 3, {out_pitch, 1}));
    };
    EXPECT_TRUE(are_short(3, 3));
    EXPECT_FALSE(are_short(4, 3));
    EXPECT_FALSE(are_short(3, 4));
    EXPECT_FALSE(are_short(4, 4));
}

// Lanes walk along them.
TEST(gpu_short_rows, that_lie_apart_by_walks)
{
    const auto reduce = [](const auto& lines, const auto& op, const auto& finish) {
        ASSERT_EQ((gpu::kernels_for<false, plus, float>(lines, false)), gpu::line_kernels::walks);
        detail::engine<cuda, detail::verb::reduce_lines>::template fold<float>(cuda{}, lines, op, finish);
    };
    for (const std::size_t length : {2, 3, 5, 8, 16, 24})
        for (const std::size_t rows : {2, 33, 1000})
            rows_of_elements<float>{rows, length, length + 3, 1}.expect_totals(plus{}, reduce);
    for (const std::size_t length : {2, 7, 24})
        rows_of_elements<f16>{300, length, length + 5, 3}.expect_totals(plus{}, reduce);
}
TEST(gpu_short_rows, of_moments_that_lie_apart_by_walks)
{
    using sums = moments<double>;
    for (const std::size_t length : {2, 5, 16, 24}) {
        const rows_of_elements<float> of{301, length, length + 3, 1};
        target_array<cuda, sums> totals(of.rows);
        const auto lines = detail::lines_of(of.matrix(), axis{1}, totals.span().data(), 1, {1, 0});
        ASSERT_EQ(gpu::block_kernels_for(lines, false), gpu::block_line_kernels::walks);
        detail::engine<cuda, detail::verb::reduce_lines>::fold<sums>(cuda{}, lines, mean_and_variance{},
                                                                     detail::as_results_of<mean_and_variance>{});
        const host_array<sums> results = totals.to_host();
        for (std::size_t i = 0; i < of.rows; ++i)
            ASSERT_TRUE(same_bits(results[i], reduce(cpu{}, of.row(i), mean_and_variance{}))) << length;
    }
}
TEST(gpu_short_rows, that_lie_apart_and_are_walked)
{
    alignas(8) std::byte memory[8] = {};
    const auto are_walked = [&]<class T>(T, std::size_t length, std::ptrdiff_t pitch, std::ptrdiff_t stride = 1,
                                         std::size_t rows = 1000) {
        const auto* const first = reinterpret_cast<const T*>(memory);
        const view<const T, 2> elements(first, {rows, length}, {pitch, stride});
        return gpu::are_walked_rows(detail::lines_of(elements, axis{1}, static_cast<T*>(nullptr), 1, {1, 0}));
    };
    for (const std::ptrdiff_t pitch : {6, 8, 35, 5000})
        EXPECT_TRUE(are_walked(float{}, 5, pitch)) << pitch;
    EXPECT_TRUE(are_walked(float{}, 24, 27));
    EXPECT_TRUE(are_walked(float{}, 5, -8));
    EXPECT_TRUE(are_walked(float{}, 5, 10, 2)); // every other element, of rows that follow one another
    EXPECT_TRUE(are_walked(float{}, 5, 10, -2));
    EXPECT_TRUE(are_walked(float{}, 63, 129, 2));
    EXPECT_TRUE(are_walked(float{}, 1, 3, 5000)); // of one element, which is near no other
    EXPECT_TRUE(are_walked(std::uint8_t{}, 24, 1000));
    EXPECT_TRUE(are_walked(double{}, 8, 11));
    EXPECT_FALSE(are_walked(float{}, 5, 5));        // without gaps
    EXPECT_FALSE(are_walked(float{}, 24, 32));      // all begin in the same place of a line of the cache
    EXPECT_FALSE(are_walked(float{}, 24, 300));     // too far apart
    EXPECT_FALSE(are_walked(float{}, 100, 103));    // too long
    EXPECT_FALSE(are_walked(float{}, 64, 5000, 0)); // as long, though it is one element
    EXPECT_FALSE(are_walked(std::uint8_t{}, 25, 28));
    EXPECT_FALSE(are_walked(double{}, 63, 129, 2));
    EXPECT_FALSE(are_walked(float{}, 5, 8, 1, 1)); // one row
    EXPECT_FALSE(are_walked(float{}, 0, 8));       // of nothing
}

} // namespace upsweep::test
