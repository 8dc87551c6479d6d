// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "session.hpp"

namespace bench {

// Programs that only read so many bytes, a multiple of 16, or only copy them.
std::vector<contender> read_roofs(cudaStream_t stream, const void* in, std::size_t bytes);
std::vector<contender> copy_roofs(cudaStream_t stream, const void* in, void* out, std::size_t bytes);
// Programs that read the one and write the other, a multiple of 16 bytes each.
std::vector<contender> read_and_write_roofs(cudaStream_t stream, const void* in, std::size_t in_bytes, void* out,
                                            std::size_t out_bytes);

// Keeps the stream busy while the host puts some launches on it.
void hold(cudaStream_t stream);

} // namespace bench
