// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <upsweep/engine.hpp>

namespace upsweep {

// The CPU: `threads` of them, or all that oneTBB would use where it is 0. Results do not depend on the number.
struct cpu {
    int threads = 0;
};

template <>
inline constexpr bool is_target<cpu> = true;

} // namespace upsweep

#ifdef __CUDACC__
#include <upsweep/gpu/target/cuda.cuh>
#endif
