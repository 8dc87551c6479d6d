// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// What does not depend on the type of the samples; histogram_of_*.cpp has the types.
#include "histogram_cases.hpp"

namespace upsweep::test {

INSTANTIATE_TYPED_TEST_SUITE_P(cpu, histogram_bins, ::testing::Types<cpu>);

} // namespace upsweep::test
