// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include <upsweep/cpu/block.hpp>
#include <upsweep/cpu/line_call.hpp>
#include <upsweep/cpu/reduce.hpp>
#include <upsweep/cpu/scan.hpp>
#include <upsweep/cpu/store.hpp>
#include <upsweep/fold_order.hpp>
#include <upsweep/qualifiers.hpp>

// Two, three or four lines whose elements take turns in memory, as the channels of a sound do, or the coordinates of points. They are too few to fill
// a vector as lanes. A block of each is taken apart in the first-level cache, folded as that of an array is, and put together again.
namespace upsweep::cpu_engine {

inline constexpr std::size_t most_interleaved = 4;

// Element r of line c from element r * Lines + c of memory, and back.
template <std::size_t Lines, std::size_t Room, class T>
void take_apart(const T* __restrict from, std::size_t rows, T* __restrict to)
{
    for (std::size_t r = 0; r < rows; ++r)
        for (std::size_t c = 0; c < Lines; ++c)
            to[c * Room + r] = from[r * Lines + c];
}
template <std::size_t Lines, std::size_t Room, class T>
void put_together(const T* __restrict from, std::size_t rows, T* __restrict to)
{
    for (std::size_t r = 0; r < rows; ++r)
        for (std::size_t c = 0; c < Lines; ++c)
            to[r * Lines + c] = from[c * Room + r];
}

// Calls f with the number of lines as a constant: an int, since nvcc 13.0 passes std::size_t{4} on to g++ as no constant, after some headers.
template <class F>
void with_lines(std::size_t lines, F f)
{
    if (lines == 2)
        f(std::integral_constant<int, 2>{});
    else if (lines == 3)
        f(std::integral_constant<int, 3>{});
    else
        f(std::integral_constant<int, 4>{});
}

// Whether the lines of a view, whose first dimension is the one along which they are folded, take turns in memory without gaps.
template <class T, std::size_t Rank>
UPSWEEP_NEVER_INLINE bool are_interleaved(const view<T, Rank>& lines)
{
    const std::size_t count = lines.size() / lines.extent(0);
    return count > 1 && count <= most_interleaved && lines.is_contiguous();
}

template <class Acc, class T, class Out, std::size_t Rank, class Op>
class interleaved_lines {
public:
    using call = line_call<Acc, T, Out, Rank, Op>;

    // All lines there are. `before`: the folds of what lies before the elements that will be folded, if anything does.
    UPSWEEP_NEVER_INLINE interleaved_lines(const call& of, std::size_t, std::size_t count, std::size_t,
                                           const Acc* before = nullptr)
        : call_(of), count_(count), stacks_(make_stacks(of.op))
    {
        before_.fill(of.op.template identity<Acc>());
        if (before != nullptr)
            std::copy_n(before, count, before_.begin());
    }

    UPSWEEP_NEVER_INLINE void fold(const line_piece& piece)
    {
        for_each_block(piece, [&](std::size_t, std::size_t rows) {
            for (std::size_t c = 0; c < count_; ++c)
                fold_serially(stacks_[c], elements_of(c), rows, call_.op);
        });
    }
    UPSWEEP_NEVER_INLINE void push(const Acc* totals, int level)
    {
        for (std::size_t c = 0; c < count_; ++c)
            stacks_[c].push(totals[c], level);
    }
    void write_folds(Acc* to) const
    {
        for (std::size_t c = 0; c < count_; ++c)
            to[c] = stacks_[c].fold_after(before_[c]);
    }

    // `end`: the folds after the piece, where the stacks do not know them.
    UPSWEEP_NEVER_INLINE void scan(const line_piece& piece, const Acc* end)
    {
        scan_options<Acc> options = call_.options;
        options.store = store_kind::cached;
        for_each_block(piece, [&](std::size_t first, std::size_t rows) {
            const bool is_end = first + rows == piece.first + piece.count;
            options.is_last = is_end && first + rows == call_.lines.length();
            for (std::size_t c = 0; c < count_; ++c) {
                using scan_of_block = serial_scan<Acc, Op, const T*, Out*>;
                Out* const results = results_.data() + c * block;
                scan_of_block(stacks_[c], before_[c], is_end && end != nullptr ? end + c : nullptr, call_.op,
                              options)(elements_of(c), results, rows, {});
                if (first == 0 && options.kind == scan_kind::exclusive)
                    results[0] = call_.first;
            }
            write(first, rows);
        });
    }

private:
    static constexpr std::size_t block = block_size<Acc>;
    using stacks = std::array<fold_stack<Acc, Op>, most_interleaved>;

    static stacks make_stacks(const Op& op)
    {
        return {fold_stack<Acc, Op>(op), fold_stack<Acc, Op>(op), fold_stack<Acc, Op>(op), fold_stack<Acc, Op>(op)};
    }
    const T* elements_of(std::size_t line) const { return elements_.data() + line * block; }

    // Calls f(first row, rows) for the blocks of a piece, whose elements have then been taken apart.
    template <class F>
    void for_each_block(const line_piece& piece, F f)
    {
        for (std::size_t first = piece.first, end = first + piece.count; first < end; first += block) {
            const std::size_t rows = std::min(block, end - first);
            with_lines(count_, [&](auto lines) {
                take_apart<lines, block>(call_.lines.in.data() + first * lines, rows, elements_.data());
            });
            f(first, rows);
        }
    }
    void write(std::size_t first, std::size_t rows) const
    {
        std::array<Out, most_interleaved * block> together;
        with_lines(count_, [&](auto lines) { put_together<lines, block>(results_.data(), rows, together.data()); });
        Out* const to = call_.lines.out.data() + first * count_;
        if (call_.options.store == store_kind::streamed)
            stream_bytes(together.data(), to, rows * count_ * sizeof(Out));
        else
            std::copy_n(together.data(), rows * count_, to);
    }

    call call_;
    std::size_t count_;
    stacks stacks_;
    std::array<Acc, most_interleaved> before_;
    std::array<T, most_interleaved * block> elements_; // a block of each line
    std::array<Out, most_interleaved * block> results_;
};

} // namespace upsweep::cpu_engine
