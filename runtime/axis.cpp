// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Reduce and scan along an axis of an array.
#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <upsweep/axis.hpp>
#include <upsweep/runtime.h>

#include "any_order.hpp"
#include "call.hpp"
#include "converted_lines.hpp"
#include "fold.hpp"
#include "gpu/engine.hpp"
#include "gpu/lines.hpp"
#include "gpu/shape_fold.hpp"
#include "gpu/shapes.hpp"
#include "image.hpp"
#include "line_arrays.hpp"
#include "shapes.hpp"
#include "variance.hpp"

using namespace upsweep;
using namespace upsweep::runtime;

namespace {

std::vector<std::ptrdiff_t> strides_of_scan(const char* call, const dimensions& in, const dimensions& out)
{
    if (in.extents != out.extents)
        refuse_shape(call);
    return out.strides;
}

// Whether a kernel reads elements where they lie: those of other types are converted. A byte that is a number is no truth.
bool reads(const gpu::shape_fold& fold, upsweep_dtype dtype)
{
    return gpu::has_bits_of(dtype, fold.dtype) && gpu::has_bits_of(fold.as, fold.dtype) &&
           (fold.as != UPSWEEP_BOOL || dtype == UPSWEEP_BOOL);
}

// Scans whose arrays have been checked.
void scan_along(const char* call, const cpu& host, upsweep_op op, const arrays& of, std::size_t axis,
                const scan_start& start)
{
    const std::size_t results = of.in_dimensions.extents[axis];
    const shape_scan scan = make_shape_scanner(op, of.in.dtype, of.out.dtype);
    const std::vector<std::ptrdiff_t>& to = of.out_dimensions.strides;
    if (scan.takes_elements) {
        scan.scanner->scan_lines(host, lines_of(call, of.in_dimensions, axis, of.from(), to, of.to(), results), start);
        return;
    }
    const line_layout in_place = lines_of(call, of.out_dimensions, axis, of.to(), to, of.to(), results);
    convert_for_scan(host, op, of.in, 0, of.in.count, of.out);
    scan.scanner->scan_lines(host, in_place, start);
}

// Whether kernels of lines scan elements of one type to results of another without a copy.
bool scans_in_place(upsweep_op op, upsweep_dtype in, upsweep_dtype out)
{
    const gpu::shape_fold there = gpu::scan_of_lines(op, out);
    return reads(there, in) && gpu::has_bits_of(there.result, out);
}

// Whether the lines along an axis are long rows that are scanned from their ends, of which kernels of lines reach the elements one by one. Copies that turn
// them, and the results back, take less time, but of 8 bytes.
bool are_turned_rows(const arrays& of, std::size_t axis)
{
    constexpr std::size_t long_length = 1024;
    constexpr std::uint64_t many = std::uint64_t{1} << 17;
    return of.in.count >= many && of.in_dimensions.extents[axis] >= long_length && of.out.bytes() < 8 &&
           of.in_dimensions.strides[axis] == -1 && of.out_dimensions.strides[axis] == -1;
}

// Scans on the GPU: from where the elements lie to where the results belong, if there is a kernel for that, or from and to arrays without
// gaps of a type for which there is one.
void scan_on_gpu(const char* call, const gpu::device& gpu, upsweep_op op, const arrays& of, std::size_t axis,
                 const scan_start& start)
{
    if (are_turned_rows(of, axis)) {
        const gpu::without_gaps from(gpu, of.in);
        const auto to = gpu::without_gaps::to_be_written(gpu, of.out);
        arrays turned(from.get(), to.get());
        turned.in_dimensions = without_gaps(of.in_dimensions);
        turned.out_dimensions = without_gaps(of.out_dimensions);
        scan_on_gpu(call, gpu, op, turned, axis, start);
        return to.write_back();
    }
    const std::size_t length = of.in_dimensions.extents[axis];
    const auto scan = [&](const gpu::shape_fold& fold, const line_layout& lines) {
        const gpu::folded_init init(fold, of.out.dtype, start.init);
        return gpu::scan_lines(gpu, fold, lines, {start.kind, init.get()});
    };
    if (scans_in_place(op, of.in.dtype, of.out.dtype) &&
        scan(gpu::scan_of_lines(op, of.out.dtype),
             lines_of(call, of.in_dimensions, axis, of.from(), of.out_dimensions.strides, of.to(), length)))
        return;
    const gpu::shape_fold fold = gpu::scan_of(op, of.out.dtype);
    const converted_order order = order_of_conversion(call, of, axis, of.out_dimensions.strides, length);
    const gpu::converted from(gpu, order.in, fold.as, fold.dtype);
    const gpu::converted_results to(gpu, order.out, fold.result);
    scan(fold, lines_of(call, order.lines, axis, place_of(from.get()), order.out_strides, place_of(to.get()), length));
    to.write_back();
}

// Images whose dimensions before the last two lie as one, if they do.
std::optional<image_layout> images_in(const arrays& of)
{
    const std::size_t rank = of.in_dimensions.rank();
    const auto& extents = of.in_dimensions.extents;
    const auto& in = of.in_dimensions.strides;
    const auto& out = of.out_dimensions.strides;
    image_layout images{of.in.data,
                        of.out.data,
                        {1, extents[rank - 2], extents[rank - 1]},
                        {0, in[rank - 2], in[rank - 1]},
                        {0, out[rank - 2], out[rank - 1]}};
    for (std::size_t k = rank - 2; k-- > 0;) {
        if (extents[k] == 1)
            continue;
        const auto behind = static_cast<std::ptrdiff_t>(images.extents[0]);
        if (images.extents[0] == 1) {
            images.in_strides[0] = in[k];
            images.out_strides[0] = out[k];
        } else if (in[k] != behind * images.in_strides[0] || out[k] != behind * images.out_strides[0]) {
            return std::nullopt;
        }
        images.extents[0] *= extents[k];
    }
    return images;
}

// Whether the lines along an axis are few long arrays one behind the other: those are scanned as arrays, one after the other, at up to nine tenths of
// the speed of copying, where kernels of lines reach three quarters, of narrow elements a third. Each takes a launch, so that a line
// has at least as many bytes as make up for it.
bool are_few_arrays(const arrays& of, std::size_t axis)
{
    const std::size_t length = of.in_dimensions.extents[axis];
    const bool is_narrow = of.out.bytes() < sizeof(std::uint32_t);
    const std::size_t least = (is_narrow ? std::size_t{16} << 20 : std::size_t{128} << 20) / of.out.bytes();
    const bool are_last = std::all_of(of.in_dimensions.extents.begin() + static_cast<std::ptrdiff_t>(axis) + 1,
                                      of.in_dimensions.extents.end(), [](std::size_t extent) { return extent == 1; });
    return are_last && of.in.is_contiguous() && of.out.is_contiguous() && (length == of.in.count || length >= least);
}

// Scans such lines, if there is a kernel for arrays of these types. Returns whether there is.
bool scan_few_arrays(const execution& where, upsweep_op op, const arrays& of, std::size_t axis, const scan_start& start)
{
    const std::size_t length = of.in_dimensions.extents[axis];
    const auto line = [&](elements all, std::size_t number) {
        all.data += number * length * all.bytes();
        all.count = length;
        all.extents.back() = length;
        return all;
    };
    const gpu::scan_request request{op,         of.in.dtype, of.out.dtype, start.kind,
                                    start.init, where.host,  where.gpu,    where.gpu_memory};
    for (std::size_t i = 0; i * length < of.in.count; ++i)
        if (!gpu::scan_by_type(request, line(of.in, i), line(of.out, i)))
            return false;
    return true;
}

// Writes whether any or all elements of lines are true, by the words in which they lie, if kernels reach them there. Returns whether they do.
bool reduce_truths_on_gpu(const char* call, const gpu::device& gpu, upsweep_op op, const arrays& of, std::size_t axis)
{
    if (of.in_dimensions.extents[axis] == 1 && of.in.is_contiguous() && of.out.is_contiguous()) {
        gpu::write_truths(gpu, of.in, of.out);
        return true;
    }
    const gpu::shape_fold fold = gpu::reduction_of_lines_of_truths(op, of.in.dtype);
    const dimensions of_words = without_axis(of.in_dimensions, axis);
    const std::vector<std::ptrdiff_t> strides = strides_of_reduction(call, of.in_dimensions, axis, of_words);
    const auto truths = gpu::without_gaps::to_be_written(gpu, of.out);
    elements like = truths.get();
    like.dtype = of.in.dtype; // which has as many bytes as the words, and may have a sign that does not count
    const gpu::scratch words(gpu, like);
    if (!gpu::reduce_lines(gpu, fold, of.in.dtype,
                           lines_of(call, of.in_dimensions, axis, of.from(), strides, place_of(words.get()), 1), false))
        return false;
    gpu::write_truths(gpu, words.get(), truths.get());
    truths.write_back();
    return true;
}

// Reduces on the GPU in the same way.
void reduce_on_gpu(const char* call, const gpu::device& gpu, upsweep_op op, const arrays& of, std::size_t axis,
                   const std::vector<std::ptrdiff_t>& out_strides, bool means)
{
    const auto result_of = [&](const gpu::shape_fold& fold) {
        return !means || fold.result == UPSWEEP_F32 ? fold.result : UPSWEEP_F64;
    };
    const gpu::shape_fold fold = gpu::reduction_of(op, of.in.dtype);
    const upsweep_dtype result = result_of(fold);
    if (of.in_dimensions.extents[axis] == 0)
        return fill_on_gpu(gpu, {fold.as, result, fold.op, result}, of.out, means);
    if ((op == UPSWEEP_LOGICAL_AND || op == UPSWEEP_LOGICAL_OR) && of.in.dtype != UPSWEEP_BOOL &&
        reduce_truths_on_gpu(call, gpu, op, of, axis))
        return;
    const gpu::shape_fold there = gpu::reduction_of_lines(op, of.in.dtype);
    if (reads(there, of.in.dtype) && gpu::has_bits_of(result_of(there), of.out.dtype) &&
        gpu::reduce_lines(gpu, there, of.in.dtype,
                          lines_of(call, of.in_dimensions, axis, of.from(), out_strides, of.to(), 1), means))
        return;
    // Truths are folded as bytes.
    const gpu::shape_fold& copied = there.as == UPSWEEP_BOOL && there.result == UPSWEEP_U8 ? there : fold;
    const converted_order order = order_of_conversion(call, of, axis, out_strides, 1);
    const gpu::converted from(gpu, order.in, copied.as, copied.dtype);
    const gpu::converted_results to(gpu, order.out, result_of(copied));
    gpu::reduce_lines(gpu, copied, of.in.dtype,
                      lines_of(call, order.lines, axis, place_of(from.get()), order.out_strides, place_of(to.get()), 1),
                      means);
    to.write_back();
}

// Reduces a copy of the elements in the type of the results.
void reduce_converted_on_gpu(const char* call, const gpu::device& gpu, upsweep_op op, const arrays& of,
                             std::size_t axis, const std::vector<std::ptrdiff_t>& out_strides)
{
    const gpu::converted copy(gpu, of.in, of.out.dtype);
    arrays converted = of;
    converted.in = copy.get();
    converted.in_dimensions = without_gaps(of.in_dimensions);
    reduce_on_gpu(call, gpu, op, converted, axis, out_strides, false);
}

// The type in which a GPU searches elements.
upsweep_dtype searched_on_gpu(upsweep_dtype dtype)
{
    switch (dtype) {
    case UPSWEEP_I8:
    case UPSWEEP_I16:
    case UPSWEEP_U16: return UPSWEEP_I32;
    default: return searched_dtype(dtype);
    }
}

// Finds positions where the elements lie, if there are kernels for that, or else in a copy.
void arguments_on_gpu(const char* call, const gpu::device& gpu, upsweep_op op, const arrays& of, std::size_t axis,
                      const std::vector<std::ptrdiff_t>& out_strides)
{
    if (of.in_dimensions.extents[axis] == 1)
        return fill_on_gpu(gpu, gpu::reduction_of(UPSWEEP_PLUS, of.out.dtype), of.out,
                           false); // a sum of nothing is 0, the position of the only one
    const upsweep_dtype searched = searched_on_gpu(of.in.dtype);
    const auto find = [&](upsweep_dtype dtype, const place& from, const dimensions& of_from) {
        return from.bytes == upsweep_dtype_size(dtype) &&
               gpu::find_arguments(gpu, op, dtype, lines_of(call, of_from, axis, from, out_strides, of.to(), 1));
    };
    const bool are_narrow = of.in.bytes() <= 2; // of which there are kernels for all types
    if (find(are_narrow ? of.in.dtype : searched, of.from(), of.in_dimensions))
        return;
    const auto in = in_order_of_lines(call, of, axis, out_strides, 1);
    const gpu::converted copy(gpu, in.value_or(of.in), searched);
    must_be_done(call, find(searched, place_of(copy.get()), in ? of.in_dimensions : without_gaps(of.in_dimensions)),
                 "a GPU writes positions to arrays that take 3 dimensions at most to tell");
}

// Reduces lines to words of the size of elements, and writes the truth of each, as a number of a type, to the results: of many lines some at a time, whose
// words stay in the caches.
void reduce_aside(const cpu& host, const shape_reducer& reducer, upsweep_op op, const arrays& of, line_layout lines,
                  upsweep_dtype number)
{
    constexpr std::size_t most_lines = std::size_t{1} << 17;
    const std::size_t count = lines.lines();
    if (count > most_lines) {
        const auto [first, second] = halves_of(lines, of.in.bytes(), of.out.bytes());
        reduce_aside(host, reducer, op, of, first, number);
        return reduce_aside(host, reducer, op, of, second, number);
    }
    unwritten_memory memory;
    const elements truths = elements_without_gaps(memory, number, count);
    const elements results = one_of_each_line(lines.out, of.out.dtype, lines, lines.out_strides);
    lines.out = truths.data;
    lines.out_strides = strides_without_gaps(lines);
    reducer.reduce_lines(host, lines);
    convert_for_scan(host, op, truths, 0, count, results);
}

// Reduces on the CPU. The operator is defined for the elements, and there is a fold of as many as a line has.
void reduce_on_host(const char* call, const cpu& host, upsweep_op op, const arrays& of, std::size_t axis,
                    const std::vector<std::ptrdiff_t>& out_strides)
{
    const std::size_t length = of.in_dimensions.extents[axis];
    if (length == 1 && op != UPSWEEP_LOG_SUM_EXP) // whose fold of one element may have another zero
        return convert_for_scan(host, op, of.in, 0, of.in.count, of.out);
    const upsweep_dtype word = unsigned_word(of.in.bytes());
    // Truths of integers are folded as extrema of their bytes, by vectors: some element is true if the greatest is, all are if the least is.
    const bool by_extrema = length != 0 && ((is_logical(op) && of.in.dtype < UPSWEEP_F16) ||
                                            (is_extremum(op) && of.in.dtype == UPSWEEP_BOOL));
    const bool is_greatest = op == UPSWEEP_LOGICAL_OR || op == UPSWEEP_MAXIMUM;
    // Some floating-point number is true if the bits of any make one that is.
    const bool by_bits = length != 0 && op == UPSWEEP_LOGICAL_OR && of.in.dtype >= UPSWEEP_F16;
    const auto reducer = by_extrema ? make_shape_reducer(is_greatest ? UPSWEEP_MAXIMUM : UPSWEEP_MINIMUM, word)
                         : by_bits  ? make_shape_reducer(UPSWEEP_BIT_OR, word)
                                    : make_shape_reducer(op, of.in.dtype);
    const bool is_aside =
        is_logical(op) && (of.out.bytes() != of.in.bytes() || (by_extrema && of.in.dtype != UPSWEEP_BOOL));
    const line_layout lines = lines_of(call, of.in_dimensions, axis, of.from(), out_strides, of.to(), 1);
    if (is_aside)
        reduce_aside(host, *reducer, op, of, lines, by_bits ? of.in.dtype : word);
    else
        reducer->reduce_lines(host, lines);
}

// Which elements a reduction folds, where its results go, and who folds them. The types have been checked before.
struct reduction_along {
    reduction_along(const char* call, upsweep_context* context, const arrays& all, std::int32_t along)
        : axis(checked_axis(call, along, all.in_dimensions.rank())),
          strides(strides_of_reduction(call, all.in_dimensions, axis, all.out_dimensions)),
          where(execution_of(context)), taken(where), is_on_gpu(lie_on_gpu(call, where, {all.in, all.out}))
    {
    }

