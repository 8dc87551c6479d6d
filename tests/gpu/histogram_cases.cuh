// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "../histogram_cases.hpp"

namespace upsweep::test {

// Fewer, since the simulator counts them one by one.
template <>
inline constexpr std::size_t many_samples<cuda> = 70001;

// The counts that the CPU finds, for the same samples.
template <class T, class Bins>
histogram_result counted_on_cpu(const host_array<T>& samples, const Bins& bins, std::size_t count)
{
    return counted<cpu>(samples.span(), bins, count);
}
template <class T, class Bins>
histogram_result counted_on_gpu(const host_array<T>& samples, const Bins& bins, std::size_t count)
{
    return counted<cuda>(samples.span(), bins, count);
}

} // namespace upsweep::test
