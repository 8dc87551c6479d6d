// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "../shapes.hpp"
#include "engine.hpp"

// Segments, runs of keys, selections and recurrences where they lie in memory of the GPU, in order of the stream. Each returns false, and
// does nothing, where there is no kernel for the types and the operator. Arrays are without gaps; offsets and lengths have 64 bits. What
// is said of the elements by offsets and lengths is taken on trust.
namespace upsweep::runtime::gpu {

// Values are i32, i64, f32 or f64; they are reduced by plus, minimum and maximum, and scanned by plus, inclusively.
bool reduce_segments(const device& gpu, upsweep_op op, const elements& in, const elements& offsets,
                     const elements& out);
bool scan_segments(const device& gpu, upsweep_op op, const elements& in, const elements& offsets, const elements& out);

// Elements as those of an array of i32, u64, f32 or f64 without gaps: where they lie if they are in one and have that type, or one of integers
// of the same size, or else a copy that is free again when this is destroyed.
class converted {
public:
    converted(const device& gpu, const elements& of, upsweep_dtype to);
    converted(const converted&) = delete;
    converted& operator=(const converted&) = delete;
    ~converted();

    const elements& get() const { return elements_; }

private:
    const device& gpu_;
    without_gaps dense_;
    elements elements_;
    bool is_copy_ = false;
};

// Throws where an offset is less than the one before it, or more than `count`. Waits for the GPU.
void check_offsets(const device& gpu, const elements& offsets, std::uint64_t count);

// How many there are of something that only the GPU can tell: the call waits for it.
struct found_on_gpu {
    bool is_done = false;
    std::uint64_t count = 0;
};

// Keys are integers of 32 or 64 bits, values as above. Of more runs than the outputs have room for, those are written for which there is.
found_on_gpu reduce_by_key(const device& gpu, upsweep_op op, const elements& keys, const elements& values,
                           const elements& keys_out, const elements& totals_out);
bool scan_by_key(const device& gpu, upsweep_op op, const elements& keys, const elements& values, const elements& out);
// Elements of 32 or 64 bits.
found_on_gpu encode_runs(const device& gpu, const elements& in, const elements& values_out,
                         const elements& lengths_out);
bool decode_runs(const device& gpu, const elements& values, const elements& lengths, const elements& out);
found_on_gpu select(const device& gpu, const elements& in, const elements& flags, const elements& out);

// A recurrence along the first of three dimensions. Strides are in elements; those of h0 along the axis have no meaning.
struct recurrence_layout {
    const void* a = nullptr;
    const void* b = nullptr;
    const void* h0 = nullptr; // null: the states before the first elements are zero
    void* out = nullptr;
    bool is_backward = false;
    std::array<std::size_t, 3> extents{1, 1, 1};
    std::array<std::ptrdiff_t, 3> a_strides{};
    std::array<std::ptrdiff_t, 3> b_strides{};
    std::array<std::ptrdiff_t, 3> h0_strides{};
    std::array<std::ptrdiff_t, 3> out_strides{};
};
// Of f32 or f64.
bool linear_recurrence(const device& gpu, upsweep_dtype dtype, const recurrence_layout& of);

} // namespace upsweep::runtime::gpu
