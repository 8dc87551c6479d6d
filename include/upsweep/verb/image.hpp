// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include <upsweep/engine.hpp>
#include <upsweep/error.hpp>
#include <upsweep/op.hpp>
#include <upsweep/range.hpp>
#include <upsweep/verb/axis.hpp>
#include <upsweep/view.hpp>

// Integral images and what is asked of them, for every target. engine<Target, verb::images> has
//
//     static void put_border(const Target&, const view<Out, Rank>& out);
//     static void integrate(const Target&, const view<const T, Rank>& in, const view<Sum, Rank>& sums);
//     static void integrate_both(const Target&, const view<const T, Rank>& in, const view<Sum, Rank>& sums, const view<Square, Rank>& squares);
//
// which write zeros to the first row and the first column of each image, its sums, and those and the sums of the squares of its
// elements; and engine<Target, verb::boxes>
//
//     template <std::size_t Rank>
//     static std::optional<std::size_t> first_wrong(const Target&, const view<const Index, 2>& boxes, const std::array<std::size_t, Rank>&);
//     static void query(const Target&, const view<const Index, 2>& boxes, Out results, const Query& query);
//     static void windows(const Target&, const summed_image<Sum>& sums, std::size_t half_rows, std::size_t half_columns,
//                         const view<Mean, 2>& out);
//
// of which the first looks for a box that ends before it begins or leads beyond the extents, the second writes query(boxes, k) for each
// box, and the third what a query for the mean of each window would give.
namespace upsweep {

// Whether an array of prefix sums begins with zeros, one more in each dimension than there are elements, or with the first element.
enum class image_border { none, zeros };
inline constexpr image_border without_border = image_border::none;
inline constexpr image_border zero_border = image_border::zeros;

namespace detail {

// Whether `out` is larger than `in` by a border in its last two dimensions. All else the scans check.
template <class T, class Out, std::size_t Rank>
bool has_border(const view<T, Rank>& in, const view<Out, Rank>& out)
{
    static_assert(Rank >= 2, "an image has two dimensions");
    return out.extent(Rank - 2) == in.extent(Rank - 2) + 1 && out.extent(Rank - 1) == in.extent(Rank - 1) + 1;
}

// An image without its first row and column.
template <class Out, std::size_t Rank>
view<Out, Rank> within_border(const view<Out, Rank>& out)
{
    std::array<std::size_t, Rank> extents;
    std::array<std::ptrdiff_t, Rank> strides;
    for (std::size_t k = 0; k < Rank; ++k) {
        extents[k] = out.extent(k) - (k + 2 >= Rank ? 1 : 0);
        strides[k] = out.stride(k);
    }
    return {out.data() + out.stride(Rank - 2) + out.stride(Rank - 1), extents, strides};
}

// The part of `out` that has a sum for each element of `in`.
template <class T, class Out, std::size_t Rank>
view<Out, Rank> sums_within(std::string_view call, const view<T, Rank>& in, const view<Out, Rank>& out)
{
    const bool bordered = has_border(in, out);
    for (std::size_t k = 0; k < Rank; ++k)
        if (out.extent(k) != in.extent(k) + (bordered && k + 2 >= Rank ? 1 : 0))
            throw error(error_kind::invalid_argument, call, "the extents of the output are not those of the input",
                        "give the output the input's extents, or one more in the last two dimensions");
    if (!out.empty() && overlaps_itself(footprint_of(out.begin(), out.size())))
        throw error(error_kind::invalid_argument, call, "strides of the output put two results at the same place",
                    "write to a view whose elements lie apart");
    if (bordered && !in.empty() && overlap(footprint_of(in.begin(), in.size()), footprint_of(out.begin(), out.size())))
        throw error(error_kind::invalid_argument, call, "input and output overlap", "write to a view of its own");
    return bordered ? within_border(out) : out;
}

template <target Target, class T, class Out, std::size_t Rank>
void put_border(const Target& target, const view<T, Rank>& in, const view<Out, Rank>& out)
{
    if (has_border(in, out))
        engine<Target, verb::images>::put_border(target, out);
}

template <target Target, class Out, std::size_t Rank>
void scan_columns(const Target& target, const view<Out, Rank>& out)
{
    upsweep::inclusive_scan(target, view<const Out, Rank>(out), axis{Rank - 2}, out, plus{});
}

// An integral image by two scans.
template <target Target, class T, class Out, std::size_t Rank>
void scan_both_ways(const Target& target, const view<T, Rank>& in, const view<Out, Rank>& out)
{
    upsweep::inclusive_scan(target, in, axis{Rank - 1}, out, plus{});
    scan_columns(target, out);
}

// An integral image, of which at(r, c) is the sum of the elements above row r and left of column c.
template <class Sum>
struct summed_image {
    view<const Sum, 2> sums;
    image_border border;

