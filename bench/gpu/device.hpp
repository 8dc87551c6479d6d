// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include <cuda_runtime.h>

namespace bench {

inline void check(cudaError_t code, const char* call)
{
    if (code != cudaSuccess)
        throw std::runtime_error(std::string(call) + ": " + cudaGetErrorString(code));
}

// Memory of the GPU.
class device_memory {
public:
    explicit device_memory(std::size_t bytes) : bytes_(bytes)
    {
        check(cudaMalloc(&first_, bytes == 0 ? 1 : bytes), "cudaMalloc");
    }
    device_memory(const device_memory&) = delete;
    device_memory& operator=(const device_memory&) = delete;
    ~device_memory() { cudaFree(first_); }

    std::size_t bytes() const { return bytes_; }
    template <class T = std::byte>
    T* data() const
    {
        return static_cast<T*>(first_);
    }

private:
    void* first_ = nullptr;
    std::size_t bytes_;
};

// What is at `from`, once all work before it is done; bool as bytes, which a vector has side by side.
template <class T>
auto to_host(const T* from, std::size_t count)
{
    std::vector<std::conditional_t<std::is_same_v<T, bool>, unsigned char, T>> values(count);
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    check(cudaMemcpy(values.data(), from, count * sizeof(T), cudaMemcpyDeviceToHost), "cudaMemcpy");
    return values;
}

} // namespace bench
