// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Reduce of floating-point numbers on a GPU by other operators than sums.
#include "../reduce_cases.hpp"

namespace upsweep::test {

using floats = on_gpu<bf16, float>;
INSTANTIATE_TYPED_TEST_SUITE_P(cuda, reduce_floats, floats);

// Arrays of every size, for some operators.
TEST(gpu_reduce_of_every_size, floats)
{
    expect_literal_folds<cuda, float>(minimum{});
    expect_literal_folds<cuda, bf16>(maximum{});
    expect_literal_folds<cuda, float>(logical_or{});
    expect_literal_folds<cuda, double>(multiplies{});
}

} // namespace upsweep::test
