// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include <cuda_runtime.h>
#include <upsweep/runtime.h>

// The C ABI beside the C++ face, on the same arrays in memory of the GPU.
namespace bench::c_abi {

// A call by both faces, which write `result_bytes` to results of their own.
struct pair_of_calls {
    std::string verb;
    std::size_t bytes; // what the algorithm must move
    std::size_t result_bytes;
    std::function<void(void* result)> cpp;
    std::function<upsweep_status(void* result)> c;
};

// What measures: all pairs of a type and a number of elements.
using measure = std::function<void(const std::string& type, std::size_t n, const std::vector<pair_of_calls>&)>;

// Each element type is compiled on its own.
using run_type = void (*)(cudaStream_t stream, upsweep_context* context, const std::vector<std::size_t>& sizes,
                          const measure& each);
std::vector<run_type>& all_types();

struct registered {
    explicit registered(run_type run) { all_types().push_back(run); }
};

} // namespace bench::c_abi
