// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <concepts>
#include <cstddef>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include <upsweep/cpu/axis.hpp>
#include <upsweep/cpu/image_bands.hpp>
#include <upsweep/cpu/lanes.hpp>
#include <upsweep/cpu/line_bundle.hpp>
#include <upsweep/cpu/parallel.hpp>
#include <upsweep/cpu/scan.hpp>
#include <upsweep/cpu/vector.hpp>
#include <upsweep/engine.hpp>
#include <upsweep/op.hpp>
#include <upsweep/target.hpp>
#include <upsweep/verb/image.hpp>
#include <upsweep/view.hpp>

namespace upsweep::cpu_engine {

// A line of a view as an iterator.
template <class T, class F>
void with_elements(T* first, std::size_t count, std::ptrdiff_t stride, F f)
{
    if (stride == 1)
        f(first);
    else
        f(view<T, 1>(first, {count}, {stride}).begin());
}

// Scans a line, and the squares of its elements, a block at a time.
template <class T, class Sum, class Square, class In, class Sums, class Squares>
void scan_line_and_squares(In in, Sums sums, Squares squares, std::size_t count)
{
    using sum = scan_accumulator_t<plus, Sum>;
    using square = scan_accumulator_t<plus, Square>;
    constexpr std::size_t at_once = 1024;
    fold_stack<sum, plus> stack(plus{});
    fold_stack<square, plus> stack_of_squares(plus{});
    std::array<square, at_once> block;
    for (std::size_t i = 0; i < count; i += at_once) {
        const std::size_t part = std::min(at_once, count - i);
        const auto at = static_cast<std::ptrdiff_t>(i);
        for (std::size_t j = 0; j < part; ++j) {
            const auto x = load<square>(in + at, j);
            block[j] = multiplies{}(x, x);
        }
        scan_piece(cpu{1}, stack, in + at, sums + at, part, plus{}, scan_kind::inclusive,
                   static_cast<const sum*>(nullptr));
        scan_piece(cpu{1}, stack_of_squares, static_cast<const square*>(block.data()), squares + at, part, plus{},
                   scan_kind::inclusive, static_cast<const square*>(nullptr));
    }
}

// What is summed up: elements, or their squares, each one product in the type of the sums.
struct as_they_are {
    template <class Sum>
    static Sum lift(Sum x)
    {
        return x;
    }
};
struct their_squares {
    template <class Sum>
    static Sum lift(Sum x)
    {
        return multiplies{}(x, x);
    }
};

// Reads some elements of a row as sums.
template <class Lift, class T, class Sum>
void load_image_row(const std::byte* from, std::ptrdiff_t column_step, std::size_t count, Sum* to)
{
    constexpr std::size_t some = 32;
    const T* const elements = reinterpret_cast<const T*>(from);
    std::size_t done = 0;
    if (column_step == sizeof(T))
        for (; done + some <= count; done += some)
            if (const Sum* const block = load_block<some>(elements + done, to + done); block != to + done)
                std::copy_n(block, some, to + done);
    for (; done < count; ++done)
        to[done] = convert<Sum>(*reinterpret_cast<const T*>(from + static_cast<std::ptrdiff_t>(done) * column_step));
    for (std::size_t k = 0; k < count; ++k)
        to[k] = Lift::lift(to[k]);
}

// Integrates the images of a view, whose last two dimensions are the rows and columns. Returns whether that takes less time than two scans. There is
// an element.
template <class Lift, class T, std::size_t Rank, class Sum>
bool integrate_view(const cpu& target, const view<const T, Rank>& in, const view<Sum, Rank>& out)
{
    if constexpr (has_image_bands<Sum>) {
        constexpr std::size_t row = Rank - 2;
        constexpr std::size_t column = Rank - 1;
        constexpr auto bytes = static_cast<std::ptrdiff_t>(sizeof(T));
        const std::size_t count = in.size() / (in.extent(row) * in.extent(column));
        return integrate_images<Sum>(target, count, {in.extent(row), in.extent(column)}, [&](std::size_t image) {
            std::ptrdiff_t from = 0;
            std::ptrdiff_t to = 0;
            for (std::size_t k = row; k-- > 0; image /= in.extent(k)) {
                const auto index = static_cast<std::ptrdiff_t>(image % in.extent(k));
                from += index * in.stride(k);
                to += index * out.stride(k);
            }
            return std::pair(image_elements<Sum>{reinterpret_cast<const std::byte*>(in.data() + from),
                                                 in.stride(row) * bytes, in.stride(column) * bytes,
                                                 load_image_row<Lift, T, Sum>},
                             image_sums<Sum>{out.data() + to, out.stride(row), out.stride(column)});
        });
    } else {
        return false;
    }
}

// Calls f(first, end) for ranges of 0 to count - 1, on all threads.
template <class F>
void for_each_part(const cpu& target, std::size_t count, std::size_t at_once, F f)
{
    if (count <= at_once)
        return f(std::size_t{0}, count);
    for_each_index(target, (count + at_once - 1) / at_once,
                   [&](std::size_t task) { f(task * at_once, std::min(count, (task + 1) * at_once)); });
}

} // namespace upsweep::cpu_engine

