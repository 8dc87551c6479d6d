// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "segmented_histogram_cases.hpp"

namespace upsweep::test {

INSTANTIATE_TYPED_TEST_SUITE_P(cpu, segmented_histograms, ::testing::Types<cpu>);

} // namespace upsweep::test
