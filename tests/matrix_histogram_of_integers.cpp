// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include <cstdint>

#include "matrix_histogram_cases.hpp"

namespace upsweep::test {

using matrix_integers = every<std::int8_t, std::uint16_t, std::int32_t, std::uint64_t>;
INSTANTIATE_TYPED_TEST_SUITE_P(cpu_integers, matrix_histogram_of, matrix_integers);

} // namespace upsweep::test