namespace upsweep::detail {

template <>
struct engine<cpu, verb::images> {
    template <class Out, std::size_t Rank>
    static void put_border(const cpu&, const view<Out, Rank>& out)
    {
        std::array<std::size_t, Rank> extents;
        std::array<std::ptrdiff_t, Rank> strides;
        for (std::size_t k = 0; k < Rank; ++k) {
            extents[k] = out.extent(k);
            strides[k] = out.stride(k);
        }
        for (const std::size_t k : {Rank - 2, Rank - 1}) {
            auto line = extents;
            line[k] = 1;
            for (Out& first : view<Out, Rank>(out.data(), line, strides))
                first = Out{};
        }
    }

    template <class T, std::size_t Rank, class Sum>
    static void integrate(const cpu& target, const view<const T, Rank>& in, const view<Sum, Rank>& sums)
    {
        if (in.empty() || !cpu_engine::integrate_view<cpu_engine::as_they_are>(target, in, sums))
            scan_both_ways(target, in, sums);
    }

    template <class T, std::size_t Rank, class Sum, class Square>
    static void integrate_both(const cpu& target, const view<const T, Rank>& in, const view<Sum, Rank>& sums,
                               const view<Square, Rank>& squares)
    {
        if (in.empty())
            return;
        if constexpr (cpu_engine::has_image_bands<Sum> && cpu_engine::has_image_bands<Square>)
            if (cpu_engine::integrate_view<cpu_engine::as_they_are>(target, in, sums) &&
                cpu_engine::integrate_view<cpu_engine::their_squares>(target, in, squares))
                return;
        scan_rows(target, in, sums, squares);
        scan_columns(target, sums);
        scan_columns(target, squares);
    }

private:
    template <class T, std::size_t Rank, class Sum, class Square>
    static void scan_rows(const cpu& target, const view<const T, Rank>& in, const view<Sum, Rank>& sums,
                          const view<Square, Rank>& squares)
    {
        std::array<std::size_t, Rank> extents;
        std::array<std::array<std::ptrdiff_t, 3>, Rank> strides;
        for (std::size_t k = 0; k < Rank; ++k) {
            extents[k] = in.extent(k);
            strides[k] = {in.stride(k), sums.stride(k), squares.stride(k)};
        }
        const cpu_engine::line_grid<3> rows(extents, axis{Rank - 1}, strides);
        constexpr std::size_t elements_a_task = std::size_t{1} << 16;
        const std::size_t at_once = std::max<std::size_t>(1, elements_a_task / rows.length());
        cpu_engine::for_each_part(target, rows.count(), at_once, [&](std::size_t first, std::size_t end) {
            for (std::size_t row = first; row < end; ++row) {
                const auto offsets = rows.offsets(row);
                const std::size_t count = rows.length();
                const auto& steps = rows.steps();
                cpu_engine::with_elements(in.data() + offsets[0], count, steps[0], [&](auto elements) {
                    cpu_engine::with_elements(sums.data() + offsets[1], count, steps[1], [&](auto to) {
                        cpu_engine::with_elements(squares.data() + offsets[2], count, steps[2], [&](auto to_squares) {
                            cpu_engine::scan_line_and_squares<T, Sum, Square>(elements, to, to_squares, count);
                        });
                    });
                });
            }
        });
    }
};

template <>
struct engine<cpu, verb::boxes> {
    template <std::size_t Rank, class Index>
    static std::optional<std::size_t> first_wrong(const cpu& target, const view<const Index, 2>& boxes,
                                                  const std::array<std::size_t, Rank>& extents)
    {
        std::atomic<std::size_t> lowest{boxes.extent(0)};
        cpu_engine::for_each_part(target, boxes.extent(0), boxes_a_task, [&](std::size_t first, std::size_t end) {
            for (std::size_t k = first; k < end; ++k) {
                bool is_wrong = false;
                for (std::size_t i = 0; i < Rank; ++i) {
                    const Index begins = boxes(k, i);
                    const Index ends = boxes(k, Rank + i);
                    is_wrong |= begins < Index{} || ends < begins || static_cast<std::size_t>(ends) > extents[i];
                }
                if (!is_wrong)
                    continue;
                for (std::size_t seen = lowest; k < seen && !lowest.compare_exchange_weak(seen, k);) {
                }
                return;
            }
        });
        return lowest < boxes.extent(0) ? std::optional<std::size_t>(lowest) : std::nullopt;
    }

