// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>

#include <upsweep/view.hpp>

#include "../../array.hpp"
#include "kernels.hpp"

namespace upsweep::runtime::gpu {

// Returns the extents, or strides, of the last few dimensions.
template <class Number>
std::array<Number, few_dimensions> last_of(const std::array<Number, most_dimensions>& all)
{
    std::array<Number, few_dimensions> last;
    std::ranges::copy(std::span(all).last(few_dimensions), last.begin());
    return last;
}

// Returns the elements as a view. They lie at strides in few dimensions, which are the last ones.
template <class T>
view<const T, few_dimensions> view_of(const elements& of)
{
    return {reinterpret_cast<const T*>(of.data), last_of(of.extents), last_of(of.strides)};
}

} // namespace upsweep::runtime::gpu
