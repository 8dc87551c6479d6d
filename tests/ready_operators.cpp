// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "ready_operators_cases.hpp"

namespace upsweep::test {

INSTANTIATE_TYPED_TEST_SUITE_P(cpu, ready_operators, ::testing::Types<cpu>);

} // namespace upsweep::test
