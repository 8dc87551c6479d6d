// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <vector>

#include <upsweep/cpu/line_call.hpp>
#include <upsweep/cpu/reduce.hpp>
#include <upsweep/cpu/scan.hpp>
#include <upsweep/fold_order.hpp>

namespace upsweep::cpu_engine {

// Lines that are folded one after the other.
template <class Acc, class T, class Out, std::size_t Rank, class Op>
class separate_lines {
public:
    using call = line_call<Acc, T, Out, Rank, Op>;

    // `before`: the folds of what lies before the elements that will be folded, if anything does.
    separate_lines(const call& of, std::size_t first, std::size_t count, std::size_t, const Acc* before = nullptr)
        : call_(of), first_(first), before_(std::make_unique<Acc[]>(count))
    {
        stacks_.reserve(count); // which would be copied as a whole
        for (std::size_t k = 0; k < count; ++k)
            stacks_.emplace_back(of.op);
        std::fill_n(before_.get(), count, of.op.template identity<Acc>());
        if (before != nullptr)
            std::copy_n(before, count, before_.get());
    }

    void fold(const line_piece& piece)
    {
        for (std::size_t k = 0; k < stacks_.size(); ++k)
            with_line(call_.lines.in, first_ + k, [&](auto line) {
                const auto first = line + static_cast<std::ptrdiff_t>(piece.first);
                fold_serially(stacks_[k], first, piece.count, call_.op, further_on(first));
            });
    }
    void push(const Acc* totals, int level)
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
    void scan(const line_piece& piece, const Acc* end)
    {
        const auto offset = static_cast<std::ptrdiff_t>(piece.first);
        scan_options<Acc> options = call_.options;
        options.is_last = piece.first + piece.count == call_.lines.length();
        for (std::size_t k = 0; k < stacks_.size(); ++k)
            with_line(call_.lines.in, first_ + k, [&](auto in) {
                with_line(call_.lines.out, first_ + k, [&](auto out) {
                    using scan_of_line = serial_scan<Acc, Op, decltype(in), decltype(out)>;
                    scan_of_line(stacks_[k], before_[k], end != nullptr ? end + k : nullptr, call_.op,
                                 options)(in + offset, out + offset, piece.count,
                                          end == nullptr ? ahead_of(in + offset, options.store) : read_ahead());
                    if (piece.first == 0 && call_.options.kind == scan_kind::exclusive)
                        *out = call_.first;
                });
            });
    }

private:
    call call_;
    std::size_t first_;
    std::vector<fold_stack<Acc, Op>> stacks_;
    row_of_values<Acc> before_;
};

} // namespace upsweep::cpu_engine
