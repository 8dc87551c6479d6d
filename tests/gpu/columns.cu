// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Lines side by side by the kernels that are chosen for more elements than a test has.
#include "matrices_of_elements.cuh"

namespace upsweep::test {

namespace {

constexpr std::size_t piece = gpu::piece_rows;

} // namespace

// Rows shorter than a word, of a few elements, of as many as a block has threads, and of more; panels of one matrix and of several, of groups of
// threads of which some have no panel, and rows behind the last of them.
TEST(gpu_columns, by_panels)
{
    for (const std::size_t columns : {2, 3, 7, 33, 48, 100, 512, 513})
        matrices_of_elements<float>{1, 2 * piece + 77, columns}.expect_panels(plus{});
    for (const std::size_t offset : {1, 3})
        matrices_of_elements<float>{3, piece + 31, 50, offset}.expect_panels(plus{});
    matrices_of_elements<affine>{2, 3 * piece + 1, 65}.expect_panels(composition);
    matrices_of_elements<affine>{2, 3 * piece, 3}.expect_panels(composition);
    matrices_of_elements<double>{1, piece + 5, 70, 1}.expect_panels(plus{});
}
// What lies behind the last element of all is not read.
TEST(gpu_columns, by_panels_of_rows_that_lie_apart)
{
    for (const std::size_t gap : {1, 3, 5})
        matrices_of_elements<float>{1, 2 * piece, 50, gap, gap}.expect_panels(plus{});
    matrices_of_elements<float>{3, piece + 31, 100, 1, 11}.expect_panels(plus{});
    matrices_of_elements<double>{2, piece, 48, 1, 3}.expect_panels(plus{});
    matrices_of_elements<std::uint8_t>{2, piece, 101, 3, 7}.expect_panels(plus{});
    matrices_of_elements<f16>{1, piece + 9, 66, 1, 1}.expect_panels(plus{});
    matrices_of_elements<affine>{2, piece + 1, 65, 0, 2}.expect_panels(composition);
}
TEST(gpu_columns, of_narrow_elements_by_panels)
{
    for (const std::size_t columns : {2, 3, 5, 50, 101, 1030, 2048})
        matrices_of_elements<std::uint8_t>{1, piece + 9, columns, columns % 4}.expect_panels(plus{});
    matrices_of_elements<std::int8_t>{2, 2 * piece + 200, 67}.expect_panels(minimum{});
    for (const std::size_t columns : {2, 49})
        matrices_of_elements<f16>{2, 2 * piece + 33, columns, 1}.expect_panels(plus{});
}
TEST(gpu_columns, of_groups_of_panels)
{
    matrices_of_elements<float>{1, (piece + 1) * piece + 3, 2}.expect_panels(plus{}); // groups of totals, and one more
    matrices_of_elements<std::uint8_t>{1, (2 * piece + 40) * piece, 1 + 2}.expect_panels(plus{});
}
TEST(gpu_columns, by_pieces)
{
    for (const std::size_t left : {0, 1, 31, 32, 33, 200, 255}) // behind the last piece
        matrices_of_elements<affine>{1, 2 * piece + left, 35}.expect_pieces(composition);
    matrices_of_elements<affine>{3, 40, 35}.expect_pieces(composition); // no piece at all
    matrices_of_elements<std::int32_t>{2, 3 * piece + 7, 33}.expect_pieces(plus{});
    matrices_of_elements<f16>{2, 3 * piece + 7, 33}.expect_pieces(plus{});
}

// A tile that is not whole may be the last one of a group, of which no total is ever published then.
TEST(gpu_columns, whose_last_tile_is_the_last_of_a_group)
{
    const matrices_of_elements<matrix> of{1, 32 * 128 - 7, 33}; // tiles of 128 rows
    of.expect_reductions(product);
    of.expect_scans(product);
}

// Blocks are wide where rows begin anywhere; groups of 8 tiles, and of 64, whole and begun, whose last tile is whole or not.
TEST(gpu_columns, of_rows_that_begin_anywhere)
{
    constexpr std::size_t tile = 128;
    for (const std::size_t rows : {8 * tile - 5, 8 * tile, 9 * tile + 3})
        matrices_of_elements<float>{1, rows, 101}.expect_scans(plus{});
    matrices_of_elements<float>{1, 65 * tile + 1, 98}.expect_scans(plus{});
    matrices_of_elements<float>{1, 600, 257}.expect_scans(plus{});
    matrices_of_elements<affine>{2, 9 * tile + 77, 99, 1}.expect_scans(composition);
}

} // namespace upsweep::test
