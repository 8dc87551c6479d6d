// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <upsweep/runtime.h>

#include "cuda/memory.h"
#include "cuda/operators.h"

// libupsweep as it lies beside the module: once for each level of the instruction set, of which the best one that this
// machine can run is opened.
namespace upsweep::python {

// The functions of the C ABI that the module calls, under their names without upsweep_.
struct library {
    decltype(&upsweep_last_error) last_error;
    decltype(&upsweep_version) version;
    decltype(&upsweep_cpu_isa) cpu_isa;
    decltype(&upsweep_cpu_threads) cpu_threads;
    decltype(&upsweep_gpu_name) gpu_name;
    decltype(&upsweep_dtype_size) dtype_size;
    decltype(&upsweep_dtype_name) dtype_name;
    decltype(&upsweep_op_name) op_name;
    decltype(&upsweep_reduce_dtype) reduce_dtype;
    decltype(&upsweep_reduce) reduce;
    decltype(&upsweep_variance) variance;
    decltype(&upsweep_scan) scan;
    decltype(&upsweep_histogram_even) histogram_even;
    decltype(&upsweep_histogram_edges) histogram_edges;
    decltype(&upsweep_weighted_histogram_even) weighted_histogram_even;
    decltype(&upsweep_weighted_histogram_edges) weighted_histogram_edges;
    decltype(&upsweep_histogram_axis_even) histogram_axis_even;
    decltype(&upsweep_histogram_axis_edges) histogram_axis_edges;
    decltype(&upsweep_segmented_histogram_even) segmented_histogram_even;
    decltype(&upsweep_segmented_histogram_edges) segmented_histogram_edges;
    decltype(&upsweep_reduce_axis) reduce_axis;
    decltype(&upsweep_mean_axis) mean_axis;
    decltype(&upsweep_variance_axis) variance_axis;
    decltype(&upsweep_variance_axes) variance_axes;
    decltype(&upsweep_scan_axis) scan_axis;
    decltype(&upsweep_integral_image) integral_image;
    decltype(&upsweep_segmented_reduce) segmented_reduce;
    decltype(&upsweep_segmented_scan) segmented_scan;
    decltype(&upsweep_check_offsets) check_offsets;
    decltype(&upsweep_reduce_by_key) reduce_by_key;
    decltype(&upsweep_scan_by_key) scan_by_key;
    decltype(&upsweep_run_length_encode) run_length_encode;
    decltype(&upsweep_run_length_decode) run_length_decode;
    decltype(&upsweep_argmin_axis) argmin_axis;
    decltype(&upsweep_argmax_axis) argmax_axis;
    decltype(&upsweep_linear_recurrence) linear_recurrence;
    decltype(&upsweep_select) select;
    decltype(&upsweep_partition) partition;
    decltype(&upsweep_joint_histogram_edges) joint_histogram_edges;
    decltype(&upsweep_reducer_create) reducer_create;
    decltype(&upsweep_reducer_create_variance) reducer_create_variance;
    decltype(&upsweep_reducer_feed) reducer_feed;
    decltype(&upsweep_reducer_result) reducer_result;
    decltype(&upsweep_reducer_destroy) reducer_destroy;
    decltype(&upsweep_partial_create) partial_create;
    decltype(&upsweep_partial_feed) partial_feed;
    decltype(&upsweep_partial_merge) partial_merge;
    decltype(&upsweep_partial_result) partial_result;
    decltype(&upsweep_partial_count) partial_count;
    decltype(&upsweep_partial_bytes) partial_bytes;
    decltype(&upsweep_partial_of_bytes) partial_of_bytes;
    decltype(&upsweep_partial_destroy) partial_destroy;
    decltype(&upsweep_context_create) context_create;
    decltype(&upsweep_context_set_stream) context_set_stream;
    decltype(&upsweep_context_destroy) context_destroy;
};

// The same of libupsweep-cuda, which folds arrays of a GPU, and what it has beside the C ABI.
struct gpu_library : library {
    decltype(&upsweep_python_allocate) allocate;
    decltype(&upsweep_python_free) free;
    decltype(&upsweep_python_order) order;
    decltype(&upsweep_python_write) write;
    decltype(&upsweep_python_clear) clear;
    decltype(&upsweep_python_convert) convert;
    decltype(&upsweep_python_compute_capability) compute_capability;
    decltype(&upsweep_python_cuda_version) cuda_version;
    decltype(&upsweep_python_operator_create) operator_create;
    decltype(&upsweep_python_operator_load) operator_load;
    decltype(&upsweep_python_reduce_by) reduce_by;
    decltype(&upsweep_python_scan_by) scan_by;
};

namespace detail {
extern library opened;
}

inline const library& lib() { return detail::opened; }

// Opens libupsweep-cuda at the first call, by any thread. Null where the package was built without it. Throws std::runtime_error where it
// cannot be opened.
const gpu_library* gpu_lib();

// Whether the package was built with it.
bool has_gpu_lib();

// Opens it, once, before anything is called. UPSWEEP_CPU_LEVEL (x86-64, x86-64-v3, ...) in the environment asks for one level.
// Throws std::runtime_error.
void open_library();

} // namespace upsweep::python
