// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include <cstdint>

#include "histogram_cases.hpp"

namespace upsweep::test {

// Each width and either sign; tests/reference/histograms.py has all of them.
using sample_integers = every<std::int8_t, std::uint8_t, std::uint16_t, std::int32_t, std::uint64_t>;
INSTANTIATE_TYPED_TEST_SUITE_P(cpu_integers, histogram_of, sample_integers);

} // namespace upsweep::test
