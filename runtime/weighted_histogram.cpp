// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Sums of weights in bins. The engine is instantiated for samples and weights of few types, to which others are converted
// without a loss: no bin and no sum depends on it.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include <upsweep/runtime.h>
#include <upsweep/weighted_histogram.hpp>

#include "call.hpp"
#include "fold.hpp"
#include "gpu/histograms.hpp"
#include "gpu/shapes.hpp"
#include "shapes.hpp"

using namespace upsweep;
using namespace upsweep::runtime;

namespace {

constexpr const char* call = "weighted_histogram";

bool is_float(upsweep_dtype dtype) { return dtype >= UPSWEEP_F16; }

// The type of sums, which weights of a narrower type have, too.
upsweep_dtype sum_dtype(upsweep_dtype weights)
{
    if (is_float(weights))
        return weights == UPSWEEP_F64 ? UPSWEEP_F64 : UPSWEEP_F32;
    return weights >= UPSWEEP_U8 ? UPSWEEP_U64 : UPSWEEP_I64;
}

template <class F>
void with_sample(upsweep_dtype dtype, F f)
{
    if (dtype == UPSWEEP_F32)
        f(std::type_identity<float>{});
    else
        f(std::type_identity<double>{});
}

// Sums of signed and of unsigned numbers have the same bits modulo 2^64.
template <class F>
void with_weight(upsweep_dtype dtype, F f)
{
    if (dtype == UPSWEEP_F32)
        f(std::type_identity<float>{});
    else if (dtype == UPSWEEP_F64)
        f(std::type_identity<double>{});
    else
        f(std::type_identity<std::int64_t>{});
}

template <class Bins>
void add_up_on_gpu(const gpu::device& gpu, const elements& samples, const elements& weights, const Bins& bins,
                   const elements& sums, const elements& beside)
{
    const gpu::converted all(gpu, samples, gpu::weighed_as(samples.dtype));
    const gpu::converted each(gpu, weights, sums.dtype);
    gpu::add_up_weights(gpu, all.get(), each.get(), bins, sums, beside);
}

template <class Bins>
void add_up(upsweep_context* context, const upsweep_array* in, const upsweep_array* weights, const Bins& bins,
            const elements& sums, const upsweep_array* outside)
{
    const elements samples = checked_elements(call, "the input", in);
    const elements of_samples = checked_elements(call, "the array of weights", weights);
    const elements beside = checked_elements(call, "the array of what is outside", outside);
    const upsweep_dtype sum = sum_dtype(of_samples.dtype);
    check_same_dtype(call, sums, sum);
    check_same_dtype(call, beside, sum);
    require(sums.is_contiguous() && beside.is_contiguous(), call, "the results have gaps", "pass arrays without");
    require(beside.count == 3, call, "what is outside is not of three elements", "make room for below, above and NaN");
    if (samples.count != of_samples.count)
        throw error(error_kind::invalid_argument, call,
                    std::to_string(of_samples.count) + " weights for " + std::to_string(samples.count) + " samples",
                    "pass one weight a sample");
    detail::check_bins(bins);
    const execution where = execution_of(context);
    const in_use taken(where);
    const bool is_on_gpu = lie_on_gpu(call, where, {samples, of_samples, sums, beside});
    for (const elements& from : {samples, of_samples})
        for (const elements& to : {sums, beside})
            check_apart(call, from, to);
    check_apart(call, sums, beside);
    if (is_on_gpu)
        return add_up_on_gpu(*where.gpu, samples, of_samples, bins, sums, beside);

    const cpu& host = where.host;
    const converted all(host, samples, sample_dtype(samples.dtype));
    const converted each(host, of_samples, sum);
    with_sample(sample_dtype(samples.dtype), [&]<class S>(std::type_identity<S>) {
        with_weight(sum, [&]<class W>(std::type_identity<W>) {
            const auto found = weighted_histogram(host, std::span(static_cast<const S*>(all.data()), samples.count),
                                                  std::span(static_cast<const W*>(each.data()), samples.count), bins,
                                                  std::span(reinterpret_cast<W*>(sums.data), sums.count));
            auto* const to = reinterpret_cast<W*>(beside.data);
            to[0] = found.below;
            to[1] = found.above;
            to[2] = found.nan;
        });
    });
}

} // namespace

extern "C" {

upsweep_status upsweep_weighted_histogram_even(upsweep_context* context, const upsweep_array* in,
                                               const upsweep_array* weights, double lo, double hi,
                                               const upsweep_array* sums, const upsweep_array* outside)
{
    return guarded([&] {
        const elements to = checked_elements(call, "the array of sums", sums);
        add_up(context, in, weights, even_bins{lo, hi, to.count}, to, outside);
    });
}

upsweep_status upsweep_weighted_histogram_edges(upsweep_context* context, const upsweep_array* in,
                                                const upsweep_array* weights, const double* edges, uint64_t edge_count,
                                                const upsweep_array* sums, const upsweep_array* outside)
{
    return guarded([&] {
        require(edges != nullptr || edge_count == 0, call, "the edges are a null pointer", "pass at least two edges");
        const elements to = checked_elements(call, "the array of sums", sums);
        add_up(context, in, weights, upsweep::edges(std::span(edges, edge_count)), to, outside);
    });
}

} // extern "C"
