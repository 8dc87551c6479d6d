// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "../monoid_cases.hpp"

namespace upsweep::test::user {

INSTANTIATE_TYPED_TEST_SUITE_P(cuda, monoids, ::testing::Types<up::cuda>);

} // namespace upsweep::test::user
