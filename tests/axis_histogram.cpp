// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "axis_histogram_cases.hpp"

namespace upsweep::test {

INSTANTIATE_TYPED_TEST_SUITE_P(cpu, axis_histogram, ::testing::Types<cpu>);

} // namespace upsweep::test
