// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "reduce_cases.hpp"

namespace upsweep::test {

INSTANTIATE_TYPED_TEST_SUITE_P(cpu_floats, reduce_sums, every_float);
INSTANTIATE_TYPED_TEST_SUITE_P(cpu, reduce_floats, every_float);

} // namespace upsweep::test
