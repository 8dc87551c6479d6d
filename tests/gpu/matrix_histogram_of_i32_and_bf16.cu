// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include <cstdint>

#include "../matrix_histogram_cases.hpp"

namespace upsweep::test {

using gpu_i32_and_bf16 = on_gpu<std::int32_t, bf16>;
INSTANTIATE_TYPED_TEST_SUITE_P(cuda_i32_and_bf16, matrix_histogram_of, gpu_i32_and_bf16);

} // namespace upsweep::test
