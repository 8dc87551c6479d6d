// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include <cstdint>

#include "weighted_histogram_cases.cuh"

namespace upsweep::test {

using gpu_weights_doubles = on_gpu<double>;
INSTANTIATE_TYPED_TEST_SUITE_P(cuda_doubles, weighted_histogram_of, gpu_weights_doubles);

} // namespace upsweep::test
