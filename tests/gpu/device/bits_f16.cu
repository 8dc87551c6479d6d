// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "bits.cuh"

namespace upsweep::test {

using types = on_gpu<f16, bf16>;
INSTANTIATE_TYPED_TEST_SUITE_P(half_floats, bits_of_cpu, types);

} // namespace upsweep::test
