// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <upsweep/runtime.h>

#include "inputs.hpp"
#include "overflow.hpp"
#include "report.hpp"
#include "runtime_call.hpp"

namespace upsweep::cli {

// Elements in C order, and their extents.
struct array_values {
    upsweep_dtype dtype = UPSWEEP_F64;
    std::vector<std::uint64_t> shape = {};
    std::vector<std::uint64_t> words = {}; // so that elements of every type are aligned

    std::uint64_t count() const;
    const void* data() const { return words.data(); }
    void* data() { return words.data(); }
    // "[3, 5]", for an error.
    std::string index_text(std::uint64_t element) const;
};

// What becomes of the lines along an axis.
struct axis_fold {
    upsweep_op op = UPSWEEP_PLUS;
    bool mean = false;                     // of sums
    std::optional<upsweep_dtype> out = {}; // as reduce gives it, if not this
    bool wraps = false;                    // whether integers are folded modulo a power of two
};
struct axis_scan {
    upsweep_op op = UPSWEEP_PLUS;
    bool exclusive = false;
    upsweep_dtype out = UPSWEEP_F64;
    const scalar* init = nullptr; // of type `out`
    bool wraps = false;
};

struct axis_bins {
    std::uint64_t count = 0;
    double lo = 0;
    double hi = 1;
    const std::vector<double>& edges; // if there are any
};

// The array of a .npy file along one of its axes. It is mapped where the file has the elements as they are, and is else in memory as
// a whole.
class array_along_axis {
public:
    // `axis` counts from the last one where it is negative. Throws a failure where the files are no such array.
    array_along_axis(const inputs& in, const std::string& axis);

    const std::vector<std::uint64_t>& shape() const { return shape_; }
    std::uint64_t axis() const { return axis_; }
    // What was read, and the time since then.
    measurement done() const;

    [[nodiscard]] array_values fold(upsweep_context& context, const axis_fold& how) const;
    [[nodiscard]] array_values scan(upsweep_context& context, const axis_scan& how) const;
    // Counts of each line, u64, which take the place of the axis. What is in no bin is added up over all lines.
    [[nodiscard]] array_values histogram(upsweep_context& context, const axis_bins& bins,
                                         upsweep_outside& outside) const;

private:
    upsweep_array described(const void* elements, upsweep_dtype dtype, const std::int64_t* strides = nullptr) const;
    array_values results_of_fold(upsweep_dtype dtype) const;
    input_chunk chunk() const { return {name_, elements_, count_, 0, whole_}; }
    std::uint64_t length() const { return shape_[axis_]; }

    bool fits(upsweep_context& context, upsweep_dtype type, int128 init) const;
    void exact_sums(upsweep_context& context, array_values& sums) const;
    void check_values(const axis_scan& how, const array_values& values) const;

    stopwatch watch_;
    std::string name_;
    upsweep_dtype dtype_;
    std::vector<std::uint64_t> shape_;
    std::vector<std::int64_t> extents_;
    std::uint64_t axis_ = 0;
    std::uint64_t count_ = 0;
    std::vector<std::uint64_t> memory_; // of what is not mapped
    const void* elements_ = nullptr;
    files::chunk whole_;
    measurement read_;
};

// Hands values to a writer piece by piece.
void write_values(files::writer& writer, const array_values& values);

} // namespace upsweep::cli
