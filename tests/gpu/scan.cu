// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Scan on a GPU: the cases of the other targets, and what only a GPU has. scan_operators.cu and
// scan_conversions.cu go on.
#include <cstdint>

#include "../scan_cases.hpp"

namespace upsweep::test {

using scan_types = on_gpu<std::int8_t, std::uint16_t, std::int32_t, f16, float, double>;
INSTANTIATE_TYPED_TEST_SUITE_P(cuda, scan_sums, scan_types);

TEST(gpu_scan, host_memory_is_refused)
{
    host_array<int> on_host{1, 2, 3};
    EXPECT_THROW(inclusive_scan(cuda{}, on_host.span(), on_host.span()), error);
}

} // namespace upsweep::test
