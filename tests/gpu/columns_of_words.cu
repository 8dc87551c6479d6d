// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Lines side by side of elements that share words.
#include "columns_of_words.cuh"

namespace upsweep::test {

TEST(gpu_words, of_bytes)
{
    expect_words<std::uint8_t>(plus{});
    expect_words<std::int8_t>(minimum{});
}
TEST(gpu_words, of_truths) { expect_words<bool>(logical_or{}); }

TEST(gpu_words, after_an_initial_value)
{
    for (const std::size_t rows : {20, 130})
        matrices_of_elements<std::uint8_t>{1, rows, 40}.expect_exclusive_scans(plus{});
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
