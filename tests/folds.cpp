// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// The cases of reduce and scan that do not depend on the type of the elements, and scans of floats to other types.
#include "reduce_cases.hpp"
#include "scan_cases.hpp"

namespace upsweep::test {

INSTANTIATE_TYPED_TEST_SUITE_P(cpu, reduce_on, ::testing::Types<cpu>);
INSTANTIATE_TYPED_TEST_SUITE_P(cpu, scan_on, ::testing::Types<cpu>);

INSTANTIATE_TYPED_TEST_SUITE_P(cpu, scan_float_sums, every_float);

} // namespace upsweep::test
