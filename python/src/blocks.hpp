// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "array.hpp"
#include "library.hpp"

namespace upsweep::python {

// Whether the elements along some axes lie as those of one.
bool lie_as_one_axis(const layout& at, std::uint64_t axes);

// Appends the dimensions of the others, and behind them such axes as one.
void append_lines(layout& lines, const layout& at, std::uint64_t axes);

// Appends, of results along some axes, the dimensions of the others.
void append_kept(layout& results, std::uint64_t axes, bool keeps_dimensions, const layout& to);

// Begins a layout of elements in the memory in which those of another one lie.
void begin_beside(layout& of, const layout& other, void* data, upsweep_dtype dtype);

// Blocks of elements that are folded first, of axes that do not lie as one: those of the last of these axes that do.
struct first_blocks {
    std::uint64_t axes = 0;  // none: nothing is folded first
    std::int64_t blocks = 1; // along these axes
    std::int64_t length = 1; // of a block, in elements
    std::int64_t stride = 1; // of elements
};

// Blocks of a power of two of elements are folded alone in any case (docs/fold-order.md), so that their results, of type `folded`, can be folded like
// elements; where any order will do, a block is a whole line. A fold of logarithms is more than its result tells.
first_blocks blocks_to_fold_first(const layout& at, std::uint64_t axes, upsweep_op op, upsweep_dtype folded);

// A fold along several axes as folds along one, each of which is the last: of such blocks to totals, and then of lines of totals. Totals lie in the order in
// which their blocks are read, and if those of a line do not lie as along one axis then, they are brought into the order of lines, one by
// one, if they are few beside the elements; otherwise they are written in that order.
class fold_by_blocks {
public:
    fold_by_blocks(const layout& at, std::uint64_t axes, const first_blocks& first, upsweep_dtype of_totals);

    std::int64_t room() const { return is_ordered_later_ ? 2 * count_ : count_; } // of the totals, in elements
    // In memory in which that of `at` lies, too.
    void set_room(const layout& at, void* data);

    // Calls reduce(elements, results), which folds along the last axis, for the totals. Returns the first status that is no success.
    template <class Reduce>
    upsweep_status fold_blocks(Reduce reduce) const
    {
        const upsweep_status status = reduce(blocks_, totals_);
        return status == UPSWEEP_OK && is_ordered_later_ ? reduce(single_, ordered_) : status;
    }
    // The totals as lines along the last axis.
    const layout& lines() const { return lines_; }

private:
    layout blocks_;
    layout totals_;
    layout single_; // each total as a line, in the order of lines
    layout ordered_;
    layout lines_;
    std::int64_t count_ = 1;
    bool is_ordered_later_ = false;
    std::size_t bytes_; // of a total
};

} // namespace upsweep::python
