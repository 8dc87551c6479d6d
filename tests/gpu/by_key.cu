// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "../by_key_cases.hpp"

namespace upsweep::test {

INSTANTIATE_TYPED_TEST_SUITE_P(cuda, runs_of_keys, ::testing::Types<cuda>);

} // namespace upsweep::test