    template <class Index, class Out, class Query>
    static void query(const cpu& target, const view<const Index, 2>& boxes, Out results, const Query& query)
    {
        cpu_engine::for_each_part(target, boxes.extent(0), boxes_a_task, [&](std::size_t first, std::size_t end) {
            for (std::size_t k = first; k < end; ++k) {
                std::iter_value_t<Out> result;
                query(boxes, k, result);
                results[static_cast<std::iter_difference_t<Out>>(k)] = result;
            }
        });
    }

    // The sums of the rows of a window are those of columns c0 to c1 - 1 of a band; their prefix sums are the differences of two rows
    // of the image.
    template <class Sum, class Mean>
    static void windows(const cpu& target, const summed_image<Sum>& image, std::size_t half_rows,
                        std::size_t half_columns, const view<Mean, 2>& out)
    {
        constexpr std::size_t elements_a_task = std::size_t{1} << 15;
        const std::size_t rows = image.rows();
        const std::size_t columns = image.columns();
        const std::size_t at_once = std::max<std::size_t>(1, elements_a_task / columns);
        cpu_engine::for_each_part(target, rows, at_once, [&](std::size_t first, std::size_t end) {
            const auto band = std::make_unique_for_overwrite<Sum[]>(columns + 1);
            const auto quotients = std::make_unique_for_overwrite<quotient_t<Sum>[]>(columns);
            const auto means = std::make_unique_for_overwrite<Mean[]>(columns);
            for (std::size_t r = first; r < end; ++r) {
                const std::size_t r0 = r - std::min(r, half_rows);
                const std::size_t r1 = r + std::min(rows - 1 - r, half_rows) + 1;
                sum_band(image, r0, r1, band.get());
                average_band(band.get(), r1 - r0, columns, half_columns, quotients.get(), means.get());
                cpu_engine::with_elements(&out(r, std::size_t{0}), columns, out.stride(1), [&](auto to) {
                    cpu_engine::store_results(static_cast<const Mean*>(means.get()), to, columns);
                });
            }
        });
    }

private:
    static constexpr std::size_t boxes_a_task = 4096;

    template <class Sum>
    static void sum_band(const summed_image<Sum>& image, std::size_t r0, std::size_t r1, Sum* __restrict band)
    {
        const std::size_t columns = image.columns();
        const bool is_dense = image.sums.stride(1) == 1;
        const std::size_t shift = image.border == zero_border ? 0 : 1; // of the sums against the elements
        if (!is_dense || r0 < shift) {
            for (std::size_t c = 0; c <= columns; ++c)
                band[c] = difference(image.at(r1, c), image.at(r0, c));
            return;
        }
        const Sum* const above = &image.sums(r0 - shift, std::size_t{0});
        const Sum* const below = &image.sums(r1 - shift, std::size_t{0});
        band[0] = Sum{};
        for (std::size_t c = 1; c <= columns; ++c)
            band[c] = difference(below[c - shift], above[c - shift]);
    }

    // The means of the windows of a row, given the prefix sums of their rows.
    template <class Sum, class Mean>
    static void average_band(const Sum* __restrict band, std::size_t rows, std::size_t columns, std::size_t half,
                             quotient_t<Sum>* __restrict sums, Mean* __restrict means)
    {
        using quotient = quotient_t<Sum>;
        const auto at_border = [&](std::size_t c) {
            const std::size_t c0 = c - std::min(c, half);
            const std::size_t c1 = c + std::min(columns - 1 - c, half) + 1;
            const auto count = static_cast<quotient>(rows * (c1 - c0));
            means[c] = as_result<Mean, plus>(static_cast<quotient>(difference(band[c1], band[c0])) / count);
        };
        const std::size_t left = std::min(half, columns);
        const std::size_t right = columns - std::min(half, columns); // from here on windows end with the image
        for (std::size_t c = 0; c < left; ++c)
            at_border(c);
        for (std::size_t c = left; c < right; ++c)
            sums[c] = static_cast<quotient>(difference(band[c + half + 1], band[c - half]));
        if (left < right)
            divide(sums + left, right - left, static_cast<quotient>(rows * (2 * half + 1)));
        for (std::size_t c = left; c < right; ++c)
            means[c] = convert<Mean>(sums[c]);
        for (std::size_t c = std::max(left, right); c < columns; ++c)
            at_border(c);
    }

    // By vectors, in which NaN gets its one pattern without a branch.
    template <class T>
    static void divide(T* numbers, std::size_t count, T divisor)
    {
        constexpr std::size_t lanes = cpu_engine::vector_bytes / sizeof(T);
        std::size_t i = 0;
        for (const std::size_t whole = count / lanes * lanes; i < whole; i += lanes)
            cpu_engine::store_vector<T>(
                cpu_engine::with_named_nan<plus, T>(cpu_engine::load_vector(numbers + i) / divisor), numbers + i);
        for (; i < count; ++i)
            numbers[i] = as_result<T, plus>(numbers[i] / divisor);
    }
};

} // namespace upsweep::detail
