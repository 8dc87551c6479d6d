// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Which lines along an axis a GPU folds.
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "any_op.hpp"
#include "device.cuh"
#include "lines.hpp"
#include "lines/lines.hpp"

namespace upsweep::runtime::gpu {

namespace {

bool has_few_dimensions(const line_layout& lines)
{
    for (std::size_t k = 1; k <= most_dimensions - most_line_dimensions; ++k)
        if (lines.extents[k] != 1)
            return false;
    return true;
}

} // namespace

bool reduce_lines(const device& gpu, const shape_fold& fold, upsweep_dtype dtype, const line_layout& lines, bool means)
{
    const bool is_signed = dtype >= UPSWEEP_I8 && dtype <= UPSWEEP_I64;
    if (!has_few_dimensions(lines))
        return false;
    if (fold.dtype == UPSWEEP_F16) {
        sum_lines<f16>(gpu.target, lines, means, false);
        return true;
    }
    if (fold.dtype == UPSWEEP_BF16) {
        sum_lines<bf16>(gpu.target, lines, means, false);
        return true;
    }
    with_folded_type(fold.dtype, [&]<class Word>(Word) {
        using summed = std::conditional_t<std::same_as<Word, std::uint32_t>, std::int32_t, Word>;
        using compared = std::conditional_t<std::same_as<Word, std::uint64_t>, std::int64_t, summed>;
        const bool is_extremum = fold.op == UPSWEEP_MINIMUM || fold.op == UPSWEEP_MAXIMUM;
        if (fold.op == UPSWEEP_PLUS)
            sum_lines<summed>(gpu.target, lines, means, is_signed);
        else if (is_extremum && fold.dtype != UPSWEEP_U32 && fold.dtype != UPSWEEP_U64)
            extrema_of_lines<compared>(gpu.target, fold.op, lines);
        else
            reduce_lines_by_any<Word>(gpu.target, fold, lines);
    });
    return true;
}

bool scan_lines(const device& gpu, const shape_fold& fold, const line_layout& lines)
{
    if (!has_few_dimensions(lines))
        return false;
    with_folded_type(fold.dtype, [&]<class Word>(Word) {
        if (fold.op == UPSWEEP_PLUS)
            scan_sums_of_lines<Word>(gpu.target, lines);
        else
            scan_lines_by_any<Word>(gpu.target, fold, lines);
    });
    return true;
}

bool find_arguments(const device& gpu, upsweep_op op, upsweep_dtype dtype, const line_layout& lines)
{
    const cuda& target = gpu.target;
    if (!has_few_dimensions(lines))
        return false;
    switch (dtype) {
    case UPSWEEP_BOOL:
    case UPSWEEP_U8: return arguments_of_lines<std::uint8_t>(target, op, lines), true;
    case UPSWEEP_I32: return arguments_of_lines<std::int32_t>(target, op, lines), true;
    case UPSWEEP_I64: return arguments_of_lines<std::int64_t>(target, op, lines), true;
    case UPSWEEP_U64: return arguments_of_lines<std::uint64_t>(target, op, lines), true;
    case UPSWEEP_F32: return arguments_of_lines<float>(target, op, lines), true;
    case UPSWEEP_F64: return arguments_of_lines<double>(target, op, lines), true;
    default: return false;
    }
}

} // namespace upsweep::runtime::gpu