    std::size_t axis;
    std::vector<std::ptrdiff_t> strides; // of the results
    execution where;
    in_use taken;
    bool is_on_gpu;
};

// Where the first truth is, or the first that is none, if it is among the first elements: that of a mask is asked for in this way.
std::optional<std::int64_t> place_of_early_truth(upsweep_op op, const elements& in)
{
    constexpr std::uint64_t early = std::uint64_t{1} << 16;
    if (in.dtype != UPSWEEP_BOOL || !in.is_contiguous())
        return std::nullopt;
    const void* const first = std::memchr(in.data, op == UPSWEEP_MAXIMUM ? 1 : 0, std::min(early, in.count));
    if (first == nullptr)
        return std::nullopt;
    return static_cast<const std::byte*>(first) - in.data;
}

upsweep_status argument_axis(const char* call, upsweep_context* context, upsweep_op op, const upsweep_array* in,
                             std::int32_t axis, const upsweep_array* out)
{
    return guarded([&] {
        const arrays all(call, in, out);
        check_same_dtype(call, all.out, UPSWEEP_I64);
        const reduction_along of(call, context, all, axis);
        if (all.out.count == 0)
            return;
        require(all.in_dimensions.extents[of.axis] != 0, call, "of no elements, none is the first",
                "check that the input is not empty");
        check_results(call, all.in, all.out);
        if (of.is_on_gpu)
            return arguments_on_gpu(call, *of.where.gpu, op, all, of.axis, of.strides);
        const cpu& host = of.where.host;
        if (all.out.count == 1)
            if (const auto first = place_of_early_truth(op, all.in)) {
                std::memcpy(all.out.data, &*first, sizeof *first);
                return;
            }
        const upsweep_dtype searched = searched_dtype(all.in.dtype);
        const std::size_t bytes = upsweep_dtype_size(searched);
        if (bytes == all.in.bytes() || all.in.count == 0)
            return find_arguments(host, op, searched,
                                  lines_of(call, all.in_dimensions, of.axis, all.from(), of.strides, all.to(), 1));
        const converted copy(host, all.in, searched);
        find_arguments(host, op, searched,
                       lines_of(call, without_gaps(all.in_dimensions), of.axis,
                                {static_cast<std::byte*>(copy.data()), bytes}, of.strides, all.to(), 1));
    });
}

} // namespace

