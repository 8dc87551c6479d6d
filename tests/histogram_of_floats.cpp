// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "histogram_cases.hpp"

namespace upsweep::test {

using sample_floats = every<f16, bf16, float, double>;
INSTANTIATE_TYPED_TEST_SUITE_P(cpu_floats, histogram_of, sample_floats);

} // namespace upsweep::test
