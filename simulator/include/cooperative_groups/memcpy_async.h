// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Copies that the threads of a group share, and that each thread carries out as cp.async where sizes and alignment allow it.
#pragma once

#include "cooperative_groups.h"
#include "cuda_pipeline.h"
#include "upsweep/simulator/cuda/shared_copy.h"

namespace cooperative_groups {

// The number of bytes is a plain number, or cuda::aligned_size_t<N>.
template <class Group, class T, class Bytes>
UPSWEEP_INLINE void memcpy_async(const Group& group, T* to, const T* from, const Bytes& bytes)
{
    upsweep::simulator::cuda::shared_copy(group.thread_rank(), group.size(), to, from, static_cast<std::size_t>(bytes));
    __pipeline_commit();
}
// The numbers of elements to which there is room, and that there are.
template <class Group, class T, class To, class From>
UPSWEEP_INLINE void memcpy_async(const Group& group, T* to, const To& room, const T* from, const From& count)
{
    const std::size_t least = static_cast<std::size_t>(room) < static_cast<std::size_t>(count)
                                  ? static_cast<std::size_t>(room)
                                  : static_cast<std::size_t>(count);
    memcpy_async(group, to, from, least * sizeof(T));
}
template <class Group>
UPSWEEP_INLINE void wait(const Group& group)
{
    __pipeline_wait_prior(0);
    group.sync();
}
template <unsigned Stages, class Group>
UPSWEEP_INLINE void wait_prior(const Group& group)
{
    __pipeline_wait_prior(Stages);
    group.sync();
}

} // namespace cooperative_groups
