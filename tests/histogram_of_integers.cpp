// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include <cstdint>

#include "histogram_cases.hpp"

namespace upsweep::test {

using sample_integers = every<std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t, std::uint16_t,
                              std::uint32_t, std::uint64_t>;
INSTANTIATE_TYPED_TEST_SUITE_P(cpu_integers, histogram_of, sample_integers);

} // namespace upsweep::test
