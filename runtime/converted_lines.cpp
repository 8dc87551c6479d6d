// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "converted_lines.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdlib>
#include <deque>
#include <memory>
#include <numeric>
#include <vector>

#include <upsweep/cpu/parallel.hpp>

#include "engine.hpp"
#include "fold.hpp"

namespace upsweep::runtime {

namespace {

// A part of the lines: few enough elements that a thread has their converted values in its cache.
constexpr std::size_t most_elements = std::size_t{1} << 17;
constexpr std::size_t many_lines = 512; // whose neighbours are read at the speed of memory

// The dimension whose elements lie farthest apart. 0 is that of the lines.
std::size_t outermost_of(const line_layout& lines)
{
    std::size_t outermost = 0;
    for (std::size_t k = 1; k < most_dimensions; ++k)
        if (lines.extents[k] > 1 && std::abs(lines.in_strides[k]) > std::abs(lines.in_strides[outermost]))
            outermost = k;
    return outermost;
}

// Lines that are reduced in blocks of a power of two of elements, which are folded alone in any case (docs/fold-order.md). The folds of those that are all
// of one size are folded as elements are; those of the blocks behind them, whose sizes are the other digits of the length, are put behind that one by one.
class blocks_of_lines {
public:
    blocks_of_lines(const line_layout& lines, upsweep_dtype of_folds)
        : lines_(lines), count_(lines.lines()), block_(std::bit_floor(most_elements / count_)),
          blocks_(lines.length() / block_), rest_(lines.length() % block_),
          rows_(elements_without_gaps(memory_, of_folds,
                                      (blocks_ + 2 * static_cast<std::size_t>(std::popcount(rest_))) * count_))
    {
    }

    // Calls f(part) for the lines' blocks, whose folds go to the rows.
    template <class F>
    void for_each_block(std::size_t in_bytes, F f) const
    {
        line_layout part = lines_;
        part.out_strides = strides_without_gaps(lines_);
        const auto take = [&](std::size_t length, std::size_t to_row) {
            part.extents[0] = length;
            part.out = row(to_row);
            f(part);
            part.in += static_cast<std::ptrdiff_t>(length * in_bytes) * lines_.in_strides[0];
        };
        for (std::size_t k = 0; k < blocks_; ++k)
            take(block_, k);
        std::size_t own = blocks_ + 1;
        for (std::size_t left = rest_; left != 0; left -= std::bit_floor(left), own += 2)
            take(std::bit_floor(left), own);
    }

    // Folds the rows to the results of the lines.
    void fold(const cpu& host, const shape_reducer& reducer) const
    {
        line_layout folds = lines_;
        folds.in_strides = strides_without_gaps(lines_);
        folds.in_strides[0] = static_cast<std::ptrdiff_t>(count_);
        const auto fold_rows = [&](std::size_t first, std::size_t length, std::byte* to, const auto& strides) {
            folds.in = row(first);
            folds.extents[0] = length;
            folds.out = to;
            folds.out_strides = strides;
            reducer.reduce_lines(host, folds);
        };
        std::size_t first = 0;
        std::size_t length = blocks_;
        for (int digit = 0; digit < std::popcount(rest_); ++digit) {
            const std::size_t before = blocks_ + 2 * static_cast<std::size_t>(digit);
            fold_rows(first, length, row(before), strides_without_gaps(lines_));
            first = before;
            length = 2;
        }
        fold_rows(first, length, lines_.out, lines_.out_strides);
    }

private:
    std::byte* row(std::size_t k) const { return rows_.data + k * count_ * rows_.bytes(); }

    line_layout lines_;
    std::size_t count_;
    std::size_t block_;  // elements of each
    std::size_t blocks_; // of this size
    std::size_t rest_;   // elements behind them
    unwritten_memory memory_;
    // A fold for each line in each row: of the blocks, and for each digit of the rest what comes before it and, behind that, its own.
    elements rows_;
};

class converting_reducer {
public:
    converting_reducer(upsweep_op op, upsweep_dtype in, upsweep_dtype out, const line_layout& lines)
        : op_(op), in_(in), out_(out), in_bytes_(upsweep_dtype_size(in)), out_bytes_(upsweep_dtype_size(out)),
          most_of_part_(std::min(lines.lines() * lines.length(), most_elements)), reducer_(make_shape_reducer(op, out))
    {
        cut(lines);
    }

