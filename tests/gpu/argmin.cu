// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "../argmin_cases.hpp"

namespace upsweep::test {

INSTANTIATE_TYPED_TEST_SUITE_P(cuda, arguments, ::testing::Types<cuda>);

} // namespace upsweep::test
