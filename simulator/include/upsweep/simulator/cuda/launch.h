// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Launches a kernel. Its arguments are kept while the grid runs, and every thread calls it with copies of them.
#pragma once

#include <cstring>
#include <tuple>
#include <type_traits>
#include <utility>

#include "upsweep/simulator/cuda/runtime_api.h"

namespace upsweep::simulator::cuda {

struct launch_shape {
    dim3 grid, block;
    std::size_t dynamic_shared = 0;
    cudaStream_t stream = nullptr;
    dim3 cluster{1, 1, 1};
    bool cooperative = false;
    const char* name = nullptr;     // of the kernel, where its address does not tell it
    std::uintptr_t launched_at = 0; // the instruction of the host, where it is known
};

// Runs the grid to its end. The error is also the thread's last error, as after a launch by <<<>>>.
cudaError_t run_grid(const void* kernel, const launch_shape& shape, void (*run)(void*), void* arguments,
                     std::size_t bytes, bool returns_error);

template <class... Parameters>
struct held_call {
    void (*volatile kernel)(Parameters...);
    std::tuple<std::remove_const_t<Parameters>...> arguments;

    template <std::size_t... I>
    __attribute__((no_sanitize("thread"))) void call(std::index_sequence<I...>)
    {
        kernel(std::get<I>(arguments)...);
    }
    __attribute__((no_sanitize("thread"))) static void run(void* self)
    {
        static_cast<held_call*>(self)->call(std::index_sequence_for<Parameters...>{});
    }
};

template <class... Parameters, class... Arguments>
cudaError_t launch(bool returns_error, const launch_shape& shape, void (*kernel)(Parameters...),
                   Arguments&&... arguments)
{
    static_assert(sizeof...(Parameters) == sizeof...(Arguments), "the kernel takes another number of arguments");
    held_call<Parameters...> held{kernel, {static_cast<Parameters>(std::forward<Arguments>(arguments))...}};
    return run_grid(reinterpret_cast<const void*>(kernel), shape, &held_call<Parameters...>::run, &held, sizeof held,
                    returns_error);
}

// A launch of a kernel without a stub: configured(kernel, grid, block)(arguments...).
template <class... Parameters>
class configured {
public:
    configured(void (*kernel)(Parameters...), dim3 grid, dim3 block, std::size_t dynamic_shared = 0,
               cudaStream_t stream = nullptr)
        : kernel_(kernel), shape_{grid, block, dynamic_shared, stream, {1, 1, 1}, false, nullptr}
    {
    }
    void operator()(std::type_identity_t<Parameters>... arguments) const
    {
        launch(false, shape_, kernel_, std::move(arguments)...);
    }

private:
    void (*kernel_)(Parameters...);
    launch_shape shape_;
};

// The laboratory turns kernel<<<grid, block, shared, stream>>>(arguments...) into `configure` and an ordinary call. What is
// called is the kernel's stub: the function whose body the laboratory has made a function object.
void announce(const launch_shape& shape);
inline __attribute__((always_inline)) void configure(dim3 grid, dim3 block, std::size_t dynamic_shared = 0,
                                                     cudaStream_t stream = nullptr)
{
    if (device::inside_kernel())
        device::refuse_launch();
    announce({grid, block, dynamic_shared, stream});
}

// The body of a kernel, of which each thread of a grid runs a copy of its own.
template <class Body>
struct held_body {
    __attribute__((no_sanitize("thread"))) static void run(void* original)
    {
        if constexpr (std::is_trivially_copyable_v<Body>) {
            alignas(Body) unsigned char copy[sizeof(Body)];
            for (std::size_t i = 0; i < sizeof(Body); ++i) { // a call of memcpy would be an access of the thread
                copy[i] = static_cast<const unsigned char*>(original)[i];
                asm volatile("" ::: "memory");
            }
            (*reinterpret_cast<Body*>(copy))();
        } else {
            Body copy(*static_cast<const Body*>(original));
            copy();
        }
    }
};

class kernel_stub {
public:
    // The signature is that of the compiler's __PRETTY_FUNCTION__.
    __attribute__((noinline)) explicit kernel_stub(const char* signature);

    // Replaces the parameters where the launch gave the addresses of their values, as cudaLaunchKernel does.
    template <class... Parameters>
    void take(Parameters&... parameters)
    {
        if (addresses_ == nullptr)
            return;
        std::size_t i = 0;
        (std::memcpy(const_cast<std::remove_const_t<Parameters>*>(&parameters), addresses_[i++], sizeof parameters),
         ...);
    }

