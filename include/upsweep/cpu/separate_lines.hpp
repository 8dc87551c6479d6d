// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <vector>

#include <upsweep/cpu/line_call.hpp>
#include <upsweep/cpu/reduce.hpp>
#include <upsweep/cpu/scan.hpp>
#include <upsweep/fold_order.hpp>
#include <upsweep/qualifiers.hpp>

namespace upsweep::cpu_engine {

// Lines that are folded one after the other.
template <class Acc, class T, class Out, std::size_t Rank, class Op>
class separate_lines {
public:
    using call = line_call<Acc, T, Out, Rank, Op>;

    // `before`: the folds of what lies before the elements that will be folded, if anything does.
    UPSWEEP_NEVER_INLINE separate_lines(const call& of, std::size_t first, std::size_t count, std::size_t,
                                        const Acc* before = nullptr)
        : call_(of), first_(first), before_(std::make_unique<Acc[]>(count))
    {
        stacks_.reserve(count); // which would be copied as a whole
        for (std::size_t k = 0; k < count; ++k)
            stacks_.emplace_back(of.op);
        std::fill_n(before_.get(), count, of.op.template identity<Acc>());
        if (before != nullptr)
            std::copy_n(before, count, before_.get());
    }

    UPSWEEP_NEVER_INLINE void fold(const line_piece& piece)
    {
        const std::ptrdiff_t stride = call_.lines.in.stride(0);
        for (std::size_t k = 0; k < stacks_.size(); ++k) {
            const T* const line =
                first_of_line(call_.lines.in, first_ + k) + static_cast<std::ptrdiff_t>(piece.first) * stride;
            if (stride == 1) {
                fold_serially(stacks_[k], line, piece.count, call_.op, further_on(line));
                continue;
            }
            std::array<T, block> elements;
            for_each_block(piece.count, [&](std::size_t first, std::size_t count) {
                gather(line + static_cast<std::ptrdiff_t>(first) * stride, stride, count, elements.data());
                fold_serially(stacks_[k], static_cast<const T*>(elements.data()), count, call_.op);
            });
        }
    }
    UPSWEEP_NEVER_INLINE void push(const Acc* totals, int level)
    {
        for (std::size_t k = 0; k < stacks_.size(); ++k)
            stacks_[k].push(totals[k], level);
    }
    void write_folds(Acc* to) const
    {
        for (std::size_t k = 0; k < stacks_.size(); ++k)
            to[k] = stacks_[k].fold_after(before_[k]);
    }

    // `end`: the folds after the piece, where the stacks do not know them.
    UPSWEEP_NEVER_INLINE void scan(const line_piece& piece, const Acc* end)
    {
        const auto offset = static_cast<std::ptrdiff_t>(piece.first);
        for (std::size_t k = 0; k < stacks_.size(); ++k) {
            Out* const line = first_of_line(call_.lines.out, first_ + k);
            scan_line(k, first_of_line(call_.lines.in, first_ + k) + offset * call_.lines.in.stride(0),
                      line + offset * call_.lines.out.stride(0), piece, end != nullptr ? end + k : nullptr);
            if (piece.first == 0 && call_.options.kind == scan_kind::exclusive)
                *line = call_.first;
        }
    }

private:
    static constexpr std::size_t block = block_size<Acc>;

    // Calls f(first, count) for the blocks of so many elements.
    template <class F>
    static void for_each_block(std::size_t count, F f)
    {
        for (std::size_t first = 0; first < count; first += block)
            f(first, std::min(block, count - first));
    }

    // Scans a piece of line k, which begins at `in` and `out`. Elements and results that do not lie side by side are copied, a block at a time.
    void scan_line(std::size_t k, const T* in, Out* out, const line_piece& piece, const Acc* end)
    {
        using scan_of_line = serial_scan<Acc, Op, const T*, Out*>;
        const std::ptrdiff_t in_stride = call_.lines.in.stride(0);
        const std::ptrdiff_t out_stride = call_.lines.out.stride(0);
        const bool copies_in = in_stride != 1;
        const bool copies_out = out_stride != 1;
        const bool is_last = piece.first + piece.count == call_.lines.length();
        scan_options<Acc> options = call_.options;
        if (!copies_in && !copies_out) {
            options.is_last = is_last;
            return scan_of_line(stacks_[k], before_[k], end, call_.op, options)(
                in, out, piece.count, end == nullptr ? ahead_of(in, options.store) : read_ahead());
        }
        if (copies_out)
            options.store = store_kind::cached;
        std::array<T, block> elements;
        std::array<Out, block> results;
        for_each_block(piece.count, [&](std::size_t first, std::size_t count) {
            const bool is_end = first + count == piece.count;
            options.is_last = is_last && is_end;
            const T* const some = in + static_cast<std::ptrdiff_t>(first) * in_stride;
            Out* const to = copies_out ? results.data() : out + first;
            if (copies_in)
                gather(some, in_stride, count, elements.data());
            scan_of_line(stacks_[k], before_[k], is_end ? end : nullptr, call_.op,
                         options)(copies_in ? elements.data() : some, to, count, {});
            if (copies_out)
                scatter(results.data(), count, out + static_cast<std::ptrdiff_t>(first) * out_stride, out_stride);
        });
    }

    call call_;
    std::size_t first_;
    std::vector<fold_stack<Acc, Op>> stacks_;
    row_of_values<Acc> before_;
};

} // namespace upsweep::cpu_engine
