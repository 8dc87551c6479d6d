// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include <cstdint>

#include "histogram_cases.cuh"

namespace upsweep::test {

using gpu_words = on_gpu<std::int32_t, std::uint64_t>;
INSTANTIATE_TYPED_TEST_SUITE_P(cuda_words, histogram_of, gpu_words);

} // namespace upsweep::test
