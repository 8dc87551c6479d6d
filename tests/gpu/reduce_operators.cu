// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Reduce of integers on a GPU by other operators than sums, for a type of each kind.
#include <cstdint>

#include "../reduce_cases.hpp"

namespace upsweep::test {

INSTANTIATE_TYPED_TEST_SUITE_P(cuda, reduce_integers, on_gpu<std::int16_t>);
INSTANTIATE_TYPED_TEST_SUITE_P(cuda, reduce_bits, on_gpu<std::uint8_t>);

// Arrays of every size, for some operators.
TEST(gpu_reduce_of_every_size, integers)
{
    expect_literal_folds<cuda, std::uint8_t>(bit_xor{});
    expect_literal_folds<cuda, std::int64_t>(bit_and{});
}

} // namespace upsweep::test
