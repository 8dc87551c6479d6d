// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Histograms on a GPU: the cases of the other targets that do not depend on the type of the samples.
#include "histogram_cases.cuh"

namespace upsweep::test {

INSTANTIATE_TYPED_TEST_SUITE_P(cuda, histogram_bins, ::testing::Types<cuda>);

} // namespace upsweep::test
