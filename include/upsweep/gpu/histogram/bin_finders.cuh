// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <type_traits>
#include <vector>

#include <upsweep/bins.hpp>
#include <upsweep/gpu/histogram/bin_finder.cuh>
#include <upsweep/gpu/histogram/edges.cuh>
#include <upsweep/gpu/histogram/even_bins.cuh>
#include <upsweep/gpu/histogram/integer_bins.cuh>
#include <upsweep/gpu/target/cuda.cuh>

// Which bin finder a GPU follows for which bins and samples.
namespace upsweep::gpu {

// with_slots(target, bins, f) calls f(bin finder for samples of type T).
template <class T, class F>
void with_bin_finder(const cuda& target, const edges& bins, F f)
{
    using C = threshold_t<T>;
    const std::vector<double>& edges = bins.values;
    std::vector<C> thresholds(edges.size());
    std::ranges::transform(edges, thresholds.begin(), [](double edge) { return threshold_at_or_above(edge, C{}); });
    const cell_map<C> cells(thresholds);
    const std::size_t count = edges.size() - 1;
    const C hi = threshold_at_or_below(edges.back(), C{});
    const C* const there = upload(target, thresholds);
    const edge_bins<C, bin_range::few> few{there, hi, count, cells};
    if (are_few(target, few))
        f(few);
    else
        f(edge_bins<C, bin_range::many>{there, hi, count, cells});
}

template <class T, class F>
void with_bin_finder(const cuda&, const even_bins& bins, F f)
{
    using E = detail::edge_t<T>;
    const detail::even_edge edge(bins);
    if constexpr (std::integral<T> && (sizeof(T) == 2 || sizeof(T) == 4)) {
        if (even_integer_arithmetic::is_valid<T>(bins)) {
            const even_integer_arithmetic finder = even_integer_arithmetic::of<T>(bins);
            if (finder.is_exact)
                f(even_integer_bins<true>{finder});
            else
                f(even_integer_bins<false>{finder});
            return;
        }
    }
    if constexpr (std::same_as<E, double>) {
        if (detail::even_guess<E>::is_valid(bins))
            return f(guessed_even_bins<E>{detail::even_guess<E>(bins), edge, bins.count});
    } else {
        if (exact_float_bins::is_valid(bins))
            return f(exact_float_bins(bins));
        if (even_float_arithmetic<float>::is_valid(bins))
            return f(even_float_bins<float>{even_float_arithmetic<float>::of(bins)});
        if (even_float_arithmetic<double>::is_valid(bins))
            return f(even_float_bins<double>{even_float_arithmetic<double>::of(bins)});
    }
    f(plain_bin_finder<searched_even_bin<E>, bin_range::many>{{edge, static_cast<bin_index>(bins.count)}, bins.count});
}

template <class T, class F>
void with_bin_finder(const cuda&, const integer_bins& bins, F f)
{
    static_assert(std::integral<T>, "integer bins are for integer samples; see even_bins");
    f(integer_bin_finder<T>{detail::integer_offset<T>(bins), bins.count});
}

template <class T, class G, class F>
void with_bin_finder(const cuda&, const bins_by<G>& bins, F f)
{
    f(plain_bin_finder<detail::by_function<T, G>>{detail::by_function<T, G>(bins), bins.count});
}

} // namespace upsweep::gpu
