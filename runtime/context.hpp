// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include <upsweep/runtime.h>
#include <upsweep/target.hpp>

#include "array.hpp"
#include "gpu/engine.hpp"

namespace upsweep::runtime {

// Where calls are carried out. What is created with a context keeps a copy.
struct execution {
    cpu host;                         // does all of the work, or brings the elements to the GPU
    std::shared_ptr<gpu::device> gpu; // null: the CPU
    std::uint64_t gpu_memory = 0;     // bytes that elements on their way may take; 0: as much as the engine thinks
    std::shared_ptr<std::atomic<bool>> in_use; // null: by as many threads as there are

    // Whether the GPU reads and writes the elements where they lie, or else the host. UPSWEEP_UNREACHABLE where neither can.
    bool lies_on_gpu(const char* call, const elements& where) const;
};

// What the caller has passed as a context, which may be null.
execution execution_of(const upsweep_context* context);

// Keeps a context to this thread while it lives. UPSWEEP_BUSY where it is another's.
class in_use {
public:
    explicit in_use(const execution& where);
    in_use(const in_use&) = delete;
    in_use& operator=(const in_use&) = delete;
    ~in_use();

private:
    std::atomic<bool>* taken_;
};

} // namespace upsweep::runtime

struct upsweep_context {
    upsweep::runtime::execution where;
    int device = 0;
    // Streams that have been used: a program that goes back and forth between some finds its workspaces again.
    std::vector<std::pair<void*, std::shared_ptr<upsweep::runtime::gpu::device>>> streams;
};
