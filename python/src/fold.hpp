// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <vector>

#include "array.hpp"
#include "gpu_array.hpp"

// What folds of arrays have in common, wherever the arrays lie.
namespace upsweep::python {

// A fold in libupsweep's type for it, `folded`, and the type `result` to which it is converted afterwards.
struct fold_types {
    upsweep_dtype elements; // to which the elements are converted before they are folded
    upsweep_dtype folded;
    upsweep_dtype result;
};

// Sums and products keep the type of floating-point numbers, and are of 64 bits for integers, as the array API has it.
fold_types types_of_reduction(const char* call, upsweep_op op, upsweep_dtype elements,
                              std::optional<upsweep_dtype> asked);
fold_types types_of_mean(upsweep_dtype elements);

// One value in memory of the host, of any type.
struct value {
    alignas(8) unsigned char bytes[8] = {};

    template <class T>
    T as() const
    {
        T result;
        std::memcpy(&result, bytes, sizeof result);
        return result;
    }
    template <class T>
    void set(T number)
    {
        if (std::isnan(number)) // The positive one, whatever the processor made of 0 / 0.
            number = std::numeric_limits<T>::quiet_NaN();
        std::memcpy(bytes, &number, sizeof number);
    }
    upsweep_array array(upsweep_dtype dtype) { return {bytes, dtype, UPSWEEP_HOST, 0, 0, nullptr, nullptr}; }
};

// The shape that stays when these axes are folded.
struct reduced_shape {
    int rank = 0;
    std::int64_t extents[most_dimensions]{};

    reduced_shape(const layout& at, std::uint64_t axes, bool keeps_dimensions);
};

struct scan_options {
    bool exclusive = false;
    bool reverse = false;
    bool includes_initial = false; // results have one element more, which is the fold of none
    nb::handle initial = Py_None;
};

// The axis that an argument of a scan names.
int axis_of_scan(const char* call, nb::handle given, int rank);

// What runs from the last element of an axis to the first.
void turn(layout& at, int axis);

// The ends of a histogram.
struct range {
    double low;
    double high;
};

range range_argument(const char* call, nb::handle of);

// Bins of equal width, so many.
struct even_bins {
    range over;
    std::vector<double> between; // if not empty, the bins are between these edges
    nb::object edges;            // of NumPy, as they are shown
};

// `was_found`: the range is that of the samples, and not an argument.
even_bins even_bins_of(std::int64_t bins, range over, bool was_found, upsweep_dtype samples);

// Bins between edges, an array of NumPy of one dimension.
even_bins bins_between(const nb::object& edges);

// Refuses samples that have no range.
void check_range_is_finite(const char* call, range over);

// What bincount asks of its arguments, and how many bins there are for numbers of a range.
void check_numbers_to_count(int rank, upsweep_dtype dtype, std::int64_t minlength);
std::int64_t bins_up_to(range over);

// The type in which weights are summed.
upsweep_dtype sum_dtype(upsweep_dtype weights);

// --- arrays in memory of a GPU (gpu_folds.cpp, gpu_histograms.cpp): results lie there, too; nothing is waited for unless it says so

nb::object reduce_on_gpu(const char* call, upsweep_op op, gpu_array& in, nb::handle axis,
                         std::optional<upsweep_dtype> dtype, bool keeps_dimensions, nb::handle out,
                         nb::handle identity);
// `find` is argmin_axis or argmax_axis.
nb::object argument_on_gpu(const char* call, decltype(&upsweep_argmin_axis) library::*find, gpu_array& in,
                           nb::handle axis, bool keeps_dimensions, nb::handle out);
nb::object mean_on_gpu(gpu_array& in, nb::handle axis, bool keeps_dimensions, nb::handle out);
nb::object var_on_gpu(gpu_array& in, nb::handle axis, double correction, bool keeps_dimensions);
nb::object scan_on_gpu(const char* call, upsweep_op op, gpu_array& in, nb::handle axis,
                       std::optional<upsweep_dtype> dtype, nb::handle out, const scan_options& how);
// Waits for the least and the greatest sample where no range is given.
nb::object histogram_on_gpu(gpu_array& in, nb::handle bins, nb::handle range, nb::handle weights, bool density,
                            nb::handle axis);
nb::object segment_histogram_on_gpu(gpu_array& in, nb::handle offsets, nb::handle bins, nb::handle range);
// Waits for them, too.
nb::object bincount_on_gpu(gpu_array& in, nb::handle weights, std::int64_t minlength);

} // namespace upsweep::python
