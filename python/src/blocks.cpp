// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "blocks.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>

#include "any_order.hpp"

namespace upsweep::python {

using runtime::is_of_any_order;

bool lie_as_one_axis(const layout& at, std::uint64_t axes)
{
    std::optional<std::int64_t> behind; // how far apart elements of the axis before would have to lie
    for (int k = at.rank(); k-- > 0;) {
        if ((axes >> k & 1) == 0 || at.shape[k] == 1)
            continue;
        if (behind && at.strides[k] != *behind)
            return false;
        behind = at.shape[k] * at.strides[k];
    }
    return true;
}

void append_lines(layout& lines, const layout& at, std::uint64_t axes)
{
    std::int64_t extent = 1;
    std::int64_t stride = 1;
    for (int k = 0; k < at.rank(); ++k) {
        if ((axes >> k & 1) == 0) {
            lines.append(at.shape[k], at.strides[k]);
            continue;
        }
        extent *= at.shape[k];
        if (at.shape[k] != 1)
            stride = at.strides[k]; // of the last one
    }
    lines.append(extent, stride);
}

void append_kept(layout& results, std::uint64_t axes, bool keeps_dimensions, const layout& to)
{
    for (int k = 0; k < to.rank(); ++k)
        if (!keeps_dimensions || (axes >> k & 1) == 0)
            results.append(to.shape[k], to.strides[k]);
}

void begin_beside(layout& of, const layout& other, void* data, upsweep_dtype dtype)
{
    of.begin(data, dtype);
    of.array.memory = other.array.memory;
    of.array.device = other.array.device;
}

first_blocks blocks_to_fold_first(const layout& at, std::uint64_t axes, upsweep_op op, upsweep_dtype folded)
{
    constexpr int most_rank = most_dimensions_of_library - 2; // for two more dimensions
    if (op == UPSWEEP_LOG_SUM_EXP || at.rank() > most_rank || lie_as_one_axis(at, axes))
        return {};
    first_blocks first;
    std::optional<std::int64_t> behind;
    for (int k = at.rank(); k-- > 0;) {
        if ((axes >> k & 1) == 0 || at.shape[k] == 1)
            continue;
        if (!behind)
            first.stride = at.strides[k];
        else if (at.strides[k] != *behind)
            break;
        behind = at.shape[k] * at.strides[k];
        first.length *= at.shape[k];
        first.axes |= std::uint64_t{1} << k;
    }
    // Elements that are converted first are folded as what they are then.
    if (!is_of_any_order(op, is_float(folded) ? folded : at.array.dtype)) {
        const std::int64_t block = first.length & -first.length;
        first.blocks = first.length / block;
        first.length = block;
    }
    // Results that take more than half of the memory of the elements save little.
    const bool are_worth_it = static_cast<std::size_t>(first.length) * lib().dtype_size(at.array.dtype) >=
                              2 * static_cast<std::size_t>(lib().dtype_size(folded));
    return are_worth_it ? first : first_blocks{};
}

fold_by_blocks::fold_by_blocks(const layout& at, std::uint64_t axes, const first_blocks& first, upsweep_dtype of_totals)
    : bytes_(lib().dtype_size(of_totals))
{
    // A dimension for each of the elements, of extent 1 where blocks are whole lines, and one for the blocks behind them.
    const int rank = at.rank();
    std::int64_t extents[most_dimensions_of_library]{};
    std::int64_t strides[most_dimensions_of_library]{};
    const auto is_folded = [&](int k) { return k == rank || (axes >> k & 1) != 0; };
    for (int k = 0; k < rank; ++k)
        extents[k] = (first.axes >> k & 1) != 0 ? 1 : at.shape[k];
    extents[rank] = first.blocks;
    std::int64_t length = 1; // of a line
    for (int k = rank; k >= 0; --k) {
        strides[k] = count_;
        count_ *= extents[k];
        length *= is_folded(k) ? extents[k] : 1;
    }
    std::int64_t stride = 1; // of a line
    bool lie_as_one = true;
    std::optional<std::int64_t> behind;
    for (int k = rank; k >= 0; --k) {
        if (!is_folded(k) || extents[k] == 1)
            continue;
        if (!behind)
            stride = strides[k];
        else
            lie_as_one = lie_as_one && strides[k] == *behind;
        behind = extents[k] * strides[k];
    }
    std::int64_t strides_of_lines[most_dimensions_of_library]{};
    std::copy_n(strides, rank + 1, strides_of_lines);
    if (!lie_as_one) {
        stride = 1;
        std::int64_t side_by_side = 1;
        for (const bool are_folded : {true, false})
            for (int k = rank; k >= 0; --k)
                if (is_folded(k) == are_folded) {
                    strides_of_lines[k] = side_by_side;
                    side_by_side *= extents[k];
                }
        constexpr std::size_t few = 8; // the elements take so many times the memory
        is_ordered_later_ = static_cast<std::size_t>(first.length) * lib().dtype_size(at.array.dtype) >= few * bytes_;
        if (!is_ordered_later_)
            std::copy_n(strides_of_lines, rank + 1, strides);
    }

    begin_beside(blocks_, at, at.array.data, at.array.dtype);
    for (layout* of : {&totals_, &single_, &ordered_, &lines_})
        of->begin(nullptr, of_totals);
    for (int k = 0; k < rank; ++k) {
        blocks_.append(extents[k], at.strides[k]);
        totals_.append(extents[k], strides[k]);
        if (!is_folded(k))
            lines_.append(extents[k], strides_of_lines[k]);
    }
    if (first.blocks != 1) {
        blocks_.append(first.blocks, first.length * first.stride);
        totals_.append(first.blocks, strides[rank]);
    }
    blocks_.append(first.length, first.stride);
    lines_.append(length, stride);
    for (const bool are_folded : {false, true})
        for (int k = 0; k <= rank; ++k)
            if (is_folded(k) == are_folded) {
                single_.append(extents[k], strides[k]);
                ordered_.append(extents[k], strides_of_lines[k]);
            }
    single_.append(1, 1);
}

void fold_by_blocks::set_room(const layout& at, void* data)
{
    for (layout* of : {&totals_, &single_, &ordered_, &lines_}) {
        of->array.data = data;
        of->array.memory = at.array.memory;
        of->array.device = at.array.device;
    }
    if (is_ordered_later_)
        ordered_.array.data = lines_.array.data = static_cast<char*>(data) + static_cast<std::size_t>(count_) * bytes_;
}

} // namespace upsweep::python
