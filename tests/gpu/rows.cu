// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Rows that lie in one piece each. The kernels are called by name: they are chosen for more rows than a test has.
#include <cstddef>
#include <cstdint>

#include <upsweep/monoids.hpp>

#include "rows_of_elements.cuh"

namespace upsweep::test {

// Each warp folds a row of its own.
template <class T, class Op>
void expect_warp_totals(const rows_of_elements<T>& of, const Op& op)
{
    of.expect_totals(op, [](const auto& lines, const auto& by, const auto& finish) {
        gpu::reduce_warp_rows<accumulator_t<Op, T>>(cuda{}, "reduce", lines, by, finish);
    });
}
template <class T, class Op>
void expect_warp_rows(std::size_t rows, std::size_t length, std::size_t pitch, std::size_t offset, const Op& op)
{
    using scanned = scan_accumulator_t<Op, T>;
    const rows_of_elements<T> of{rows, length, pitch, offset};
    expect_warp_totals(of, op);
    of.expect_scans(op, pitch, offset, [](const auto& lines, const auto& by) {
        gpu::scan_warp_rows(cuda{}, "scan", lines, by, inclusive<scanned>(by));
    });
}

TEST(gpu_rows, a_warp_each)
{
    // Vectors, rows of vectors and blocks that are whole, begun, and one short of whole; of several blocks, too.
    for (const std::size_t length : {1, 33, 63, 64, 65, 100, 128, 129, 192, 255, 256, 257, 512, 850})
        expect_warp_rows<affine>(length < 100 ? 21 : 5, length, length, 0, composition);
    expect_warp_rows<affine>(9, 51, 52, 1, composition); // begin anywhere, and lie apart
    expect_warp_rows<affine>(9, 300, 303, 1, composition);
    for (const std::size_t length : {300, 4000})
        expect_warp_rows<std::uint8_t>(6, length, length + 16, 16, plus{});
}

// Vectors of narrow elements that are no words are put together from words, of rows without gaps and of others; where these hold memory before the
// first row or behind the last one, they are read element by element.
template <class T, class Op>
void expect_shifted_rows(const Op& op)
{
    constexpr std::size_t vector = gpu::vector_elements<sizeof(T)>;
    constexpr std::size_t block = gpu::long_warp_rows::rows * gpu::lanes * vector;
    std::size_t offset = 0;
    for (const std::size_t length : {std::size_t{1}, vector - 1, vector + 1, block / 4 - 1, block / 2 + 5, block - 1,
                                     block + 1, 2 * block - vector, 2 * block + vector + 3, 3 * block}) {
        for (const std::size_t pitch : {length, length + 3}) {
            offset = (offset + 3) % vector;
            expect_warp_totals(rows_of_elements<T>{5, length, pitch, offset}, op);
        }
    }
    for (std::size_t place = 0; place < vector; ++place)
        expect_warp_totals(rows_of_elements<T>{3, block + 3, block + 3, place}, op);
}

TEST(gpu_rows, shifted)
{
    expect_shifted_rows<std::uint8_t>(plus{});
    expect_shifted_rows<std::int8_t>(maximum{});
    expect_shifted_rows<std::int16_t>(minimum{});
    expect_shifted_rows<f16>(plus{});
    expect_shifted_rows<bf16>(plus{});
}

// More rows than warps, so that a warp has several, by operators whose order is free and by others: nothing of one row is left in the next.
TEST(gpu_rows, several_for_a_warp)
{
    constexpr std::size_t many = 400;
    for (const std::size_t length : {200, 512, 600}) {
        expect_warp_rows<float>(many, length, length, 0, maximum{});
        expect_warp_rows<float>(many, length, length, 0, plus{});
        expect_warp_rows<std::int32_t>(many, length, length, 0, plus{});
        expect_warp_rows<double>(many, length, length, 0, minimum{});
    }
    // Vectors that are whole, in rows of vectors that are not, and single elements behind them; words of several elements.
    for (const std::size_t length : {1000, 1536, 2048, 2100}) {
        expect_warp_rows<std::uint8_t>(many / 2, length, 2112, 0, maximum{});
        expect_warp_rows<std::uint8_t>(many / 2, length, 2112, 0, plus{});
        expect_warp_rows<std::int16_t>(many / 2, length, 2112, 0, minimum{});
    }
    // Rows of one row of vectors, and of two, of which a step has several, and the last one not as many.
    constexpr std::size_t very_many = 4 * 192 + 2 * 192 + 1;
    for (const std::size_t count : {very_many, very_many + 2}) {
        expect_warp_rows<float>(count, 128, 128, 0, plus{});
        expect_warp_rows<float>(count, 256, 256, 0, minimum{});
        expect_warp_rows<affine>(count, 64, 64, 0, composition);
        expect_warp_rows<affine>(count, 128, 128, 0, composition);
        expect_warp_rows<std::int16_t>(count, 256, 256, 0, maximum{});
        expect_warp_rows<std::uint8_t>(count, 512, 512, 0, plus{});
    }
}

// By tiles, which lanes read and write by whole sectors: a row that begins and ends anywhere in one. Nothing is written behind it.
TEST(gpu_rows, by_tiles)
{
    for (const std::size_t length : {4096 + 94, 4096 + 95, 4096 + 96, 6144 - 1})
        for (std::size_t offset = 0; offset < 32; ++offset) {
            const rows_of_elements<std::int32_t> of{1, length, length, offset};
            of.expect_scans(plus{}, length, offset, [](const auto& lines, const auto& by) {
                gpu::scan_tiled(cuda{}, "scan", lines, 1, by, inclusive<std::int32_t>(by));
            });
            target_array<cuda, std::int32_t> results(offset + length + 3);
            host_array<std::int32_t> expected = results.to_host();
            exclusive_scan(cuda{}, of.matrix(), axis{1},
                           view<std::int32_t, 2>(results.span().data() + offset, {1, length}), plus{}, 7);
            std::int32_t sum = 7;
            for (std::size_t i = 0; i < length; ++i) {
                expected[offset + i] = sum;
                sum = plus{}(sum, of.row(0)[i]);
            }
            ASSERT_TRUE(bits_equal(results.to_host(), expected)) << length << " from " << offset;
        }
}

// The same for rows in pieces, a warp each.
template <class T, class Op>
void expect_long_rows(std::size_t rows, std::size_t length, std::size_t pitch, std::size_t offset, const Op& op)
{
    rows_of_elements<T>{rows, length, pitch, offset}.expect_totals(
        op, [](const auto& lines, const auto& by, const auto& finish) {
            gpu::reduce_long_rows<accumulator_t<Op, T>>(cuda{}, "reduce", lines, by, finish);
        });
}

TEST(gpu_rows, in_pieces)
{
    constexpr std::size_t piece = gpu::piece_shape<const affine*>::piece;
    for (const std::size_t left : {0, 1, 2, 63, 64, 65, 320, 511}) // behind the last piece
        expect_long_rows<affine>(3, 5 * piece + left, 5 * piece + left, 0, composition);
    expect_long_rows<affine>(5, 4 * piece + 7, 4 * piece + 10, 1, composition); // begin anywhere, and lie apart
    expect_long_rows<affine>(2, 128 * piece, 128 * piece, 0, composition);
    expect_long_rows<affine>(2, 259 * piece + 77, 259 * piece + 77, 0, composition);
    expect_long_rows<affine>(2, 1025 * piece, 1025 * piece, 0, composition); // a group of them, and one more
    expect_long_rows<float>(3, 4 * 1024 + 3, 4 * 1024 + 4, 3, plus{});
    expect_long_rows<std::uint8_t>(3, 4 * 4096 + 1001, 5 * 4096, 5, plus{});
    expect_long_rows<std::uint8_t>(3, 4 * 4096 + 517, 5 * 4096, 16, plus{});
    // Pieces that have no neighbour on one side, on the other, and on neither; the last one ends with the memory.
    for (const std::size_t offset : {1, 6, 15})
        for (const std::size_t pieces : {1, 2, 5})
            expect_long_rows<std::uint8_t>(1, pieces * 4096, pieces * 4096, offset, plus{});
    expect_long_rows<f16>(2, 6 * 2048 + 9, 6 * 2048 + 9, 1, plus{});
    expect_long_rows<bf16>(2, 6 * 2048 + 8, 6 * 2048 + 9, 7, plus{});
}

// Of an operator that folds blocks as something else, a warp has all pieces of a row, fewer than sixteen, and what is behind them.
template <class T>
void expect_block_rows(std::size_t length, std::size_t offset)
{
    rows_of_elements<T>{3, length, length, offset}.expect_totals(
        mean_and_variance{}, [](const auto& lines, const auto& by, const auto& finish) {
            gpu::reduce_block_rows<accumulator_t<mean_and_variance, T>>(cuda{}, "reduce", lines, by, finish);
        });
}

TEST(gpu_rows, of_blocks)
{
    constexpr std::size_t piece = gpu::piece_shape<const float*>::piece;
    for (const std::size_t pieces : {0, 1, 3, 4, 7, 10, 15})
        for (const std::size_t left : {1, 130, 1000})
            expect_block_rows<float>(pieces * piece + left, pieces % 3);
    expect_block_rows<double>(15 * piece / 2 + piece / 2 - 1, 1);
    expect_block_rows<f16>(5 * 2 * piece + 3, 3);
}

} // namespace upsweep::test
