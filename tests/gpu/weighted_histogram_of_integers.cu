// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include <cstdint>

#include "weighted_histogram_cases.cuh"

namespace upsweep::test {

using gpu_weights_integers = on_gpu<std::int8_t, std::uint64_t>;
INSTANTIATE_TYPED_TEST_SUITE_P(cuda_integers, weighted_histogram_of, gpu_weights_integers);

} // namespace upsweep::test
