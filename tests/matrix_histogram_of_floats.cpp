// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "matrix_histogram_cases.hpp"

namespace upsweep::test {

INSTANTIATE_TYPED_TEST_SUITE_P(cpu_floats, matrix_histogram_of, every_float);

} // namespace upsweep::test
