// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "../engine.hpp"

// The GPU engine behind virtual functions, so that the element type and the operator can be chosen at run time. A build
// without CUDA has none.cpp in its place, where every call throws no_device.
namespace upsweep::runtime::gpu {

// Returns the name of the calling thread's current device.
std::string device_name();

// Elements have type `in`, results have type `out`; the threads of `host` copy the elements. make_reducer and
// make_scanner return null where the operator is not defined.
struct reduce_request {
    upsweep_op op;
    upsweep_dtype in;
    upsweep_dtype out;
    cpu host;
};
std::unique_ptr<any_reducer> make_reducer(const reduce_request& request);

struct scan_request {
    upsweep_op op;
    upsweep_dtype in;
    upsweep_dtype out;
    scan_kind kind;
    const void* init; // a value of type `out`, or null
    cpu host;
};
std::unique_ptr<any_scanner> make_scanner(const scan_request& request);

// Samples have type `dtype`. The counts are those that the CPU finds.
struct counter_request {
    upsweep_dtype dtype;
    cpu host;
};
std::unique_ptr<any_counter> make_counter(const counter_request& request, const even_bins& bins);
std::unique_ptr<any_counter> make_counter(const counter_request& request, const edges& bins);
// Makes a counter of bytes whose bins are their 256 values.
std::unique_ptr<any_counter> make_byte_counter(cpu host);

} // namespace upsweep::runtime::gpu
