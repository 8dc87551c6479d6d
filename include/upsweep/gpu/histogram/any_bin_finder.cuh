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

// One rule for each kind of bins and type of samples, whatever the numbers in them: for kernels that are compiled for many rules at
// once, or for one that a histogram is a small part of. What slots.cuh decides by the type, these decide by a branch that all
// lanes take alike.
namespace upsweep::gpu {

template <class T>
struct even_rule {
    using edge_type = detail::edge_t<T>;
    static constexpr bin_range range = bin_range::any;
    static constexpr bool is_float = std::same_as<edge_type, float>;
    static constexpr bool is_integer = std::integral<T> && sizeof(T) <= 4;
    enum class way { integers, floats, guess, search };

    way found_by;
    detail::even_edge edge;
    detail::even_guess<edge_type> guess;
    even_integer_rule integers;
    even_float_rule<float> floats;
    std::size_t bins;

    explicit even_rule(const even_bins& even)
        : found_by(detail::even_guess<edge_type>::is_valid(even) ? way::guess : way::search), edge(even),
          guess(even), integers{edge, 0, 0, 0, 0, 0}, floats(even_float_rule<float>::of(even)), bins(even.count)
    {
        if constexpr (is_integer)
            if (even_integer_rule::is_valid<T>(even)) {
                found_by = way::integers;
                integers = even_integer_rule::of<T>(even);
            }
        if constexpr (is_float)
            if (found_by == way::guess && even_float_rule<float>::is_valid(even))
                found_by = way::floats;
    }

    constexpr std::size_t shared_bytes() const { return 0; }

    struct function {
        even_rule rule;

        __device__ slot operator()(const T& sample) const
        {
            if constexpr (is_integer)
                if (rule.found_by == way::integers)
                    return even_integer_slots<false>::function{rule.integers}(sample);
            if constexpr (is_float)
                if (rule.found_by == way::floats)
                    return even_float_slots<float>::function{rule.floats}(sample);
            if (rule.found_by == way::search)
                return even_search_slot<edge_type>{rule.edge, static_cast<slot>(rule.bins)}(sample);
            return guessed(convert<edge_type>(sample));
        }

    private:
        // The guess of bins.hpp, which is right or one too low.
        __device__ slot guessed(edge_type x) const
        {
            const auto& guess = rule.guess;
            if (!(x >= guess.lo && x <= guess.hi))
                return slot_beside(x, guess.lo, guess.hi, static_cast<slot>(rule.bins));
            const auto k = static_cast<std::int32_t>((x - guess.lo) * guess.scale - guess.bias);
            const auto upper = static_cast<edge_type>(rule.edge.by_step(static_cast<double>(k + 1)));
            return static_cast<slot>(k) + (k + 1 < guess.bins && x >= upper ? 1 : 0);
        }
    };

    __device__ function of_block(void*) const { return {*this}; }
};

// Edges of a user, in shared memory where a block can spare it.
template <class T>
struct edge_rule {
    using threshold = threshold_t<T>;
    using slots = edge_slots<threshold, bin_range::many>;
    static constexpr bin_range range = bin_range::any;

    slots found_by;
    bool is_shared;
    std::size_t offset; // of the thresholds, in words
    std::size_t bins;

    constexpr std::size_t shared_bytes() const { return is_shared ? (bins + 1) * sizeof(threshold) : 0; }

    __device__ typename slots::function of_block(void* shared) const
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

// rule_of<T>(bins, words, shared_bytes) makes the rule, which may have so many bytes of shared memory, and adds its thresholds to
// the words; place(rule, words) tells it where these are.
template <class T>
even_rule<T> rule_of(const even_bins& bins, threshold_words&, std::size_t)
{
    return even_rule<T>(bins);
}

template <class T>
edge_rule<T> rule_of(const edges& bins, threshold_words& words, std::size_t shared_bytes)
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
auto rule_of(const integer_bins& bins, threshold_words&, std::size_t)
{
    static_assert(std::integral<T>, "integer bins are for integer samples; see even_bins");
    return plain_slots<detail::integer_offset<T>>{detail::integer_offset<T>(bins), bins.count};
}

template <class T, class F>
auto rule_of(const bins_by<F>& bins, threshold_words&, std::size_t)
{
    return plain_slots<detail::by_function<T, F>>{detail::by_function<T, F>(bins), bins.count};
}

template <class Rule>
void place(Rule&, const std::uint64_t*)
{
}
template <class T>
void place(edge_rule<T>& rule, const std::uint64_t* words)
{
    rule.found_by.thresholds = reinterpret_cast<const threshold_t<T>*>(words + rule.offset);
}

// The rule of one kind of bins, ready for a kernel.
template <class T, class Bins>
auto rule_of(const cuda& target, const Bins& bins)
{
    threshold_words words;
    auto rule = rule_of<T>(bins, words, table_bytes(target) / 4);
    if (!words.empty())
        place(rule, upload(target, words));
    return rule;
}

} // namespace upsweep::gpu
