// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "../array.hpp"
#include "../engine.hpp"

// The GPU engine behind functions, so that the element type and the operator can be chosen at run time. A build without
// CUDA has none.cpp in its place, where every call throws no_device.
namespace upsweep::runtime::gpu {

// Returns the name of the calling thread's current device.
std::string device_name();

// A device, a stream of it, and the workspace of the calls that are carried out there.
class device;

// -1 is the calling thread's current device. The stream is a cudaStream_t.
std::shared_ptr<device> open(int number, void* stream);
int number_of(const device& gpu);
void wait(const device& gpu);

// Refuses memory that is not of the kind that the array says, or of another device: UPSWEEP_UNREACHABLE.
void check_memory(const device& gpu, const char* call, const elements& where);

// Writes bytes of the host to memory of the GPU, in order of the stream. They have been read when the call returns.
void write(const device& gpu, void* to, const void* from, std::size_t bytes);
// Copies between memory of the GPU and of the host, after what has been started.
void copy_and_wait(const device& gpu, void* to, const void* from, std::size_t bytes);

// Elements in memory of the GPU as an array without gaps: where they lie if they have none, and a copy is not asked for, or
// else copied, in order of the stream, to memory that is free again when this is destroyed. All functions below take such
// elements alone, but for those that say otherwise.
class without_gaps {
public:
    without_gaps(const device& gpu, const elements& of, bool wants_copy = false);
    // Room for elements all of which are written before write_back.
    static without_gaps to_be_written(const device& gpu, const elements& of) { return {gpu, of, false, false}; }
    without_gaps(const without_gaps&) = delete;
    without_gaps& operator=(const without_gaps&) = delete;
    ~without_gaps();

    const elements& get() const { return elements_; }
    // Copies what has been written to the copy to where the elements lie.
    void write_back() const;

private:
    without_gaps(const device& gpu, const elements& of, bool wants_copy, bool is_read);

    const device& gpu_;
    elements of_;
    elements elements_;
};

// Elements have type `in`, results have type `out`; the threads of `host` copy the elements, which take so many bytes of the
// GPU's memory on their way (0: as many as the engine thinks). make_reducer and make_scanner return null where the operator
// is not defined.
struct reduce_request {
    upsweep_op op;
    upsweep_dtype in;
    upsweep_dtype out;
    cpu host;
    std::shared_ptr<device> gpu;
    std::uint64_t memory;
};
std::unique_ptr<any_reducer> make_reducer(const reduce_request& request);

struct scan_request {
    upsweep_op op;
    upsweep_dtype in;
    upsweep_dtype out;
    scan_kind kind;
    const void* init; // a value of type `out`, or null
    cpu host;
    std::shared_ptr<device> gpu;
    std::uint64_t memory;
};
std::unique_ptr<any_scanner> make_scanner(const scan_request& request);

// Samples have type `dtype`. The counts are those that the CPU finds.
struct counter_request {
    upsweep_dtype dtype;
    cpu host;
    std::shared_ptr<device> gpu;
    std::uint64_t memory;
};
std::unique_ptr<any_counter> make_counter(const counter_request& request, const even_bins& bins);
std::unique_ptr<any_counter> make_counter(const counter_request& request, const edges& bins);
// Makes a counter of bytes whose bins are their 256 values.
std::unique_ptr<any_counter> make_byte_counter(const counter_request& request);

// Writes the fold of elements in memory of the GPU, with gaps between them or without, by a kernel of their own type, to memory of the GPU, in order of the
// stream, or to memory of the host, for which the call waits. Returns false, and does nothing, where there is no such
// kernel: make_reducer's can do all.
bool reduce_by_type(const reduce_request& request, const elements& in, void* result, bool is_on_gpu);
// Likewise the results of a scan. Elements and results both lie without gaps, or both in reverse.
bool scan_by_type(const scan_request& request, const elements& in, const elements& out);
// Likewise adds the numbers of samples to counts and *out_of_range, in memory of the GPU or of the host.
bool count_by_type(const counter_request& request, const even_bins& bins, const elements& in,
                   std::span<std::uint64_t> counts, outside* out_of_range, bool are_on_gpu);
bool count_by_type(const counter_request& request, const edges& bins, const elements& in,
                   std::span<std::uint64_t> counts, outside* out_of_range, bool are_on_gpu);

// Writes the variance of elements in memory of the GPU, with gaps between them or without, of the type that quotient_dtype_of tells, to memory of the GPU, in order of the
// stream, or to memory of the host, for which the call waits.
void write_variance(const device& gpu, double correction, const elements& in, void* result, bool is_on_gpu);

} // namespace upsweep::runtime::gpu
