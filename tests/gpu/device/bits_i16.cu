// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "bits.cuh"

namespace upsweep::test {

using types = on_gpu<std::int16_t, std::uint16_t>;
INSTANTIATE_TYPED_TEST_SUITE_P(i16, bits_of_cpu, types);
INSTANTIATE_TYPED_TEST_SUITE_P(i16, bitwise_of_cpu, types);

} // namespace upsweep::test
