// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "upsweep/simulator/cuda/warp.h"

namespace upsweep::simulator::cuda {

// One thread's part of a copy that `threads` of them share. It is carried out by cp.async, in the largest pieces that both
// addresses and the size allow, where it goes from global into shared memory; and otherwise at once.
inline void shared_copy(unsigned rank, unsigned threads, void* to, const void* from, std::size_t bytes)
{
    const auto misaligned = reinterpret_cast<std::uintptr_t>(to) | reinterpret_cast<std::uintptr_t>(from) | bytes;
    const unsigned piece = misaligned % 16 == 0 ? 16 : misaligned % 8 == 0 ? 8 : misaligned % 4 == 0 ? 4 : 1;
    const bool is_asynchronous = piece >= 4 && device::is_shared(to) && !device::is_shared(from);
    auto* target = static_cast<char*>(to);
    const auto* source = static_cast<const char*>(from);
    for (std::size_t i = std::size_t{rank} * piece; i < bytes; i += std::size_t{threads} * piece) {
        if (is_asynchronous)
            device::pipeline_copy(target + i, source + i, piece);
        else if (piece == 16)
            *reinterpret_cast<uint4*>(target + i) = *reinterpret_cast<const uint4*>(source + i);
        else if (piece == 8)
            *reinterpret_cast<uint2*>(target + i) = *reinterpret_cast<const uint2*>(source + i);
        else if (piece == 4)
            *reinterpret_cast<unsigned*>(target + i) = *reinterpret_cast<const unsigned*>(source + i);
        else
            target[i] = source[i];
    }
}

} // namespace upsweep::simulator::cuda
