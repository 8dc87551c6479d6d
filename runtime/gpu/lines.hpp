// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "../shapes.hpp"
#include "engine.hpp"
#include "shape_fold.hpp"

namespace upsweep::runtime::gpu {

// The dimensions of the views that kernels of lines take, the axis among them: more would take longer to compile, and to find elements in.
// Arrays of three dimensions have no more, and those without gaps two beside the axis.
inline constexpr std::size_t most_line_dimensions = 3;

// Whether lines take no more of them.
inline bool have_few_dimensions(const line_layout& lines)
{
    for (std::size_t k = 1; k <= most_dimensions - most_line_dimensions; ++k)
        if (lines.extents[k] != 1)
            return false;
    return true;
}

// Fold lines along an axis of elements that have been converted as the fold says, or take their means, and scan them, from an initial value of its
// type on, to results of that type, where they lie in memory of the GPU, in order of the stream. Return false, and do nothing, where the lines take more than three
// dimensions to tell: those of arrays without gaps take no more. A line has elements; `dtype` is the type that they had first.
bool reduce_lines(const device& gpu, const shape_fold& fold, upsweep_dtype dtype, const line_layout& lines, bool means);
bool scan_lines(const device& gpu, const shape_fold& fold, const line_layout& lines, const scan_start& start);

// Writes the variances of lines of f16, bf16 or f32, to f32, or of f64; without a correction their moments, of type moments<double>. Returns false
// as above, and of other types.
bool variances_of_lines(const device& gpu, upsweep_dtype dtype, const line_layout& lines,
                        std::optional<double> correction);
// Writes, as f32 or f64, the variances of all that lines of moments<double> are of, which lie side by side without gaps. They take few dimensions to tell.
void variances_of_moments(const device& gpu, const line_layout& lines, double correction, upsweep_dtype result);

// Writes folds of no elements, or a value of the fold's type where one is given.
void fill(const device& gpu, const shape_fold& fold, const elements& results, const void* value);

// Writes, as i64, the position of the first element that precedes all others in each line, of elements of a type that is searched
// (searched_dtype), or of 8 or 16 bits. Returns false as above.
bool find_arguments(const device& gpu, upsweep_op op, upsweep_dtype dtype, const line_layout& lines);

} // namespace upsweep::runtime::gpu