namespace upsweep::runtime {

void reduce_along(const char* call, const cpu& host, upsweep_op op, const upsweep_array& in, std::size_t axis,
                  const upsweep_array& out)
{
    const arrays all(call, &in, &out);
    reduce_on_host(call, host, op, all, axis, strides_of_reduction(call, all.in_dimensions, axis, all.out_dimensions));
}

bool scan_as_line(const execution& where, upsweep_op op, const elements& in, const elements& out,
                  const scan_start& start)
{
    // Sums of many elements are copied in less time than it takes to ask for the type of each.
    constexpr std::uint64_t many = std::uint64_t{1} << 23;
    const bool is_worth_a_copy = op == UPSWEEP_PLUS && in.count >= many;
    if (!is_worth_a_copy && !scans_in_place(op, in.dtype, out.dtype))
        return false;
    const scan_init first(op, out.dtype, start.init);
    scan_on_gpu("scan", *where.gpu, op, arrays(in, out), 0, {start.kind, first.get()});
    return true;
}

} // namespace upsweep::runtime

extern "C" {

upsweep_status upsweep_argmin_axis(upsweep_context* context, const upsweep_array* in, int32_t axis,
                                   const upsweep_array* out)
{
    return argument_axis("argmin", context, UPSWEEP_MINIMUM, in, axis, out);
}

upsweep_status upsweep_argmax_axis(upsweep_context* context, const upsweep_array* in, int32_t axis,
                                   const upsweep_array* out)
{
    return argument_axis("argmax", context, UPSWEEP_MAXIMUM, in, axis, out);
}

upsweep_status upsweep_reduce_axis(upsweep_context* context, upsweep_op op, const upsweep_array* in, int32_t axis,
                                   const upsweep_array* out)
{
    constexpr const char* call = "reduce_axis";
    return guarded([&] {
        const arrays all(call, in, out);
        check_defined(op, all.in.dtype);
        const bool are_converted = is_converted_first(op, all.in.dtype, all.out.dtype);
        if (!are_converted)
            check_same_dtype(call, all.out, result_dtype_of(op, all.in.dtype));
        const reduction_along of(call, context, all, axis);
        if (all.out.count == 0)
            return;
        if (op == UPSWEEP_MINIMUM || op == UPSWEEP_MAXIMUM)
            detail::check_fold_exists<minimum>(all.in_dimensions.extents[of.axis]);
        check_results(call, all.in, all.out);
        if (of.is_on_gpu && are_converted)
            return reduce_converted_on_gpu(call, *of.where.gpu, op, all, of.axis, of.strides);
        if (of.is_on_gpu)
            return reduce_on_gpu(call, *of.where.gpu, op, all, of.axis, of.strides, false);
        if (are_converted)
            return reduce_converted_lines(
                of.where.host, op, all.in.dtype, all.out.dtype,
                lines_of(call, all.in_dimensions, of.axis, all.from(), of.strides, all.to(), 1));
        reduce_on_host(call, of.where.host, op, all, of.axis, of.strides);
    });
}

upsweep_status upsweep_mean_axis(upsweep_context* context, const upsweep_array* in, int32_t axis,
                                 const upsweep_array* out)
{
    constexpr const char* call = "mean_axis";
    return guarded([&] {
        const arrays all(call, in, out);
        check_same_dtype(call, all.out, quotient_dtype_of(all.in.dtype));
        const reduction_along of(call, context, all, axis);
        if (all.out.count == 0)
            return;
        check_results(call, all.in, all.out);
        if (of.is_on_gpu)
            return reduce_on_gpu(call, *of.where.gpu, UPSWEEP_PLUS, all, of.axis, of.strides, true);
        make_shape_reducer(UPSWEEP_PLUS, all.in.dtype)
            ->mean_of_lines(of.where.host,
                            lines_of(call, all.in_dimensions, of.axis, all.from(), of.strides, all.to(), 1));
    });
}

upsweep_status upsweep_scan_axis(upsweep_context* context, upsweep_op op, bool exclusive, const upsweep_array* in,
                                 int32_t axis, const upsweep_array* out, const void* init)
{
    constexpr const char* call = "scan_axis";
    return guarded([&] {
        const arrays all(call, in, out);
        check_scan_types(op, all.in.dtype, all.out.dtype);
        const std::size_t along = checked_axis(call, axis, all.in_dimensions.rank());
        (void)strides_of_scan(call, all.in_dimensions, all.out_dimensions);
        const execution where = execution_of(context);
        const in_use taken(where);
        const bool is_on_gpu = lie_on_gpu(call, where, {all.in, all.out});
        if (all.in.count == 0)
            return;
        check_output(call, all.in, all.out);
        const scan_init first(op, all.out.dtype, init);
        const scan_kind kind = exclusive ? scan_kind::exclusive : scan_kind::inclusive;
        const scan_start start{kind, first.get()};
        if (is_on_gpu && are_few_arrays(all, along) && scan_few_arrays(where, op, all, along, start))
            return;
        if (is_on_gpu)
            return scan_on_gpu(call, *where.gpu, op, all, along, start);
        scan_along(call, where.host, op, all, along, start);
    });
}

upsweep_status upsweep_integral_image(upsweep_context* context, const upsweep_array* in, const upsweep_array* out)
{
    constexpr const char* call = "integral_image";
    return guarded([&] {
        const arrays all(call, in, out);
        check_scan_types(UPSWEEP_PLUS, all.in.dtype, all.out.dtype);
        const std::size_t rank = all.in_dimensions.rank();
        require(rank >= 2, call, "the input has fewer than two dimensions", "pass an image of rows and columns");
        (void)strides_of_scan(call, all.in_dimensions, all.out_dimensions);
        const execution where = execution_of(context);
        const in_use taken(where);
        const bool is_on_gpu = lie_on_gpu(call, where, {all.in, all.out});
        if (all.in.count == 0)
            return;
        check_output(call, all.in, all.out);
        const arrays of_rows(call, out, out);
        const auto images = images_in(all);
        if (is_on_gpu) {
            if (images && gpu::integrate_images(*where.gpu, all.in.dtype, all.out.dtype, *images))
                return;
            scan_on_gpu(call, *where.gpu, UPSWEEP_PLUS, all, rank - 1, {});
            return scan_on_gpu(call, *where.gpu, UPSWEEP_PLUS, of_rows, rank - 2, {});
        }
        if (images && integrate_images(where.host, all.in.dtype, all.out.dtype, *images))
            return;
        scan_along(call, where.host, UPSWEEP_PLUS, all, rank - 1, {});
        scan_along(call, where.host, UPSWEEP_PLUS, of_rows, rank - 2, {});
    });
}

} // extern "C"
