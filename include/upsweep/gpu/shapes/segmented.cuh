// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include <upsweep/engine.hpp>
#include <upsweep/gpu/fold/reduce.cuh>
#include <upsweep/gpu/shapes/segments.cuh>
#include <upsweep/gpu/source/strided.cuh>
#include <upsweep/gpu/target/cuda.cuh>
#include <upsweep/op.hpp>
#include <upsweep/qualifiers.hpp>
#include <upsweep/verb/axis.hpp>

// The engines of segments between offsets.
namespace upsweep::gpu {

// The source of the numbers of offsets that are wrong; for others, of the largest number.
template <class Offset>
struct wrong_offsets {
    using value_type = std::uint64_t;
    using difference_type = std::ptrdiff_t;

    const Offset* offsets;
    std::uint64_t elements; // that the array has
    std::uint64_t first = 0;

    UPSWEEP_HOST_DEVICE wrong_offsets operator+(std::uint64_t n) const { return {offsets, elements, first + n}; }
    __device__ std::uint64_t operator[](std::uint64_t n) const
    {
        const std::uint64_t k = first + n;
        const Offset offset = offsets[k];
        const bool is_negative = std::signed_integral<Offset> && offset < 0;
        const bool is_wrong =
            is_negative || static_cast<std::uint64_t>(offset) > elements || (k != 0 && offset < offsets[k - 1]);
        return is_wrong ? k : ~std::uint64_t{0};
    }
};

} // namespace upsweep::gpu

namespace upsweep::detail {

template <>
struct engine<cuda, verb::reduce_segments> {
    template <class Acc, class In, class Offset, class Out, class Op>
    static void fold(const cuda& target, In in, std::size_t count, std::span<const Offset> offsets, Out out,
                     const Op& op)
    {
        const gpu::current_device current(target.device());
        gpu::check_place(target, "segmented_reduce", offsets.data(), offsets.size());
        gpu::with_sources(in, out, [&](const auto& from, const auto& to) {
            gpu::check_place(target, "segmented_reduce", from, count);
            gpu::check_place(target, "segmented_reduce", to, offsets.size() - 1);
            gpu::reduce_segments<Acc>(target, from, count,
                                      gpu::offset_segments<Offset>{offsets.data(), offsets.size() - 1}, to, op,
                                      as_results_of<Op>{});
        });
    }
};

template <>
struct engine<cuda, verb::scan_segments> {
    template <scan_kind Kind, class Acc, class In, class Offset, class Out, class Op>
    static void scan(const cuda& target, In in, std::size_t count, std::span<const Offset> offsets, Out out,
                     const Op& op, const Acc* init)
    {
        const gpu::current_device current(target.device());
        gpu::check_place(target, "segmented_scan", offsets.data(), offsets.size());
        gpu::with_sources(in, out, [&](const auto& from, const auto& to) {
            gpu::check_place(target, "segmented_scan", from, count);
            gpu::check_place(target, "segmented_scan", to, count);
            gpu::scan_segments<Kind, Acc>(
                target, from, count, gpu::offset_segments<Offset>{offsets.data(), offsets.size() - 1}, to, op, init);
        });
    }
};

template <>
struct engine<cuda, verb::check_segments> {
    template <class Offset>
    static std::optional<std::size_t> first_wrong(const cuda& target, std::span<const Offset> offsets,
                                                  std::size_t count)
    {
        const gpu::current_device current(target.device());
        gpu::check_place(target, "check_offsets", offsets.data(), offsets.size());
        const auto lowest = returned<cuda>::value<std::uint64_t>(target, "check_offsets", [&](std::uint64_t* result) {
            gpu::reduce<std::uint64_t>(target, gpu::wrong_offsets<Offset>{offsets.data(), count}, offsets.size(),
                                       minimum{}, result);
        });
        return lowest < offsets.size() ? std::optional<std::size_t>(lowest) : std::nullopt;
    }
};

} // namespace upsweep::detail
