// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "../weighted_histogram_cases.hpp"

namespace upsweep::test {

// Fewer, since the simulator adds them one by one.
template <>
inline constexpr std::size_t many_weights<cuda> = 10001;

} // namespace upsweep::test
