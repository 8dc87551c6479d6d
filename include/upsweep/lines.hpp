// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include <upsweep/error.hpp>
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

// One dimension of the lines, with the strides of both views.
struct line_dimension {
    std::size_t extent;
    std::ptrdiff_t in;
    std::ptrdiff_t out;
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
        const bool is_one =
            left != 0 && dimensions[left - 1].in == extent * next.in && dimensions[left - 1].out == extent * next.out;
        if (is_one)
            dimensions[left - 1] = {dimensions[left - 1].extent * next.extent, next.in, next.out};
        else
            dimensions[left++] = next;
    }
    return left;
}

// The lines of `in` along an axis, with results from `out` on; `axis_of_out` has the extent and the stride of its axis,
// `out_strides` the others by the dimensions of `in`. There is a line and an element in it.
template <class T, std::size_t Rank, class Out>
auto lines_of(const view<T, Rank>& in, axis along, Out* out, std::size_t results,
              const std::array<std::ptrdiff_t, Rank>& out_strides)
{
    T* first = in.data();
    std::array<line_dimension, Rank> dimensions{};
    std::size_t count = 0;
    for (std::size_t k = 0; k < Rank; ++k) {
        if (k == along.index || in.extent(k) == 1)
            continue;
        line_dimension dimension{in.extent(k), in.stride(k), out_strides[k]};
        if (dimension.in < 0) { // counted from the other end
            const auto last = static_cast<std::ptrdiff_t>(dimension.extent) - 1;
            first += last * dimension.in;
            out += last * dimension.out;
            dimension.in = -dimension.in;
            dimension.out = -dimension.out;
        }
        dimensions[count++] = dimension;
    }
    count = collapse_dimensions(std::span(dimensions).first(count));

    constexpr std::size_t rank = iterator_rank<Rank>;
    std::array<std::size_t, rank> extents;
    std::array<std::ptrdiff_t, rank> in_strides;
    std::array<std::ptrdiff_t, rank> strides;
    extents.fill(1);
    in_strides.fill(1);
    strides.fill(1);
    for (std::size_t k = 0; k < count; ++k) {
        const std::size_t to = rank - count + k;
        extents[to] = dimensions[k].extent;
        in_strides[to] = dimensions[k].in;
        strides[to] = dimensions[k].out;
    }
    extents[0] = in.extent(along.index);
    in_strides[0] = in.stride(along.index);
    strides[0] = out_strides[along.index];
    const view<T, rank> from(first, extents, in_strides);
    extents[0] = results;
    return lines<T, Out, rank>{from, view<Out, rank>(out, extents, strides)};
}

} // namespace detail
} // namespace upsweep
