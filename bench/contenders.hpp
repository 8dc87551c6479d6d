// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "numpy_peer.hpp"
#include "session.hpp"

namespace bench {

// The roofs, on the very memory that the other contenders work on.
std::vector<contender> read_roofs(std::span<const std::byte> in);
std::vector<contender> copy_roofs(std::span<const std::byte> in, std::span<std::byte> out);
std::vector<contender> update_roofs(std::span<std::byte> data);

struct versions {
    std::string upsweep;
    std::string compiler; // of the standard library's algorithms and of plain loops
    std::string tbb;
    std::string boost;
};
const versions& versions_in_use();

// One file an algorithm.
void measure_reduce(session& run, numpy_peer& numpy);
void measure_scan(session& run, numpy_peer& numpy);
void measure_histogram(session& run, numpy_peer& numpy);
void measure_shapes(session& run, numpy_peer& numpy);
void measure_file(session& run);
void measure_text(session& run);

} // namespace bench
