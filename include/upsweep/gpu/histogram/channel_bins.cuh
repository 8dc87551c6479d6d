// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <ranges>
#include <type_traits>
#include <utility>
#include <vector>

#include <upsweep/gpu/histogram/any_bin_finder.cuh>
#include <upsweep/gpu/source/matrix.cuh>
#include <upsweep/gpu/target/cuda.cuh>
#include <upsweep/matrix.hpp>

// Which key an element of a channel goes to: the bins of all channels stand one after the other.
namespace upsweep::gpu {

// Bytes by value, whatever their bins.
struct by_value {
    static constexpr bin_index values = 256;

    struct function {
        __device__ bin_index operator()(std::uint8_t x, std::uint32_t channel) const { return channel * values + x; }
    };
    constexpr std::size_t shared_bytes() const { return 0; }
    __device__ function of_block(void*) const { return {}; }
};

// One bin finder for all channels.
template <class Finder>
struct common_bin_finder {
    Finder finder;

    template <class Function>
    struct block_function {
        Function bin_of_element;
        bin_index bins_of_each;

        __device__ bin_index bins(std::uint32_t) const { return bins_of_each; }
        __device__ std::size_t bins_before(std::uint32_t channel) const { return std::size_t{channel} * bins_of_each; }
        __device__ bin_index first(std::uint32_t channel) const
        {
            return channel * (bins_of_each + detail::out_of_range_bins);
        }
        template <class T>
        __device__ bin_index bin_of(const T& x, std::uint32_t) const
        {
            return bin_of_element(x);
        }
        template <class T>
        __device__ bin_index operator()(const T& x, std::uint32_t channel) const
        {
            return first(channel) + bin_of_element(x);
        }
    };

    constexpr std::size_t shared_bytes() const { return finder.shared_bytes(); }
    __device__ auto of_block(void* shared) const
    {
        const auto function = finder.of_block(shared);
        return block_function<std::remove_cvref_t<decltype(function)>>{function, static_cast<bin_index>(finder.bins)};
    }
};

// A bin finder for each channel, in device memory, with the bins of those before it and of all.
template <class Finder>
struct bin_finder_of_each {
    const Finder* finders;
    const std::uint64_t* before;

    constexpr std::size_t shared_bytes() const { return 0; }
    __device__ const bin_finder_of_each& of_block(void*) const { return *this; }

    __device__ bin_index bins(std::uint32_t channel) const
    {
        return static_cast<bin_index>(before[channel + 1] - before[channel]);
    }
    __device__ std::size_t bins_before(std::uint32_t channel) const { return before[channel]; }
    __device__ bin_index first(std::uint32_t channel) const
    {
        return static_cast<bin_index>(before[channel]) + channel * detail::out_of_range_bins;
    }
    template <class T>
    __device__ bin_index bin_of(const T& x, std::uint32_t channel) const
    {
        return finders[channel].of_block(nullptr)(x);
    }
    template <class T>
    __device__ bin_index operator()(const T& x, std::uint32_t channel) const
    {
        return first(channel) + bin_of(x, channel);
    }
};

// The bin finders of so many keys, ready for a kernel. Edges are in shared memory only beside a table that fits there as a whole: larger
// ones need all of it.
template <class T, class Bins>
    requires(!std::ranges::range<Bins>)
auto channel_finders_of(const cuda& target, const Bins& bins, std::size_t keys)
{
    const std::size_t most_for_edges = table_bytes(target) / 4;
    const std::size_t table = swizzled_table::words(keys) * sizeof(std::uint32_t);
    threshold_words words;
    auto finder = finder_of<T>(bins, words, table + most_for_edges <= table_bytes(target) ? most_for_edges : 0);
    if (!words.empty())
        place(finder, upload(target, words));
    return common_bin_finder<decltype(finder)>{finder};
}

template <class T, std::ranges::range Bins>
auto channel_finders_of(const cuda& target, const Bins& bins, std::size_t)
{
    using finder = decltype(finder_of<T>(*std::ranges::begin(bins), std::declval<threshold_words&>(), std::size_t{}));
    static_assert(alignof(finder) <= alignof(std::uint64_t));
    threshold_words words;
    std::vector<finder> finders;
    std::vector<std::uint64_t> before{0};
    for (const auto& each : bins) {
        finders.push_back(finder_of<T>(each, words, 0));
        before.push_back(before.back() + detail::bin_count(each));
    }
    const std::size_t thresholds = words.size();
    const std::size_t finder_words =
        (finders.size() * sizeof(finder) + sizeof(std::uint64_t) - 1) / sizeof(std::uint64_t);
    words.resize(thresholds + finder_words);
    words.insert(words.end(), before.begin(), before.end());
    const auto* const there = static_cast<const std::uint64_t*>(
        target.workspace().memory(workspace_purpose::bin_edges, words.size() * sizeof(std::uint64_t)));
    for (finder& each : finders)
        place(each, there);
    std::memcpy(words.data() + thresholds, static_cast<const void*>(finders.data()), finders.size() * sizeof(finder));
    upload(target, words);
    return bin_finder_of_each<finder>{reinterpret_cast<const finder*>(there + thresholds),
                                      there + thresholds + finder_words};
}

// Elements with their channels, by their number.
template <class T>
struct channel_sample {
    T element;
    std::uint32_t channel;
};

template <class T>
struct channel_elements {
    using value_type = channel_sample<T>;
    matrix_elements<T> elements;
    divider channels;

    channel_elements(const matrix<T>& in, std::size_t all) : elements(in), channels(all) {}

    __device__ channel_elements operator+(std::uint64_t n) const
    {
        channel_elements there = *this;
        there.elements = elements + n;
        return there;
    }
    __device__ value_type operator[](std::uint64_t n) const
    {
        const auto at = elements.place_of(n);
        return {elements.in.row(at.row)[at.column], static_cast<std::uint32_t>(channels.remainder(at.column))};
    }
};

template <int Count, class T>
__device__ bool is_aligned(const channel_elements<T>& it)
{
    return is_aligned<Count>(it.elements);
}
template <int Count, class T>
__device__ auto load_vector(const channel_elements<T>& from)
{
    using vector_t = lane_vector<channel_sample<T>, Count>;
    const auto at = from.elements.place_of(0);
    const auto loaded = load_vector<Count>(from.elements.in.row(at.row) + at.column);
    auto channel = static_cast<std::uint32_t>(from.channels.remainder(at.column));
    typename vector_t::elements all{};
#pragma unroll
    for (int j = 0; j < Count; ++j) {
        all.element[j] = {loaded[j], channel};
        channel = channel + 1 == from.channels.divisor ? 0 : channel + 1;
    }
    vector_t vector;
    std::memcpy(static_cast<void*>(&vector.memory), &all, sizeof(all));
    return vector;
}

// The keys of such elements, none of which is outside.
template <class Finders>
struct channel_bin_finder {
    static constexpr bin_range range = bin_range::any;
    Finders finders;
    std::size_t bins;

    template <class Function>
    struct block_function {
        Function key_of;

        template <class T>
        __device__ bin_index operator()(const channel_sample<T>& sample) const
        {
            return key_of(sample.element, sample.channel);
        }
    };

    constexpr std::size_t shared_bytes() const { return finders.shared_bytes(); }
    __device__ auto of_block(void* shared) const
    {
        const auto function = finders.of_block(shared);
        return block_function<std::remove_cvref_t<decltype(function)>>{function};
    }
};

} // namespace upsweep::gpu
