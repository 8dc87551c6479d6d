// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Lines side by side of elements that share words.
#include "matrices_of_elements.cuh"

namespace upsweep::test {

// Elements that share words: few rows, some, tiles of few words, and blocks of many; widths and beginnings where they share none.
template <class T, class Op>
void expect_words(const Op& op)
{
    using matrices = matrices_of_elements<T>;
    for (const matrices& of :
         {matrices{1, 3, 36}, matrices{2, 15, 8}, matrices{1, 63, 132}, matrices{3, 70, 12}, matrices{1, 700, 76},
          matrices{1, 4200, 8}, matrices{2, 65, 37}, matrices{1, 80, 36, 1}}) {
        of.expect_reductions(op);
        of.expect_scans(op);
    }
}
TEST(gpu_words, of_bytes)
{
    expect_words<std::uint8_t>(plus{});
    expect_words<std::int8_t>(minimum{});
}
TEST(gpu_words, of_half_floats) { expect_words<f16>(plus{}); }
TEST(gpu_words, of_truths) { expect_words<bool>(logical_or{}); }

TEST(gpu_words, after_an_initial_value)
{
    for (const std::size_t rows : {20, 130}) {
        matrices_of_elements<std::uint8_t>{1, rows, 40}.expect_exclusive_scans(plus{});
        matrices_of_elements<f16>{1, rows, 40}.expect_exclusive_scans(plus{});
    }
}

// Many columns, which lanes walk along.
TEST(gpu_words, that_are_walked)
{
    for (const std::size_t rows : {64, 100}) {
        const matrices_of_elements<std::uint8_t> of{1, rows, 76};
        of.expect_folds(maximum{}, [](const auto& lines, const auto& by, const auto& finish) {
            using op = std::remove_cvref_t<decltype(by)>;
            namespace adjacent = gpu::adjacent_lines;
            gpu::reduce_walked<adjacent::accumulator_in_words<op, std::uint8_t, std::uint8_t>>(
                cuda{}, "reduce", adjacent::in_words(lines), adjacent::op_on_adjacent<op>{by},
                adjacent::finish_adjacent<std::uint8_t, std::remove_cvref_t<decltype(finish)>>{finish});
        });
    }
}

} // namespace upsweep::test
