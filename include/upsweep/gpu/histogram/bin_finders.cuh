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

// Which rule a GPU follows for which bins and samples.
namespace upsweep::gpu {

// with_slots(target, bins, f) calls f(rule for samples of type T).
template <class T, class F>
void with_slots(const cuda& target, const edges& bins, F f)
{
    using C = threshold_t<T>;
    const std::vector<double>& edges = bins.values;
    std::vector<C> thresholds(edges.size());
    std::ranges::transform(edges, thresholds.begin(), [](double edge) { return threshold_at_or_above(edge, C{}); });
    const cell_map<C> cells(thresholds);
    const std::size_t count = edges.size() - 1;
    const C hi = threshold_at_or_below(edges.back(), C{});
    const C* const there = upload(target, thresholds);
    const edge_slots<C, bin_range::few> few{there, hi, count, cells};
    if (are_few(target, few))
        f(few);
    else
        f(edge_slots<C, bin_range::many>{there, hi, count, cells});
}

template <class T, class F>
void with_slots(const cuda&, const even_bins& bins, F f)
{
    using E = detail::edge_t<T>;
    const detail::even_edge edge(bins);
    if constexpr (std::integral<T> && (sizeof(T) == 2 || sizeof(T) == 4)) {
        if (even_integer_rule::is_valid<T>(bins)) {
            const even_integer_rule rule = even_integer_rule::of<T>(bins);
            if (rule.is_exact)
                f(even_integer_slots<true>{rule});
            else
                f(even_integer_slots<false>{rule});
            return;
        }
    }
    if constexpr (std::same_as<E, double>) {
        if (detail::even_guess<E>::is_valid(bins))
            return f(even_slots<E>{detail::even_guess<E>(bins), edge, bins.count});
    } else {
        if (exact_float_slots::is_valid(bins))
            return f(exact_float_slots(bins));
        if (even_float_rule<float>::is_valid(bins))
            return f(even_float_slots<float>{even_float_rule<float>::of(bins)});
        if (even_float_rule<double>::is_valid(bins))
            return f(even_float_slots<double>{even_float_rule<double>::of(bins)});
    }
    f(plain_slots<even_search_slot<E>, bin_range::many>{{edge, static_cast<slot>(bins.count)}, bins.count});
}

template <class T, class F>
void with_slots(const cuda&, const integer_bins& bins, F f)
{
    static_assert(std::integral<T>, "integer bins are for integer samples; see even_bins");
    f(integer_slots<T>{detail::integer_offset<T>(bins), bins.count});
}

template <class T, class G, class F>
void with_slots(const cuda&, const bins_by<G>& bins, F f)
{
    f(plain_slots<detail::by_function<T, G>>{detail::by_function<T, G>(bins), bins.count});
}

} // namespace upsweep::gpu
