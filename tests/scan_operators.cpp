// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include <cstdint>

#include "scan_cases.hpp"

namespace upsweep::test {

using kinds = every<bool, std::uint8_t, std::int64_t>;
INSTANTIATE_TYPED_TEST_SUITE_P(cpu, scan_operators, kinds);

} // namespace upsweep::test
