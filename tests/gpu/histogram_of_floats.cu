// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include <cstdint>

#include "histogram_cases.cuh"

namespace upsweep::test {

using gpu_floats = on_gpu<float, double>;
INSTANTIATE_TYPED_TEST_SUITE_P(cuda_floats, histogram_of, gpu_floats);

} // namespace upsweep::test
