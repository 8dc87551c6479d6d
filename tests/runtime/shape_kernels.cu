// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// In the simulator f32 and words of 32 bits stand for all segments, runs, selections, recurrences and histograms; folds by key are left
// out.
#include <cstdint>

#include <gpu/shapes/count.cuh>
#include <gpu/shapes/images.cuh>
#include <gpu/shapes/moves.cuh>
#include <gpu/shapes/recurrence.cuh>
#include <gpu/shapes/segments.cuh>
#include <gpu/shapes/weights.cuh>

namespace upsweep::runtime::gpu {

const segment_kernels& segment_kernels_of(const shape_fold& fold)
{
    static constexpr segment_kernels of_f32{reduce_segments_of<float, any_operator>,
                                            scan_segments_of<float, any_operator>};
    if (fold.dtype != UPSWEEP_F32 || fold.op == UPSWEEP_LOG_SUM_EXP)
        throw error(error_kind::unsupported, "upsweep", "the simulator has no kernel for this type or operator",
                    "take sums of f32");
    return of_f32;
}

const key_kernels& key_kernels_of(const shape_fold&, std::size_t)
{
    throw error(error_kind::unsupported, "upsweep", "the simulator does not fold by key", "fold segments");
}

encode_kernels encode_kernels_of(upsweep_dtype dtype)
{
    return dtype == UPSWEEP_I32 ? encode_runs_of<std::uint32_t> : nullptr;
}

const word_kernels* word_kernels_of(std::size_t bytes)
{
    static constexpr word_kernels of_u32{decode_runs_of<std::uint32_t>, select_of<std::uint32_t>,
                                         partition_of<std::uint32_t>};
    return bytes == 4 ? &of_u32 : nullptr;
}

image_kernels image_kernels_of(upsweep_dtype in, upsweep_dtype out)
{
    return in == UPSWEEP_F32 && out == UPSWEEP_F32 ? integrate<float, float> : nullptr;
}

recurrence_kernels recurrence_kernels_of(upsweep_dtype dtype) { return dtype == UPSWEEP_F32 ? recur<float> : nullptr; }

template <class Bins>
const histogram_kernels<Bins>* histogram_kernels_of(upsweep_dtype dtype)
{
    static constexpr histogram_kernels<Bins> of_f32{count_lines_of<float, Bins>, count_segments_of<float, Bins>};
    return dtype == UPSWEEP_F32 ? &of_f32 : nullptr;
}
template const histogram_kernels<even_bins>* histogram_kernels_of<even_bins>(upsweep_dtype);
template const histogram_kernels<edges>* histogram_kernels_of<edges>(upsweep_dtype);

template <class Bins>
weight_kernels<Bins> weight_kernels_of(upsweep_dtype samples, upsweep_dtype weights)
{
    return samples == UPSWEEP_F32 && weights == UPSWEEP_F32 ? add_up_weights_of<float, float, Bins> : nullptr;
}
template weight_kernels<even_bins> weight_kernels_of<even_bins>(upsweep_dtype, upsweep_dtype);
template weight_kernels<edges> weight_kernels_of<edges>(upsweep_dtype, upsweep_dtype);

} // namespace upsweep::runtime::gpu
