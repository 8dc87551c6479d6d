// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Variances of an array, along an axis and along several.
#include "variance.hpp"

#include <algorithm>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include <upsweep/runtime.h>

#include "call.hpp"
#include "dimensions.hpp"
#include "fold.hpp"
#include "gpu/engine.hpp"
#include "gpu/lines.hpp"
#include "gpu/shapes.hpp"
#include "line_arrays.hpp"
#include "shapes.hpp"

using namespace upsweep;
using namespace upsweep::runtime;

namespace upsweep::runtime {

// Truths are the bytes 0 and 1.
const variance_engine& variance_engine_for(upsweep_dtype dtype)
{
    return with_type(dtype, []<class T>(std::type_identity<T>) -> const variance_engine& {
        return variance_engine_of<std::conditional_t<std::same_as<T, bool>, std::uint8_t, T>>();
    });
}

} // namespace upsweep::runtime

namespace {

void append_dimension(dimensions& to, std::size_t extent, std::ptrdiff_t stride)
{
    to.extents.push_back(extent);
    to.strides.push_back(stride);
}

// The same, of more than one element, unless the last dimension and this one are as one. Strides of arrays without elements may be any.
void append_merged(dimensions& to, std::size_t extent, std::ptrdiff_t stride)
{
    if (extent == 1)
        return;
    const auto behind = static_cast<std::ptrdiff_t>(extent * static_cast<std::size_t>(stride));
    if (to.rank() != 0 && to.strides.back() == behind) {
        to.extents.back() *= extent;
        to.strides.back() = stride;
    } else {
        append_dimension(to, extent, stride);
    }
}

// The dimensions of an array that stay where others are folded, with the strides of the results, and those others. None has extent 1, and of those that are
// folded, neighbours that lie as one are one.
struct fold_of_axes {
    dimensions kept;
    std::vector<std::ptrdiff_t> of_results;
    dimensions folded;
    std::size_t length = 1; // how many elements a result is of

    fold_of_axes(const char* call, const dimensions& in, std::uint64_t axes, const dimensions& out)
    {
        const bool has_axes = out.rank() == in.rank();
        if (in.rank() < 64 && axes >> in.rank() != 0)
            throw error(error_kind::invalid_argument, call,
                        "axis " + std::to_string(std::bit_width(axes) - 1) + " of an array of " +
                            std::to_string(in.rank()) + " dimensions",
                        "number the axes from 0");
        if (!has_axes && out.rank() + static_cast<std::size_t>(std::popcount(axes)) != in.rank())
            refuse_shape(call);
        kept.extents.reserve(in.rank());
        kept.strides.reserve(in.rank());
        of_results.reserve(in.rank() + 1);
        for (std::size_t k = 0, of_out = 0; k < in.rank(); ++k) {
            const bool is_folded = (axes >> k & 1) != 0;
            const bool has_result = !is_folded || has_axes;
            if (has_result && out.extents[of_out] != (is_folded ? 1 : in.extents[k]))
                refuse_shape(call);
            if (is_folded) {
                length *= in.extents[k];
                append_merged(folded, in.extents[k], in.strides[k]);
            } else if (in.extents[k] != 1) {
                append_dimension(kept, in.extents[k], in.strides[k]);
                of_results.push_back(out.strides[of_out]);
            }
            of_out += has_result ? 1 : 0;
        }
        of_results.push_back(0);
    }

    bool is_whole() const { return kept.rank() == 0 && length != 0; }
    // The dimensions that stay, and behind them the only one that is folded.
    dimensions as_lines() const
    {
        dimensions lines = kept;
        append_dimension(lines, length, length != 0 && folded.rank() == 1 ? folded.strides.front() : 1);
        return lines;
    }
};

// Describes elements by such dimensions. There are some.
void describe(const char* call, elements& of, const dimensions& by)
{
    dimensions merged;
    for (std::size_t k = 0; k < by.rank(); ++k)
        append_merged(merged, by.extents[k], by.strides[k]);
    if (merged.rank() > most_dimensions)
        throw refusal(UPSWEEP_UNSUPPORTED, call,
                      "the axes that stay and those that are folded take more than " + std::to_string(most_dimensions) +
                          " dimensions to tell",
                      "copy the array to one whose last axes are folded");
    of.extents.fill(1);
    of.strides.fill(1);
    std::ranges::copy_backward(merged.extents, of.extents.end());
    std::ranges::copy_backward(merged.strides, of.strides.end());
}

// The elements with the dimensions that stay first, and those that are folded behind them.
elements in_order_of_fold(const char* call, const elements& of, const fold_of_axes& fold)
{
    elements all = of;
    if (of.count == 0)
        return all;
    dimensions order = fold.kept;
    for (std::size_t k = 0; k < fold.folded.rank(); ++k)
        append_dimension(order, fold.folded.extents[k], fold.folded.strides[k]);
    describe(call, all, order);
    return all;
}

// How far apart results of elements lie that lie side by side in the order in which the elements lie.
std::vector<std::ptrdiff_t> strides_in_order_of(const dimensions& of)
{
    std::vector<std::size_t> order(of.rank());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, {}, [&](std::size_t k) { return std::abs(of.strides[k]); });
    std::vector<std::ptrdiff_t> strides(of.rank());
    std::ptrdiff_t behind = 1;
    for (const std::size_t k : order) {
        strides[k] = behind;
        behind *= static_cast<std::ptrdiff_t>(of.extents[k]);
    }
    return strides;
}

