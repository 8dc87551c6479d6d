// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Which lines along an axis a GPU folds.
#include <cstddef>
#include <cstdint>

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

bool reduce_lines(const device& gpu, upsweep_op op, upsweep_dtype dtype, const line_layout& lines, bool means)
{
    const cuda& target = gpu.target;
    if (!has_few_dimensions(lines) || lines.length() == 0)
        return false;
    if (op == UPSWEEP_PLUS) {
        switch (dtype) {
        case UPSWEEP_I32: return sum_lines<std::int32_t>(target, lines, means, true), true;
        case UPSWEEP_I64:
        case UPSWEEP_U64: return sum_lines<std::uint64_t>(target, lines, means, dtype == UPSWEEP_I64), true;
        case UPSWEEP_F32: return sum_lines<float>(target, lines, means, false), true;
        case UPSWEEP_F64: return sum_lines<double>(target, lines, means, false), true;
        default: return false;
        }
    }
    if (op != UPSWEEP_MINIMUM && op != UPSWEEP_MAXIMUM)
        return false;
    switch (dtype) {
    case UPSWEEP_I32: return extrema_of_lines<std::int32_t>(target, op, lines), true;
    case UPSWEEP_I64: return extrema_of_lines<std::int64_t>(target, op, lines), true;
    case UPSWEEP_F32: return extrema_of_lines<float>(target, op, lines), true;
    case UPSWEEP_F64: return extrema_of_lines<double>(target, op, lines), true;
    default: return false;
    }
}

bool scan_lines(const device& gpu, upsweep_op op, upsweep_dtype dtype, const line_layout& lines)
{
    const cuda& target = gpu.target;
    if (!has_few_dimensions(lines) || op != UPSWEEP_PLUS)
        return false;
    switch (dtype) {
    case UPSWEEP_I32:
    case UPSWEEP_U32: return scan_sums_of_lines<std::uint32_t>(target, lines), true;
    case UPSWEEP_I64:
    case UPSWEEP_U64: return scan_sums_of_lines<std::uint64_t>(target, lines), true;
    case UPSWEEP_F32: return scan_sums_of_lines<float>(target, lines), true;
    case UPSWEEP_F64: return scan_sums_of_lines<double>(target, lines), true;
    default: return false;
    }
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
