// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <ranges>
#include <span>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include <upsweep/gpu/histogram/any_bin_finder.cuh>
#include <upsweep/gpu/histogram/byte_pairs.cuh>
#include <upsweep/gpu/histogram/histogram.cuh>
#include <upsweep/gpu/source/reader.cuh>
#include <upsweep/gpu/target/cuda.cuh>
#include <upsweep/joint_bin.hpp>
#include <upsweep/verb/joint_histogram.hpp>

// Joint histograms: points go to bins by the product of the bin finders of their coordinates, and are counted as other samples are
// (histogram.cuh). What is here makes points of several inputs. Two inputs of bytes have a kernel of their own.
namespace upsweep::gpu {

// The coordinates of a point: an own type, since a std::tuple is not trivially copyable.
template <class... Ts>
struct joint_sample {
};
template <class T, class... Rest>
struct joint_sample<T, Rest...> : joint_sample<Rest...> {
    T first;
};

// Where the coordinates come from.
template <class... Its>
struct joint_iterator {
    __device__ void advance(std::uint64_t) {}
    template <class Sample>
    __device__ void read(std::uint64_t, Sample&) const
    {
    }
    template <int Count, class Sample>
    __device__ void read_vectors(Sample*) const
    {
    }
    template <int Count>
    __device__ bool is_aligned() const
    {
        return true;
    }
};

template <class It, class... Rest>
struct joint_iterator<It, Rest...> : joint_iterator<Rest...> {
    using rest = joint_iterator<Rest...>;
    using value_type = joint_sample<std::iter_value_t<It>, std::iter_value_t<Rest>...>;
    It first;

    __host__ __device__ explicit joint_iterator(It it, Rest... others) : rest(others...), first(it) {}

    __device__ joint_iterator operator+(std::uint64_t n) const
    {
        joint_iterator there = *this;
        there.advance(n);
        return there;
    }
    __device__ value_type operator[](std::uint64_t n) const
    {
        value_type sample{};
        read(n, sample);
        return sample;
    }

    __device__ void advance(std::uint64_t n)
    {
        first = first + static_cast<std::iter_difference_t<It>>(n);
        rest::advance(n);
    }
    template <class Sample>
    __device__ void read(std::uint64_t n, Sample& sample) const
    {
        static_cast<value_type&>(sample).first = first[static_cast<std::iter_difference_t<It>>(n)];
        rest::read(n, sample);
    }
    // The first Count samples, by a vector of each input that has them.
    template <int Count, class Sample>
    __device__ void read_vectors(Sample* samples) const
    {
        lane_vector<std::iter_value_t<It>, Count> vector;
        if constexpr (has_words<Count, It>)
            vector = gpu::load_vector<Count>(first);
        else
            vector = gpu::gather_vector<Count>(first);
#pragma unroll
        for (int j = 0; j < Count; ++j)
            static_cast<value_type&>(samples[j]).first = vector[j];
        rest::template read_vectors<Count>(samples);
    }
    template <int Count>
    __device__ bool is_aligned() const
    {
        return (!has_words<Count, It> || gpu::is_aligned<Count>(first)) && rest::template is_aligned<Count>();
    }
};

template <class... Its>
joint_iterator(Its...) -> joint_iterator<Its...>;

// What samples.cuh asks of an iterator. Inputs that are equally far from being aligned become so together.
template <int Count, class It, class... Rest>
__device__ std::uint64_t elements_before_alignment(const joint_iterator<It, Rest...>& it, std::uint64_t count)
{
    return elements_before_alignment<Count>(it.first, count);
}
template <int Count, class... Its>
__device__ bool is_aligned(const joint_iterator<Its...>& it)
{
    return it.template is_aligned<Count>();
}
template <int Count, class... Its>
__device__ auto load_vector(const joint_iterator<Its...>& from)
{
    using vector_t = lane_vector<typename joint_iterator<Its...>::value_type, Count>;
    typename vector_t::elements all{};
    from.template read_vectors<Count>(all.element);
    vector_t vector;
    std::memcpy(static_cast<void*>(&vector.memory), &all, sizeof(all));
    return vector;
}

// The bins of points.
template <class... Finders>
struct joint_bin_finder {
    struct function {
        template <class Sample>
        __device__ void add_to(detail::joint_bin&, const Sample&) const
        {
        }
    };

    std::size_t bins = 1;

    constexpr std::size_t shared_bytes() const { return 0; }
    void place_all(const std::uint64_t*) {}
    __device__ function of_block(std::byte*) const { return {}; }
};

template <class Finder, class... Rest>
struct joint_bin_finder<Finder, Rest...> {
    static constexpr bin_range range = bin_range::any;

    Finder first;
    joint_bin_finder<Rest...> rest;
    std::size_t first_bytes; // of shared memory, so that the next bin finder's is aligned
    std::size_t bins;

