// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>
#include <limits>
#include <type_traits>

#include <upsweep/op.hpp>
#include <upsweep/qualifiers.hpp>

// Maxima of doubles, folded as integers. A GPU has no instruction for them: compared as doubles, so that NaN wins and -0.0 is less than
// +0.0, they take three comparisons each at half the rate of integers' two. So a scan, which applies its operator several times
// to each element, converts an element once and folds integers. (Minima folded so were up to 7 % slower: where NaN comes before all
// others, or places run the other way round, conversions take longer.)
namespace upsweep::gpu {

// A double whose integer is its place in the order of doubles: -infinity, ..., -0.0, +0.0, ..., +infinity, and then NaN, of which there is
// one. It is no element type for users: arrays of doubles are read as arrays of these.
struct ordered_double {
    double value;

    ordered_double() = default;
    explicit constexpr ordered_double(double number) : value(number) {}
    UPSWEEP_HOST_DEVICE explicit constexpr ordered_double(std::int64_t place)
        : value(std::bit_cast<double>(in_order(place)))
    {
    }
    UPSWEEP_HOST_DEVICE explicit constexpr operator std::int64_t() const
    {
        const double number = value != value ? std::numeric_limits<double>::quiet_NaN() : value;
        return in_order(std::bit_cast<std::int64_t>(number));
    }

private:
    // The bits of positive doubles are in order as integers, and so is the quiet NaN, behind infinity. Those of negative doubles, but for
    // the sign, are in reverse order.
    UPSWEEP_HOST_DEVICE static constexpr std::int64_t in_order(std::int64_t bits)
    {
        return bits ^ (bits >> 63 & std::numeric_limits<std::int64_t>::max());
    }
};

// Whether a scan of an array into another folds doubles so.
template <class Op, class Source, class Out>
inline constexpr bool folds_ordered_doubles = std::is_same_v<Op, maximum>&& std::is_same_v<Out, double*> &&
                                              (std::is_same_v<Source, double*> ||
                                               std::is_same_v<Source, const double*>);

} // namespace upsweep::gpu
