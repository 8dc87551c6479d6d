// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <upsweep/fold_order.hpp>
#include <upsweep/runtime.h>
#include <upsweep/target.hpp>

#include "array.hpp"
#include "context.hpp"

// Lines along an axis and segments of an array, folded on a CPU with the type and the operator chosen at run time. The files
// dtypes/shapes_*.cpp instantiate the engines for the operators and types that are used most: sums, and minima and maxima.
// Any other operator is a pointer to a function of two words of the element's size: there is one instantiation for all operators and
// types of a size. The few folds whose accumulator is wider than their elements go line after line, by the reducers and scanners of
// whole arrays.
namespace upsweep::runtime {

// The lines of an array along an axis, and where the results of each go: detail::lines without a type. Dimension 0 is the axis.
struct line_layout {
    const std::byte* in = nullptr;
    std::byte* out = nullptr;
    std::size_t results = 1; // of a line
    std::array<std::size_t, most_dimensions> extents{};
    std::array<std::ptrdiff_t, most_dimensions> in_strides{}; // in elements
    std::array<std::ptrdiff_t, most_dimensions> out_strides{};

    std::size_t length() const { return extents[0]; } // elements of a line
    std::size_t lines() const;
};

// The first and the second half of the lines, of which there are two or more: along a dimension, which is not that of the lines and has more elements than
// one, or along the longest. Elements and results have so many bytes each.
std::pair<line_layout, line_layout> halves_along(std::size_t dimension, const line_layout& lines, std::size_t in_bytes,
                                                 std::size_t out_bytes);
std::pair<line_layout, line_layout> halves_of(const line_layout& lines, std::size_t in_bytes, std::size_t out_bytes);

// The strides of an array without gaps that has an element of each line.
std::array<std::ptrdiff_t, most_dimensions> strides_without_gaps(const line_layout& lines);

// One element of each line, that of the first of which is at `data`, in memory of the host, with the strides of the elements or of the results.
elements one_of_each_line(std::byte* data, upsweep_dtype dtype, const line_layout& lines,
                          const std::array<std::ptrdiff_t, most_dimensions>& strides);

// Folds elements of one type by one operator. The results have the type that upsweep_reduce_dtype tells, but for logical
// operators: theirs are 0 or 1 in an unsigned integer of the element's size.
class shape_reducer {
public:
    shape_reducer() = default;
    shape_reducer(const shape_reducer&) = delete;
    shape_reducer& operator=(const shape_reducer&) = delete;
    virtual ~shape_reducer() = default;

    virtual void reduce_lines(const cpu& host, const line_layout& lines) const = 0;
    // Writes the means of the lines. Only of sums.
    virtual void mean_of_lines(const cpu& host, const line_layout& lines) const;
    // Offsets are one more than segments.
    virtual void reduce_segments(const cpu& host, const void* in, std::span<const std::uint64_t> offsets,
                                 void* out) const = 0;
};

// How a scan begins: with init, a value of the type of the results, or null.
struct scan_start {
    scan_kind kind = scan_kind::inclusive;
    const void* init = nullptr;
};

// Scans elements of one type to results of one type by one operator.
class shape_scanner {
public:
    shape_scanner() = default;
    shape_scanner(const shape_scanner&) = delete;
    shape_scanner& operator=(const shape_scanner&) = delete;
    virtual ~shape_scanner() = default;

    virtual void scan_lines(const cpu& host, const line_layout& lines, const scan_start& start) const = 0;
    virtual void scan_segments(const cpu& host, const void* in, std::span<const std::uint64_t> offsets, void* out,
                               const scan_start& start) const = 0;
};

// The operator must be defined for the type.
std::unique_ptr<shape_reducer> make_shape_reducer(upsweep_op op, upsweep_dtype dtype);

// The types must be such as a scan has.
struct shape_scan {
    std::unique_ptr<shape_scanner> scanner;
    bool takes_elements; // as they are; or else it scans in place what convert_for_scan has made of them
};
shape_scan make_shape_scanner(upsweep_op op, upsweep_dtype in, upsweep_dtype out);

// Converts `count` elements from `first` on to what a scan of them begins with, in the type of its results: the truth of each where the
// operator is logical, and NaN with the one pattern of bits that it has in results.
void convert_for_scan(const cpu& host, upsweep_op op, const elements& in, std::uint64_t first, std::uint64_t count,
                      const elements& out);

// An initial value in that way, or null.
class scan_init {
public:
    scan_init(upsweep_op op, upsweep_dtype dtype, const void* init);

