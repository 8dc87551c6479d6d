// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "../segmented_histogram_cases.hpp"

namespace upsweep::test {

INSTANTIATE_TYPED_TEST_SUITE_P(cuda, segmented_histograms, ::testing::Types<cuda>);

} // namespace upsweep::test
