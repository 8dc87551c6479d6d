// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Two to four columns in one piece. The kernels are called by name: they are chosen for more elements than a test has.
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "matrices_of_elements.cuh"

namespace upsweep::test {

template <class T, class Op>
void expect_tiles(const matrices_of_elements<T>& of, const Op& op)
{
    const int width = static_cast<int>(of.columns);
    of.expect_folds(op, [&](const auto& lines, const auto& by, const auto& finish) {
        gpu::reduce_tiled<accumulator_t<Op, T>>(cuda{}, "reduce", lines, width, by, finish);
    });
    of.expect_scans_by(op, [&](const auto& lines, const auto& by) {
        using accumulator = scan_accumulator_t<Op, T>;
        gpu::scan_tiled(cuda{}, "scan", lines, width, by,
                        gpu::start_of_lines<accumulator>(scan_kind::inclusive, by, nullptr));
    });
}

// The last tile is whole, has some rows of a warp, or one row.
template <class T, class Op>
void expect_few_columns(const Op& op)
{
    for (const std::size_t columns : {2, 3, 4}) {
        constexpr std::size_t tile = 2048; // the least of f32; of others it is a part of one, or some
        for (const std::size_t rows : {2 * tile, 2 * tile + 1, 3 * tile - 77})
            expect_tiles(matrices_of_elements<T>{1, rows, columns, rows % 3}, op);
        expect_tiles(matrices_of_elements<T>{3, tile + 31, columns}, op);
    }
}
TEST(gpu_few_columns, of_floats) { expect_few_columns<float>(plus{}); }
TEST(gpu_few_columns, of_bytes) { expect_few_columns<std::uint8_t>(maximum{}); }
TEST(gpu_few_columns, by_an_operator_of_the_user) { expect_few_columns<affine>(composition); }

// As rows of units, of a piece and more.
template <class T, class Op>
void expect_whole_units(std::size_t rows, std::size_t columns, const Op& op)
{
    const matrices_of_elements<T> of{2, rows, columns};
    of.expect_folds(op, [&](const auto& lines, const auto& by, const auto& finish) {
        namespace adjacent = gpu::adjacent_lines;
        using sum = accumulator_t<Op, T>;
        const bool are_units = adjacent::with_whole_units<sum>(
            lines, [&]<class Units, int Count>(const Units& units, std::integral_constant<int, Count>) {
                EXPECT_EQ(std::size_t{Count}, columns);
                gpu::reduce_long_rows<adjacent::adjacent<sum, Count>>(
                    cuda{}, "reduce", units, adjacent::op_on_adjacent<Op>{by},
                    adjacent::finish_adjacent<sum, std::remove_cvref_t<decltype(finish)>>{finish});
                return true;
            });
        ASSERT_TRUE(are_units);
    });
}
TEST(gpu_few_columns, as_rows_of_units)
{
    for (const std::size_t rows : {512, 1024, 5003})
        for (const std::size_t columns : {2, 3, 4})
            expect_whole_units<float>(rows, columns, plus{});
    expect_whole_units<double>(1027, 2, plus{});
    expect_whole_units<f16>(2051, 4, plus{});
    expect_whole_units<affine>(1027, 2, composition);
}

} // namespace upsweep::test
