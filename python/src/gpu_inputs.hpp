// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "fold.hpp"
#include "gpu_array.hpp"

// Several arrays of one call, all of them in memory of one GPU.
namespace upsweep::python {

// Puts an array that has been opened beside `first`: on its device, and in order of its stream.
void put_beside(const char* call, const char* name, const gpu_array& first, const gpu_array& other);
[[noreturn]] void refuse_host(const char* call, const char* name);

// Opens another array of a call beside `first`, on whose device it must lie, and puts it in order of the stream of that.
void open_beside(const char* call, const char* name, const gpu_array& first, nb::handle x, gpu_array& other);

void check_is_line(const char* call, const char* name, const gpu_array& x);
void check_are_integers(const char* call, const char* name, upsweep_dtype dtype);

// Offsets in memory of the GPU, given there or in memory of the host. In Python a wrong number must not read foreign memory, so that they
// are always looked at, for which the GPU is waited for.
class segment_offsets {
public:
    segment_offsets(const char* call, nb::handle given, const gpu_array& in);

    const upsweep_array& array() const { return offsets_.at().array; }
    std::int64_t segments() const { return offsets_.count() - 1; }

private:
    nb::object copy_;
    gpu_array offsets_;
};

} // namespace upsweep::python
