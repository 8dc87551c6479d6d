// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Reductions over the threads of a group, each of which gets the result.
#pragma once

#include <atomic>

#include "cooperative_groups.h"

namespace cooperative_groups {

template <unsigned Size, class Parent, class T, class Op>
UPSWEEP_INLINE T reduce(const thread_block_tile<Size, Parent>& tile, T value, Op op)
{
    for (unsigned lanes = Size / 2; lanes > 0; lanes /= 2)
        value = op(value, tile.shfl_xor(value, lanes));
    return value;
}

// Any number of lanes: each takes over the value of the one `delta` ranks above it, if there is one.
template <class T, class Op>
UPSWEEP_INLINE T reduce(const coalesced_group& group, T value, Op op)
{
    for (unsigned delta = 16; delta > 0; delta /= 2) {
        const T above = group.shfl_down(value, delta);
        if (group.thread_rank() + delta < group.size())
            value = op(value, above);
    }
    return group.shfl(value, 0);
}

// The first thread of the group adds the group's result to an atomic, or stores it there.
template <class Group, class Atomic, class T, class Op>
UPSWEEP_INLINE void reduce_store_async(const Group& group, Atomic& to, T value, Op op)
{
    const T all = reduce(group, value, op);
    if (group.thread_rank() == 0)
        to.store(all, std::memory_order_relaxed);
}
template <class Group, class Atomic, class T, class U>
UPSWEEP_INLINE void reduce_update_async(const Group& group, Atomic& to, T value, plus<U> op)
{
    const T all = reduce(group, value, op);
    if (group.thread_rank() == 0)
        to.fetch_add(all, std::memory_order_relaxed);
}

} // namespace cooperative_groups