    UPSWEEP_HOST_DEVICE std::size_t rows() const { return sums.extent(0) - (border == zero_border ? 1 : 0); }
    UPSWEEP_HOST_DEVICE std::size_t columns() const { return sums.extent(1) - (border == zero_border ? 1 : 0); }
    UPSWEEP_HOST_DEVICE Sum at(std::size_t r, std::size_t c) const
    {
        if (border == zero_border)
            return sums(r, c);
        return r == 0 || c == 0 ? Sum{} : sums(r - 1, c - 1);
    }
    // Of rows r0 to r1 - 1 and columns c0 to c1 - 1.
    UPSWEEP_HOST_DEVICE Sum sum(std::size_t r0, std::size_t c0, std::size_t r1, std::size_t c1) const
    {
        if (r0 == r1 || c0 == c1)
            return Sum{};
        return difference(difference(at(r1, c1), at(r0, c1)), difference(at(r1, c0), at(r0, c0)));
    }
};

// The type in which sums are divided.
template <class Sum>
using quotient_t = std::conditional_t<std::integral<Sum>, double, Sum>;

// The first element and the end of box k in each dimension.
template <std::size_t Rank, class Index>
UPSWEEP_HOST_DEVICE constexpr std::array<std::size_t, 2 * Rank> box_of(const view<const Index, 2>& boxes, std::size_t k)
{
    std::array<std::size_t, 2 * Rank> box{};
    for (std::size_t i = 0; i < 2 * Rank; ++i)
        box[i] = static_cast<std::size_t>(boxes(k, i));
    return box;
}

template <class Sum>
struct sum_of_rectangle {
    summed_image<Sum> sums;
    template <class Index, class Result>
    UPSWEEP_HOST_DEVICE void operator()(const view<const Index, 2>& boxes, std::size_t k, Result& result) const
    {
        const auto box = box_of<2>(boxes, k);
        result = as_result<Result, plus>(sums.sum(box[0], box[1], box[2], box[3]));
    }
};
template <class Sum>
struct mean_of_rectangle {
    summed_image<Sum> sums;
    template <class Index, class Result>
    UPSWEEP_HOST_DEVICE void operator()(const view<const Index, 2>& boxes, std::size_t k, Result& result) const
    {
        using quotient = quotient_t<Sum>;
        const auto box = box_of<2>(boxes, k);
        const auto count = static_cast<quotient>((box[2] - box[0]) * (box[3] - box[1]));
        result = as_result<Result, plus>(static_cast<quotient>(sums.sum(box[0], box[1], box[2], box[3])) / count);
    }
};

// The variance of `count` elements, given their sum and that of their squares.
template <class Sum, class Square>
UPSWEEP_HOST_DEVICE constexpr double variance_of(std::size_t count, const Sum& sum, const Square& squares)
{
    const auto n = static_cast<double>(count);
    if constexpr (std::integral<Sum> && std::integral<Square>) {
        __extension__ typedef __int128 wide;
        const wide numerator =
            static_cast<wide>(count) * static_cast<wide>(squares) - static_cast<wide>(sum) * static_cast<wide>(sum);
        return static_cast<double>(numerator) / (n * n);
    } else {
        const double mean = static_cast<double>(sum) / n;
        const double variance = static_cast<double>(squares) / n - mean * mean;
        return variance < 0 ? 0.0 : variance;
    }
}
template <class Sum, class Square>
struct variance_of_rectangle {
    summed_image<Sum> sums;
    summed_image<Square> squares;
    template <class Index, class Result>
    UPSWEEP_HOST_DEVICE void operator()(const view<const Index, 2>& boxes, std::size_t k, Result& result) const
    {
        const auto box = box_of<2>(boxes, k);
        const std::size_t count = (box[2] - box[0]) * (box[3] - box[1]);
        result = as_result<Result, plus>(
            variance_of(count, sums.sum(box[0], box[1], box[2], box[3]), squares.sum(box[0], box[1], box[2], box[3])));
    }
};
template <class In, class Sum>
struct sum_of_slice {
    In scanned;
    image_border border;
    template <class Index, class Result>
    UPSWEEP_HOST_DEVICE void operator()(const view<const Index, 2>& boxes, std::size_t k, Result& result) const
    {
        const auto box = box_of<1>(boxes, k);
        const auto before = [&](std::size_t i) -> Sum {
            if (border == without_border && i == 0)
                return Sum{};
            return scanned[static_cast<std::ptrdiff_t>(border == zero_border ? i : i - 1)];
        };
        result = as_result<Result, plus>(box[0] == box[1] ? Sum{} : difference(before(box[1]), before(box[0])));
    }
};

// Refuses boxes that are none, by their number, and an output without room.
template <target Target, class Index, std::size_t Rank>
void check_boxes(const Target& target, std::string_view call, std::string_view what, const view<const Index, 2>& boxes,
                 const std::array<std::size_t, Rank>& extents, std::size_t room)
{
    static_assert(std::integral<Index>, "boxes are given by integers");
    if (boxes.extent(1) != 2 * Rank)
        throw error(error_kind::invalid_argument, call,
                    "there are " + std::to_string(boxes.extent(1)) + " numbers for each " + std::string(what),
                    "give " + std::to_string(2 * Rank) + ": where it begins in each dimension, and where it ends");
    if (room < boxes.extent(0))
        throw error(error_kind::invalid_argument, call, "the output is shorter than the array of queries",
                    "make room for one result a " + std::string(what));
    if (const auto wrong = engine<Target, verb::boxes>::first_wrong(target, boxes, extents))
        throw error(error_kind::invalid_argument, call,
                    std::string(what) + " " + std::to_string(*wrong) + " of " + std::to_string(boxes.extent(0)) +
                        " ends before it begins, or beyond the elements",
                    "count from 0, and give as its end the index behind the last one");
}

template <class Sum>
summed_image<Sum> summed(std::string_view call, const view<const Sum, 2>& sums, image_border border)
{
    if (border == zero_border && (sums.extent(0) == 0 || sums.extent(1) == 0))
        throw error(error_kind::invalid_argument, call, "an image of sums without elements has no border of zeros",
                    "give the extents of the elements and one more");
    return {sums, border};
}

} // namespace detail

// Writes prefix sums in two dimensions, the last two of a view: out(r, c) is the sum of in(i, j) over all i <= r and j <= c, from which
// the sum over any rectangle follows by three operations (Crow's summed-area tables, 1984). Dimensions before them number images of
// a batch. `out` has the extents of `in` and may be `in`; or it is one larger in the last two dimensions, of which the first row and
// column are zeros and out(r + 1, c + 1) is that sum. Its type is that in which sums are accumulated, and may be wider than the elements'
// (std::uint32_t for bytes, double for floats).
//
//     up::integral_image(cpu, up::view(pixels, {rows, columns}), up::view(sums, {rows, columns}));
//
// The order of the sums is that of inclusive scans along the rows, of whose results the columns are scanned (docs/fold-order.md). Below 6 n
// operations; one pass over memory, but for images of few rows or columns, sums of 8 or 16 bits and transposed images, which take two
// (Emoto, Honda, Nakano and Ito, An efficient GPU implementation of computing the summed area table, 2017).
template <target Target, class T, std::size_t Rank, class Out>
void integral_image(const Target& target, const view<T, Rank>& in, const view<Out, Rank>& out)
{
    const view<Out, Rank> sums = detail::sums_within("integral_image", in, out);
    if (!in.empty())
        detail::check_overlap("integral_image", in.begin(), sums.begin(), in.size());
    detail::engine<Target, detail::verb::images>::integrate(target, view<const std::remove_const_t<T>, Rank>(in), sums);
    detail::put_border(target, in, out);
}

// The integral images of the elements and of their squares. Each may have a border. The square of an element is one
// product in the type of the sums of squares (std::uint64_t for bytes).
template <target Target, class T, std::size_t Rank, class Sum, class Square>
void integral_images(const Target& target, const view<T, Rank>& in, const view<Sum, Rank>& sums,
                     const view<Square, Rank>& squares)
{
    using element = std::remove_const_t<T>;
    constexpr std::string_view call = "integral_images";
    const view<Sum, Rank> inner_sums = detail::sums_within(call, in, sums);
    const view<Square, Rank> inner_squares = detail::sums_within(call, in, squares);
    const auto apart = [&](const auto& a, const auto& b) {
        if (!a.empty() && !b.empty() &&
            detail::overlap(detail::footprint_of(a.begin(), a.size()), detail::footprint_of(b.begin(), b.size())))
            throw error(error_kind::invalid_argument, call, "views overlap", "write to views of their own");
    };
    apart(in, sums);
    apart(in, squares);
    apart(sums, squares);
    detail::engine<Target, detail::verb::images>::integrate_both(target, view<const element, Rank>(in), inner_sums,
                                                                 inner_squares);
    detail::put_border(target, in, sums);
    detail::put_border(target, in, squares);
}

// Writes the sums over rectangles of elements, given their integral image. Rectangle k is rectangles(k, 0) to rectangles(k, 2) - 1, the
// rows, and rectangles(k, 1) to rectangles(k, 3) - 1, the columns: n x 4 integers. One without elements has the sum 0. The image of sums has
// a border of zeros, or none, which is assumed. With S(r, c) for the sum of what is above row r and left of column c, the sum is
//
//     (S(r1, c1) - S(r0, c1)) - (S(r1, c0) - S(r0, c0))
//
// in the type of the image: of integers modulo 2^k, exact where the type holds the sum of the rectangle; of floating-point numbers with
// the rounding errors of the whole image, which double sums keep small.
//
// Rectangles that end before they begin, or beyond the image, are refused with the number of the first, and nothing is written
// (invalid_argument). A few operations and four sums of the image for each rectangle.
template <target Target, class Sum, class Index, output_range Out>
void rectangle_sum(const Target& target, const view<Sum, 2>& sums, const view<Index, 2>& rectangles, Out&& out,
                   image_border border = without_border)
{
    using sum = std::remove_const_t<Sum>;
    const view<const std::remove_const_t<Index>, 2> boxes(rectangles);
    const auto image = detail::summed("rectangle_sum", view<const sum, 2>(sums), border);
    detail::check_boxes(target, "rectangle_sum", "rectangle", boxes, std::array{image.rows(), image.columns()},
                        detail::size_of(out));
    detail::engine<Target, detail::verb::boxes>::query(target, boxes, detail::first_of(out),
                                                       detail::sum_of_rectangle<sum>{image});
}

// Their means: the sums, as f64 where they are integers, divided by the number of elements. That of no elements is NaN.
template <target Target, class Sum, class Index, output_range Out>
void rectangle_mean(const Target& target, const view<Sum, 2>& sums, const view<Index, 2>& rectangles, Out&& out,
                    image_border border = without_border)
{
    using sum = std::remove_const_t<Sum>;
    const view<const std::remove_const_t<Index>, 2> boxes(rectangles);
    const auto image = detail::summed("rectangle_mean", view<const sum, 2>(sums), border);
    detail::check_boxes(target, "rectangle_mean", "rectangle", boxes, std::array{image.rows(), image.columns()},
                        detail::size_of(out));
    detail::engine<Target, detail::verb::boxes>::query(target, boxes, detail::first_of(out),
                                                       detail::mean_of_rectangle<sum>{image});
}

// Their variances (those of a population: divided by the number n of elements), given the integral images of the elements, sum S, and of
// their squares, sum Q (up::integral_images). Where both are integers it is n Q - S S exactly, rounded to f64, divided by n n; else
// Q / n - (S / n) (S / n) in f64, or 0 where rounding makes that negative: it is exact to about the square of the mean
// times the rounding errors of the sums. That of no elements is NaN.
template <target Target, class Sum, class Square, class Index, output_range Out>
void rectangle_variance(const Target& target, const view<Sum, 2>& sums, const view<Square, 2>& squares,
                        const view<Index, 2>& rectangles, Out&& out, image_border border = without_border)
{
    using sum = std::remove_const_t<Sum>;
    using square = std::remove_const_t<Square>;
    constexpr std::string_view call = "rectangle_variance";
    const view<const std::remove_const_t<Index>, 2> boxes(rectangles);
    const auto image = detail::summed(call, view<const sum, 2>(sums), border);
    const auto image_of_squares = detail::summed(call, view<const square, 2>(squares), border);
    if (sums.extent(0) != squares.extent(0) || sums.extent(1) != squares.extent(1))
        throw error(error_kind::invalid_argument, call, "the images of sums and of squares differ in their extents",
                    "give those of one image");
    detail::check_boxes(target, call, "rectangle", boxes, std::array{image.rows(), image.columns()},
                        detail::size_of(out));
    detail::engine<Target, detail::verb::boxes>::query(
        target, boxes, detail::first_of(out), detail::variance_of_rectangle<sum, square>{image, image_of_squares});
}

// Writes the sums of slices of an array, given its inclusive scan: slice k is slices(k, 0) to slices(k, 1) - 1, n x 2 integers. With
// up::zero_border the scan begins with a zero, as an exclusive one does, and ends with the sum of all. The sum is the difference of
// the scan's sums at its ends; slices that are none are refused as rectangles are.
template <target Target, input_range Scanned, class Index, output_range Out>
void slice_sum(const Target& target, Scanned&& scanned, const view<Index, 2>& slices, Out&& out,
               image_border border = without_border)
{
    using sum = std::ranges::range_value_t<Scanned>;
    const view<const std::remove_const_t<Index>, 2> boxes(slices);
    const std::size_t sums = detail::size_of(scanned);
    if (border == zero_border && sums == 0)
        throw error(error_kind::invalid_argument, "slice_sum", "a scan without elements does not begin with a zero",
                    "give one sum more than there are elements");
    const std::array elements{sums - (border == zero_border ? 1 : 0)};
    detail::check_boxes(target, "slice_sum", "slice", boxes, elements, detail::size_of(out));
    const auto first = detail::first_of(scanned);
    detail::engine<Target, detail::verb::boxes>::query(
        target, boxes, detail::first_of(out),
        detail::sum_of_slice<std::remove_const_t<decltype(first)>, sum>{first, border});
}

// Writes the mean of the window around each element, given the integral image: of rows r - half_rows to r + half_rows and columns
// c - half_columns to c + half_columns, those of them that the image has (a box filter). `out` has the extents of the elements, and the
// bits of rectangle_mean. The time does not depend on the size of the window: one pass over two rows of sums a row.
template <target Target, class Sum, class Mean>
void window_mean(const Target& target, const view<Sum, 2>& sums, std::size_t half_rows, std::size_t half_columns,
                 const view<Mean, 2>& out, image_border border = without_border)
{
    using sum = std::remove_const_t<Sum>;
    constexpr std::string_view call = "window_mean";
    const auto image = detail::summed(call, view<const sum, 2>(sums), border);
    if (out.extent(0) != image.rows() || out.extent(1) != image.columns())
        detail::refuse_shape(call);
    if (out.empty())
        return;
    detail::check_results(call, sums.begin(), sums.size(), out.begin(), out.size());
    detail::engine<Target, detail::verb::boxes>::windows(target, image, half_rows, half_columns, out);
}

} // namespace upsweep
