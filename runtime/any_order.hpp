// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <upsweep/runtime.h>

namespace upsweep::runtime {

inline bool is_logical(upsweep_op op) { return op == UPSWEEP_LOGICAL_AND || op == UPSWEEP_LOGICAL_OR; }
inline bool is_extremum(upsweep_op op) { return op == UPSWEEP_MINIMUM || op == UPSWEEP_MAXIMUM; }
// Whether the same element may be folded any number of times.
inline bool is_idempotent(upsweep_op op)
{
    return is_logical(op) || is_extremum(op) || op == UPSWEEP_BIT_AND || op == UPSWEEP_BIT_OR;
}

// Whether reductions of elements of a type have the same bits in any order of the elements: those by operators that select one of them, or some of
// their bits, and all of integers, which wrap.
inline bool is_of_any_order(upsweep_op op, upsweep_dtype dtype)
{
    if (op == UPSWEEP_PLUS || op == UPSWEEP_MULTIPLIES)
        return dtype < UPSWEEP_F16;
    return is_idempotent(op) || op == UPSWEEP_BIT_XOR;
}

} // namespace upsweep::runtime
