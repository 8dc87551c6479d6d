// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Histograms of lines along an axis and of segments. The engine finds the bins of a batch of samples behind a function, so
// that the types are f32 and f64 alone: a batch of other samples is converted.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <upsweep/axis_histogram.hpp>
#include <upsweep/runtime.h>
#include <upsweep/segmented_histogram.hpp>

#include "call.hpp"
#include "dimensions.hpp"
#include "fold.hpp"
#include "gpu/histograms.hpp"
#include "gpu/shapes.hpp"
#include "segment_bounds.hpp"
#include "shapes.hpp"

using namespace upsweep;
using namespace upsweep::runtime;

namespace {

// Copies samples whose strides are in bytes.
template <class Compared>
using copy_samples = void (*)(const std::byte* first, const cpu_engine::sample_patch& patch, Compared* to);

template <class T, class Compared>
void copy_converted(const std::byte* first, const cpu_engine::sample_patch& patch, Compared* to)
{
    for (std::size_t r = 0; r < patch.rows; ++r)
        for (std::size_t c = 0; c < patch.columns; ++c)
            *to++ = convert<Compared>(*reinterpret_cast<const T*>(first +
                                                                  static_cast<std::ptrdiff_t>(r) * patch.row_stride +
                                                                  static_cast<std::ptrdiff_t>(c) * patch.stride));
}

template <class Compared>
copy_samples<Compared> copy_of(upsweep_dtype dtype)
{
    return with_type(dtype, []<class T>(std::type_identity<T>) -> copy_samples<Compared> {
        if constexpr (std::is_same_v<detail::edge_t<T>, Compared>)
            return copy_converted<T, Compared>;
        else
            return nullptr;
    });
}

// Calls f(Compared{}, finder) with the bin finder for samples of the dtype, in the type in which they are compared with edges.
template <class Bins, class F>
void with_finder(upsweep_dtype dtype, const Bins& bins, F f)
{
    if (sample_dtype(dtype) == UPSWEEP_F32)
        detail::with_bin_finder<float>(bins, [&](const auto& finder) { f(float{}, finder); });
    else
        detail::with_bin_finder<double>(bins, [&](const auto& finder) { f(double{}, finder); });
}

template <class Compared, class Finder>
cpu_engine::patch_finder find_in_patches(const std::byte* data, upsweep_dtype dtype, const Finder& finder)
{
    return [data, copy = copy_of<Compared>(dtype), batch = cpu_engine::batch_finder<Compared, Finder>(finder)](
               const cpu_engine::sample_patch& patch, detail::bin_index* bins) {
        batch.find_copied(patch.size(), bins, [&](Compared* to) { copy(data + patch.first, patch, to); });
    };
}

// The same of samples that lie side by side.
cpu_engine::stretch_finder find_in_stretches(cpu_engine::patch_finder find, std::size_t bytes)
{
    return [find = std::move(find), step = static_cast<std::ptrdiff_t>(bytes)](std::size_t first, std::size_t count,
                                                                               detail::bin_index* bins) {
        find({static_cast<std::ptrdiff_t>(first) * step, 1, count, 0, step}, bins);
    };
}

// Where the numbers of the samples in no bin go.
std::span<outside> places_of(const char* call, upsweep_outside* places, std::uint64_t count)
{
    static_assert(sizeof(upsweep_outside) == sizeof(outside), "both are three numbers");
    require(places != nullptr || count == 0, call, "what is outside is a null pointer", "pass where it is counted");
    return {reinterpret_cast<outside*>(places), count};
}

void check_bins_of(const upsweep::edges& bins, std::uint64_t count) { detail::check_counters(bins, count); }
void check_bins_of(const even_bins& bins, std::uint64_t) { detail::check_bins(bins); }

// The strides of an array in the units that are given, of whose dimensions with one index none is told.
std::array<std::ptrdiff_t, most_of_caller> strides_in(std::size_t unit, const dimensions& of)
{
    std::array<std::ptrdiff_t, most_of_caller> strides{};
    const bool is_empty = std::ranges::find(of.extents, 0U) != of.extents.end(); // and may lie nowhere
    for (std::size_t k = 0; k < of.rank(); ++k)
        if (of.extents[k] > 1 && !is_empty)
            strides[k] = of.strides[k] * static_cast<std::ptrdiff_t>(unit);
    return strides;
}
std::array<std::size_t, most_of_caller> extents_of(const dimensions& of)
{
    std::array<std::size_t, most_of_caller> extents;
    extents.fill(1);
    std::ranges::copy(of.extents, extents.begin());
    return extents;
}

// The numbers of samples in no bin, which lie where the counts do.
elements beside_of(const elements& counts, std::span<outside> places)
{
    return {reinterpret_cast<std::byte*>(places.data()),
            UPSWEEP_U64,
            counts.memory,
            counts.device,
            3 * places.size(),
            {3 * places.size()},
            {1}};
}

// The lines of samples of so many bytes along an axis, with their counters.
gpu::counted_layout lines_of_bytes(const std::byte* samples, std::size_t bytes, const dimensions& of_samples,
                                   std::size_t along, const elements& counts, const dimensions& of_counts,
                                   std::span<outside> beside)
{
    return detail::counted_lines_of(
        view<const std::byte, most_of_caller>(samples, extents_of(of_samples), strides_in(bytes, of_samples)),
        upsweep::axis{along},
        view<std::uint64_t, most_of_caller>(reinterpret_cast<std::uint64_t*>(counts.data), extents_of(of_counts),
                                            strides_in(1, of_counts)),
        beside);
}

// Where the samples lie, if there are kernels for that, or else in a copy.
template <class Bins>
void count_lines_on_gpu(const char* call, const gpu::device& gpu, const elements& samples, const dimensions& of_samples,
                        std::size_t along, const elements& counts, const dimensions& of_counts,
                        std::span<outside> beside, const Bins& bins)
{
    const auto count = [&](const elements& in, const dimensions& of_in) {
        return gpu::count_lines(gpu, in.dtype,
                                lines_of_bytes(in.data, in.bytes(), of_in, along, counts, of_counts, beside), bins);
    };
    const upsweep_dtype dtype = gpu::counted_as(samples.dtype);
    if (samples.dtype == dtype && count(samples, of_samples))
        return;
    const gpu::converted all(gpu, samples, dtype);
    must_be_done(call, count(all.get(), without_gaps(of_samples)),
                 "a GPU writes counts of lines to arrays that take 3 dimensions at most to tell");
}

// Counts lines. make_bins(count) makes so many bins, or those that are given.
template <class MakeBins>
void count_along(upsweep_context* context, const upsweep_array* in, std::int32_t axis, const upsweep_array* counts,
                 upsweep_outside* places, std::uint64_t place_count, MakeBins make_bins)
{
    constexpr const char* call = "histogram_axis";
    const elements samples = checked_elements(call, "the input", in);
    const elements results = checked_elements(call, "the array of counts", counts);
    check_same_dtype(call, results, UPSWEEP_U64);
    const dimensions of_in = dimensions_of(*in);
    const dimensions of_counts = dimensions_of(*counts);
    const std::size_t along = checked_axis(call, axis, of_in.rank());
    dimensions expected = of_in;
    if (of_counts.rank() == of_in.rank())
        expected.extents[along] = of_counts.extents[along];
    require(expected.extents == of_counts.extents, call, "the extents of the counts are not those of the input",
            "give them the input's extents, with as many as there are bins along the axis");
    const std::span<outside> beside = places_of(call, places, place_count);
    const auto bins = make_bins(of_counts.extents[along]);
    check_bins_of(bins, of_counts.extents[along]);
    std::uint64_t lines = 1;
    for (std::size_t k = 0; k < of_in.rank(); ++k)
        lines *= k == along ? 1 : of_in.extents[k];
    detail::check_places(call, lines, "lines", place_count);

    const execution where = execution_of(context);
    const in_use taken(where);
    const bool is_on_gpu = lie_on_gpu(call, where, {samples, results, beside_of(results, beside)});
    if (lines == 0)
        return;
    check_places(call, results);
    check_apart(call, samples, results);
    if (is_on_gpu)
        return count_lines_on_gpu(call, *where.gpu, samples, of_in, along, results, of_counts, beside, bins);
    const gpu::counted_layout layout =
        lines_of_bytes(samples.data, samples.bytes(), of_in, along, results, of_counts, beside);
    const cpu_engine::untyped_lines all = cpu_engine::without_types(layout);
    with_finder(samples.dtype, bins, [&]<class Compared>(Compared, const auto& finder) {
        cpu_engine::count_lines(where.host, all, find_in_patches<Compared>(layout.in.data(), samples.dtype, finder));
    });
}

template <class MakeBins>
void count_by_segment(upsweep_context* context, const upsweep_array* in, const upsweep_array* offsets,
                      const upsweep_array* counts, upsweep_outside* places, std::uint64_t place_count,
                      MakeBins make_bins)
{
    constexpr const char* call = "segmented_histogram";
    const elements samples = checked_elements(call, "the input", in);
    const elements bounds = checked_bounds(call, offsets);
    const elements results = checked_elements(call, "the array of counts", counts);
    check_same_dtype(call, results, UPSWEEP_U64);
    require(results.is_contiguous(), call, "the counts have gaps", "pass an array without");
    const execution where = execution_of(context);
    const in_use taken(where);
    const std::span<outside> beside = places_of(call, places, place_count);
    const bool is_on_gpu = lie_on_gpu(call, where, {samples, bounds, results, beside_of(results, beside)});
    check_are_offsets(call, bounds);
    const std::uint64_t segments = bounds.count - 1;
    const auto bins = make_bins(segments == 0 ? 1 : results.count / segments);
    detail::check_counters(call, bins, segments, "segments", results.count, place_count);
    check_apart(call, samples, results);
    check_apart(call, bounds, results);
    if (is_on_gpu) {
        if (segments == 0)
            return;
        const gpu::converted in(*where.gpu, samples, gpu::counted_as(samples.dtype));
        const gpu::converted offsets_there(*where.gpu, bounds, UPSWEEP_U64);
        return gpu::count_segments(*where.gpu, in.get(), offsets_there.get(), bins, results, beside.data());
    }
    const segment_bounds all(where.host, bounds);
    check_ends(call, all.get(), samples.count);
    if (segments == 0)
        return;
    const side_by_side from(where.host, samples);
    with_finder(samples.dtype, bins, [&]<class Compared>(Compared, const auto& finder) {
        cpu_engine::count_segments(
            where.host, all.get(),
            find_in_stretches(find_in_patches<Compared>(from.data(), samples.dtype, finder), samples.bytes()),
            {{reinterpret_cast<std::uint64_t*>(results.data), results.count}, beside});
    });
}

auto even_over(double lo, double hi)
{
    return [lo, hi](std::uint64_t count) { return even_bins{lo, hi, count}; };
}
auto between(const double* edges, std::uint64_t count)
{
    require(edges != nullptr || count == 0, "histogram", "the edges are a null pointer", "pass at least two edges");
    return [bins = upsweep::edges(std::span(edges, count))](std::uint64_t) { return bins; };
}

} // namespace

