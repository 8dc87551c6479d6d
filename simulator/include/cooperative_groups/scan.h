// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Scans over the threads of a group, in the order of their ranks.
#pragma once

#include "cooperative_groups.h"

namespace cooperative_groups {

template <class Group, class T, class Op>
UPSWEEP_INLINE T inclusive_scan(const Group& group, T value, Op op)
{
    for (unsigned delta = 1; delta < group.size(); delta *= 2) {
        const T before = group.shfl_up(value, delta);
        if (group.thread_rank() >= delta)
            value = op(before, value);
    }
    return value;
}
template <class Group, class T>
UPSWEEP_INLINE T inclusive_scan(const Group& group, T value)
{
    return inclusive_scan(group, value, plus<T>());
}
template <class Group, class T, class Op>
UPSWEEP_INLINE T exclusive_scan(const Group& group, T value, Op op)
{
    const T before = group.shfl_up(inclusive_scan(group, value, op), 1);
    return group.thread_rank() == 0 ? T{} : before;
}
template <class Group, class T>
UPSWEEP_INLINE T exclusive_scan(const Group& group, T value)
{
    return exclusive_scan(group, value, plus<T>());
}

} // namespace cooperative_groups
