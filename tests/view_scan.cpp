// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "view_scan_cases.hpp"

namespace upsweep::test {

INSTANTIATE_TYPED_TEST_SUITE_P(cpu, view_scan, ::testing::Types<cpu>);

} // namespace upsweep::test