void variance_on_host(const char* call, const execution& where, const elements& in, double correction, void* to)
{
    const folded_input whole(call, where, in);
    const auto reducer = variance_engine_for(in.dtype).reducer(correction, where.host);
    whole.feed(*reducer);
    reducer->result(to);
}

void variances_on_host(const char* call, const execution& where, const arrays& of, const fold_of_axes& fold,
                       double correction)
{
    const bool lie_as_one = fold.folded.rank() <= 1;
    if (fold.is_whole() && (of.in.is_contiguous() || !lie_as_one)) // Lines are read where they lie, gaps or none.
        return variance_on_host(call, where, of.in, correction, of.out.data);
    const elements all = lie_as_one ? of.in : in_order_of_fold(call, of.in, fold);
    std::optional<side_by_side> copy;
    dimensions lines = fold.as_lines();
    place from = of.from();
    if (!lie_as_one) {
        lines = without_gaps(lines);
        from.data = copy.emplace(where.host, all).data();
    }
    variance_engine_for(of.in.dtype)
        .of_lines(where.host, lines_of(call, lines, fold.kept.rank(), from, fold.of_results, of.to(), 1), correction);
}

// Writes variances of lines: of floating-point numbers where they lie, if there is a kernel for that, or else of a copy, in which integers are f64.
void variances_of_lines_on_gpu(const char* call, const gpu::device& gpu, const arrays& of,
                               const std::vector<std::ptrdiff_t>& out_strides, double correction)
{
    const upsweep_dtype folded = of.out.dtype;
    const std::size_t axis = of.in_dimensions.rank() - 1;
    if (of.in_dimensions.extents[axis] == 0)
        return fill_on_gpu(gpu, {folded, folded, UPSWEEP_PLUS, folded}, of.out, true);
    const line_layout there = lines_of(call, of.in_dimensions, axis, of.from(), out_strides, of.to(), 1);
    if (gpu::variances_of_lines(gpu, of.in.dtype, there, correction))
        return;
    arrays lines = of;
    describe(call, lines.in, of.in_dimensions);
    const converted_order order = order_of_conversion(call, lines, axis, out_strides, 1);
    const gpu::converted from(gpu, order.in, folded);
    const gpu::converted_results to(gpu, order.out, folded);
    gpu::variances_of_lines(
        gpu, folded, lines_of(call, order.lines, axis, place_of(from.get()), order.out_strides, place_of(to.get()), 1),
        correction);
    to.write_back();
}

constexpr std::size_t words_of_moments = sizeof(moments<double>) / sizeof(double);

// Lines of moments that lie side by side, so many a line, with the variances of all that those of a line are of as results.
line_layout lines_of_moments(const char* call, const arrays& of, const fold_of_axes& fold, dimensions kept,
                             std::size_t each, std::byte* data)
{
    append_dimension(kept, each, static_cast<std::ptrdiff_t>(of.out.count));
    return lines_of(call, kept, fold.kept.rank(), {data, sizeof(moments<double>)}, fold.of_results, of.to(), 1);
}

// The dimensions of moments that lie without gaps, with strides in moments.
struct order_of_moments {
    dimensions kept;
    dimensions folded;

    // First those that stay, so many.
    order_of_moments(const dimensions& of, std::size_t that_stay)
    {
        for (std::size_t k = 0; k < of.rank(); ++k)
            if (k < that_stay)
                append_dimension(kept, of.extents[k], of.strides[k]);
            else
                append_merged(folded, of.extents[k], of.strides[k]);
    }
    bool are_lines_side_by_side(std::size_t lines) const
    {
        return folded.rank() == 1 && folded.strides.front() == static_cast<std::ptrdiff_t>(lines);
    }
};

