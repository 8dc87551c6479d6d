// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <upsweep/runtime.h>

namespace upsweep::runtime {

// Whether reductions of elements of a type have the same bits in any order of the elements: those by operators that select one of them, or some of
// their bits, and all of integers, which wrap.
inline bool is_of_any_order(upsweep_op op, upsweep_dtype dtype)
{
    switch (op) {
    case UPSWEEP_MINIMUM:
    case UPSWEEP_MAXIMUM:
    case UPSWEEP_BIT_AND:
    case UPSWEEP_BIT_OR:
    case UPSWEEP_BIT_XOR:
    case UPSWEEP_LOGICAL_AND:
    case UPSWEEP_LOGICAL_OR: return true;
    case UPSWEEP_PLUS:
    case UPSWEEP_MULTIPLIES: return dtype < UPSWEEP_F16;
    default: return false;
    }
}

} // namespace upsweep::runtime
