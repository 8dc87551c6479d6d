// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <upsweep/gpu/histogram/cluster.cuh>
#include <upsweep/gpu/histogram/counters.cuh>
#include <upsweep/gpu/histogram/partitioned.cuh>
#include <upsweep/gpu/target/cuda.cuh>

// Histogram whose table is too large for the shared memory of a block: for two blocks of a cluster, or part by part.
namespace upsweep::gpu {

// `available` are the bytes of shared memory that a block has for counters.
template <class It, class Finder, class Counter>
void large_histogram(const cuda& target, It in, std::uint64_t count, const Finder& finder, bin_index all_bins,
                     std::size_t available, const histogram_result<Counter>& result)
{
    if (cluster_has_room<It, Finder, Counter>(target, all_bins, available))
        cluster_histogram(target, in, count, finder, all_bins, result);
    else
        partitioned_histogram(target, in, count, finder, result);
}

} // namespace upsweep::gpu
