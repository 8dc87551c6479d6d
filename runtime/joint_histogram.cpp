// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Histograms of points. The engine finds the bins of each coordinate behind a pointer to a function, so that there may be any number of
// them.
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <upsweep/joint_histogram.hpp>
#include <upsweep/runtime.h>

#include "call.hpp"
#include "fold.hpp"
#include "shapes.hpp"

using namespace upsweep;
using namespace upsweep::runtime;

namespace {

constexpr const char* call = "joint_histogram";

cpu_engine::dimension dimension_of(const converted& samples, const upsweep::edges& bins)
{
    if (samples.dtype() == UPSWEEP_F32)
        return cpu_engine::dimension_of<float>(static_cast<const float*>(samples.data()), bins);
    return cpu_engine::dimension_of<double>(static_cast<const double*>(samples.data()), bins);
}

void count_points(upsweep_context* context, std::span<const upsweep_array> in, const double* const* edges,
                  const std::uint64_t* edge_counts, const upsweep_array* counts, upsweep_outside* outside_of_caller)
{
    const elements to = checked_elements(call, "the array of counts", counts);
    check_same_dtype(call, to, UPSWEEP_U64);
    require(to.is_contiguous(), call, "the counts have gaps", "pass an array without");
    const execution where = execution_of(context);
    const in_use taken(where);
    const cpu& host = host_of(call, where);
    where.lies_on_gpu(call, to);

    std::vector<elements> coordinates;
    std::vector<upsweep::edges> bins;
    std::uint64_t product = 1;
    for (std::size_t d = 0; d < in.size(); ++d) {
        coordinates.push_back(checked_elements(call, "an array of coordinates", &in[d]));
        where.lies_on_gpu(call, coordinates[d]);
        check_apart(call, coordinates[d], to);
        if (coordinates[d].count != coordinates[0].count)
            throw error(error_kind::invalid_argument, call,
                        "coordinate " + std::to_string(d) + " has " + std::to_string(coordinates[d].count) +
                            " samples, coordinate 0 has " + std::to_string(coordinates[0].count),
                        "pass as many samples for each dimension");
        require(edges[d] != nullptr, call, "edges are a null pointer", "pass at least two for each dimension");
        bins.emplace_back(std::span(edges[d], edge_counts[d]));
        detail::check_bins(bins[d]);
        const std::uint64_t each = detail::bin_count(bins[d]);
        product =
            product > to.count / each ? to.count + 1 : product * each; // one more than there are, where it is too large
    }
    constexpr std::uint64_t most = std::numeric_limits<detail::bin_index>::max() - detail::out_of_range_bins;
    if (to.count > most)
        throw error(error_kind::invalid_argument, call, std::to_string(to.count) + " bins are more than 2^32 - 4",
                    "ask for fewer bins in a dimension");
    if (product != to.count)
        throw error(error_kind::invalid_argument, call,
                    "there are " + std::to_string(to.count) +
                        " counts, which is not one for "
                        "each combination of bins",
                    "pass one for each");

    std::vector<std::unique_ptr<converted>> samples;
    std::vector<cpu_engine::dimension> dimensions;
    for (std::size_t d = 0; d < in.size(); ++d) {
        samples.push_back(std::make_unique<converted>(host, coordinates[d], sample_dtype(coordinates[d].dtype)));
        dimensions.push_back(dimension_of(*samples[d], bins[d]));
    }
    outside found{outside_of_caller->below, outside_of_caller->above, outside_of_caller->nan};
    cpu_engine::put_counts(host, call, std::span(reinterpret_cast<std::uint64_t*>(to.data), to.count), &found, true,
                           [&](std::span<std::uint64_t> totals) {
                               cpu_engine::joint_histogram_onto(host, coordinates[0].count, dimensions, totals);
                           });
    *outside_of_caller = {found.below, found.above, found.nan};
}

} // namespace

extern "C" {

upsweep_status upsweep_joint_histogram_edges(upsweep_context* context, const upsweep_array* in, uint64_t dimensions,
                                             const double* const* edges, const uint64_t* edge_counts,
                                             const upsweep_array* counts, upsweep_outside* outside)
{
    return guarded([&] {
        require(in != nullptr && dimensions != 0, call, "there are no coordinates", "pass at least one array");
        require(edges != nullptr && edge_counts != nullptr, call, "there are no edges", "pass some for each dimension");
        require(outside != nullptr, call, "what is outside is a null pointer", "pass where it is counted");
        count_points(context, std::span(in, dimensions), edges, edge_counts, counts, outside);
    });
}

} // extern "C"
