// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstring>
#include <optional>

#include <upsweep/op.hpp>

#include "shapes.hpp"

namespace upsweep::runtime {

// The initial value of scans of elements of type T, if there is one, in the type in which they are folded.
template <class T, class Acc>
std::optional<Acc> init_of(const scan_start& start)
{
    if (start.init == nullptr)
        return std::nullopt;
    T init;
    std::memcpy(&init, start.init, sizeof init);
    return convert<Acc>(init);
}

} // namespace upsweep::runtime
