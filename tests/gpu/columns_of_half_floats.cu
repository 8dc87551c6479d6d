// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Lines side by side of half floats, two of which share a word.
#include "columns_of_words.cuh"

namespace upsweep::test {

TEST(gpu_words, of_half_floats) { expect_words<f16>(plus{}); }
TEST(gpu_words, of_half_floats_after_an_initial_value)
{
    for (const std::size_t rows : {20, 130})
        matrices_of_elements<f16>{1, rows, 40}.expect_exclusive_scans(plus{});
}

} // namespace upsweep::test
