// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>
#include <type_traits>

#include <upsweep/types.hpp>

#include "instantiate.cuh"

namespace upsweep::runtime::gpu {

// The minimum, and with bits turned before and after, the maximum, or the minimum of signed numbers, as any_op has them: one kernel serves all.
template <class T>
struct turned_minimum {
    using word = std::conditional_t<std::floating_point<T>, std::uint32_t, T>;

    word turned;
    T neutral;

    UPSWEEP_HOST_DEVICE T operator()(const T& a, const T& b) const { return turn(minimum{}(turn(a), turn(b))); }
    template <std::same_as<T>>
    UPSWEEP_HOST_DEVICE T identity() const
    {
        return neutral;
    }

private:
    UPSWEEP_HOST_DEVICE T turn(const T& x) const
    {
        return std::bit_cast<T>(static_cast<word>(std::bit_cast<word>(x) ^ turned));
    }
};

// T is f16 or bf16, which are compared as floats, or an unsigned integer, which stands for signed ones, too.
template <class T>
void narrow_extrema_of_lines(const cuda& target, const shape_fold& fold, const line_layout& lines)
{
    using compared = std::conditional_t<sub_word_float<T>, float, T>;
    using word = typename turned_minimum<compared>::word;
    const auto turned = turned_of_extremum<compared, word>(fold);
    const auto neutral =
        std::bit_cast<compared>(static_cast<word>(std::bit_cast<word>(minimum::identity<compared>()) ^ turned));
    const turned_minimum<compared> op{turned, neutral};
    detail::engine<cuda, detail::verb::reduce_lines>::fold<compared>(target, lines_as<T, T>(lines), op,
                                                                     detail::as_results_of<turned_minimum<compared>>{});
}

} // namespace upsweep::runtime::gpu

#define UPSWEEP_NARROW_EXTREMA_OF_LINES(T)                                                                             \
    template void upsweep::runtime::gpu::narrow_extrema_of_lines<T>(const upsweep::cuda&, const shape_fold&,           \
                                                                    const line_layout&)

// As of minima and maxima themselves, NaN included.
template <class T>
inline constexpr bool upsweep::gpu::is_any_order<upsweep::runtime::gpu::turned_minimum<T>, T> = true;

namespace upsweep::detail {

template <class T>
inline constexpr bool keeps_nan<runtime::gpu::turned_minimum<T>, T> = std::floating_point<T>;
template <class T>
inline constexpr bool makes_nan<runtime::gpu::turned_minimum<T>, T> = std::floating_point<T>;

} // namespace upsweep::detail
