// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <upsweep/error.hpp>
#include <upsweep/runtime.h>

#include "array.hpp"
#include "call.hpp"
#include "fold.hpp"
#include "shapes.hpp"

// Where segments begin and end, as callers of the C ABI tell.
namespace upsweep::runtime {

// Offsets as 64-bit numbers: those of 32 bits are copied.
class segment_bounds {
public:
    segment_bounds(const cpu& host, const elements& of) : all_(host, of)
    {
        if (of.bytes() == sizeof(std::uint64_t)) {
            bounds_ = {reinterpret_cast<const std::uint64_t*>(all_.data()), of.count};
            return;
        }
        wide_.resize(of.count);
        convert_elements(of.dtype, all_.data(), UPSWEEP_U64, wide_.data(), of.count);
        bounds_ = wide_;
    }

    std::span<const std::uint64_t> get() const { return bounds_; }

private:
    side_by_side all_;
    std::vector<std::uint64_t> wide_;
    std::span<const std::uint64_t> bounds_;
};

inline elements checked_bounds(const char* call, const upsweep_array* offsets)
{
    const elements all = checked_elements(call, "the array of offsets", offsets);
    const bool is_known =
        all.dtype == UPSWEEP_I32 || all.dtype == UPSWEEP_I64 || all.dtype == UPSWEEP_U32 || all.dtype == UPSWEEP_U64;
    if (!is_known)
        throw error(error_kind::invalid_argument, call,
                    std::string("the offsets are of type ") + upsweep_dtype_name(all.dtype),
                    "give integers of 32 or 64 bits");
    return all;
}

inline void check_are_offsets(const char* call, const elements& bounds)
{
    require(bounds.count != 0, call, "there are no offsets",
            "give one offset more than there are segments: 0, ..., the number of elements");
}

// Refuses bounds by which all segments together lie elsewhere than in the array. What is between the first and the last is taken
// on trust.
inline void check_ends(const char* call, std::span<const std::uint64_t> bounds, std::uint64_t count)
{
    if (bounds.front() > bounds.back() || bounds.back() > count)
        throw error(error_kind::invalid_argument, call,
                    "the segments lie between " + std::to_string(static_cast<std::int64_t>(bounds.front())) + " and " +
                        std::to_string(static_cast<std::int64_t>(bounds.back())) + " of " + std::to_string(count) +
                        " elements",
                    "offsets ascend from 0 or more to at most the number of elements");
}

} // namespace upsweep::runtime
