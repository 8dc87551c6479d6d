// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <upsweep/error.hpp>
#include <upsweep/runtime.h>

// The dimensions of arrays that are taken along an axis.
namespace upsweep::runtime {

inline constexpr std::size_t most_of_caller = 64; // dimensions that an array may be described by

// The dimensions of an array as the caller tells them; strides are in elements.
struct dimensions {
    std::vector<std::size_t> extents;
    std::vector<std::ptrdiff_t> strides;

    std::size_t rank() const { return extents.size(); }
};

inline dimensions dimensions_of(const upsweep_array& array)
{
    const auto rank = static_cast<std::size_t>(array.rank);
    dimensions all{std::vector<std::size_t>(rank), std::vector<std::ptrdiff_t>(rank)};
    std::size_t behind = 1;
    for (std::size_t k = rank; k-- > 0;) {
        all.extents[k] = static_cast<std::size_t>(array.shape[k]);
        all.strides[k] = array.strides != nullptr ? array.strides[k] : static_cast<std::ptrdiff_t>(behind);
        behind *= all.extents[k];
    }
    return all;
}

// Those of an array without gaps that has the extents of another one.
inline dimensions without_gaps(const dimensions& of)
{
    dimensions all = of;
    std::size_t behind = 1;
    for (std::size_t k = all.rank(); k-- > 0; behind *= all.extents[k])
        all.strides[k] = static_cast<std::ptrdiff_t>(behind);
    return all;
}

inline std::size_t checked_axis(const char* call, std::int32_t axis, std::size_t rank)
{
    if (axis < 0 || static_cast<std::size_t>(axis) >= rank)
        throw error(error_kind::invalid_argument, call,
                    "axis " + std::to_string(axis) + " of an array of " + std::to_string(rank) + " dimensions",
                    "number the axes from 0");
    return static_cast<std::size_t>(axis);
}

} // namespace upsweep::runtime
