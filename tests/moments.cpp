// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "moments_cases.hpp"

namespace upsweep::test {

INSTANTIATE_TYPED_TEST_SUITE_P(cpu, moments_of_arrays, ::testing::Types<cpu>);

} // namespace upsweep::test
