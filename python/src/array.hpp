// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <upsweep/runtime.h>

#include "numpy.hpp"

// The seam between Python's arrays and those of the C ABI. NumPy's are read through the structure that NumPy publishes, which
// takes some ten nanoseconds; any other object is shown to upsweep._interchange, which says as what NumPy array it can be read
// and how a result becomes an array of its kind.
namespace upsweep::python {

namespace nb = nanobind;

inline constexpr int most_dimensions = 64; // that a NumPy array can have

// --- errors -----------------------------------------------------------------------------------------------------------------

// "call: reason; remedy", as an exception of this Python type.
[[noreturn]] void refuse(PyObject* type, const char* call, const std::string& reason, const char* remedy);

// Throws what a status of libupsweep is in Python, with its message: ValueError, TypeError, MemoryError or RuntimeError.
void check(upsweep_status status);
[[noreturn]] void throw_status(upsweep_status status, const char* message);

// Throws the exception that Python has been told of.
inline void check(const void* result)
{
    if (result == nullptr)
        throw nb::python_error();
}

// --- types ------------------------------------------------------------------------------------------------------------------

// NumPy is imported when the first array comes, which is when somebody else has imported it already.
void import_numpy();

inline bool is_of_numpy(nb::handle x)
{
    import_numpy();
    return PyArray_CheckExact(x.ptr());
}

inline bool is_float(upsweep_dtype dtype) { return dtype >= UPSWEEP_F16; }
inline bool is_half(upsweep_dtype dtype) { return dtype == UPSWEEP_F16 || dtype == UPSWEEP_BF16; }

// bfloat16 is the one of the package ml_dtypes. Nothing for types that have no engine.
std::optional<upsweep_dtype> dtype_of(PyArray_Descr* descr);

// NumPy's description of a type in the byte order of the machine, a new reference.
PyArray_Descr* descr_of(upsweep_dtype dtype);

// The type that an argument `dtype` names; nothing for None. TypeError where it has no engine.
std::optional<upsweep_dtype> dtype_argument(const char* call, nb::handle dtype);

// --- arrays -----------------------------------------------------------------------------------------------------------------

// Where elements lie, with room for the numbers that an upsweep_array points to.
struct layout {
    upsweep_array array;
    std::int64_t shape[most_dimensions + 1];
    std::int64_t strides[most_dimensions + 1];

    layout() = default;
    layout(const layout&) = delete;
    layout& operator=(const layout&) = delete;

    // Without dimensions.
    void begin(void* data, upsweep_dtype dtype);
    // The same as another one.
    void begin(const layout& other);
    void append(std::int64_t extent, std::int64_t stride);
    // Sets the strides of an array in C's order.
    void close_gaps();
    int rank() const { return array.rank; }
    std::int64_t count() const;
    // How many dimensions tell the same: neighbours that lie as one dimension would are one.
    int least_rank() const;
};

// What libupsweep reads where it lies.
inline constexpr int most_dimensions_of_library = 8;

// An argument that is an array: its elements as the C ABI takes them. Elements in the byte order of the machine at multiples
// of their size are read where they lie, whatever the strides. Others are copied first, once, as NumPy itself does, and so are
// those that lie in more dimensions than libupsweep takes.
class operand {
public:
    operand(const char* call, nb::handle x);

    PyArrayObject* numpy() const { return reinterpret_cast<PyArrayObject*>(array_.ptr()); }
    int rank() const { return at_.rank(); }
    std::int64_t count() const { return PyArray_SIZE(numpy()); }
    upsweep_dtype dtype() const { return at_.array.dtype; }
    const layout& at() const { return at_; }

    // Replaces the elements by a copy of this type. TypeError unless NumPy converts so without losing the kind.
    void convert(upsweep_dtype dtype);

    bool is_of_numpy() const { return !export_.is_valid(); }
    // A result, a NumPy array, as an array of the kind that came.
    nb::object finish(nb::object result) const;

private:
    nb::object array_;
    nb::object export_; // a function, or null for NumPy's own arrays
    layout at_;
};

// Whether an argument is what upsweep.open gives, an array whose elements come in chunks. Its folds are in upsweep/_chunked.py.
bool comes_in_chunks(nb::handle x);
nb::object of_chunks(const char* function);

// Describes an array whose elements are in the machine's byte order and at multiples of their size.
void describe(PyArrayObject* array, upsweep_dtype dtype, layout& to);
bool can_be_described(PyArrayObject* array);

// A copy of this type, in the order of memory of the original.
nb::object copy_as(PyArrayObject* array, upsweep_dtype dtype);

// A new array without values, without gaps.
nb::object new_array(int rank, const std::int64_t* shape, upsweep_dtype dtype);

inline PyArrayObject* as_array(const nb::object& array) { return reinterpret_cast<PyArrayObject*>(array.ptr()); }

// The element of an array without dimensions, as NumPy's own functions give it.
nb::object scalar_of(const nb::object& array);

// An argument `out`: a NumPy array that can be written, of this shape. Its elements can be described.
PyArrayObject* output_argument(const char* call, nb::handle out, int rank, const std::int64_t* shape);

// Refuses an `out` to which results of this type are not converted without losing their kind.
void check_kind_of_output(const char* call, upsweep_dtype results, PyArrayObject* out);

// The axes that an argument names, as bits. None: all of them. numpy.exceptions.AxisError and ValueError.
std::uint64_t axes_argument(const char* call, nb::handle axis, int rank);
// One axis, an integer.
int axis_argument(nb::handle axis, int rank);

// The operator that an argument names: a word or a ufunc of NumPy.
upsweep_op op_argument(const char* call, nb::handle op);

// --- the types of folds -----------------------------------------------------------------------------------------------------

// libupsweep's type of a reduction. TypeError where the operator is not defined for the elements.
upsweep_dtype reduce_dtype(upsweep_op op, upsweep_dtype elements);

// The type of results if none is asked for: that of floating-point elements, and 64 bits for sums and products of integers.
upsweep_dtype result_dtype(upsweep_op op, upsweep_dtype elements);

// An array of 0 dimensions with the value of an argument, of this type.
nb::object value_argument(const char* call, const char* name, nb::handle of, upsweep_dtype dtype);

// --- calls ------------------------------------------------------------------------------------------------------------------

// Lets other threads of Python run while elements are folded, if there are so many that it pays.
class gil_released {
public:
    explicit gil_released(std::int64_t elements) : state_(elements >= 8192 ? PyEval_SaveThread() : nullptr) {}
    ~gil_released()
    {
        if (state_ != nullptr)
            PyEval_RestoreThread(state_);
    }
    gil_released(const gil_released&) = delete;
    gil_released& operator=(const gil_released&) = delete;

private:
    PyThreadState* state_;
};

void bind_folds(nb::module_& m);
void bind_histograms(nb::module_& m);
void bind_partials(nb::module_& m);
void bind_shapes(nb::module_& m);
void bind_xla_handlers(nb::module_& m);

} // namespace upsweep::python
