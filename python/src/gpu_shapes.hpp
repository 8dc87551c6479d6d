// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "array.hpp"
#include "gpu_array.hpp"

// Segments, runs of equal keys, selections, integral images and recurrences of arrays in memory of a GPU. Where the shape of a result
// depends on the elements, the GPU is waited for.
namespace upsweep::python {

// What a scan of segments or runs is asked for beside its elements.
struct segment_scan_options {
    bool exclusive = false;
    nb::handle initial = Py_None;
    nb::handle dtype = Py_None;
    nb::handle out = Py_None;
};

// Offsets may lie in memory of the host, too. Those in memory of a GPU are waited for, since they are looked at first.
nb::object segment_reduce_on_gpu(gpu_array& in, nb::handle offsets, upsweep_op op);
nb::object segment_scan_on_gpu(gpu_array& in, nb::handle offsets, upsweep_op op, const segment_scan_options& how);
nb::object reduce_by_key_on_gpu(gpu_array& keys, nb::handle values, upsweep_op op);
nb::object scan_by_key_on_gpu(gpu_array& keys, nb::handle values, upsweep_op op, const segment_scan_options& how);
nb::object run_length_encode_on_gpu(gpu_array& in);
nb::object run_length_decode_on_gpu(gpu_array& values, nb::handle lengths);
nb::object select_on_gpu(gpu_array& in, nb::handle mask);
nb::object partition_on_gpu(gpu_array& in, nb::handle mask);
nb::object integral_image_on_gpu(gpu_array& in, nb::handle dtype, nb::handle out);
// None where none of a, b and initial lies in memory of a GPU.
nb::object recurrence_on_gpu(nb::handle a, nb::handle b, nb::handle initial, nb::handle axis, bool reverse,
                             nb::handle out);

} // namespace upsweep::python
