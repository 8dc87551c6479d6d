// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include <upsweep/runtime.h>

#include "array.hpp"
#include "dimensions.hpp"
#include "gpu/shape_fold.hpp"
#include "gpu/shapes.hpp"
#include "shapes.hpp"

// The arrays of a fold along an axis, as lines.
namespace upsweep::runtime {

struct place {
    std::byte* data;
    std::size_t bytes; // of an element
};
inline place place_of(const elements& of) { return {of.data, of.bytes()}; }

// The arrays of a call.
struct arrays {
    elements in;
    elements out;
    dimensions in_dimensions;
    dimensions out_dimensions;

    arrays(const char* call, const upsweep_array* from, const upsweep_array* to)
        : in(checked_elements(call, "the input", from)), out(checked_elements(call, "the output", to)),
          in_dimensions(dimensions_of(*from)), out_dimensions(dimensions_of(*to))
    {
    }
    // Of one dimension, without gaps.
    arrays(const elements& from, const elements& to)
        : in(from), out(to), in_dimensions{{from.count}, {1}}, out_dimensions{{to.count}, {1}}
    {
    }
    place from() const { return {in.data, in.bytes()}; }
    place to() const { return {out.data, out.bytes()}; }
};

// An array without gaps of the same extents, without one of its dimensions.
dimensions without_axis(const dimensions& of, std::size_t axis);

[[noreturn]] void refuse_shape(const char* call);

// The strides of the output by the dimensions of the input, of a reduction: it lacks the axis, or has it with extent 1.
std::vector<std::ptrdiff_t> strides_of_reduction(const char* call, const dimensions& in, std::size_t axis,
                                                 const dimensions& out);

// Refuses results that share memory with one another or with the elements.
void check_results(const char* call, const elements& in, const elements& out);

// The lines of an array along an axis, with as many results of each as are asked for, from `to` on.
line_layout lines_of(const char* call, const dimensions& in, std::size_t axis, const place& from,
                     const std::vector<std::ptrdiff_t>& out_strides, const place& to, std::size_t results);

// The elements in the order in which they lie in memory, if there are no gaps between them and the lines take few dimensions to tell.
std::optional<elements> in_order_of_lines(const char* call, const arrays& of, std::size_t axis,
                                          const std::vector<std::ptrdiff_t>& out_strides, std::size_t results);

// What is converted for a kernel of lines, and from its results: in that order, if the results have one, too, or else in the order of the arrays.
struct converted_order {
    elements in;
    elements out;
    dimensions lines;
    std::vector<std::ptrdiff_t> out_strides;
};
converted_order order_of_conversion(const char* call, const arrays& of, std::size_t axis,
                                    const std::vector<std::ptrdiff_t>& out_strides, std::size_t results);

// Writes folds of no elements, or their means, which are NaN.
void fill_on_gpu(const gpu::device& gpu, const gpu::shape_fold& fold, const elements& out, bool means);

} // namespace upsweep::runtime
