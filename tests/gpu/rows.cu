// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Rows that lie in one piece each. The kernels are called by name: they are chosen for more rows than a test has.
#include <cstddef>
#include <cstdint>

#include "rows_of_elements.cuh"

namespace upsweep::test {

// Each warp folds a row of its own.
template <class T, class Op>
void expect_warp_rows(std::size_t rows, std::size_t length, std::size_t pitch, std::size_t offset, const Op& op)
{
    using sum = accumulator_t<Op, T>;
    using scanned = scan_accumulator_t<Op, T>;
    const rows_of_elements<T> of{rows, length, pitch, offset};
    of.expect_totals(op, [](const auto& lines, const auto& by, const auto& finish) {
        gpu::reduce_warp_rows<sum>(cuda{}, "reduce", lines, by, finish);
    });

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
}

} // namespace upsweep::test
