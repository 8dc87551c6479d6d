// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <random>
#include <type_traits>
#include <vector>

#include <upsweep/bins.hpp>
#include <upsweep/types.hpp>

#include "samples.hpp"
#include "targets.hpp"

// Where a sample belongs, by a search among the edges and sample by sample: what histograms of any shape are compared
// with.
namespace upsweep::test {

// The bin, or `count` and one more and two more for what is below, above and NaN.
template <class E>
std::size_t place_among(const std::vector<E>& edges, E x)
{
    const std::size_t count = edges.size() - 1;
    if (std::isnan(x))
        return count + 2;
    if (x < edges.front())
        return count;
    if (x > edges.back())
        return count + 1;
    const auto above = std::ranges::upper_bound(edges, x);
    return std::min<std::size_t>(static_cast<std::size_t>(above - edges.begin()), count) - 1;
}

// places<T>(bins) is a function from a sample of type T to where it belongs.
template <class T>
auto places(const edges& bins)
{
    return [edges = bins.values](const T& sample) { return place_among(edges, convert<double>(sample)); };
}

template <class T>
auto places(const even_bins& bins)
{
    using compared = std::conditional_t<std::same_as<T, double> || std::is_integral_v<T>, double, float>;
    std::vector<compared> edges(bins.count + 1);
    for (std::size_t k = 0; k < bins.count; ++k)
        edges[k] = static_cast<compared>(bins.lo + static_cast<double>(k) *
                                                       ((bins.hi - bins.lo) / static_cast<double>(bins.count)));
    edges[bins.count] = static_cast<compared>(bins.hi);
    return [edges](const T& sample) { return place_among(edges, convert<compared>(sample)); };
}

template <class T>
auto places(const integer_bins& bins)
{
    return [bins](const T& sample) {
        const auto x = static_cast<std::int64_t>(sample);
        if (x < bins.first)
            return bins.count;
        const auto k = static_cast<std::size_t>(x - bins.first);
        return k < bins.count ? k : bins.count + 1;
    };
}

template <class T, class F>
auto places(const bins_by<F>& bins)
{
    return [bins](const T& sample) {
        const std::int64_t k = bins.f(sample);
        return k < 0 ? bins.count : std::cmp_less(k, bins.count) ? static_cast<std::size_t>(k) : bins.count + 1;
    };
}

// Counts one more in the place of a sample.
inline void count_place(std::size_t place, std::uint64_t* counts, std::size_t bins, outside& out_of_range)
{
    if (place < bins)
        ++counts[place];
    else
        ++(place == bins ? out_of_range.below : place == bins + 1 ? out_of_range.above : out_of_range.nan);
}

// Samples in and beside [-20, 110], as far as the type has them, and now and then a NaN.
template <class T>
host_array<T> random_samples(std::mt19937_64& random, std::size_t count)
{
    host_array<T> samples(count);
    constexpr float lowest = std::unsigned_integral<T> ? 0 : -30;
    for (T& sample : samples) {
        sample = T(std::uniform_real_distribution<float>(lowest, 125)(random));
        if constexpr (!std::is_integral_v<T>)
            if (random() % 32 == 0)
                sample = T(std::numeric_limits<float>::quiet_NaN());
    }
    return samples;
}

} // namespace upsweep::test
