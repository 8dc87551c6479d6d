// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include <cstdint>

#include "weighted_histogram_cases.cuh"

namespace upsweep::test {

using gpu_weights_narrow_floats = on_gpu<f16, float>;
INSTANTIATE_TYPED_TEST_SUITE_P(cuda_narrow_floats, weighted_histogram_of, gpu_weights_narrow_floats);

} // namespace upsweep::test