// Writes the variances of all that moments are of, whose words are `all`. Where those of a line do not lie beside others, they are copied.
void fold_moments(const char* call, const gpu::device& gpu, const arrays& of, const fold_of_axes& fold,
                  const order_of_moments& order, elements all, double correction)
{
    const std::size_t each = all.count / words_of_moments / of.out.count;
    if (order.are_lines_side_by_side(of.out.count)) {
        const line_layout lines = lines_of_moments(call, of, fold, order.kept, each, all.data);
        if (gpu::have_few_dimensions(lines))
            return gpu::variances_of_moments(gpu, lines, correction, of.out.dtype);
    }
    dimensions words;
    for (const dimensions* part : {&order.folded, &order.kept})
        for (std::size_t k = 0; k < part->rank(); ++k)
            append_dimension(words, part->extents[k], part->strides[k] * static_cast<std::ptrdiff_t>(words_of_moments));
    append_dimension(words, words_of_moments, 1);
    describe(call, all, words);
    const gpu::without_gaps side_by_side(gpu, all);
    gpu::variances_of_moments(gpu,
                              lines_of_moments(call, of, fold, without_gaps(fold.kept), each, side_by_side.get().data),
                              correction, of.out.dtype);
}

// Folds blocks of a power of two first, of the last dimension that is folded, which are folded alone in any case (docs/fold-order.md), and then their
// moments. Returns false, and does nothing, where blocks are so short that their moments take more than a quarter of the memory of the elements, in which
// a copy takes no longer, and where there is no kernel.
bool fold_blocks_first(const char* call, const gpu::device& gpu, const arrays& of, const fold_of_axes& fold,
                       double correction)
{
    constexpr std::uint64_t few_to_copy = std::uint64_t{1} << 21; // in no more time than moments are brought in order
    const std::size_t last = fold.folded.rank() - 1;
    const std::size_t extent = fold.folded.extents[last];
    const std::ptrdiff_t stride = fold.folded.strides[last];
    const std::size_t block = extent & (~extent + 1);
    const bool is_float = of.in.dtype >= UPSWEEP_F16;
    if (!is_float || block * of.in.bytes() < 4 * sizeof(moments<double>))
        return false;
    const line_layout in_order =
        lines_of_moments(call, of, fold, without_gaps(fold.kept), fold.length / block, of.out.data);
    if (!gpu::have_few_dimensions(in_order))
        return false;

    dimensions blocks = fold.kept;
    for (std::size_t k = 0; k < last; ++k)
        append_dimension(blocks, fold.folded.extents[k], fold.folded.strides[k]);
    if (block != extent)
        append_dimension(blocks, extent / block, static_cast<std::ptrdiff_t>(block) * stride);
    if (blocks.rank() >= most_dimensions)
        return false;

    // Moments are written in the order in which blocks are read.
    std::vector<std::ptrdiff_t> strides = strides_in_order_of(blocks);
    const order_of_moments order({blocks.extents, strides}, fold.kept.rank());
    if (of.in.count < few_to_copy && !order.are_lines_side_by_side(of.out.count))
        return false;
    elements words = of.in;
    words.dtype = UPSWEEP_F64;
    words.count = of.in.count / block * words_of_moments;
    const gpu::scratch memory(gpu, words);
    words.data = memory.get().data;

    strides.push_back(0);
    append_dimension(blocks, block, stride);
    const place between{words.data, sizeof(moments<double>)};
    const line_layout lines = lines_of(call, blocks, blocks.rank() - 1, of.from(), strides, between, 1);
    if (!gpu::variances_of_lines(gpu, of.in.dtype, lines, std::nullopt))
        return false;
    fold_moments(call, gpu, of, fold, order, words, correction);
    return true;
}

// Whether neighbours in the order of a fold lie further apart than others, as those of a transposed array do.
bool are_turned(const fold_of_axes& fold)
{
    const auto is_nearer = [&](std::ptrdiff_t stride) {
        return stride != 0 && std::abs(stride) < std::abs(fold.folded.strides.back());
    };
    return std::ranges::any_of(fold.folded.strides, is_nearer);
}

// Whether a kernel of whole arrays folds all elements where they lie in less time than blocks are folded.
bool is_folded_at_once(const fold_of_axes& fold)
{
    constexpr std::size_t few_elements = std::size_t{1} << 16;
    return fold.is_whole() && (fold.length < few_elements || !are_turned(fold));
}