    explicit joint_bin_finder(const Finder& finder, const Rest&... others)
        : first(finder), rest(others...), first_bytes((finder.shared_bytes() + 15) / 16 * 16),
          bins(finder.bins * rest.bins)
    {
    }

    constexpr std::size_t shared_bytes() const { return first_bytes + rest.shared_bytes(); }
    void place_all(const std::uint64_t* words)
    {
        place(first, words);
        rest.place_all(words);
    }

    using first_function = std::remove_cvref_t<decltype(std::declval<const Finder&>().of_block(nullptr))>;
    struct function {
        first_function first;
        bin_index first_bins;
        typename joint_bin_finder<Rest...>::function rest;
        bin_index bins;

        template <class Sample>
        __device__ bin_index operator()(const Sample& sample) const
        {
            detail::joint_bin point;
            add_to(point, sample);
            return point.among(bins);
        }
        template <class T, class... Ts>
        __device__ void add_to(detail::joint_bin& point, const joint_sample<T, Ts...>& sample) const
        {
            point.add(first(sample.first), first_bins);
            rest.add_to(point, static_cast<const joint_sample<Ts...>&>(sample));
        }
    };

    __device__ function of_block(void* shared) const
    {
        auto* const bytes = static_cast<std::byte*>(shared);
        return {first.of_block(bytes), static_cast<bin_index>(first.bins), rest.of_block(bytes + first_bytes),
                static_cast<bin_index>(bins)};
    }
};

template <class... Finders>
joint_bin_finder(const Finders&...) -> joint_bin_finder<Finders...>;

// Counts in a table of the product of the bin finders.
template <class... Rs, class... Bins, class Counter>
void histogram_of_points(const cuda& target, const std::tuple<Rs...>& in, std::uint64_t count,
                         const std::tuple<Bins...>& bins, const histogram_result<Counter>& result)
{
    threshold_words words;
    // Edges are in shared memory only beside a table that fits there as a whole: larger ones need all of it.
    const std::size_t most_for_edges = table_bytes(target) / 4;
    const std::size_t table = swizzled_table::words(result.bins + detail::out_of_range_bins) * sizeof(std::uint32_t);
    const std::size_t shared_bytes =
        table + most_for_edges <= table_bytes(target) ? most_for_edges / sizeof...(Bins) / 16 * 16 : 0;
    auto finder = std::apply(
        [&](const auto&... each) {
            return joint_bin_finder(finder_of<std::ranges::range_value_t<Rs>>(each, words, shared_bytes)...);
        },
        bins);
    if (!words.empty())
        finder.place_all(upload(target, words));
    const auto points = std::apply([](const auto&... each) { return joint_iterator(detail::first_of(each)...); }, in);
    histogram(target, points, count, finder, result);
}

template <class... Rs>
inline constexpr bool are_two_of_bytes = sizeof...(Rs) == 2 && ((is_byte<std::ranges::range_value_t<Rs>> &&
                                                                 std::ranges::contiguous_range<const Rs>)&&...);

template <class X, class Y, class BinsX, class BinsY, class Counter>
void histogram_of_byte_pairs(const cuda& target, const std::tuple<X, Y>& in, std::uint64_t count,
                             const std::tuple<BinsX, BinsY>& bins, const histogram_result<Counter>& result)
{
    threshold_words words;
    auto finder_x = finder_of<std::ranges::range_value_t<X>>(std::get<0>(bins), words, 0);
    auto finder_y = finder_of<std::ranges::range_value_t<Y>>(std::get<1>(bins), words, 0);
    if (!words.empty()) {
        const std::uint64_t* const there = upload(target, words);
        place(finder_x, there);
        place(finder_y, there);
    }
    byte_pairs_histogram(target, detail::first_of(std::get<0>(in)), detail::first_of(std::get<1>(in)), count, finder_x,
                         finder_y, result);
}

} // namespace upsweep::gpu

namespace upsweep::detail {

template <>
struct engine<cuda, verb::joint_histogram> {
    template <class... Ins, class... Bins, class Counter>
    static void count(const cuda& target, const std::tuple<Ins...>& in, std::size_t points,
                      const std::tuple<Bins...>& bins, std::span<Counter> counts, outside* out_of_range,
                      bool accumulates)
    {
        constexpr std::string_view call = "joint_histogram";
        const gpu::current_device current(target.device());
        std::apply([&](const auto&... each) { (gpu::check_place(target, call, first_of(each), points), ...); }, in);
        gpu::check_place(target, call, counts.data(), counts.size());
        gpu::check_place(target, call, out_of_range, 1);

        const gpu::histogram_result<Counter> result{counts.data(), out_of_range, static_cast<bin_index>(counts.size()),
                                                    accumulates};
        if constexpr (gpu::are_two_of_bytes<Ins...>)
            gpu::histogram_of_byte_pairs(target, in, points, bins, result);
        else
            gpu::histogram_of_points(target, in, points, bins, result);
    }
};

} // namespace upsweep::detail
