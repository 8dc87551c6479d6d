// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>
#include <limits>

#include <upsweep/types.hpp>

#include "instantiate.cuh"

namespace upsweep::runtime::gpu {

// The minimum of floats of which some bits are taken, and with their signs turned before and after, the maximum: one kernel serves all.
struct turned_minimum {
    std::uint32_t taken;
    std::uint32_t turned;
    float neutral;

    UPSWEEP_HOST_DEVICE float operator()(float a, float b) const
    {
        const float least = minimum{}(turn(a), turn(b));
        return std::bit_cast<float>(std::bit_cast<std::uint32_t>(least) ^ turned);
    }
    template <std::same_as<float>>
    UPSWEEP_HOST_DEVICE float identity() const
    {
        return neutral;
    }

private:
    UPSWEEP_HOST_DEVICE float turn(float x) const
    {
        return std::bit_cast<float>((std::bit_cast<std::uint32_t>(x) & taken) ^ turned);
    }
};

} // namespace upsweep::runtime::gpu

// As of minima and maxima themselves, NaN included.
template <>
inline constexpr bool upsweep::gpu::is_any_order<upsweep::runtime::gpu::turned_minimum, float> = true;

namespace upsweep::detail {

template <>
inline constexpr bool keeps_nan<runtime::gpu::turned_minimum, float> = true;
template <>
inline constexpr bool makes_nan<runtime::gpu::turned_minimum, float> = true;

} // namespace upsweep::detail

namespace upsweep::runtime::gpu {

// Whether a half float is true its exponent as a float tells, without the bits that make a NaN of it.
template <class T>
void extrema_of_half_floats(const cuda& target, const shape_fold& fold, const line_layout& lines)
{
    constexpr std::uint32_t sign = 0x80000000U;
    constexpr std::uint32_t exponent = 0x7f800000U;
    constexpr float infinity = std::numeric_limits<float>::infinity();
    const bool are_truths = fold.as == UPSWEEP_BOOL;
    const bool is_maximum = fold.op == UPSWEEP_MAXIMUM;
    const float least = are_truths ? 0 : -infinity;
    const turned_minimum op{are_truths ? exponent : ~0U, is_maximum ? sign : 0U, is_maximum ? least : infinity};
    detail::engine<cuda, detail::verb::reduce_lines>::fold<float>(target, lines_as<T, T>(lines), op,
                                                                  detail::as_results_of<turned_minimum>{});
}

} // namespace upsweep::runtime::gpu

#define UPSWEEP_EXTREMA_OF_HALF_FLOATS(T)                                                                              \
    template void upsweep::runtime::gpu::extrema_of_half_floats<T>(const upsweep::cuda&, const shape_fold&,            \
                                                                   const line_layout&)
