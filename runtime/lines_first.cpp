// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "lines_first.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "any_order.hpp"
#include "engine.hpp"

namespace upsweep::runtime {

namespace {

// The elements from the lowest one in memory on, in the order of memory. Those that stand for several are taken once where that does not matter.
elements from_the_lowest_on(upsweep_op op, const elements& of)
{
    elements all = of;
    for (std::size_t k = 0; k < most_dimensions; ++k) {
        if (all.strides[k] == 0 && is_idempotent(op)) {
            all.count /= all.extents[k];
            all.extents[k] = 1;
        }
        if (all.extents[k] != 1 && all.strides[k] < 0) {
            const auto steps = static_cast<std::ptrdiff_t>(all.extents[k]) - 1;
            all.data += steps * all.strides[k] * static_cast<std::ptrdiff_t>(all.bytes());
            all.strides[k] = -all.strides[k];
        }
    }
    return in_order_of_strides(all);
}

// Folds the lines along a dimension, which is not of extent 1.
equal_fold fold_lines(const char* call, const cpu& host, upsweep_op op, const elements& in, std::size_t axis)
{
    std::array<std::int64_t, most_dimensions> extents;
    std::array<std::int64_t, most_dimensions> strides;
    std::array<std::int64_t, most_dimensions> of_folds; // extents, without that of the axis
    std::int32_t rank = 0;
    std::size_t along = 0;
    std::uint64_t folds = 1;
    for (std::size_t k = 0; k < most_dimensions; ++k) {
        if (in.extents[k] == 1)
            continue;
        extents[static_cast<std::size_t>(rank)] = static_cast<std::int64_t>(in.extents[k]);
        strides[static_cast<std::size_t>(rank)] = in.strides[k];
        if (k == axis)
            along = static_cast<std::size_t>(rank);
        else
            folds *= in.extents[k];
        ++rank;
    }
    const auto behind = std::copy_n(extents.begin(), along, of_folds.begin());
    std::copy(extents.begin() + static_cast<std::ptrdiff_t>(along) + 1, extents.begin() + rank, behind);
    equal_fold result;
    result.of = elements_without_gaps(result.memory, result_dtype_of(op, in.dtype), folds);
    const upsweep_array lines{in.data, in.dtype, in.memory, in.device, rank, extents.data(), strides.data()};
    const upsweep_array to{result.of.data, result.of.dtype, UPSWEEP_HOST, 0, rank - 1, of_folds.data(), nullptr};
    reduce_along(call, host, op, lines, along, to);
    return result;
}

} // namespace

std::optional<equal_fold> fold_lines_first(const char* call, const cpu& host, upsweep_op op, const elements& in)
{
    constexpr std::uint64_t few_elements = std::uint64_t{1} << 14;
    constexpr std::size_t last = most_dimensions - 1;
    if (in.count < few_elements || in.is_contiguous())
        return std::nullopt;
    if (is_of_any_order(op, in.dtype)) {
        constexpr std::size_t long_row = 64;
        const elements all = from_the_lowest_on(op, in);
        if (all.is_contiguous())
            return equal_fold{nullptr, all};
        const auto longest = std::ranges::max_element(all.extents) - all.extents.begin();
        const std::size_t axis = all.extents[last] >= long_row ? last : static_cast<std::size_t>(longest);
        if (all.extents[last - 1] == 1 || all.extents[axis] < long_row)
            return std::nullopt;
        return fold_lines(call, host, op, all, axis);
    }
    const upsweep_dtype folded = result_dtype_of(op, in.dtype);
    if (op == UPSWEEP_LOG_SUM_EXP || folded != accumulator_dtype_of(op, in.dtype)) // which are more than their results
        return std::nullopt;
    bool is_turned = false;
    for (std::size_t k = 0; k < last; ++k)
        is_turned = is_turned || (in.extents[k] != 1 && std::abs(in.strides[k]) < std::abs(in.strides[last]));
    const std::size_t block = in.extents[last] & (~in.extents[last] + 1);
    const bool saves_memory = block * in.bytes() >= 4 * upsweep_dtype_size(folded);
    const bool is_whole = block == in.extents[last];
    if (!is_turned || !saves_memory || (!is_whole && in.extents[0] != 1))
        return std::nullopt;
    elements blocks = in;
    if (!is_whole) { // a dimension more, in the place of the first
        std::shift_left(blocks.extents.begin(), blocks.extents.end(), 1);
        std::shift_left(blocks.strides.begin(), blocks.strides.end(), 1);
        blocks.extents[last - 1] = in.extents[last] / block;
        blocks.strides[last - 1] = in.strides[last] * static_cast<std::ptrdiff_t>(block);
        blocks.extents[last] = block;
        blocks.strides[last] = in.strides[last];
    }
    return fold_lines(call, host, op, blocks, last);
}

} // namespace upsweep::runtime
