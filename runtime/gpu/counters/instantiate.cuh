// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "../fold.hpp"
#include "../streaming.cuh"

// The histograms of libupsweep whose samples are compared with edges in one type. The files of this folder include it,
// and no others.
namespace upsweep::runtime::gpu {

template <class Sample, class Bins>
std::unique_ptr<any_counter> make_counter_of(const counter_request& request, const Bins& bins)
{
    return std::make_unique<chunk_counter<Sample, Bins>>(request, bins);
}

} // namespace upsweep::runtime::gpu

#define UPSWEEP_COUNT(Sample, Bins)                                                                                    \
    template std::unique_ptr<upsweep::runtime::any_counter> upsweep::runtime::gpu::make_counter_of<Sample, Bins>(      \
        const counter_request&, const Bins&)
