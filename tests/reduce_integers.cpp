// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include <cstdint>

#include "reduce_cases.hpp"

namespace upsweep::test {

// Each width and either sign; tests/reference/bits.py has all of them.
using integers = every<bool, std::int8_t, std::uint16_t, std::int32_t, std::uint64_t>;
INSTANTIATE_TYPED_TEST_SUITE_P(cpu_integers, reduce_sums, integers);
INSTANTIATE_TYPED_TEST_SUITE_P(cpu, reduce_integers, integers);

using kinds = every<bool, std::uint8_t, std::int64_t>;
INSTANTIATE_TYPED_TEST_SUITE_P(cpu, reduce_bits, kinds);

} // namespace upsweep::test
