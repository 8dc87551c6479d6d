// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "select_cases.hpp"

namespace upsweep::test {

INSTANTIATE_TYPED_TEST_SUITE_P(cpu, selections, ::testing::Types<cpu>);

} // namespace upsweep::test
