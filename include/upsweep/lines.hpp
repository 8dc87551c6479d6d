// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include <upsweep/error.hpp>
#include <upsweep/outside.hpp>
#include <upsweep/view.hpp>

namespace upsweep {

// The dimension of a view along which a verb folds. For every choice of the other indices, the elements along it are a
// line, an array of its own.
struct axis {
    std::size_t index;
};

namespace detail {

// The lines of a view along an axis, and where the results of each line go. Dimension 0 of both views is the axis, of
// extent 1 in `out` where a line has one result; the others number the lines, line i of one view belongs to line i of the
// other. Lines that are neighbours in memory are neighbours here, by as few dimensions as there can be, and but for the
// axis the strides of `in` are not negative.
template <class T, class Out, std::size_t Rank>
struct lines {
    view<T, Rank> in;
    view<Out, Rank> out;

    std::size_t length() const { return in.extent(0); } // elements of a line
    std::size_t count() const { return out.size() / out.extent(0); }
};

// One dimension of the lines, with the strides of the views: of two, or of three where lines have results beside others.
struct line_dimension {
    std::size_t extent;
    std::ptrdiff_t in;
    std::ptrdiff_t out;
    std::ptrdiff_t beside = 0;
};

inline void check_axis(std::string_view call, axis along, std::size_t rank)
{
    if (along.index >= rank)
        throw error(error_kind::invalid_argument, call,
                    "axis " + std::to_string(along.index) + " of a view of " + std::to_string(rank) + " dimensions",
                    "number the axes from 0");
}

// Puts dimensions with the largest strides first, and makes one of neighbours that lie as one would. Returns how many
// are left.
inline std::size_t collapse_dimensions(std::span<line_dimension> dimensions)
{
    const auto size = [](std::ptrdiff_t stride) { return stride < 0 ? -stride : stride; };
    std::stable_sort(dimensions.begin(), dimensions.end(), [&](const line_dimension& a, const line_dimension& b) {
        return size(a.in) != size(b.in) ? size(a.in) > size(b.in) : size(a.out) > size(b.out);
    });
    std::size_t left = 0;
    for (const line_dimension& next : dimensions) {
        const auto extent = static_cast<std::ptrdiff_t>(next.extent);
        const auto lies_as_one = [&](std::ptrdiff_t line_dimension::*stride) {
            return dimensions[left - 1].*stride == extent * (next.*stride);
        };
        if (left != 0 && lies_as_one(&line_dimension::in) && lies_as_one(&line_dimension::out) &&
            lies_as_one(&line_dimension::beside))
            dimensions[left - 1] = {dimensions[left - 1].extent * next.extent, next.in, next.out, next.beside};
        else
            dimensions[left++] = next;
    }
    return left;
}

// The dimensions of a view but for one, in the order of `lines`, and where the first of the lines lies in each array.
template <std::size_t Rank>
class line_dimensions {
public:
    static constexpr std::size_t rank = iterator_rank<Rank>;
    using strides = std::array<std::ptrdiff_t, Rank>;

    template <class T>
    line_dimensions(const view<T, Rank>& in, axis along, const strides& out, const strides& beside = {})
    {
        for (std::size_t k = 0; k < Rank; ++k) {
            if (k == along.index || in.extent(k) == 1)
                continue;
            line_dimension dimension{in.extent(k), in.stride(k), out[k], beside[k]};
            if (dimension.in < 0) { // counted from the other end
                const auto last = static_cast<std::ptrdiff_t>(dimension.extent) - 1;
                first_.in += last * dimension.in;
                first_.out += last * dimension.out;
                first_.beside += last * dimension.beside;
                dimension.in = -dimension.in;
                dimension.out = -dimension.out;
                dimension.beside = -dimension.beside;
            }
            dimensions_[count_++] = dimension;
        }
        count_ = collapse_dimensions(std::span(dimensions_).first(count_));
    }

    // The lines in one of the arrays, whose strides are the member `stride`; the axis has an extent and a stride there.
    template <class T>
    view<T, rank> lines_in(T* data, std::ptrdiff_t line_dimension::*stride, std::size_t extent,
                           std::ptrdiff_t along) const
    {
        std::array<std::size_t, rank> extents;
        std::array<std::ptrdiff_t, rank> steps;
        extents.fill(1);
        steps.fill(1);
        extents[0] = extent;
        steps[0] = along;
        for (std::size_t k = 0; k < count_; ++k) {
            extents[rank - count_ + k] = dimensions_[k].extent;
            steps[rank - count_ + k] = dimensions_[k].*stride;
        }
        return {data + first_.*stride, extents, steps};
    }

private:
    std::array<line_dimension, Rank> dimensions_{};
    std::size_t count_ = 0;
    line_dimension first_{1, 0, 0};
};

// The lines of `in` along an axis, with results from `out` on; `axis_of_out` has the extent and the stride of its axis,
// `out_strides` the others by the dimensions of `in`. There is a line and an element in it.
template <class T, std::size_t Rank, class Out>
auto lines_of(const view<T, Rank>& in, axis along, Out* out, std::size_t results,
              const std::array<std::ptrdiff_t, Rank>& out_strides)
{
    const line_dimensions<Rank> dimensions(in, along, out_strides);
    const std::size_t k = along.index;
    return lines<T, Out, dimensions.rank>{
        dimensions.lines_in(in.data(), &line_dimension::in, in.extent(k), in.stride(k)),
        dimensions.lines_in(out, &line_dimension::out, results, out_strides[k])};
}

// The lines of a view along an axis with their counters, as `lines` has them: dimension 0 of `counts` has the bins, and
// that of out_of_range one place. The elements of a line are in no order, so that no stride of `in` is negative.
template <class T, class Counter, std::size_t Rank>
struct counted_lines {
    view<const T, Rank> in;
    view<Counter, Rank> counts;
    view<outside, Rank> out_of_range;

    std::size_t length() const { return in.extent(0); }
    std::size_t bins() const { return counts.extent(0); }
    std::size_t count() const { return out_of_range.size(); }
};

// There is a line, though perhaps no element in it. The places in out_of_range are in order of the view's lines.
template <class T, std::size_t Rank, class Counter>
auto counted_lines_of(const view<const T, Rank>& in, axis along, const view<Counter, Rank>& counts,
                      std::span<outside> out_of_range)
{
    std::array<std::ptrdiff_t, Rank> of_counts;
    std::array<std::ptrdiff_t, Rank> beside{};
    std::ptrdiff_t places = 1;
    for (std::size_t k = Rank; k-- > 0;) {
        of_counts[k] = counts.stride(k);
        if (k == along.index)
            continue;
        beside[k] = places;
        places *= static_cast<std::ptrdiff_t>(in.extent(k));
    }
    const line_dimensions<Rank> dimensions(in, along, of_counts, beside);
    const std::size_t length = in.extent(along.index);
    const std::ptrdiff_t step = in.stride(along.index);
    const std::ptrdiff_t to_lowest = step < 0 && length != 0 ? (static_cast<std::ptrdiff_t>(length) - 1) * step : 0;
    return counted_lines<T, Counter, dimensions.rank>{
        dimensions.lines_in(in.data() + to_lowest, &line_dimension::in, length, step < 0 ? -step : step),
        dimensions.lines_in(counts.data(), &line_dimension::out, counts.extent(along.index), of_counts[along.index]),
        dimensions.lines_in(out_of_range.data(), &line_dimension::beside, 1, 1)};
}

} // namespace detail
} // namespace upsweep
