// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include <cstdint>

#include "histogram_cases.cuh"

namespace upsweep::test {

using gpu_half_floats = on_gpu<f16, bf16>;
INSTANTIATE_TYPED_TEST_SUITE_P(cuda_half_floats, histogram_of, gpu_half_floats);

} // namespace upsweep::test
