// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace upsweep::gpu {

// What is found out once for each device; zero before. Host threads that do so at once find the same. (By the
// compiler's builtins, since <atomic> would take nvcc a fifth of a second.)
class known_of_devices {
public:
    unsigned of(int device) const { return __atomic_load_n(&value_[place(device)], __ATOMIC_ACQUIRE); }
    void set(int device, unsigned value) { __atomic_store_n(&value_[place(device)], value, __ATOMIC_RELEASE); }

private:
    static constexpr std::size_t devices = 64;
    static std::size_t place(int device) { return static_cast<std::size_t>(device) % devices; }

    unsigned value_[devices] = {};
};

// Kernels that were loaded at run time, for an operator that was compiled then. A program has the code that launches
// kernels of its type, but not the kernels: they are launched in place of the host's stubs, with the same parameters.
class loaded_kernels {
public:
    struct kernel {
        const void* handle = nullptr; // a cudaKernel_t, which CUDA's functions take in place of a stub
        known_of_devices resident_blocks;
        known_of_devices all_shared_bytes; // whether it has been allowed them
    };

    // The kernel in place of a stub. Where none is loaded it throws what the program chooses, and the kernel is not launched.
    virtual kernel& in_place_of(const void* stub) = 0;

protected:
    ~loaded_kernels() = default;
};

} // namespace upsweep::gpu
