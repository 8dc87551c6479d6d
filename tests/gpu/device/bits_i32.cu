// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "bits.cuh"

namespace upsweep::test {

using types = on_gpu<std::int32_t, std::uint32_t>;
INSTANTIATE_TYPED_TEST_SUITE_P(i32, bits_of_cpu, types);
INSTANTIATE_TYPED_TEST_SUITE_P(i32, bitwise_of_cpu, types);

} // namespace upsweep::test
