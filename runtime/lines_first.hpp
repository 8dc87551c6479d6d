// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include <upsweep/runtime.h>
#include <upsweep/target.hpp>

#include "array.hpp"
#include "shapes.hpp"

namespace upsweep::runtime {

// Elements that are folded in place of those of an array, with the same bits: its own in the order of memory, or the folds of its lines.
struct equal_fold {
    unwritten_memory memory; // of such folds
    elements of;
};

// Finds them for an array that the CPU reaches, whose neighbours lie apart or whose rows have gaps between them: where any order gives the same
// bits, those of memory, or else blocks of a power of two, which are folded alone in any case (docs/fold-order.md). Folding lines
// reads memory as it lies, and by all threads; returns nothing where elements that are gathered in their order are folded in less time.
std::optional<equal_fold> fold_lines_first(const char* call, const cpu& host, upsweep_op op, const elements& in);

} // namespace upsweep::runtime
