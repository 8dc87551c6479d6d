// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#define UPSWEEP_HOLDS_NUMPY
#include "array.hpp"

#include <algorithm>
#include <bit>
#include <string_view>
#include <utility>

#include "library.hpp"

namespace upsweep::python {

// --- errors -----------------------------------------------------------------------------------------------------------------

void refuse(PyObject* type, const char* call, const std::string& reason, const char* remedy)
{
    PyErr_SetString(type, (std::string(call) + ": " + reason + "; " + remedy).c_str());
    throw nb::python_error();
}

void check(upsweep_status status)
{
    if (status == UPSWEEP_OK) [[likely]]
        return;
    throw_status(status, lib().last_error());
}

void throw_status(upsweep_status status, const char* message)
{
    PyObject* type = PyExc_RuntimeError;
    if (status == UPSWEEP_INVALID_ARGUMENT || status == UPSWEEP_OVERLAP)
        type = PyExc_ValueError;
    else if (status == UPSWEEP_UNSUPPORTED)
        type = PyExc_TypeError;
    else if (status == UPSWEEP_OUT_OF_MEMORY)
        type = PyExc_MemoryError;
    PyErr_SetString(type, message);
    throw nb::python_error();
}

// --- types ------------------------------------------------------------------------------------------------------------------

void import_numpy()
{
    static bool is_imported = false; // The GIL protects it.
    if (is_imported) [[likely]]
        return;
    if (PyArray_ImportNumPyAPI() < 0)
        throw nb::python_error();
    is_imported = true;
}

namespace {

// The type object of ml_dtypes' bfloat16 if anybody has imported it: else no array can have it. Kept for ever.
PyTypeObject* bfloat16_type()
{
    static PyTypeObject* type = nullptr;
    if (type == nullptr) {
        const nb::object modules = nb::module_::import_("sys").attr("modules");
        const nb::object ml_dtypes = modules.attr("get")("ml_dtypes", nb::none());
        if (!ml_dtypes.is_none() && nb::hasattr(ml_dtypes, "bfloat16"))
            type = reinterpret_cast<PyTypeObject*>(nb::object(ml_dtypes.attr("bfloat16")).release().ptr());
    }
    return type;
}

upsweep_dtype signed_of(std::size_t bytes) { return static_cast<upsweep_dtype>(UPSWEEP_I8 + std::countr_zero(bytes)); }
upsweep_dtype unsigned_of(std::size_t bytes)
{
    return static_cast<upsweep_dtype>(UPSWEEP_U8 + std::countr_zero(bytes));
}

std::string name_of(PyArray_Descr* descr) { return nb::str(nb::handle(reinterpret_cast<PyObject*>(descr))).c_str(); }

// PyTorch's types are no types of NumPy: torch.float32 is told by its name.
std::optional<upsweep_dtype> dtype_of_torch(nb::handle dtype)
{
    static constexpr std::pair<std::string_view, upsweep_dtype> names[] = {
        {"bool", UPSWEEP_BOOL},   {"int8", UPSWEEP_I8},     {"int16", UPSWEEP_I16},     {"int32", UPSWEEP_I32},
        {"int64", UPSWEEP_I64},   {"uint8", UPSWEEP_U8},    {"uint16", UPSWEEP_U16},    {"uint32", UPSWEEP_U32},
        {"uint64", UPSWEEP_U64},  {"float16", UPSWEEP_F16}, {"bfloat16", UPSWEEP_BF16}, {"float32", UPSWEEP_F32},
        {"float64", UPSWEEP_F64},
    };
    if (!dtype.type().attr("__module__").equal(nb::str("torch")))
        return std::nullopt;
    const nb::str text(dtype);
    const std::string_view name = text.c_str();
    for (const auto& [of_numpy, number] : names)
        if (name.substr(name.rfind('.') + 1) == of_numpy)
            return number;
    return std::nullopt;
}

[[noreturn]] void refuse_dtype(const char* call, PyArray_Descr* descr)
{
    refuse(PyExc_TypeError, call, "arrays of dtype " + name_of(descr) + " cannot be folded",
           "convert to bool, an integer of 8 to 64 bits, float16, bfloat16, float32 or float64");
}

} // namespace

std::optional<upsweep_dtype> dtype_of(PyArray_Descr* descr)
{
    switch (descr->type_num) {
    case NPY_BOOL: return UPSWEEP_BOOL;
    case NPY_BYTE: return UPSWEEP_I8;
    case NPY_SHORT: return UPSWEEP_I16;
    case NPY_INT: return UPSWEEP_I32;
    case NPY_LONG: return signed_of(sizeof(long));
    case NPY_LONGLONG: return UPSWEEP_I64;
    case NPY_UBYTE: return UPSWEEP_U8;
    case NPY_USHORT: return UPSWEEP_U16;
    case NPY_UINT: return UPSWEEP_U32;
    case NPY_ULONG: return unsigned_of(sizeof(long));
    case NPY_ULONGLONG: return UPSWEEP_U64;
    case NPY_HALF: return UPSWEEP_F16;
    case NPY_FLOAT: return UPSWEEP_F32;
    case NPY_DOUBLE: return UPSWEEP_F64;
    default: break;
    }
    if (descr->type_num >= NPY_USERDEF && descr->typeobj == bfloat16_type())
        return UPSWEEP_BF16;
    return std::nullopt;
}

PyArray_Descr* descr_of(upsweep_dtype dtype)
{
    static constexpr int numbers[] = {NPY_BOOL,   NPY_INT8,   NPY_INT16, NPY_INT32, NPY_INT64, NPY_UINT8, NPY_UINT16,
                                      NPY_UINT32, NPY_UINT64, NPY_HALF,  -1,        NPY_FLOAT, NPY_DOUBLE};
    if (dtype != UPSWEEP_BF16)
        return PyArray_DescrFromType(numbers[dtype]);
    PyArray_Descr* descr = nullptr;
    if (PyArray_DescrConverter(reinterpret_cast<PyObject*>(bfloat16_type()), &descr) == NPY_FAIL)
        throw nb::python_error();
    return descr;
}

std::optional<upsweep_dtype> dtype_argument(const char* call, nb::handle dtype)
{
    if (dtype.is_none())
        return std::nullopt;
    import_numpy();
    PyArray_Descr* descr = nullptr;
    if (const auto named = dtype_of_torch(dtype))
        return named;
    if (PyArray_DescrConverter(dtype.ptr(), &descr) == NPY_FAIL)
        throw nb::python_error();
    const nb::object owned = nb::steal(reinterpret_cast<PyObject*>(descr));
    const auto result = dtype_of(descr);
    if (!result)
        refuse_dtype(call, descr);
    return result;
}

// --- arrays -----------------------------------------------------------------------------------------------------------------

void layout::begin(void* data, upsweep_dtype dtype) { array = {data, dtype, UPSWEEP_HOST, 0, 0, shape, strides}; }

void layout::begin(const layout& other)
{
    array = other.array;
    array.shape = shape;
    array.strides = strides;
    std::copy_n(other.shape, array.rank, shape);
    std::copy_n(other.strides, array.rank, strides);
}

void layout::append(std::int64_t extent, std::int64_t stride)
{
    shape[array.rank] = extent;
    strides[array.rank] = stride;
    ++array.rank;
}

void layout::close_gaps()
{
    std::int64_t stride = 1;
    for (int k = array.rank; k-- > 0;) {
        strides[k] = stride;
        stride *= shape[k];
    }
}

std::int64_t layout::count() const
{
    std::int64_t result = 1;
    for (int k = 0; k < array.rank; ++k)
        result *= shape[k];
    return result;
}

int layout::least_rank() const
{
    int result = 0;
    std::int64_t before = 0; // the stride of the dimension before
    for (int k = 0; k < array.rank; ++k) {
        if (shape[k] == 1)
            continue;
        if (result == 0 || before != shape[k] * strides[k])
            ++result;
        before = strides[k];
    }
    return result;
}

bool can_be_described(PyArrayObject* array)
{
    if (!PyArray_ISALIGNED(array) || PyArray_ISBYTESWAPPED(array))
        return false;
    const npy_intp size = PyArray_ITEMSIZE(array);
    for (int k = 0; k < PyArray_NDIM(array); ++k)
        if (PyArray_STRIDE(array, k) % size != 0 && PyArray_DIM(array, k) > 1)
            return false;
    return true;
}

bool comes_in_chunks(nb::handle x)
{
    import_numpy();
    return !PyArray_CheckExact(x.ptr()) && nb::hasattr(x.type(), "_comes_in_chunks");
}

nb::object of_chunks(const char* function) { return nb::module_::import_("upsweep._chunked").attr(function); }

void describe(PyArrayObject* array, upsweep_dtype dtype, layout& to)
{
    to.begin(PyArray_DATA(array), dtype);
    const npy_intp size = PyArray_ITEMSIZE(array);
    for (int k = 0; k < PyArray_NDIM(array); ++k)
        to.append(PyArray_DIM(array, k), PyArray_DIM(array, k) > 1 ? PyArray_STRIDE(array, k) / size : 1);
}

nb::object copy_as(PyArrayObject* array, upsweep_dtype dtype)
{
    nb::object copy = nb::steal(PyArray_NewLikeArray(array, NPY_KEEPORDER, descr_of(dtype), 0));
    check(copy.ptr());
    if (PyArray_CopyInto(reinterpret_cast<PyArrayObject*>(copy.ptr()), array) < 0)
        throw nb::python_error();
    return copy;
}

nb::object new_array(int rank, const std::int64_t* shape, upsweep_dtype dtype)
{
    static_assert(sizeof(npy_intp) == sizeof(std::int64_t));
    nb::object result = nb::steal(PyArray_NewFromDescr(
        &PyArray_Type, descr_of(dtype), rank, reinterpret_cast<const npy_intp*>(shape), nullptr, nullptr, 0, nullptr));
    check(result.ptr());
    return result;
}

operand::operand(const char* call, nb::handle x)
{
    import_numpy();
    if (PyArray_CheckExact(x.ptr())) [[likely]] {
        array_ = nb::borrow(x);
    } else {
        const nb::object adopted = nb::module_::import_("upsweep._interchange").attr("adopt")(call, x);
        array_ = adopted[0];
        if (nb::object as_it_came = adopted[1]; !as_it_came.is_none())
            export_ = std::move(as_it_came);
    }
    const auto dtype = dtype_of(PyArray_DESCR(numpy()));
    if (!dtype)
        refuse_dtype(call, PyArray_DESCR(numpy()));
    if (!can_be_described(numpy())) [[unlikely]]
        array_ = copy_as(numpy(), *dtype);
    describe(numpy(), *dtype, at_);
    if (at_.rank() > most_dimensions_of_library && at_.least_rank() > most_dimensions_of_library) [[unlikely]] {
        array_ = nb::steal(PyArray_NewCopy(numpy(), NPY_CORDER));
        check(array_.ptr());
        describe(numpy(), *dtype, at_);
    }
}

void operand::convert(upsweep_dtype dtype)
{
    if (dtype == this->dtype())
        return;
    array_ = copy_as(numpy(), dtype);
    describe(numpy(), dtype, at_);
}

nb::object operand::finish(nb::object result) const
{
    if (is_of_numpy()) [[likely]]
        return result;
    return export_(result);
}

nb::object scalar_of(const nb::object& array)
{
    nb::object scalar = nb::steal(PyArray_ToScalar(PyArray_DATA(as_array(array)), as_array(array)));
    check(scalar.ptr());
    return scalar;
}

PyArrayObject* output_argument(const char* call, nb::handle out, int rank, const std::int64_t* shape)
{
    import_numpy();
    if (!PyArray_Check(out.ptr()))
        refuse(PyExc_TypeError, call, "out is no NumPy array", "pass one that has the shape of the result");
    auto* array = reinterpret_cast<PyArrayObject*>(out.ptr());
    if (PyArray_NDIM(array) != rank || !std::equal(shape, shape + rank, PyArray_DIMS(array)))
        refuse(PyExc_ValueError, call, "out has not the shape of the result", "pass an array of that shape");
    if (!PyArray_ISWRITEABLE(array))
        refuse(PyExc_ValueError, call, "out is read-only", "pass an array that can be written");
    if (!dtype_of(PyArray_DESCR(array)))
        refuse_dtype(call, PyArray_DESCR(array));
    if (!can_be_described(array))
        refuse(PyExc_ValueError, call, "elements of out are not aligned, or not in the byte order of this machine",
               "pass an array as numpy.empty makes it");
    return array;
}

void check_kind_of_output(const char* call, upsweep_dtype results, PyArrayObject* out)
{
    PyArray_Descr* descr = descr_of(results);
    const nb::object owned = nb::steal(reinterpret_cast<PyObject*>(descr));
    if (PyArray_CanCastTypeTo(descr, PyArray_DESCR(out), NPY_SAME_KIND_CASTING) == 0)
        refuse(PyExc_TypeError, call,
               "results of dtype " + name_of(descr) + " are not of the kind of out, " + name_of(PyArray_DESCR(out)),
               "pass an array of that dtype");
}

// --- axes and operators -----------------------------------------------------------------------------------------------------

namespace {

[[noreturn]] void refuse_axis(long long axis, int rank)
{
    const nb::module_ numpy = nb::module_::import_("numpy");
    const nb::object where = nb::hasattr(numpy, "exceptions") ? numpy.attr("exceptions") : nb::object(numpy);
    const nb::object error = where.attr("AxisError");
    const nb::object value = error(axis, rank);
    PyErr_SetObject(error.ptr(), value.ptr());
    throw nb::python_error();
}

} // namespace

int axis_argument(nb::handle axis, int rank)
{
    const nb::object number = nb::steal(PyNumber_Index(axis.ptr()));
    check(number.ptr());
    const long long k = PyLong_AsLongLong(number.ptr());
    if (k == -1 && PyErr_Occurred() != nullptr)
        throw nb::python_error();
    if (k < -rank || k >= rank)
        refuse_axis(k, rank);
    return static_cast<int>(k < 0 ? k + rank : k);
}

std::uint64_t axes_argument(const char* call, nb::handle axis, int rank)
{
    if (axis.is_none())
        return rank == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << rank) - 1;
    if (!nb::isinstance<nb::tuple>(axis))
        return std::uint64_t{1} << axis_argument(axis, rank);
    std::uint64_t axes = 0;
    for (const nb::handle one : nb::borrow<nb::tuple>(axis)) {
        const std::uint64_t bit = std::uint64_t{1} << axis_argument(one, rank);
        if ((axes & bit) != 0)
            refuse(PyExc_ValueError, call, "an axis is named twice", "name each axis once");
        axes |= bit;
    }
    return axes;
}

