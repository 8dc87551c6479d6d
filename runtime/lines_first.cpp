// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "lines_first.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <utility>
#include <vector>

#include "any_order.hpp"
#include "engine.hpp"

namespace upsweep::runtime {

namespace {

struct dimension {
    std::int64_t extent;
    std::int64_t stride; // in elements
};

std::vector<dimension> dimensions_of(const elements& of)
{
    std::vector<dimension> all;
    for (std::size_t k = 0; k < most_dimensions; ++k)
        if (of.extents[k] != 1)
            all.push_back({static_cast<std::int64_t>(of.extents[k]), of.strides[k]});
    return all;
}

// Whether the same element may be folded any number of times.
bool is_idempotent(upsweep_op op)
{
    return op != UPSWEEP_PLUS && op != UPSWEEP_MULTIPLIES && op != UPSWEEP_BIT_XOR && op != UPSWEEP_LOG_SUM_EXP;
}

// The elements from the lowest one in memory on, those of the last dimension being the closest. Neighbours that lie as one dimension would are made
// one, and elements that stand for several are taken once where that does not matter.
std::vector<dimension> in_order_of_memory(upsweep_op op, elements& of)
{
    std::vector<dimension> all = dimensions_of(of);
    for (dimension& each : all)
        if (each.stride < 0) {
            of.data += (each.extent - 1) * each.stride * static_cast<std::int64_t>(of.bytes());
            each.stride = -each.stride;
        }
    if (is_idempotent(op))
        std::erase_if(all, [](const dimension& each) { return each.stride == 0; });
    std::ranges::stable_sort(all, [](const dimension& a, const dimension& b) { return a.stride > b.stride; });
    for (std::size_t k = all.size(); k-- > 1;)
        if (all[k - 1].stride == all[k].extent * all[k].stride) {
            all[k - 1] = {all[k - 1].extent * all[k].extent, all[k].stride};
            all.erase(all.begin() + static_cast<std::ptrdiff_t>(k));
        }
    return all;
}

// Folds the lines along a dimension.
equal_fold fold_lines(const char* call, const cpu& host, upsweep_op op, const elements& in,
                      const std::vector<dimension>& dimensions, std::size_t axis)
{
    std::vector<std::int64_t> extents;
    std::vector<std::int64_t> strides;
    std::vector<std::int64_t> of_folds;
    std::uint64_t count = 1;
    for (std::size_t k = 0; k < dimensions.size(); ++k) {
        extents.push_back(dimensions[k].extent);
        strides.push_back(dimensions[k].stride);
        if (k == axis)
            continue;
        of_folds.push_back(dimensions[k].extent);
        count *= static_cast<std::uint64_t>(dimensions[k].extent);
    }
    equal_fold result;
    const upsweep_dtype dtype = result_dtype_of(op, in.dtype);
    result.of = words_without_gaps(result.memory, upsweep_dtype_size(dtype), count);
    result.of.dtype = dtype;
    const auto rank = static_cast<std::int32_t>(dimensions.size());
    const upsweep_array lines{in.data, in.dtype, in.memory, in.device, rank, extents.data(), strides.data()};
    const upsweep_array folds{result.of.data, result.of.dtype, UPSWEEP_HOST, 0, rank - 1, of_folds.data(), nullptr};
    reduce_along(call, host, op, lines, axis, folds);
    return result;
}

} // namespace

std::optional<equal_fold> fold_lines_first(const char* call, const cpu& host, upsweep_op op, const elements& in)
{
    constexpr std::uint64_t few_elements = std::uint64_t{1} << 14;
    if (in.count < few_elements || in.is_contiguous())
        return std::nullopt;
    const upsweep_dtype folded = result_dtype_of(op, in.dtype);
    if (is_of_any_order(op, in.dtype)) {
        equal_fold result{nullptr, in};
        const std::vector<dimension> all = in_order_of_memory(op, result.of);
        if (all.empty() || (all.size() == 1 && all[0].stride == 1)) {
            const std::size_t count = all.empty() ? 1 : static_cast<std::size_t>(all[0].extent);
            result.of.count = count;
            result.of.extents.fill(1);
            result.of.extents.back() = count;
            result.of.strides.fill(1);
            return result;
        }
        constexpr std::int64_t long_row = 64;
        std::size_t axis = all.size() - 1;
        if (all[axis].extent < long_row)
            axis = static_cast<std::size_t>(std::ranges::max_element(all, {}, &dimension::extent) - all.begin());
        if (all.size() == 1 || all[axis].extent < long_row)
            return std::nullopt;
        return fold_lines(call, host, op, result.of, all, axis);
    }
    if (op == UPSWEEP_LOG_SUM_EXP || folded != accumulator_dtype_of(op, in.dtype)) // which are more than their results
        return std::nullopt;
    std::vector<dimension> all = dimensions_of(in);
    const dimension last = all.back();
    const bool is_turned =
        std::ranges::any_of(all, [&](const dimension& each) { return std::abs(each.stride) < std::abs(last.stride); });
    const std::int64_t block = last.extent & -last.extent;
    const bool saves_memory =
        block * static_cast<std::int64_t>(in.bytes()) >= 4 * static_cast<std::int64_t>(upsweep_dtype_size(folded));
    if (!is_turned || !saves_memory)
        return std::nullopt;
    if (block != last.extent && all.size() == most_dimensions)
        return std::nullopt;
    if (block != last.extent) {
        all.back().extent /= block;
        all.back().stride *= block;
        all.push_back({block, last.stride});
    }
    return fold_lines(call, host, op, in, all, all.size() - 1);
}

} // namespace upsweep::runtime