    const void* get() const { return is_given_ ? &value_ : nullptr; }

private:
    std::uint64_t value_ = 0;
    bool is_given_;
};

// --- what the files dtypes/shapes_*.cpp have ---------------------------------------------------------------------------------

// Sums of elements of type T. std::uint64_t stands for signed integers of 64 bits, too, whose means alone are others.
template <class T>
std::unique_ptr<shape_reducer> make_sums(bool is_signed);
template <class T>
std::unique_ptr<shape_scanner> make_running_sums();
// Minima or maxima of f32 and f64.
template <class T>
std::unique_ptr<shape_reducer> make_extrema(upsweep_op op);
template <class T>
std::unique_ptr<shape_scanner> make_running_extrema(upsweep_op op);

// Minima or maxima of integers of the word's size.
template <class Word>
std::unique_ptr<shape_reducer> make_integer_extrema(upsweep_op op, bool is_signed);

// --- where minima and maxima are ----------------------------------------------------------------------------------------------

// The type in which elements are searched: that of their bytes, or another one to which they are to be converted. bool is searched as
// its bytes.
upsweep_dtype searched_dtype(upsweep_dtype dtype);

// Writes, as i64, the position of the first element that precedes all others in each line. The lines have elements, of a type that is
// searched.
void find_arguments(const cpu& host, upsweep_op op, upsweep_dtype dtype, const line_layout& lines);

// Reduces along an axis on the CPU. The operator is defined for the elements, the axis has some, and the arrays are those of such a call.
void reduce_along(const char* call, const cpu& host, upsweep_op op, const upsweep_array& in, std::size_t axis,
                  const upsweep_array& out);

// Scans elements without gaps in memory of a GPU as the only line of an array, where that takes less time than a scan by an operator and types that kernels
// ask for. Returns whether it does.
bool scan_as_line(const execution& where, upsweep_op op, const elements& in, const elements& out,
                  const scan_start& start);

// --- what the functions of the C ABI share -----------------------------------------------------------------------------------

// The CPU of a context, for calls that GPUs do not carry out. This is the one place that refuses those.
const cpu& host_of(const char* call, const execution& where);
// Whether the GPU of a context carries out a call, all of whose arrays lie in its memory then: UPSWEEP_UNSUPPORTED where one does not.
bool lie_on_gpu(const char* call, const execution& where, std::initializer_list<elements> arrays);
// Refuses a call that the GPU has no kernel for.
void must_be_done(const char* call, bool is_done, const char* what_there_is);
// Refuses an output with gaps, of which only the GPU knows how many elements it writes.
void check_has_no_gaps(const char* call, const elements& out);

// Memory as it comes: who writes it first does so by many threads, which a vector that fills it would not.
using unwritten_memory = std::unique_ptr<std::byte[]>;

// Elements side by side: where they lie, or a copy.
class side_by_side {
public:
    side_by_side(const cpu& host, const elements& of);

    std::byte* data() const { return data_; }

private:
    unwritten_memory copy_;
    std::byte* data_;
};

// Elements without gaps of another type: where they lie, if that is theirs, or else a copy.
class converted {
public:
    converted(const cpu& host, const elements& from, upsweep_dtype to);

    void* data() const { return data_; }
    upsweep_dtype dtype() const { return dtype_; }

private:
    std::optional<side_by_side> lie_;
    unwritten_memory copy_;
    std::byte* data_;
    upsweep_dtype dtype_;
};

// The type in which samples are compared with edges.
inline upsweep_dtype sample_dtype(upsweep_dtype dtype)
{
    return dtype >= UPSWEEP_F16 && dtype != UPSWEEP_F64 ? UPSWEEP_F32 : UPSWEEP_F64;
}

// Room for results side by side: where they are to lie, or aside.
class results_side_by_side {
public:
    // With `keeps`, what lies there is there to be read.
    results_side_by_side(const cpu& host, const elements& of, std::uint64_t count, bool keeps = false);

    std::byte* data() { return data_; }
    // Puts results first to first + count - 1 where they belong.
    void write(std::uint64_t first, std::uint64_t count) const;

private:
    cpu host_;
    elements of_;
    std::vector<std::byte> aside_;
    std::byte* data_;
};

// Folds segments of an array, some of them at a time and by several threads at once; the arrays have been checked. There are at most so many.
class segment_reduction {
public:
    segment_reduction(const cpu& host, upsweep_op op, const elements& in, const elements& out, std::uint64_t most);

    // Folds segments whose first one has that number, of all. Offsets are one more than segments, ascend and lead to elements.
    void fold(const cpu& host, std::span<const std::uint64_t> offsets, std::uint64_t first) const;
    // Puts the folds of the first so many segments where they belong.
    void finish(std::uint64_t segments) const;

private:
    cpu host_;
    upsweep_op op_;
    elements out_;
    side_by_side from_;
    std::unique_ptr<shape_reducer> reducer_;
    std::size_t result_bytes_;
    unwritten_memory memory_;
    std::optional<elements> truths_; // words that become the results
    std::optional<results_side_by_side> to_;
    std::byte* results_;
};

// Scans segments in the same way, all of which lie among `count` elements from `first` on. No others are written.
class segment_scan {
public:
    segment_scan(const cpu& host, upsweep_op op, const elements& in, const elements& out, const scan_start& start,
                 std::uint64_t first, std::uint64_t count);
    segment_scan(const segment_scan&) = delete;
    segment_scan& operator=(const segment_scan&) = delete;

    void scan(const cpu& host, std::span<const std::uint64_t> offsets) const;
    void finish() const;

private:
    scan_init init_;
    scan_start start_;
    shape_scan scan_;
    std::uint64_t first_;
    std::uint64_t count_;
    std::optional<side_by_side> in_;
    std::optional<results_side_by_side> to_;
    const std::byte* from_;
    std::byte* results_;
};

// An array of its own without gaps, and the unsigned type of so many bytes.
elements elements_without_gaps(unwritten_memory& memory, upsweep_dtype dtype, std::uint64_t count);
inline upsweep_dtype unsigned_word(std::size_t bytes)
{
    return static_cast<upsweep_dtype>(UPSWEEP_U8 + std::countr_zero(bytes));
}

} // namespace upsweep::runtime
