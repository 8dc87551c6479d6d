// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include <cstdint>

#include "../matrix_histogram_cases.hpp"

namespace upsweep::test {

using gpu_narrow_integers = on_gpu<std::int8_t, std::uint16_t>;
INSTANTIATE_TYPED_TEST_SUITE_P(cuda_narrow_integers, matrix_histogram_of, gpu_narrow_integers);

} // namespace upsweep::test
