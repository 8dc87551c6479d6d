// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include <cstdint>

#include "histogram_cases.hpp"

namespace up = upsweep;

namespace upsweep::test {

using elements = every<std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t, std::uint16_t,
                       std::uint32_t, std::uint64_t, up::f16, up::bf16, float, double>;
INSTANTIATE_TYPED_TEST_SUITE_P(cpu, histogram_of, elements);
INSTANTIATE_TYPED_TEST_SUITE_P(cpu, histogram_bins, ::testing::Types<up::cpu>);

} // namespace upsweep::test