    template <class Body>
    void run(Body body)
    {
        if (in_thread_) // of a grid, which calls the kernel as a function
            body();
        else
            launch(&held_body<Body>::run, &body, sizeof body);
    }

private:
    void launch(void (*run)(void*), void* body, std::size_t bytes);

    const char* signature_;
    const void* kernel_ = nullptr;
    void** addresses_ = nullptr;
    bool in_thread_ = false;
};

// Launches the kernel whose stub is at an address, with the values of its parameters at the given ones.
cudaError_t launch_by_address(const void* kernel, const launch_shape& shape, void** arguments);

// Whether a grid runs on this host thread. It may be asked by a signal handler.
bool launch_is_running() noexcept;
// What is called after each launch.
void after_launches(void (*action)());

// What instructions in inline PTX tell or do.
unsigned warp_of_block();
unsigned warps_of_block();
unsigned multiprocessor();
unsigned multiprocessors();
inline __attribute__((always_inline)) void refuse_ptx(const char* instruction_is_not_simulated)
{
    device::trap(instruction_is_not_simulated);
}
constexpr unsigned bit_field(unsigned from, unsigned position, unsigned length)
{
    position &= 255, length &= 255;
    const unsigned shifted = position < 32 ? from >> position : 0;
    return length < 32 ? shifted & ((1u << length) - 1) : shifted;
}
constexpr unsigned with_bit_field(unsigned field, unsigned into, unsigned position, unsigned length)
{
    position &= 255, length &= 255;
    const unsigned ones = length < 32 ? (1u << length) - 1 : ~0u;
    return position < 32 ? (into & ~(ones << position)) | (field & ones) << position : into;
}

template <class... Parameters, std::size_t... I>
cudaError_t launch_untyped(bool cooperative, void (*kernel)(Parameters...), dim3 grid, dim3 block, void** arguments,
                           std::size_t shared, cudaStream_t stream, std::index_sequence<I...>)
{
    launch_shape shape{grid, block, shared, stream, {1, 1, 1}, cooperative, nullptr};
    return launch(true, shape, kernel, *static_cast<std::remove_reference_t<Parameters>*>(arguments[I])...);
}

} // namespace upsweep::simulator::cuda

template <class... Parameters>
cudaError_t cudaLaunchKernel(void (*kernel)(Parameters...), dim3 grid, dim3 block, void** arguments,
                             std::size_t shared = 0, cudaStream_t stream = nullptr)
{
    return upsweep::simulator::cuda::launch_untyped(false, kernel, grid, block, arguments, shared, stream,
                                                    std::index_sequence_for<Parameters...>{});
}

template <class... Parameters>
cudaError_t cudaLaunchCooperativeKernel(void (*kernel)(Parameters...), dim3 grid, dim3 block, void** arguments,
                                        std::size_t shared = 0, cudaStream_t stream = nullptr)
{
    return upsweep::simulator::cuda::launch_untyped(true, kernel, grid, block, arguments, shared, stream,
                                                    std::index_sequence_for<Parameters...>{});
}

#ifdef UPSWEEP_TRANSLATED
inline cudaError_t cudaLaunchKernel(const void* kernel, dim3 grid, dim3 block, void** arguments, std::size_t shared = 0,
                                    cudaStream_t stream = nullptr)
{
    return upsweep::simulator::cuda::launch_by_address(kernel, {grid, block, shared, stream}, arguments);
}
inline cudaError_t cudaLaunchCooperativeKernel(const void* kernel, dim3 grid, dim3 block, void** arguments,
                                               std::size_t shared = 0, cudaStream_t stream = nullptr)
{
    return upsweep::simulator::cuda::launch_by_address(kernel, {grid, block, shared, stream, {1, 1, 1}, true},
                                                       arguments);
}
#endif

template <class... Parameters, class... Arguments>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* config, void (*kernel)(Parameters...),
                               Arguments&&... arguments)
{
    upsweep::simulator::cuda::launch_shape shape{
        config->gridDim, config->blockDim, config->dynamicSmemBytes, config->stream, {1, 1, 1}, false, nullptr};
    for (unsigned i = 0; i < config->numAttrs; ++i) {
        const auto& attribute = config->attrs[i];
        if (attribute.id == cudaLaunchAttributeClusterDimension)
            shape.cluster = {attribute.val.clusterDim.x, attribute.val.clusterDim.y, attribute.val.clusterDim.z};
        if (attribute.id == cudaLaunchAttributeCooperative)
            shape.cooperative = attribute.val.cooperative != 0;
    }
    return upsweep::simulator::cuda::launch(true, shape, kernel, std::forward<Arguments>(arguments)...);
}
