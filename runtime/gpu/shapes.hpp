// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "../image.hpp"
#include "../shapes.hpp"
#include "engine.hpp"
#include "shape_fold.hpp"

// Segments, runs of keys, selections and recurrences where they lie in memory of the GPU, in order of the stream. Each returns false, and
// does nothing, where there is no kernel for the types and the operator. Arrays are without gaps; offsets and lengths have 64 bits. What
// is said of the elements by offsets and lengths is taken on trust.
namespace upsweep::runtime::gpu {

// Memory for as many elements of a type as an array without gaps has, which is free again when this is destroyed.
class scratch {
public:
    scratch(const device& gpu, const elements& like);
    scratch(const scratch&) = delete;
    scratch& operator=(const scratch&) = delete;
    ~scratch();

    const elements& get() const { return elements_; }

private:
    const device& gpu_;
    elements elements_;
};

// Elements as those of an array of i32, u64, f32 or f64 without gaps: where they lie if they are in one and have that type, or one of integers
// of the same size, or else a copy that is free again when this is destroyed.
class converted {
public:
    converted(const device& gpu, const elements& of, upsweep_dtype to) : converted(gpu, of, of.dtype, to) {}
    // Of elements that are converted to the type `as` first: numbers to truths, say, or to integers of fewer bits.
    converted(const device& gpu, const elements& of, upsweep_dtype as, upsweep_dtype to);

    const elements& get() const { return copy_ ? copy_->get() : elements_; }

private:
    without_gaps dense_;
    elements elements_;
    std::optional<scratch> copy_;
};

// Where kernels write results of one of these types that are to be converted: where they belong if they have that type, or else aside.
class converted_results {
public:
    // Where not all of an array with gaps is written, the others have to be brought along.
    enum class written { all, some };
    converted_results(const device& gpu, const elements& of, upsweep_dtype from, written which = written::all);

    const elements& get() const { return aside_ ? aside_->get() : elements_; }
    // Brings what has been written to where it belongs: all, the first ones, or those from the first offset on and before the last.
    void write_back() const { write(elements_.count, nullptr); }
    void write_first(std::uint64_t count) const { write(count, nullptr); }
    void write_segments(const elements& offsets) const { write(elements_.count, &offsets); }

private:
    void write(std::uint64_t count, const elements* offsets) const;

    const device& gpu_;
    without_gaps dense_;
    elements elements_;
    std::optional<scratch> aside_;
};

// Writes whether each element of an array without gaps is true, that is not zero, to another one.
void write_truths(const device& gpu, const elements& in, const elements& out);

// Whether elements of both types have the same bits: integers of a size have, with a sign or without one.
bool has_bits_of(upsweep_dtype dtype, upsweep_dtype other);

// Reduce segments of elements that have been converted as the fold says, and scan them, to results of its type; sums of i32 are i64. An initial
// value has that type, too.
void reduce_segments(const device& gpu, const shape_fold& fold, const elements& in, const elements& offsets,
                     const elements& out);
void scan_segments(const device& gpu, const shape_fold& fold, const elements& in, const elements& offsets,
                   const elements& out, const scan_start& start);

// Puts an initial value before results of inclusive scans: all of them, or those of segments between offsets that are not null.
void put_init(const device& gpu, const shape_fold& fold, const elements& results, const elements* offsets,
              const void* init);

// Throws where an offset is less than the one before it, or more than `count`. Waits for the GPU.
void check_offsets(const device& gpu, const elements& offsets, std::uint64_t count);

// How many there are of something that only the GPU can tell: the call waits for it.
struct found_on_gpu {
    bool is_done = false;
    std::uint64_t count = 0;
};

// The type as which keys are compared: i32, u64, f32 or f64.
upsweep_dtype key_dtype(upsweep_dtype dtype);

// Keys as words of 32 or 64 bits, each of which equals the one before where the keys do: kernels that fold by key need not know floats.
class key_words {
public:
    key_words(const device& gpu, const elements& keys);

    const elements& get() const { return words_ ? words_->get() : keys_.get(); }
    // The keys themselves, of the type as which they are compared.
    const elements& keys() const { return keys_.get(); }
    // Whether there is more to a key than its word tells: of a zero the sign, of NaN the bits.
    bool are_floats() const { return keys().dtype >= UPSWEEP_F16; }

private:
    converted keys_;
    std::optional<scratch> words_;
};

// Reduce runs of such words by values that have been converted as the fold says, and scan them. Of more runs than the outputs have room for,
// those are written for which there is.
std::uint64_t reduce_by_key(const device& gpu, const shape_fold& fold, const elements& keys, const elements& values,
                            const elements& keys_out, const elements& totals_out);
void scan_by_key(const device& gpu, const shape_fold& fold, const elements& keys, const elements& values,
                 const elements& out, const scan_start& start);
// Elements are i32, u32, i64, u64, f32 or f64.
found_on_gpu encode_runs(const device& gpu, const elements& in, const elements& values_out,
                         const elements& lengths_out);
bool decode_runs(const device& gpu, const elements& values, const elements& lengths, const elements& out);
found_on_gpu select(const device& gpu, const elements& in, const elements& flags, const elements& out);
found_on_gpu partition(const device& gpu, const elements& in, const elements& flags, const elements& out);

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

// Writes integral images in one pass. Returns false also for images that lie so, or are as many and as large, that two scans take less time. There is an element.
bool integrate_images(const device& gpu, upsweep_dtype in, upsweep_dtype out, const image_layout& of);

} // namespace upsweep::runtime::gpu
