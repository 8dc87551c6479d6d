// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "bits.cuh"

namespace upsweep::test {

using types = on_gpu<bool, std::int8_t, std::uint8_t>;
INSTANTIATE_TYPED_TEST_SUITE_P(i8, bits_of_cpu, types);
INSTANTIATE_TYPED_TEST_SUITE_P(i8, bitwise_of_cpu, types);

} // namespace upsweep::test