extern "C" {

upsweep_status upsweep_histogram_axis_even(upsweep_context* context, const upsweep_array* in, int32_t axis, double lo,
                                           double hi, const upsweep_array* counts, upsweep_outside* outside,
                                           uint64_t outside_count)
{
    return guarded([&] { count_along(context, in, axis, counts, outside, outside_count, even_over(lo, hi)); });
}

upsweep_status upsweep_histogram_axis_edges(upsweep_context* context, const upsweep_array* in, int32_t axis,
                                            const double* edges, uint64_t edge_count, const upsweep_array* counts,
                                            upsweep_outside* outside, uint64_t outside_count)
{
    return guarded([&] { count_along(context, in, axis, counts, outside, outside_count, between(edges, edge_count)); });
}

upsweep_status upsweep_segmented_histogram_even(upsweep_context* context, const upsweep_array* in,
                                                const upsweep_array* offsets, double lo, double hi,
                                                const upsweep_array* counts, upsweep_outside* outside,
                                                uint64_t outside_count)
{
    return guarded([&] { count_by_segment(context, in, offsets, counts, outside, outside_count, even_over(lo, hi)); });
}

upsweep_status upsweep_segmented_histogram_edges(upsweep_context* context, const upsweep_array* in,
                                                 const upsweep_array* offsets, const double* edges, uint64_t edge_count,
                                                 const upsweep_array* counts, upsweep_outside* outside,
                                                 uint64_t outside_count)
{
    return guarded(
        [&] { count_by_segment(context, in, offsets, counts, outside, outside_count, between(edges, edge_count)); });
}

} // extern "C"
