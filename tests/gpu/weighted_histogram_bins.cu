// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Weighted histograms on a GPU: the cases of the other targets that do not depend on the type of the weights.
#include "weighted_histogram_cases.cuh"

namespace upsweep::test {

INSTANTIATE_TYPED_TEST_SUITE_P(cuda, weighted_histogram_on, ::testing::Types<cuda>);

} // namespace upsweep::test
