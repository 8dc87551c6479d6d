// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "image.hpp"

#include <concepts>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <upsweep/image.hpp>

#include "element_type.hpp"

namespace upsweep::runtime {

namespace {

// One instantiation of the engine for each type of sums: what depends on the type of the elements is how a row is read.
template <class Sum>
bool integrate_as(const cpu& host, upsweep_dtype dtype, const image_layout& of)
{
    std::ptrdiff_t bytes = 0;
    typename cpu_engine::image_elements<Sum>::load_row load = nullptr;
    with_type(dtype, [&]<class T>(std::type_identity<T>) {
        if constexpr (std::integral<T> || !std::integral<Sum>) {
            bytes = sizeof(T);
            load = cpu_engine::load_image_row<cpu_engine::as_they_are, T, Sum>;
        }
    });
    if (load == nullptr)
        return false;
    const auto* const from = static_cast<const std::byte*>(of.in);
    auto* const to = static_cast<Sum*>(of.out);
    return cpu_engine::integrate_images<Sum>(
        host, of.extents[0], {of.extents[1], of.extents[2]}, [&](std::size_t image) {
            const auto k = static_cast<std::ptrdiff_t>(image);
            return std::pair(
                cpu_engine::image_elements<Sum>{from + k * of.in_strides[0] * bytes, of.in_strides[1] * bytes,
                                                of.in_strides[2] * bytes, load},
                cpu_engine::image_sums<Sum>{to + k * of.out_strides[0], of.out_strides[1], of.out_strides[2]});
        });
}

} // namespace

bool integrate_images(const cpu& host, upsweep_dtype in, upsweep_dtype out, const image_layout& of)
{
    switch (out) { // Sums of signed integers have the bits of unsigned ones.
    case UPSWEEP_I32:
    case UPSWEEP_U32: return integrate_as<std::uint32_t>(host, in, of);
    case UPSWEEP_I64:
    case UPSWEEP_U64: return integrate_as<std::uint64_t>(host, in, of);
    case UPSWEEP_F32: return integrate_as<float>(host, in, of);
    case UPSWEEP_F64: return integrate_as<double>(host, in, of);
    default: return false;
    }
}

} // namespace upsweep::runtime
