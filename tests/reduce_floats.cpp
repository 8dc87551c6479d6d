// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "reduce_cases.hpp"

namespace upsweep::test {

using floats = every<f16, bf16, float, double>;
INSTANTIATE_TYPED_TEST_SUITE_P(cpu_floats, reduce_sums, floats);
INSTANTIATE_TYPED_TEST_SUITE_P(cpu, reduce_floats, floats);

} // namespace upsweep::test
