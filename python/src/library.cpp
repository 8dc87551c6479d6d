// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "library.hpp"

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <dlfcn.h>

namespace upsweep::python {

library detail::opened;

namespace {

// The levels that this machine can run, the best one first. A processor with these has what else belongs to the level.
std::vector<std::string> levels_of_this_machine()
{
#ifdef __x86_64__
    std::vector<std::string> levels{"x86-64"};
    const bool has_v3 = __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0 &&
                        __builtin_cpu_supports("bmi") != 0 && __builtin_cpu_supports("bmi2") != 0;
    const bool has_v4 = has_v3 && __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bw") != 0 &&
                        __builtin_cpu_supports("avx512cd") != 0 && __builtin_cpu_supports("avx512dq") != 0 &&
                        __builtin_cpu_supports("avx512vl") != 0;
    if (has_v3)
        levels.insert(levels.begin(), "x86-64-v3");
    if (has_v4)
        levels.insert(levels.begin(), "x86-64-v4");
    return levels;
#elif defined(__aarch64__)
    return {"aarch64"};
#else
    return {};
#endif
}

// The folder of this module.
std::filesystem::path folder()
{
    Dl_info info;
    if (dladdr(reinterpret_cast<const void*>(&open_library), &info) == 0)
        throw std::runtime_error("upsweep: the module's own folder cannot be found; install the package again");
    return std::filesystem::path(info.dli_fname).parent_path();
}

void* open_best()
{
    std::vector<std::string> levels = levels_of_this_machine();
    if (const char* asked = std::getenv("UPSWEEP_CPU_LEVEL"); asked != nullptr && *asked != '\0') {
        std::erase_if(levels, [&](const std::string& level) { return level != asked; });
        if (levels.empty())
            throw std::runtime_error("upsweep: UPSWEEP_CPU_LEVEL is " + std::string(asked) +
                                     ", which this machine does not run; leave it unset");
    }
    const std::filesystem::path here = folder();
    std::string failure = "there is none for this machine";
    for (const std::string& level : levels) {
        const std::filesystem::path file = here / ("libupsweep-" + level + ".so");
        if (!std::filesystem::exists(file))
            continue;
        if (void* handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL))
            return handle;
        failure = dlerror();
    }
    throw std::runtime_error("upsweep: no libupsweep can be opened in " + here.string() + ": " + failure +
                             "; install the package again");
}

// Looks up functions of a library that has been opened.
struct finder {
    void* handle;