    // Each thread takes parts as long as there are any.
    void operator()(const cpu& host) const
    {
        std::atomic<std::size_t> next = 0;
        const auto threads = static_cast<std::size_t>(cpu_engine::thread_count(host));
        cpu_engine::for_each_index(host, std::min(threads, parts_.size()), [&](std::size_t) {
            unwritten_memory memory;
            const elements converted = elements_without_gaps(memory, out_, most_of_part_);
            for (std::size_t k = next++; k < parts_.size(); k = next++)
                reduce_part(parts_[k], converted);
        });
        for (const blocks_of_lines& blocks : blocks_)
            blocks.fold(host, *reducer_);
    }

private:
    void cut(const line_layout& lines)
    {
        if (lines.lines() * lines.length() <= most_elements)
            return parts_.push_back(lines);
        const std::size_t k = outermost_of(lines);
        if (k == 0 && lines.lines() <= many_lines) {
            blocks_.emplace_back(lines, out_).for_each_block(in_bytes_, [&](const line_layout& part) {
                parts_.push_back(part);
            });
            return;
        }
        const auto [first, second] =
            k == 0 ? halves_of(lines, in_bytes_, out_bytes_) : halves_along(k, lines, in_bytes_, out_bytes_);
        cut(first);
        cut(second);
    }

    void reduce_part(line_layout lines, const elements& room) const
    {
        elements converted = room;
        const elements from = taken_as_they_lie(lines);
        converted.count = converted.extents.back() = from.count;
        convert(from, converted);
        lines.in = converted.data;
        reducer_->reduce_lines(cpu{1}, lines);
    }

    // Rows that are long enough are converted where they lie, one by one.
    void convert(const elements& from, const elements& to) const
    {
        constexpr std::size_t long_row = 64;
        const std::size_t row = from.extents.back();
        if (from.strides.back() != 1 || row < long_row)
            return convert_for_scan(cpu{1}, op_, from, 0, from.count, to);
        std::array<std::size_t, most_dimensions> index{};
        const std::byte* at = from.data;
        for (std::byte* out = to.data; out != to.data + from.count * out_bytes_; out += row * out_bytes_) {
            convert_elements(in_, at, out_, out, row);
            for (std::size_t k = most_dimensions - 1; k-- > 0;) {
                const std::ptrdiff_t step = from.strides[k] * static_cast<std::ptrdiff_t>(in_bytes_);
                at += step;
                if (++index[k] != from.extents[k])
                    break;
                at -= step * static_cast<std::ptrdiff_t>(from.extents[k]);
                index[k] = 0;
            }
        }
    }

    // The elements of a part in the order in which they lie in memory. The strides of the lines become those of a copy in this order.
    elements taken_as_they_lie(line_layout& lines) const
    {
        std::array<std::size_t, most_dimensions> order;
        std::iota(order.begin(), order.end(), std::size_t{0});
        std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
            return std::abs(lines.in_strides[a]) < std::abs(lines.in_strides[b]);
        });
        elements all;
        all.data = const_cast<std::byte*>(lines.in); // which is read alone
        all.dtype = in_;
        all.count = lines.lines() * lines.length();
        all.extents.fill(1);
        all.strides.fill(1);
        std::size_t behind = 1;
        for (const std::size_t k : order) {
            put_before(all, lines.extents[k], lines.in_strides[k]);
            lines.in_strides[k] = static_cast<std::ptrdiff_t>(behind);
            behind *= lines.extents[k];
        }
        return all;
    }

    upsweep_op op_;
    upsweep_dtype in_;
    upsweep_dtype out_;
    std::size_t in_bytes_; // of an element
    std::size_t out_bytes_;
    std::size_t most_of_part_; // elements
    std::unique_ptr<shape_reducer> reducer_;
    std::vector<line_layout> parts_;
    std::deque<blocks_of_lines> blocks_;
};

} // namespace

bool is_converted_first(upsweep_op op, upsweep_dtype in, upsweep_dtype out)
{
    return (op == UPSWEEP_PLUS || op == UPSWEEP_MULTIPLIES) && (out == UPSWEEP_F32 || out == UPSWEEP_F64) &&
           out != result_dtype_of(op, in);
}

void reduce_converted_lines(const cpu& host, upsweep_op op, upsweep_dtype in, upsweep_dtype out,
                            const line_layout& lines)
{
    converting_reducer(op, in, out, lines)(host);
}

} // namespace upsweep::runtime
