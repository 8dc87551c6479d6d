// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>

#include <upsweep/monoids.hpp>

namespace upsweep::cpu_engine {

// One level of the up-sweep of means, and of sums of squares, of `Elements` elements each: what mean_and_variance makes of
// operands with equally many elements, in loops that compilers turn into vector code.
template <std::size_t Count, std::size_t Elements, class T>
inline void fold_pairs_of_moments(const T* __restrict means, const T* __restrict squares, T* __restrict out_means,
                                  T* __restrict out_squares)
{
    for (std::size_t j = 0; j < Count / 2; ++j) {
        const T distance = means[2 * j + 1] - means[2 * j];
        const T between = distance * distance * (static_cast<T>(Elements) * T(0.5));
        out_means[j] = means[2 * j] + distance * T(0.5);
        out_squares[j] = Elements == 1 ? between : (squares[2 * j] + squares[2 * j + 1]) + between;
    }
}

template <std::size_t Count, std::size_t Elements, class T>
inline moments<T> fold_levels_of_moments(const T* means, const T* squares, T* out_means, T* out_squares, T* other_means,
                                         T* other_squares)
{
    if constexpr (Count == 1) {
        return {Elements, means[0], squares[0]};
    } else {
        fold_pairs_of_moments<Count, Elements>(means, squares, out_means, out_squares);
        return fold_levels_of_moments<Count / 2, 2 * Elements>(static_cast<const T*>(out_means),
                                                               static_cast<const T*>(out_squares), other_means,
                                                               other_squares, out_means, out_squares);
    }
}

// The moments of `Count` elements, in the canonical order.
template <std::size_t Count, class T>
inline moments<T> total_moments(const T* elements)
{
    std::array<T, Count> means, squares, other_means, other_squares;
    return fold_levels_of_moments<Count, 1>(elements, static_cast<const T*>(nullptr), means.data(), squares.data(),
                                            other_means.data(), other_squares.data());
}

} // namespace upsweep::cpu_engine
