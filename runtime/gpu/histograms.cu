// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Which lines and segments a GPU counts, and which weights it adds up.
#include "histograms.hpp"

#include <cstddef>
#include <cstdint>

#include "device.cuh"
#include "shapes/kernels.hpp"

namespace upsweep::runtime::gpu {

namespace {

bool has_few_dimensions(const counted_layout& lines)
{
    for (std::size_t k = 1; k + most_line_dimensions <= detail::iterator_rank<most_of_caller>; ++k)
        if (lines.in.extent(k) != 1)
            return false;
    return true;
}

template <class Bins>
const histogram_kernels<Bins>& kernels_of(upsweep_dtype dtype)
{
    const histogram_kernels<Bins>* const kernels = histogram_kernels_of<Bins>(dtype);
    must_be_done("histogram", kernels != nullptr, "there is no kernel for samples of this type");
    return *kernels;
}

} // namespace

upsweep_dtype counted_as(upsweep_dtype dtype)
{
    switch (dtype) {
    case UPSWEEP_BOOL:
    case UPSWEEP_U8: return UPSWEEP_U8;
    case UPSWEEP_I8:
    case UPSWEEP_I16:
    case UPSWEEP_U16:
    case UPSWEEP_I32: return UPSWEEP_I32;
    default: return sample_dtype(dtype);
    }
}

upsweep_dtype weighed_as(upsweep_dtype dtype)
{
    const upsweep_dtype counted = counted_as(dtype);
    return counted == UPSWEEP_U8 ? UPSWEEP_I32 : counted;
}

template <class Bins>
bool count_lines(const device& gpu, upsweep_dtype dtype, const counted_layout& lines, const Bins& bins)
{
    if (!has_few_dimensions(lines))
        return false;
    kernels_of<Bins>(dtype).lines(gpu.target, lines, bins);
    return true;
}

template <class Bins>
void count_segments(const device& gpu, const elements& in, const elements& offsets, const Bins& bins,
                    const elements& counts, outside* out_of_range)
{
    kernels_of<Bins>(in.dtype).segments(gpu.target, in, offsets, bins, counts, out_of_range);
}

template <class Bins>
void add_up_weights(const device& gpu, const elements& in, const elements& weights, const Bins& bins,
                    const elements& sums, const elements& out_of_range)
{
    const weight_kernels<Bins> add_up = weight_kernels_of<Bins>(in.dtype, weights.dtype);
    must_be_done("weighted_histogram", add_up != nullptr, "there is no kernel for samples and weights of these types");
    add_up(gpu.target, in, weights, bins, sums, out_of_range);
}

UPSWEEP_HISTOGRAMS_IN(even_bins);
UPSWEEP_HISTOGRAMS_IN(edges);

} // namespace upsweep::runtime::gpu