void variances_on_gpu(const char* call, const gpu::device& gpu, const arrays& of, const fold_of_axes& fold,
                      double correction)
{
    const bool lie_as_one = fold.folded.rank() <= 1 || fold.length == 0;
    if (!is_folded_at_once(fold) && !lie_as_one && fold_blocks_first(call, gpu, of, fold, correction))
        return;
    if (fold.is_whole())
        return gpu::write_variance(gpu, correction, of.in, of.out.data, true);
    arrays lines = of;
    lines.in_dimensions = fold.as_lines();
    if (lie_as_one)
        return variances_of_lines_on_gpu(call, gpu, lines, fold.of_results, correction);
    const elements all = in_order_of_fold(call, of.in, fold);
    lines.in_dimensions = without_gaps(lines.in_dimensions);
    const bool is_float = of.in.dtype >= UPSWEEP_F16;
    std::optional<gpu::without_gaps> copy;
    std::optional<gpu::converted> numbers;
    lines.in = is_float ? copy.emplace(gpu, all).get() : numbers.emplace(gpu, all, of.out.dtype).get();
    variances_of_lines_on_gpu(call, gpu, lines, fold.of_results, correction);
}

void write_variances(const char* call, upsweep_context* context, const arrays& all, std::uint64_t axes,
                     double correction)
{
    check_same_dtype(call, all.out, quotient_dtype_of(all.in.dtype));
    const fold_of_axes fold(call, all.in_dimensions, axes, all.out_dimensions);
    const execution where = execution_of(context);
    const in_use taken(where);
    const bool is_on_gpu = lie_on_gpu(call, where, {all.in, all.out});
    if (all.out.count == 0)
        return;
    check_results(call, all.in, all.out);
    if (is_on_gpu)
        variances_on_gpu(call, *where.gpu, all, fold, correction);
    else
        variances_on_host(call, where, all, fold, correction);
}

} // namespace

extern "C" {

upsweep_status upsweep_variance(upsweep_context* context, const upsweep_array* in, double correction,
                                const upsweep_array* result)
{
    constexpr const char* call = "variance";
    return guarded([&] {
        const elements from = checked_elements(call, "the input", in);
        const elements to = checked_elements(call, "the result", result);
        check_same_dtype(call, to, quotient_dtype_of(from.dtype));
        require(to.count == 1, call, "the result has not one element", "pass an array of one element");
        const execution where = execution_of(context);
        const in_use taken(where);
        const bool is_on_gpu = where.lies_on_gpu(call, from);
        const bool is_result_on_gpu = where.lies_on_gpu(call, to);
        if (!is_on_gpu) {
            double value = 0;
            variance_on_host(call, where, from, correction, &value);
            if (is_result_on_gpu)
                gpu::write(*where.gpu, to.data, &value, to.bytes());
            else
                std::memcpy(to.data, &value, to.bytes());
            return;
        }
        const dimensions by = dimensions_of(*in);
        const std::uint64_t all_axes = by.rank() == 0 ? 0 : ~std::uint64_t{0} >> (64 - by.rank());
        const fold_of_axes fold(call, by, all_axes, {});
        if (from.count == 0 || is_folded_at_once(fold))
            return gpu::write_variance(*where.gpu, correction, from, to.data, is_result_on_gpu);
        std::optional<gpu::scratch> aside;
        variances_on_gpu(call, *where.gpu, {from, is_result_on_gpu ? to : aside.emplace(*where.gpu, to).get()}, fold,
                         correction);
        if (aside)
            gpu::copy_and_wait(*where.gpu, to.data, aside->get().data, to.bytes());
    });
}

upsweep_status upsweep_variance_axis(upsweep_context* context, const upsweep_array* in, int32_t axis, double correction,
                                     const upsweep_array* out)
{
    constexpr const char* call = "variance_axis";
    return guarded([&] {
        const arrays all(call, in, out);
        const std::size_t along = checked_axis(call, axis, all.in_dimensions.rank());
        write_variances(call, context, all, std::uint64_t{1} << along, correction);
    });
}

upsweep_status upsweep_variance_axes(upsweep_context* context, const upsweep_array* in, uint64_t axes,
                                     double correction, const upsweep_array* out)
{
    constexpr const char* call = "variance_axes";
    return guarded([&] { write_variances(call, context, arrays(call, in, out), axes, correction); });
}

} // extern "C"
