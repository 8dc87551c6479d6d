// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// The asynchronous copies of a thread from global into shared memory (cp.async).
#pragma once

#include "cuda_runtime.h"

UPSWEEP_INLINE void __pipeline_memcpy_async(void* shared, const void* global, std::size_t bytes)
{
    upsweep::simulator::device::pipeline_copy(shared, global, static_cast<unsigned>(bytes));
}
UPSWEEP_INLINE void __pipeline_commit() { upsweep::simulator::device::pipeline_commit(); }
UPSWEEP_INLINE void __pipeline_wait_prior(std::size_t groups)
{
    upsweep::simulator::device::pipeline_wait(static_cast<unsigned>(groups));
}