    template <class F>
    void operator()(F*& function, const char* name) const
    {
        function = reinterpret_cast<F*>(dlsym(handle, name));
        if (function == nullptr)
            throw std::runtime_error(std::string("upsweep: libupsweep lacks ") + name + "; install the package again");
    }
};

void find_all(const finder& find, library& to)
{
    find(to.last_error, "upsweep_last_error");
    find(to.version, "upsweep_version");
    find(to.cpu_isa, "upsweep_cpu_isa");
    find(to.cpu_threads, "upsweep_cpu_threads");
    find(to.gpu_name, "upsweep_gpu_name");
    find(to.dtype_size, "upsweep_dtype_size");
    find(to.dtype_name, "upsweep_dtype_name");
    find(to.op_name, "upsweep_op_name");
    find(to.reduce_dtype, "upsweep_reduce_dtype");
    find(to.reduce, "upsweep_reduce");
    find(to.variance, "upsweep_variance");
    find(to.scan, "upsweep_scan");
    find(to.histogram_even, "upsweep_histogram_even");
    find(to.histogram_edges, "upsweep_histogram_edges");
    find(to.weighted_histogram_even, "upsweep_weighted_histogram_even");
    find(to.weighted_histogram_edges, "upsweep_weighted_histogram_edges");
    find(to.reduce_axis, "upsweep_reduce_axis");
    find(to.mean_axis, "upsweep_mean_axis");
    find(to.variance_axis, "upsweep_variance_axis");
    find(to.variance_axes, "upsweep_variance_axes");
    find(to.scan_axis, "upsweep_scan_axis");
    find(to.integral_image, "upsweep_integral_image");
    find(to.histogram_axis_even, "upsweep_histogram_axis_even");
    find(to.histogram_axis_edges, "upsweep_histogram_axis_edges");
    find(to.segmented_histogram_even, "upsweep_segmented_histogram_even");
    find(to.segmented_histogram_edges, "upsweep_segmented_histogram_edges");
    find(to.segmented_reduce, "upsweep_segmented_reduce");
    find(to.segmented_scan, "upsweep_segmented_scan");
    find(to.check_offsets, "upsweep_check_offsets");
    find(to.reduce_by_key, "upsweep_reduce_by_key");
    find(to.scan_by_key, "upsweep_scan_by_key");
    find(to.run_length_encode, "upsweep_run_length_encode");
    find(to.run_length_decode, "upsweep_run_length_decode");
    find(to.argmin_axis, "upsweep_argmin_axis");
    find(to.argmax_axis, "upsweep_argmax_axis");
    find(to.linear_recurrence, "upsweep_linear_recurrence");
    find(to.select, "upsweep_select");
    find(to.partition, "upsweep_partition");
    find(to.joint_histogram_edges, "upsweep_joint_histogram_edges");
    find(to.reducer_create, "upsweep_reducer_create");
    find(to.reducer_create_variance, "upsweep_reducer_create_variance");
    find(to.reducer_feed, "upsweep_reducer_feed");
    find(to.reducer_result, "upsweep_reducer_result");
    find(to.reducer_destroy, "upsweep_reducer_destroy");
    find(to.partial_create, "upsweep_partial_create");
    find(to.partial_feed, "upsweep_partial_feed");
    find(to.partial_merge, "upsweep_partial_merge");
    find(to.partial_result, "upsweep_partial_result");
    find(to.partial_count, "upsweep_partial_count");
    find(to.partial_bytes, "upsweep_partial_bytes");
    find(to.partial_of_bytes, "upsweep_partial_of_bytes");
    find(to.partial_destroy, "upsweep_partial_destroy");
    find(to.context_create, "upsweep_context_create");
    find(to.context_set_stream, "upsweep_context_set_stream");
    find(to.context_destroy, "upsweep_context_destroy");
}

std::filesystem::path file_of_gpu_lib() { return folder() / "libupsweep-cuda.so"; }

std::optional<gpu_library> open_gpu_lib()
{
    if (!has_gpu_lib())
        return {};
    void* handle = dlopen(file_of_gpu_lib().c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr)
        throw std::runtime_error("upsweep: the library for GPUs cannot be opened: " + std::string(dlerror()) +
                                 "; install the package again");
    gpu_library opened;
    const finder find{handle};
    find_all(find, opened);
    find(opened.allocate, "upsweep_python_allocate");
    find(opened.free, "upsweep_python_free");
    find(opened.order, "upsweep_python_order");
    find(opened.write, "upsweep_python_write");
    find(opened.clear, "upsweep_python_clear");
    find(opened.convert, "upsweep_python_convert");
    find(opened.compute_capability, "upsweep_python_compute_capability");
    find(opened.cuda_version, "upsweep_python_cuda_version");
    find(opened.operator_create, "upsweep_python_operator_create");
    find(opened.operator_load, "upsweep_python_operator_load");
    find(opened.reduce_by, "upsweep_python_reduce_by");
    find(opened.scan_by, "upsweep_python_scan_by");
    return opened;
}

} // namespace

void open_library() { find_all(finder{open_best()}, detail::opened); }

bool has_gpu_lib() { return std::filesystem::exists(file_of_gpu_lib()); }

// Opened once, by whichever thread comes first.
const gpu_library* gpu_lib()
{
    static const std::optional<gpu_library> opened = open_gpu_lib();
    return opened ? &*opened : nullptr;
}

} // namespace upsweep::python
