// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include <cstdint>

#include "histogram_cases.cuh"

namespace upsweep::test {

using gpu_bytes = on_gpu<std::int8_t, std::uint8_t>;
INSTANTIATE_TYPED_TEST_SUITE_P(cuda_bytes, histogram_of, gpu_bytes);

} // namespace upsweep::test
