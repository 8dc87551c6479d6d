// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

#include <upsweep/bins.hpp>
#include <upsweep/gpu/histogram/bin_finders.cuh>
#include <upsweep/gpu/target/cuda.cuh>

// One bin finder for each kind of bins and type of samples, whatever the numbers in them: for kernels that are compiled for many bin finders at
// once, or for one that a histogram is a small part of. What bins.cuh decides by the type, these decide by a branch that all
// lanes take alike.
namespace upsweep::gpu {

template <class T>
struct any_even_bins {
    using edge_type = detail::edge_t<T>;
    static constexpr bin_range range = bin_range::any;
    static constexpr bool is_float = std::same_as<edge_type, float>;
    static constexpr bool is_integer = std::integral<T> && sizeof(T) <= 4;
    enum class way { integers, floats, guess, search };

    way found_by;
    detail::even_edge edge;
    detail::even_guess<edge_type> guess;
    even_integer_arithmetic integers;
    even_float_arithmetic<float> floats;
    std::size_t bins;

    explicit any_even_bins(const even_bins& even)
        : found_by(detail::even_guess<edge_type>::is_valid(even) ? way::guess : way::search), edge(even),
          guess(even), integers{edge, 0, 0, 0, 0, 0}, floats(even_float_arithmetic<float>::of(even)), bins(even.count)
    {
        if constexpr (is_integer)
            if (even_integer_arithmetic::is_valid<T>(even)) {
                found_by = way::integers;
                integers = even_integer_arithmetic::of<T>(even);
            }
        if constexpr (is_float)
            if (found_by == way::guess && even_float_arithmetic<float>::is_valid(even))
                found_by = way::floats;
    }

    constexpr std::size_t shared_bytes() const { return 0; }

    struct function {
        any_even_bins finder;

        __device__ bin_index operator()(const T& sample) const
        {
            if constexpr (is_integer)
                if (finder.found_by == way::integers)
                    return even_integer_bins<false>::function{finder.integers}(sample);
            if constexpr (is_float)
                if (finder.found_by == way::floats)
                    return even_float_bins<float>::function{finder.floats}(sample);
            if (finder.found_by == way::search)
                return searched_even_bin<edge_type>{finder.edge, static_cast<bin_index>(finder.bins)}(sample);
            return guessed(convert<edge_type>(sample));
        }

    private:
        // The guess of bins.hpp, which is right or one too low.
        __device__ bin_index guessed(edge_type x) const
        {
            const auto& guess = finder.guess;
            if (!(x >= guess.lo && x <= guess.hi))
                return out_of_range_bin(x, guess.lo, guess.hi, static_cast<bin_index>(finder.bins));
            const auto k = static_cast<std::int32_t>((x - guess.lo) * guess.scale - guess.bias);
            const auto upper = static_cast<edge_type>(finder.edge.by_step(static_cast<double>(k + 1)));
            return static_cast<bin_index>(k) + (k + 1 < guess.bins && x >= upper ? 1 : 0);
        }
    };

    __device__ function of_block(void*) const { return {*this}; }
};

// Edges of a user, in shared memory where a block can spare it.
template <class T>
struct any_edge_bins {
    using threshold = threshold_t<T>;
    using all_bins = edge_bins<threshold, bin_range::many>;
    static constexpr bin_range range = bin_range::any;

    all_bins found_by;
    bool is_shared;
    std::size_t offset; // of the thresholds, in words
    std::size_t bins;

    constexpr std::size_t shared_bytes() const { return is_shared ? (bins + 1) * sizeof(threshold) : 0; }

    __device__ typename all_bins::function of_block(void* shared) const
    {
        auto function = found_by.of_block(nullptr);
        if (is_shared) {
            auto* const copies = static_cast<threshold*>(shared);
            for (unsigned k = threadIdx.x; k <= bins; k += blockDim.x)
                copies[k] = found_by.thresholds[k];
            function.thresholds = copies;
        }
        return function;
    }
};

// The thresholds of all edges that a kernel is to know.
using threshold_words = std::vector<std::uint64_t>;

// rule_of<T>(bins, words, shared_bytes) makes the bin finder, which may have so many bytes of shared memory, and adds its thresholds to
// the words; place(bin finder, words) tells it where these are.
template <class T>
any_even_bins<T> finder_of(const even_bins& bins, threshold_words&, std::size_t)
{
    return any_even_bins<T>(bins);
}

template <class T>
any_edge_bins<T> finder_of(const edges& bins, threshold_words& words, std::size_t shared_bytes)
{
    using threshold = threshold_t<T>;
    const std::vector<double>& edges = bins.values;
    std::vector<threshold> thresholds(edges.size());
    std::ranges::transform(edges, thresholds.begin(),
                           [](double edge) { return threshold_at_or_above(edge, threshold{}); });
    const std::size_t offset = words.size();
    const std::size_t bytes = thresholds.size() * sizeof(threshold);
    words.resize(offset + (bytes + sizeof(std::uint64_t) - 1) / sizeof(std::uint64_t));
    std::memcpy(words.data() + offset, thresholds.data(), bytes);
    const std::size_t count = edges.size() - 1;
    return {{nullptr, threshold_at_or_below(edges.back(), threshold{}), count, cell_map<threshold>(thresholds)},
            bytes <= shared_bytes,
            offset,
            count};
}

template <class T>
auto finder_of(const integer_bins& bins, threshold_words&, std::size_t)
{
    static_assert(std::integral<T>, "integer bins are for integer samples; see even_bins");
    return plain_bin_finder<detail::integer_offset<T>>{detail::integer_offset<T>(bins), bins.count};
}

template <class T, class F>
auto finder_of(const bins_by<F>& bins, threshold_words&, std::size_t)
{
    return plain_bin_finder<detail::by_function<T, F>>{detail::by_function<T, F>(bins), bins.count};
}

template <class Finder>
void place(Finder&, const std::uint64_t*)
{
}
template <class T>
void place(any_edge_bins<T>& finder, const std::uint64_t* words)
{
    finder.found_by.thresholds = reinterpret_cast<const threshold_t<T>*>(words + finder.offset);
}

// The bin finder of one kind of bins, ready for a kernel.
template <class T, class Bins>
auto finder_of(const cuda& target, const Bins& bins)
{
    threshold_words words;
    auto finder = finder_of<T>(bins, words, table_bytes(target) / 4);
    if (!words.empty())
        place(finder, upload(target, words));
    return finder;
}

} // namespace upsweep::gpu
