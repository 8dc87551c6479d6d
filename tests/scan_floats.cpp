// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "scan_cases.hpp"

namespace upsweep::test {

INSTANTIATE_TYPED_TEST_SUITE_P(cpu_floats, scan_sums, every_float);
INSTANTIATE_TYPED_TEST_SUITE_P(cpu, scan_floats, every_float);

} // namespace upsweep::test
