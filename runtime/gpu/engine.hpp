// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "../engine.hpp"

// The GPU engine with types erased. A build without CUDA has none.cpp in its place, where every call throws no_device.
namespace upsweep::runtime::gpu {

// The current device of the calling thread.
std::string device_name();

// Elements of type `in`, results of type `out`. Null where the operator is not defined. `host` copies the elements.
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
    const void* init; // of type `out`, or null
    cpu host;
};
std::unique_ptr<any_scanner> make_scanner(const scan_request& request);

// Samples of type `dtype`. Counts are those of the CPU.
struct counter_request {
    upsweep_dtype dtype;
    cpu host;
};
std::unique_ptr<any_counter> make_counter(const counter_request& request, const even_bins& bins);
std::unique_ptr<any_counter> make_counter(const counter_request& request, const edges& bins);
// How often each of the 256 values of a byte occurs.
std::unique_ptr<any_counter> make_byte_counter(cpu host);

} // namespace upsweep::runtime::gpu
