// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "line_arrays.hpp"

#include <algorithm>
#include <array>
#include <string>

#include <upsweep/axis.hpp>
#include <upsweep/op.hpp>

#include "call.hpp"
#include "gpu/lines.hpp"

namespace upsweep::runtime {

namespace {

// The lines of an array of at most Rank dimensions, as lines_of has them. detail::lines_of finds them of any array, which is told in bytes.
template <std::size_t Rank>
line_layout lines_of_rank(const char* call, const dimensions& in, std::size_t axis, const place& from,
                          const std::vector<std::ptrdiff_t>& out_strides, const place& to, std::size_t results)
{
    std::array<std::size_t, Rank> extents;
    std::array<std::ptrdiff_t, Rank> in_bytes{};
    std::array<std::ptrdiff_t, Rank> out_bytes{};
    extents.fill(1);
    const bool is_empty = in.extents[axis] == 0; // and may lie nowhere
    for (std::size_t k = 0; k < in.rank(); ++k) {
        extents[k] = in.extents[k];
        if (extents[k] <= 1)
            continue;
        in_bytes[k] = is_empty ? 0 : in.strides[k] * static_cast<std::ptrdiff_t>(from.bytes);
        out_bytes[k] = out_strides[k] * static_cast<std::ptrdiff_t>(to.bytes);
    }
    const auto found = detail::lines_of(view<const std::byte, Rank>(from.data, extents, in_bytes), upsweep::axis{axis},
                                        to.data, results, out_bytes);

    line_layout lines;
    lines.in = found.in.data();
    lines.out = found.out.data();
    lines.results = results;
    lines.extents.fill(1);
    lines.in_strides.fill(1);
    lines.out_strides.fill(1);
    const auto take = [&](std::size_t k, std::size_t of_found) {
        lines.extents[k] = found.in.extent(of_found);
        if (lines.extents[k] <= 1)
            return;
        lines.in_strides[k] = found.in.stride(of_found) / static_cast<std::ptrdiff_t>(from.bytes);
        lines.out_strides[k] = found.out.stride(of_found) / static_cast<std::ptrdiff_t>(to.bytes);
    };
    constexpr std::size_t rank = detail::line_dimensions<Rank>::rank;
    take(0, 0);
    for (std::size_t k = 1; k < rank; ++k)
        if (k < most_dimensions)
            take(most_dimensions - k, rank - k);
        else if (found.in.extent(rank - k) != 1)
            throw refusal(UPSWEEP_UNSUPPORTED, call,
                          "the arrays have strides that take more than " + std::to_string(most_dimensions) +
                              " dimensions to tell",
                          "copy one to an array without gaps");
    return lines;
}

} // namespace

dimensions without_axis(const dimensions& of, std::size_t axis)
{
    dimensions rest{of.extents, std::vector<std::ptrdiff_t>(of.rank() - 1)};
    rest.extents.erase(rest.extents.begin() + static_cast<std::ptrdiff_t>(axis));
    std::size_t behind = 1;
    for (std::size_t k = rest.rank(); k-- > 0; behind *= rest.extents[k])
        rest.strides[k] = static_cast<std::ptrdiff_t>(behind);
    return rest;
}

void refuse_shape(const char* call)
{
    throw error(error_kind::invalid_argument, call, "the extents of the output are not those of the input",
                "give the output the input's extents, but for the axes of a reduction, which it lacks or has once");
}

std::vector<std::ptrdiff_t> strides_of_reduction(const char* call, const dimensions& in, std::size_t axis,
                                                 const dimensions& out)
{
    const bool has_axis = out.rank() == in.rank();
    if (!has_axis && out.rank() + 1 != in.rank())
        refuse_shape(call);
    std::vector<std::ptrdiff_t> strides(in.rank());
    for (std::size_t k = 0, of_out = 0; k < in.rank(); ++k) {
        if (k == axis && !has_axis)
            continue;
        if (out.extents[of_out] != (k == axis ? 1 : in.extents[k]))
            refuse_shape(call);
        strides[k] = out.strides[of_out++];
    }
    strides[axis] = 0;
    return strides;
}

void check_results(const char* call, const elements& in, const elements& out)
{
    check_places(call, out);
    check_apart(call, in, out);
}

// Of few dimensions, as most arrays have, they are found in a microsecond and a half less, which is most of the time of a small fold.
line_layout lines_of(const char* call, const dimensions& in, std::size_t axis, const place& from,
                     const std::vector<std::ptrdiff_t>& out_strides, const place& to, std::size_t results)
{
    constexpr std::size_t few = 3;
    const auto find = in.rank() <= few ? lines_of_rank<few> : lines_of_rank<most_of_caller>;
    return find(call, in, axis, from, out_strides, to, results);
}

std::optional<elements> in_order_of_lines(const char* call, const arrays& of, std::size_t axis,
                                          const std::vector<std::ptrdiff_t>& out_strides, std::size_t results)
{
    const auto in = in_order_of_memory(of.in);
    if (in &&
        gpu::have_few_dimensions(lines_of(call, of.in_dimensions, axis, of.from(), out_strides, of.to(), results)))
        return in;
    return std::nullopt;
}

converted_order order_of_conversion(const char* call, const arrays& of, std::size_t axis,
                                    const std::vector<std::ptrdiff_t>& out_strides, std::size_t results)
{
    const auto in = in_order_of_lines(call, of, axis, out_strides, results);
    const auto out = in_order_of_memory(of.out);
    if (in && out)
        return {*in, *out, of.in_dimensions, out_strides};
    const dimensions lines = without_gaps(of.in_dimensions);
    const bool is_scan = of.in_dimensions.extents == of.out_dimensions.extents;
    return {of.in, of.out, lines,
            is_scan ? lines.strides : strides_of_reduction(call, lines, axis, without_axis(lines, axis))};
}

void fill_on_gpu(const gpu::device& gpu, const gpu::shape_fold& fold, const elements& out, bool means)
{
    const gpu::converted_results to(gpu, out, fold.result);
    constexpr double nan = detail::quiet_nan<double>();
    const gpu::folded_init mean(fold, UPSWEEP_F64, means ? &nan : nullptr);
    gpu::fill(gpu, fold, to.get(), mean.get());
    to.write_back();
}

} // namespace upsweep::runtime
