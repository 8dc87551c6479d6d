// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// CUDA C++ to C++. nvcc has a syntax of its own for launches, compiles functions for the device and for the host apart, and
// gives each kernel a stub on the host that launches it. This does the same to the output of the preprocessor:
//
//   kernel<<<grid, block>>>(a, b)           (configure(grid, block), kernel(a, b))
//   __global__ void kernel(T* a) { body }   void kernel(T* a) { the stub, which runs [=]() mutable { body } in each thread }
//   asm("mov.u32 %0, %laneid;" : "=r"(x));  x = the simulator's function for it
//
// Whatever is called as `kernel(a, b)` can so be launched: templates with deduced arguments, pointers to kernels, members of
// tables, and with arguments that convert.
#pragma once

#include <stdexcept>
#include <string>

namespace lab::program {

// A source that is not CUDA; the message has its file and line.
struct syntax_error : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// The source that a C++ compiler takes, with line markers of the original. `host` is preprocessed without __CUDA_ARCH__
// and `device` with it, as nvcc does; they may be the same. Each function's body comes from the side that runs it.
std::string translated(const std::string& host, const std::string& device);

} // namespace lab::program
