// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// In the simulator two types have kernels of their own, which stand for all; the others fall back to those that convert
// elements.
#include <cstdint>

#include <gpu/typed/reduce.cuh>
#include <gpu/typed/scan.cuh>
#include <gpu/typed/variance.cuh>

UPSWEEP_REDUCE_TYPED(std::int16_t);
UPSWEEP_REDUCE_TYPED(float);
UPSWEEP_REDUCE_BITS(std::uint16_t);
UPSWEEP_REDUCE_TRUTH(std::uint16_t);
UPSWEEP_REDUCE_TRUTH(float);
UPSWEEP_SCAN_TYPED(std::int16_t);
UPSWEEP_SCAN_TYPED(float);
UPSWEEP_SCAN_WIDENED(std::uint8_t, std::uint64_t);
UPSWEEP_SCAN_WIDENED(std::int32_t, std::uint64_t);
UPSWEEP_SCAN_PRODUCTS(float);
UPSWEEP_VARIANCE_TYPED(std::int16_t);
UPSWEEP_VARIANCE_TYPED(float);

namespace upsweep::runtime::gpu {

const typed_kernels* typed_kernels_of(upsweep_dtype dtype)
{
    static constexpr typed_kernels of_i16{reduce_typed<std::int16_t>,
                                          reduce_bits<std::uint16_t>,
                                          reduce_truth<std::uint16_t>,
                                          scan_typed<std::int16_t>,
                                          nullptr,
                                          nullptr,
                                          variance_typed<std::int16_t>};
    static constexpr typed_kernels of_f32{
        reduce_typed<float>, nullptr, reduce_truth<float>, scan_typed<float>, nullptr, nullptr, variance_typed<float>,
        scan_products<float>};
    return dtype == UPSWEEP_I16 ? &of_i16 : dtype == UPSWEEP_F32 ? &of_f32 : nullptr;
}

scan_kernel widened_sums_of(upsweep_dtype in, upsweep_dtype out)
{
    if (out != UPSWEEP_I64 && out != UPSWEEP_U64)
        return nullptr;
    if (in == UPSWEEP_BOOL || in == UPSWEEP_U8)
        return scan_widened<std::uint8_t, std::uint64_t>;
    return in == UPSWEEP_I32 ? scan_widened<std::int32_t, std::uint64_t> : nullptr;
}

} // namespace upsweep::runtime::gpu
