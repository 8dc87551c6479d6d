// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>

#include <upsweep/cpu/block.hpp>
#include <upsweep/cpu/line_call.hpp>
#include <upsweep/cpu/parallel.hpp>
#include <upsweep/cpu/scan.hpp>
#include <upsweep/cpu/short_segment.hpp>
#include <upsweep/cpu/store.hpp>
#include <upsweep/fold_order.hpp>
#include <upsweep/lines.hpp>
#include <upsweep/op.hpp>
#include <upsweep/view.hpp>

// Folds of the rows of a matrix that are shorter than a block.
namespace upsweep::cpu_engine {

// Whether lines lie one behind the other without gaps, as the rows of a matrix do.
template <class T, std::size_t Rank>
bool are_rows(const view<T, Rank>& in)
{
    auto next = static_cast<std::ptrdiff_t>(in.extent(0)); // how far a line lies behind the one before
    bool are_close = in.stride(0) == 1;
    for (std::size_t k = Rank; --k > 0; next *= static_cast<std::ptrdiff_t>(in.extent(k)))
        are_close = are_close && (in.extent(k) == 1 || in.stride(k) == next);
    return are_close;
}

// The totals of the rows that a block of Count accumulators has, of `length` elements each, a power of two: the up-sweep of the block, as far as the
// rows go. Each accumulator is the total of Elements elements. `out` and `other` have room for half of the block; the totals are returned, in one of
// them or where they were.
template <std::size_t Count, std::size_t Elements, class Acc, class Op>
const Acc* fold_levels_to(std::size_t length, const Acc* in, Acc* out, Acc* other, const Op& op)
{
    if (Elements == length)
        return in;
    if constexpr (has_squares<Count, Acc, Op>)
        if (length >= Elements * square<Acc>::side) {
            using rows = square<Acc>;
            read_ahead nothing;
            fold_squares<Count, Op>(in, out, nothing);
            return fold_levels_to<Count / rows::side, Elements * rows::side, Acc>(length, out, other, out, op);
        }
    if constexpr (Count > 1) {
        fold_pairs<Count>(in, out, op);
        return fold_levels_to<Count / 2, Elements * 2, Acc>(length, out, other, out, op);
    }
    return in;
}

// Whether rows of so many elements fill blocks that are folded by levels.
template <class Acc, class Op>
bool are_parts_of_blocks(std::size_t length)
{
    return !detail::is_exact<Op, Acc> && std::has_single_bit(length) && length < block_size<Acc>;
}

template <class Acc, class T, class Out, std::size_t Rank, class Op, class Finish>
void reduce_parts_of_blocks(const cpu& target, const detail::lines<const T, Out, Rank>& lines, const Op& op,
                            const Finish& finish)
{
    constexpr std::size_t block = block_size<Acc>;
    const std::size_t length = lines.length();
    const std::size_t rows = block / length;
    for_each_stretch(target, lines.count(), 16 * rows, [&](std::size_t first, std::size_t count) {
        std::array<Acc, block> elements;
        std::array<Acc, block / 2> some, others;
        std::array<Out, block / 2> results;
        const std::size_t end = first + count;
        for (; first + rows <= end; first += rows) {
            const Acc* const loaded = load_block<block>(lines.in.data() + first * length, elements.data());
            const Acc* const totals = fold_levels_to<block, 1>(length, loaded, some.data(), others.data(), op);
            for (std::size_t k = 0; k < rows; ++k)
                finish(totals[k], results[k]);
            write_row(lines.out, first, rows, results.data());
        }
        for (std::size_t k = 0; k < end - first; ++k)
            finish(fold_of_segment<Acc>(lines.in.data() + (first + k) * length, length, op), results[k]);
        write_row(lines.out, first, end - first, results.data());
    });
}

template <class Acc, class T, class Out, std::size_t Rank, class Op, class Finish>
void reduce_short_rows(const cpu& target, const detail::lines<const T, Out, Rank>& lines, const Op& op,
                       const Finish& finish)
{
    const std::size_t length = lines.length();
    constexpr std::size_t rows = 256;
    for_each_stretch(target, lines.count(), 16 * rows, [&](std::size_t first, std::size_t count) {
        std::array<Out, rows> results;
        for (const std::size_t end = first + count; first < end; first += rows) {
            const std::size_t some = std::min(rows, end - first);
            for (std::size_t k = 0; k < some; ++k)
                finish(fold_of_segment<Acc>(lines.in.data() + (first + k) * length, length, op), results[k]);
            write_row(lines.out, first, some, results.data());
        }
    });
}

inline constexpr std::size_t most_of_short_row = 2048;

// Rows are scanned, those of few elements as a block each, and the results of some are put together before they are written: what a block has behind
// its row is replaced there by the next row.
template <scan_kind Kind, class Acc, class T, class Out, class Op>
void scan_short_rows(const cpu& target, const T* in, Out* out, std::size_t rows, std::size_t length, const Op& op,
                     store_kind store)
{
    constexpr std::size_t most = most_without_branches;
    constexpr std::size_t elements = 2 * most_of_short_row; // of which results lie in the first-level cache
    using buffer = std::array<Out, elements + most>;
    const std::size_t rows_at_once = elements / length;
    const auto scan_as_blocks = [&](const T* from, std::size_t count, buffer& results) {
        std::size_t i = 0;
        for (; i + most <= count; i += length)
            scan_as_block<Kind, Acc>(from + i, results.data() + i, length, op);
        std::array<T, 3 * most> last{}; // behind which there is nothing to read
        std::copy(from + i, from + count, last.begin());
        for (const std::size_t begin = i; i < count; i += length)
            scan_as_block<Kind, Acc>(static_cast<const T*>(last.data()) + (i - begin), results.data() + i, length, op);
    };
    const auto scan_one_by_one = [&](const T* from, std::size_t count, buffer& results) {
        const Acc nothing = op.template identity<Acc>();
        const scan_options<Acc> options{Kind, store_kind::cached, nullptr, true};
        for (std::size_t i = 0; i < count; i += length) {
            fold_stack<Acc, Op> stack(op);
            serial_scan<Acc, Op, const T*, Out*>(stack, nothing, nullptr, op, options)(
                from + i, results.data() + i, length, ahead_of(from + i, store));
            if (Kind == scan_kind::exclusive)
                results[i] = as_result<Out, Op>(fold_of_nothing<Acc>(op));
        }
    };
    for_each_stretch(target, rows, 16 * rows_at_once, [&](std::size_t first, std::size_t count) {
        buffer results;
        for (const std::size_t end = first + count; first < end; first += rows_at_once) {
            const std::size_t some = std::min(rows_at_once, end - first) * length;
            if (length <= most)
                scan_as_blocks(in + first * length, some, results);
            else
                scan_one_by_one(in + first * length, some, results);
            if (store == store_kind::streamed)
                stream_bytes(results.data(), out + first * length, some * sizeof(Out));
            else
                std::copy_n(results.data(), some, out + first * length);
        }
        stream_fence();
    });
}

} // namespace upsweep::cpu_engine
