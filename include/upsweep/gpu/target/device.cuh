// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include <cuda_runtime.h>

#include <upsweep/error.hpp>

// CUDA's status codes as errors of the library, and the device that is the current one.
namespace upsweep::gpu {

[[noreturn, gnu::cold]] inline void throw_failure(std::string_view call, cudaError_t code)
{
    const bool none = code == cudaErrorNoDevice || code == cudaErrorInsufficientDriver;
    throw error(none ? error_kind::no_device : error_kind::device, call, cudaGetErrorString(code),
                none ? "use the target cpu, or install a driver for the GPU"
                     : "check the calls before it on this stream");
}

inline void check(std::string_view call, cudaError_t code)
{
    if (code != cudaSuccess)
        throw_failure(call, code);
}

// Makes a device the current one as long as it lives.
class current_device {
public:
    explicit current_device(int device) : before_(device), device_(device)
    {
        if (is_only_device())
            return;
        check("cudaGetDevice", cudaGetDevice(&before_));
        if (before_ != device)
            check("cudaSetDevice", cudaSetDevice(device));
    }
    current_device(const current_device&) = delete;
    current_device& operator=(const current_device&) = delete;
    ~current_device()
    {
        if (before_ != device_)
            cudaSetDevice(before_);
    }

private:
    static bool is_only_device()
    {
        static const bool only = [] {
            int devices = 0;
            check("cudaGetDeviceCount", cudaGetDeviceCount(&devices));
            return devices == 1;
        }();
        return only;
    }

    int before_;
    int device_;
};

} // namespace upsweep::gpu