upsweep_op op_argument(const char* call, nb::handle op)
{
    // The names of the C++ operators, of NumPy's ufuncs, and of the functions.
    static constexpr std::pair<std::string_view, upsweep_op> names[] = {{"plus", UPSWEEP_PLUS},
                                                                        {"add", UPSWEEP_PLUS},
                                                                        {"sum", UPSWEEP_PLUS},
                                                                        {"multiplies", UPSWEEP_MULTIPLIES},
                                                                        {"multiply", UPSWEEP_MULTIPLIES},
                                                                        {"prod", UPSWEEP_MULTIPLIES},
                                                                        {"minimum", UPSWEEP_MINIMUM},
                                                                        {"min", UPSWEEP_MINIMUM},
                                                                        {"maximum", UPSWEEP_MAXIMUM},
                                                                        {"max", UPSWEEP_MAXIMUM},
                                                                        {"bit_and", UPSWEEP_BIT_AND},
                                                                        {"bitwise_and", UPSWEEP_BIT_AND},
                                                                        {"bit_or", UPSWEEP_BIT_OR},
                                                                        {"bitwise_or", UPSWEEP_BIT_OR},
                                                                        {"bit_xor", UPSWEEP_BIT_XOR},
                                                                        {"bitwise_xor", UPSWEEP_BIT_XOR},
                                                                        {"logical_and", UPSWEEP_LOGICAL_AND},
                                                                        {"all", UPSWEEP_LOGICAL_AND},
                                                                        {"logical_or", UPSWEEP_LOGICAL_OR},
                                                                        {"any", UPSWEEP_LOGICAL_OR},
                                                                        {"log_sum_exp", UPSWEEP_LOG_SUM_EXP},
                                                                        {"logaddexp", UPSWEEP_LOG_SUM_EXP}};
    const bool is_word = nb::isinstance<nb::str>(op);
    const bool is_ufunc = !is_word && op.type().attr("__name__").equal(nb::str("ufunc"));
    if (is_word || is_ufunc) {
        const nb::str word(is_word ? nb::borrow<nb::object>(op) : nb::object(op.attr("__name__")));
        for (const auto& [name, number] : names)
            if (name == word.c_str())
                return number;
    }
    refuse(
        is_word ? PyExc_ValueError : PyExc_TypeError, call, "there is no operator " + std::string(nb::repr(op).c_str()),
        "pass 'plus', 'multiplies', 'minimum', 'maximum', 'bit_and', 'bit_or', 'bit_xor', 'logical_and', 'logical_or', "
        "'log_sum_exp', or the ufunc of NumPy that is the same");
}

// --- the types of folds -----------------------------------------------------------------------------------------------------

upsweep_dtype reduce_dtype(upsweep_op op, upsweep_dtype elements)
{
    upsweep_dtype result{};
    check(lib().reduce_dtype(op, elements, &result));
    return result;
}

upsweep_dtype result_dtype(upsweep_op op, upsweep_dtype elements)
{
    const upsweep_dtype folded = reduce_dtype(op, elements);
    return is_half(elements) && folded == UPSWEEP_F32 ? elements : folded;
}

nb::object value_argument(const char* call, const char* name, nb::handle of, upsweep_dtype dtype)
{
    nb::object array = nb::steal(PyArray_FromAny(of.ptr(), descr_of(dtype), 0, 0, NPY_ARRAY_CARRAY, nullptr));
    check(array.ptr());
    if (PyArray_NDIM(as_array(array)) != 0)
        refuse(PyExc_ValueError, call, std::string(name) + " is an array", "pass one number");
    return array;
}

} // namespace upsweep::python
