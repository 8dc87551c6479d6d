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

#include <upsweep/gpu/histogram/byte_pairs.cuh>
#include <upsweep/gpu/histogram/edges.cuh>
#include <upsweep/gpu/histogram/even_bins.cuh>
#include <upsweep/gpu/histogram/histogram.cuh>
#include <upsweep/gpu/source/strided.cuh>
#include <upsweep/gpu/source/zip.cuh>
#include <upsweep/gpu/target/cuda.cuh>
#include <upsweep/joint_bin.hpp>
#include <upsweep/verb/joint_histogram.hpp>

// A joint histogram counts points, whose coordinates come from several inputs. The inputs are zipped into one source,
// the bin finders of the coordinates are combined into one of points, and points are then counted as other samples are
// (histogram.cuh). Two inputs of bytes have kernels of their own (byte_pairs.cuh).
namespace upsweep::gpu {

// The bin finder of points has one bin finder for each coordinate. This one, for no coordinate, ends the recursion.
template <class... Finders>
struct joint_bin_finder {
    struct function {
        template <class Sample>
        __device__ void add_to(detail::joint_bin&, const Sample&) const
        {
        }
        template <class Sample, int Count>
        __device__ void add_to_all(detail::joint_bin (&)[Count], const lane_vector<Sample, Count>&,
                                   std::type_identity<zip_sample<>>) const
        {
        }
    };

    std::size_t bins = 1;

    constexpr std::size_t shared_bytes() const { return 0; }
    void place(const std::uint64_t*) {}
    __device__ function of_block(std::byte*) const { return {}; }
};

template <class Finder, class... Rest>
struct joint_bin_finder<Finder, Rest...> {
    static constexpr bin_range range = bin_range::any;

    Finder first;
    joint_bin_finder<Rest...> rest;
    std::size_t first_bytes; // the shared memory of `first`, rounded up so that that of `rest` is aligned
    std::size_t bins;

    explicit joint_bin_finder(const Finder& finder, const Rest&... others)
        : first(finder), rest(others...), first_bytes((finder.shared_bytes() + 15) / 16 * 16),
          bins(finder.bins * rest.bins)
    {
    }

    constexpr std::size_t shared_bytes() const { return first_bytes + rest.shared_bytes(); }
    void place(const std::uint64_t* words)
    {
        first.place(words);
        rest.place(words);
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

        // Finds the bins of all points of a vector, coordinate by coordinate, so that each takes its quick way for all.
        template <class Sample, int Count>
        __device__ void find(const lane_vector<Sample, Count>& samples, bin_index (&found)[Count]) const
        {
            detail::joint_bin points[Count];
            add_to_all(points, samples, std::type_identity<Sample>{});
#pragma unroll
            for (int j = 0; j < Count; ++j)
                found[j] = points[j].among(bins);
        }

        template <class T, class... Ts>
        __device__ void add_to(detail::joint_bin& point, const zip_sample<T, Ts...>& sample) const
        {
            point.add(first(sample.first), first_bins);
            rest.add_to(point, static_cast<const zip_sample<Ts...>&>(sample));
        }
        template <class Sample, int Count, class T, class... Ts>
        __device__ void add_to_all(detail::joint_bin (&points)[Count], const lane_vector<Sample, Count>& samples,
                                   std::type_identity<zip_sample<T, Ts...>>) const
        {
            typename lane_vector<T, Count>::elements coordinates;
#pragma unroll
            for (int j = 0; j < Count; ++j)
                coordinates.element[j] = static_cast<const zip_sample<T, Ts...>&>(samples[j]).first;
            bin_index found[Count];
            find_bins(first, lane_vector<T, Count>::of(coordinates), found);
#pragma unroll
            for (int j = 0; j < Count; ++j)
                points[j].add(found[j], first_bins);
            rest.add_to_all(points, samples, std::type_identity<zip_sample<Ts...>>{});
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

// Returns the bin finder of points, ready for a kernel, of whose blocks it may take so many bytes of shared memory.
template <class... Rs, class... Bins>
auto joint_bin_finder_on(const cuda& target, const std::tuple<Rs...>&, const std::tuple<Bins...>& bins,
                         std::size_t shared_bytes)
{
    threshold_list thresholds(shared_bytes / sizeof...(Bins) / 16 * 16);
    auto finder = std::apply(
        [&](const auto&... each) {
            return joint_bin_finder(any_bin_finder<std::ranges::range_value_t<Rs>>(each, thresholds)...);
        },
        bins);
    finder.place(upload(target, thresholds));
    return finder;
}

// Whether the inputs are two arrays of bytes.
template <class... Rs>
inline constexpr bool are_two_of_bytes = sizeof...(Rs) == 2 && ((is_byte<std::ranges::range_value_t<Rs>> &&
                                                                 std::ranges::contiguous_range<const Rs>)&&...);

// Counts points by combinations of the coordinates' bins.
template <class... Rs, class... Bins, class Counter>
void histogram_of_points(const cuda& target, const std::tuple<Rs...>& in, std::uint64_t count,
                         const std::tuple<Bins...>& bins, const histogram_result<Counter>& result)
{
    if constexpr (are_two_of_bytes<Rs...>) {
        byte_pairs_histogram(target, detail::first_of(std::get<0>(in)), detail::first_of(std::get<1>(in)), count,
                             joint_bin_finder_on(target, in, bins, 0), result);
    } else {
        const std::size_t shared_bytes = bytes_beside(target, result.bins + detail::out_of_range_bins);
        const auto points =
            std::apply([](const auto&... each) { return zip_source(source_of(detail::first_of(each))...); }, in);
        histogram(target, points, count, joint_bin_finder_on(target, in, bins, shared_bytes), result);
    }
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
        std::apply(
            [&](const auto&... each) { (gpu::check_place(target, call, gpu::source_of(first_of(each)), points), ...); },
            in);
        gpu::check_place(target, call, counts.data(), counts.size());
        gpu::check_place(target, call, out_of_range, 1);

        const gpu::histogram_result<Counter> result{counts.data(), out_of_range, static_cast<bin_index>(counts.size()),
                                                    accumulates};
        gpu::histogram_of_points(target, in, points, bins, result);
    }
};

} // namespace upsweep::detail
