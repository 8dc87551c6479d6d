// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Scan on a GPU from one type to another, and sums of f16, which are accumulated in another type.
#include <cstdint>

#include "../scan_cases.hpp"

namespace upsweep::test {

using integers = on_gpu<std::uint8_t, std::int16_t>;
INSTANTIATE_TYPED_TEST_SUITE_P(cuda, scan_integers, integers);
INSTANTIATE_TYPED_TEST_SUITE_P(cuda, scan_float_sums, on_gpu<f16>);

} // namespace upsweep::test
