// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Rows that go through shared memory. The kernels are called by name: they are chosen for more rows than a test has.
#include <cstddef>
#include <cstdint>
#include <initializer_list>

#include "rows_of_elements.cuh"

namespace upsweep::test {

template <class T, class Op>
void expect_staged_totals(const rows_of_elements<T>& of, const Op& op)
{
    of.expect_totals(op, [](const auto& lines, const auto& by, const auto& finish) {
        gpu::reduce_staged_rows<accumulator_t<Op, T>>(cuda{}, "reduce", lines, by, finish);
    });
}
template <class T, class Op>
void expect_staged_scans(const rows_of_elements<T>& of, const Op& op, std::size_t out_pitch, std::size_t out_offset)
{
    of.expect_scans(op, out_pitch, out_offset, [](const auto& lines, const auto& by) {
        using scanned = scan_accumulator_t<Op, T>;
        gpu::scan_staged_rows(cuda{}, "scan", lines, by, inclusive<scanned>(by));
    });
}

// Elements that a lane has of a row, and a panel.
template <class T>
inline constexpr std::size_t of_lane = gpu::staged_row_shape<T, T>::elements;
template <class T>
inline constexpr std::size_t of_panel = gpu::staged_row_shape<T, T>::panel;

// Lengths around what a lane has, around trees of lanes, and around panels.
template <class T>
inline constexpr std::initializer_list<std::size_t> lengths_in_a_panel{1,
                                                                       3,
                                                                       of_lane<T> - 1,
                                                                       of_lane<T>,
                                                                       of_lane<T> + 1,
                                                                       3 * of_lane<T>,
                                                                       4 * of_lane<T>,
                                                                       6 * of_lane<T> + 3,
                                                                       16 * of_lane<T> + 1,
                                                                       of_panel<T> - 1,
                                                                       of_panel<T>};
template <class T>
inline constexpr std::initializer_list<std::size_t> lengths_of_panels{
    of_panel<T> + 1, 2 * of_panel<T>, 7 * of_panel<T> + of_lane<T> * 3, 5 * of_panel<T> - 1};

// Rows without gaps from every place in a word on, and rows that lie apart.
template <class T, class Op>
void expect_staged_rows(std::initializer_list<std::size_t> lengths, const Op& op)
{
    std::size_t offset = 0;
    for (const std::size_t length : lengths) {
        const std::size_t rows = length < of_lane<T> ? 150 : 9;
        offset = (offset + 1) % 4;
        const rows_of_elements<T> dense{rows, length, length, offset};
        expect_staged_totals(dense, op);
        expect_staged_scans(dense, op, length, (offset + length) % 4);
        const rows_of_elements<T> apart{rows, length, length + 3, offset};
        expect_staged_totals(apart, op);
        expect_staged_scans(apart, op, length + 2, 3 - offset);
    }
}

TEST(gpu_staged_rows, of_bytes)
{
    expect_staged_rows<std::uint8_t>(lengths_in_a_panel<std::uint8_t>, plus{});
    expect_staged_rows<std::uint8_t>(lengths_of_panels<std::uint8_t>, plus{});
    expect_staged_rows<std::int8_t>(lengths_in_a_panel<std::int8_t>, minimum{});
}
TEST(gpu_staged_rows, of_integers_of_16_bits)
{
    expect_staged_rows<std::uint16_t>(lengths_in_a_panel<std::uint16_t>, maximum{});
}
TEST(gpu_staged_rows, of_half_floats)
{
    expect_staged_rows<f16>(lengths_in_a_panel<f16>, plus{});
    expect_staged_rows<f16>(lengths_of_panels<f16>, plus{});
}

// Whose order matters: an operator of the user on bytes.
struct last_that_is_not_zero {
    UPSWEEP_HOST_DEVICE std::uint8_t operator()(std::uint8_t a, std::uint8_t b) const { return b != 0 ? b : a; }
};
TEST(gpu_staged_rows, by_an_operator_of_the_user)
{
    expect_staged_rows<std::uint8_t>({33, 100, 1500}, monoid{last_that_is_not_zero{}, std::uint8_t{0}, ordered});
}

// Wider elements are scanned so where rows are short.
TEST(gpu_staged_rows, of_wider_elements)
{
    for (const std::size_t length : {5, 6, 7, 8, 15, 16, 31, 32, 33, 63, 95}) {
        expect_staged_scans(rows_of_elements<float>{201, length, length + 3, 1}, plus{}, length, 2);
        expect_staged_scans(rows_of_elements<float>{201, length, length, 1}, plus{}, length + 1, 2);
        expect_staged_scans(rows_of_elements<affine>{201, length, length + 1, 1}, composition, length, 0);
    }
}
// Shorter ones only where rows or results lie apart: others are segments.
TEST(gpu_staged_rows, of_wider_elements_that_lie_apart)
{
    float memory = 0;
    const auto are_staged = [&](std::size_t length, std::size_t pitch, std::size_t out_pitch) {
        const view<const float, 2> rows(&memory, {1 << 20, length}, {static_cast<std::ptrdiff_t>(pitch), 1});
        return gpu::are_staged_rows<true>(
            detail::lines_of(rows, axis{1}, &memory, length, {static_cast<std::ptrdiff_t>(out_pitch), 1}));
    };
    for (const std::size_t length : {5, 8, 16, 31}) {
        EXPECT_TRUE(are_staged(length, length + 3, length)) << length;
        EXPECT_TRUE(are_staged(length, length, length + 3)) << length;
        EXPECT_FALSE(are_staged(length, length, length)) << length;
    }
    EXPECT_TRUE(are_staged(32, 32, 32));
    EXPECT_FALSE(are_staged(4, 7, 4));
}

// More panels than there are warps, so that each warp has several.
TEST(gpu_staged_rows, of_which_a_warp_has_several_panels)
{
    const rows_of_elements<std::uint8_t> of{5003, 101, 101, 1};
    expect_staged_totals(of, plus{});
    expect_staged_scans(of, plus{}, 101, 3);
}

TEST(gpu_staged_rows, after_an_initial_value)
{
    for (const std::size_t length : {5, 100, 1030}) {
        const rows_of_elements<std::uint8_t> of{17, length, length, 1};
        target_array<cuda, std::uint8_t> results(17 * length);
        const std::uint8_t init = 77;
        gpu::scan_staged_rows(cuda{}, "scan",
                              detail::lines_of(of.matrix(), axis{1}, results.span().data(), length,
                                               {static_cast<std::ptrdiff_t>(length), 1}),
                              plus{}, exclusive(plus{}, init));
        host_array<std::uint8_t> expected(17 * length);
        for (std::size_t i = 0; i < 17; ++i)
            for (std::size_t j = 0, sum = init; j < length; sum += of.row(i)[j++])
                expected[i * length + j] = static_cast<std::uint8_t>(sum);
        ASSERT_TRUE(bits_equal(results.to_host(), expected)) << length;
    }
}

// Rows whose places hold their results afterwards, as the verbs choose kernels.
TEST(gpu_staged_rows, in_place)
{
    for (const std::size_t length : {50, 1100}) {
        const std::size_t rows = length < 1000 ? 700 : 520;
        const rows_of_elements<f16> of{rows, length, length, 1};
        target_array<cuda, f16> array(of.values.span());
        const view<f16, 2> matrix(array.span().data() + 1, {rows, length});
        inclusive_scan(cuda{}, matrix, axis{1}, matrix, plus{});
        host_array<f16> expected = of.values;
        for (std::size_t i = 0; i < rows; ++i)
            std::ranges::copy(converted<f16>(literal_folds(converted<float>(of.row(i)).span(), plus{}).span()),
                              expected.begin() + static_cast<std::ptrdiff_t>(1 + i * length));
        ASSERT_TRUE(bits_equal(array.to_host(), expected)) << length;
    }
}

} // namespace upsweep::test
