// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "matrix_histogram_cases.hpp"

namespace upsweep::test {

using matrix_floats = every<f16, bf16, float, double>;
INSTANTIATE_TYPED_TEST_SUITE_P(cpu_floats, matrix_histogram_of, matrix_floats);

} // namespace upsweep::test
