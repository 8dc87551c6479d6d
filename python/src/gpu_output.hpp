// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "fold.hpp"
#include "gpu_array.hpp"

// Where results in memory of a GPU are written, and what goes there from the host.
namespace upsweep::python {

// An argument `out`, or a new array of this shape and type (new_gpu_array).
class gpu_output {
public:
    gpu_output(const char* call, const gpu_array& in, int rank, const std::int64_t* shape, upsweep_dtype dtype,
               nb::handle out, const layout* in_order_of = nullptr);

    const layout& at() const { return made_ ? made_->at() : given_.at(); }
    nb::object finish();

private:
    const gpu_array& in_;
    nb::handle out_;
    gpu_array given_;
    std::optional<new_gpu_array> made_;
};

// The type of an argument `out`, if it is one.
std::optional<upsweep_dtype> dtype_of_output(const char* call, nb::handle out);

// A number of Python as a value of this type.
value value_of(const char* call, const char* name, nb::handle number, upsweep_dtype dtype);

// A result of one number, or the numbers of a layout without gaps, as one of this type.
upsweep_array value_at(const layout& of, upsweep_dtype dtype);
// Zeros for the elements of a layout without gaps.
void clear(const gpu_array& in, const layout& at);

// Writes one value to all places of an array, as what the exclusive scan of one element by `op` begins with; without a number the fold of none.
void fill(const gpu_array& in, upsweep_op op, const layout& at, const value* number);

// What a scan reads and writes, from the end from which it goes, and its initial value.
class scan_arguments {
public:
    scan_arguments(const char* call, const layout& in, const layout& out, int axis, const scan_options& how);

    const void* init() const { return initial_ ? initial_->bytes : nullptr; } // or null

    layout from;
    layout to;

private:
    std::optional<value> initial_; // of the type of the results
};

// Copies from memory of the host or of the GPU, in order of the array's stream.
void write(const gpu_array& in, void* to, const void* from, std::uint64_t bytes);

// A NumPy array without gaps as an array in memory of the GPU.
nb::object on_gpu_from(const gpu_array& like, const nb::object& array, upsweep_dtype dtype);

} // namespace upsweep::python
