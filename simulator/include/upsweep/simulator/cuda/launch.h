// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Launches a kernel. Its arguments are kept while the grid runs, and every thread calls it with copies of them.
#pragma once

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
    const char* name = nullptr; // of the kernel, where its address does not tell it
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

// What kernel<<<grid, block, shared, stream>>>(arguments...) is rewritten to.
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

// What a learner's launch is rewritten to. The kernel may be a template whose arguments follow from the call, so that it is
// given as a body that calls it.
template <class Body, class... Arguments>
struct held_body {
    Body* body;
    std::tuple<Arguments...> arguments;

    template <std::size_t... I>
    __attribute__((no_sanitize("thread"))) void call(std::index_sequence<I...>)
    {
        (*body)(std::get<I>(arguments)...);
    }
    __attribute__((no_sanitize("thread"))) static void run(void* self)
    {
        static_cast<held_body*>(self)->call(std::index_sequence_for<Arguments...>{});
    }
};

template <class Body>
class named_launch {
public:
    named_launch(const char* name, Body body, dim3 grid, dim3 block, std::size_t dynamic_shared = 0,
                 cudaStream_t stream = nullptr)
        : name_(name), body_(body), shape_{grid, block, dynamic_shared, stream, {1, 1, 1}, false, nullptr}
    {
    }
    template <class... Arguments>
    void operator()(Arguments&&... arguments)
    {
        held_body<Body, std::decay_t<Arguments>...> held{&body_, {std::forward<Arguments>(arguments)...}};
        shape_.name = name_;
        run_grid(nullptr, shape_, &decltype(held)::run, &held, sizeof held, false);
    }

private:
    const char* name_;
    Body body_;
    launch_shape shape_;
};

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
