// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Reductions and scans, of a whole array and along its axes.
#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>

#include "array.hpp"
#include "blocks.hpp"
#include "docs.hpp"
#include "fold.hpp"
#include "gpu_operators.hpp"
#include "library.hpp"
#include "recorded.hpp"

namespace upsweep::python {

// --- which type a fold has --------------------------------------------------------------------------------------------------

fold_types types_of_reduction(const char* call, upsweep_op op, upsweep_dtype elements,
                              std::optional<upsweep_dtype> asked)
{
    const upsweep_dtype folded = reduce_dtype(op, elements);
    if (!asked)
        return {elements, folded, result_dtype(op, elements)};
    if (op != UPSWEEP_PLUS && op != UPSWEEP_MULTIPLIES) {
        if (*asked != folded)
            refuse(PyExc_TypeError, call, "this operator keeps the type of its elements",
                   "leave dtype out, or convert the array");
        return {elements, folded, folded};
    }
    if (*asked == UPSWEEP_BOOL || (is_float(elements) && !is_float(*asked)))
        refuse(PyExc_TypeError, call,
               std::string("elements of type ") + lib().dtype_name(elements) + " cannot be folded as " +
                   lib().dtype_name(*asked),
               "convert the array, or ask for another dtype");
    if (!is_float(*asked) || *asked == folded) // Integers are exact modulo 2^64, and so modulo any 2^k.
        return {elements, folded, *asked};
    return {*asked, reduce_dtype(op, *asked), *asked};
}

fold_types types_of_mean(upsweep_dtype elements)
{
    if (!is_float(elements))
        return {elements, UPSWEEP_F64, UPSWEEP_F64};
    return {elements, reduce_dtype(UPSWEEP_PLUS, elements), elements};
}

reduced_shape::reduced_shape(const layout& at, std::uint64_t axes, bool keeps_dimensions)
{
    for (int k = 0; k < at.rank(); ++k)
        if ((axes >> k & 1) == 0)
            extents[rank++] = at.shape[k];
        else if (keeps_dimensions)
            extents[rank++] = 1;
}

int axis_of_scan(const char* call, nb::handle given, int rank)
{
    if (rank == 0)
        refuse(PyExc_ValueError, call, "an array without dimensions has no axis",
               "pass an array of one dimension at least");
    if (given.is_none() && rank != 1)
        refuse(PyExc_ValueError, call, "an array of several dimensions is scanned along one of them", "pass axis");
    return given.is_none() ? 0 : axis_argument(given, rank);
}

void turn(layout& at, int axis)
{
    if (at.shape[axis] == 0)
        return;
    auto* data = static_cast<char*>(at.array.data);
    at.array.data =
        data + (at.shape[axis] - 1) * at.strides[axis] * static_cast<std::int64_t>(lib().dtype_size(at.array.dtype));
    at.strides[axis] = -at.strides[axis];
}

namespace {

// --- results ----------------------------------------------------------------------------------------------------------------

void copy_into(PyArrayObject* to, const nb::object& from)
{
    if (PyArray_CopyInto(to, as_array(from)) < 0)
        throw nb::python_error();
}

// One value as a result of `rank` dimensions of extent 1: NumPy's scalar for NumPy's arrays, as their own methods give.
nb::object finish_value(const char* call, const operand& in, const value& of, const fold_types& types, int rank,
                        nb::handle out)
{
    if (rank == 0 && out.is_none() && types.result == types.folded && in.is_of_numpy()) [[likely]] {
        PyArray_Descr* descr = descr_of(types.folded);
        nb::object scalar = nb::steal(PyArray_Scalar(const_cast<unsigned char*>(of.bytes), descr, nullptr));
        Py_DECREF(reinterpret_cast<PyObject*>(descr));
        check(scalar.ptr());
        return scalar;
    }
    std::int64_t ones[most_dimensions];
    std::fill_n(ones, rank, 1);
    nb::object result = new_array(rank, ones, types.folded);
    std::memcpy(PyArray_DATA(as_array(result)), of.bytes, lib().dtype_size(types.folded));
    if (!out.is_none()) {
        PyArrayObject* given = output_argument(call, out, rank, ones);
        check_kind_of_output(call, types.result, given);
        copy_into(given, result);
        return nb::borrow(out);
    }
    if (types.result != types.folded)
        result = copy_as(as_array(result), types.result);
    if (rank == 0 && in.is_of_numpy())
        return scalar_of(result);
    return in.finish(std::move(result));
}

// The results of a fold along axes: where they are written, and what is handed back.
class results {
public:
    results(const char* call, int rank, const std::int64_t* shape, const fold_types& types, nb::handle out)
        : types_(types), out_(out)
    {
        PyArrayObject* given = out.is_none() ? nullptr : output_argument(call, out, rank, shape);
        if (given != nullptr)
            check_kind_of_output(call, types.result, given);
        array_ = given != nullptr && *dtype_of(PyArray_DESCR(given)) == types.folded
                     ? nb::borrow(out)
                     : new_array(rank, shape, types.folded);
    }
    PyArrayObject* array() const { return as_array(array_); }
    nb::object finish(const operand& in) const
    {
        if (!out_.is_none()) {
            if (!out_.is(array_))
                copy_into(reinterpret_cast<PyArrayObject*>(out_.ptr()), array_);
            return nb::borrow(out_);
        }
        return in.finish(types_.result == types_.folded ? array_ : copy_as(array(), types_.result));
    }

private:
    fold_types types_;
    nb::handle out_;
    nb::object array_;
};

// --- reduce -----------------------------------------------------------------------------------------------------------------

// The elements of an array as lines: the dimensions that stay, and behind them the axes that are folded as one dimension. Where
// the strides of these axes are not those of one dimension, the elements are copied.
class lines {
public:
    lines(const operand& in, std::uint64_t axes)
    {
        to_.begin(in.at().array.data, in.dtype());
        append_lines(to_, in.at(), axes);
        if (in.count() != 0 && (!lie_as_one_axis(in.at(), axes) || to_.least_rank() >= most_dimensions_of_library))
            copy(in, axes);
    }
    const layout& at() const { return to_; }
    int axis() const { return to_.rank() - 1; }

private:
    void copy(const operand& in, std::uint64_t axes)
    {
        npy_intp order[most_dimensions];
        int front = 0;
        int back = axis();
        for (int k = 0; k < in.rank(); ++k)
            order[(axes >> k & 1) == 0 ? front++ : back++] = k;
        if (in.rank() < most_dimensions_of_library)
            copy_by_library(in, order);
        else
            copy_by_numpy(in, order);
        to_.array.data = PyArray_DATA(as_array(copy_));
        to_.close_gaps();
    }
    // By all threads, and in the order of memory: each element is the minimum of a line of its own.
    void copy_by_library(const operand& in, const npy_intp* order)
    {
        const std::int64_t count = in.count();
        copy_ = new_array(1, &count, in.dtype());
        layout singles;
        layout copies;
        singles.begin(in.at().array.data, in.dtype());
        copies.begin(PyArray_DATA(as_array(copy_)), in.dtype());
        for (int k = 0; k < in.rank(); ++k) {
            singles.append(in.at().shape[order[k]], in.at().strides[order[k]]);
            copies.append(in.at().shape[order[k]], 1);
        }
        copies.close_gaps();
        singles.append(1, 1);
        const auto copy_all = [&] {
            const gil_released others(count);
            return lib().reduce_axis(nullptr, UPSWEEP_MINIMUM, &singles.array, in.rank(), &copies.array);
        };
        check(copy_all());
    }
    void copy_by_numpy(const operand& in, npy_intp* order)
    {
        PyArray_Dims permutation{order, in.rank()};
        const nb::object turned = nb::steal(PyArray_Transpose(in.numpy(), &permutation));
        check(turned.ptr());
        copy_ = nb::steal(PyArray_NewCopy(as_array(turned), NPY_CORDER));
        check(copy_.ptr());
    }

    nb::object copy_;
    layout to_;
};

// Results that lie where the lines that they are of lie, without the axis that was folded and without those of extent 1 that
// stand for it.
void describe_results(PyArrayObject* array, upsweep_dtype dtype, std::uint64_t axes, bool keeps_dimensions, layout& to)
{
    layout all;
    describe(array, dtype, all);
    to.begin(all.array.data, dtype);
    append_kept(to, axes, keeps_dimensions, all);
}

// Folds along axes that do not lie as one by blocks, to results of the type in which they are folded, if that takes less time than a copy. Returns whether
// it has.
bool fold_blocks_first(upsweep_op op, const operand& in, std::uint64_t axes, const layout& to)
{
    constexpr std::size_t bytes_of_short_line = 128; // which sums alone fold at the speed of memory
    const first_blocks first =
        in.count() != 0 ? blocks_to_fold_first(in.at(), axes, op, to.array.dtype) : first_blocks{};
    const bool are_short = std::abs(first.stride) == 1 &&
                           static_cast<std::size_t>(first.length) * lib().dtype_size(in.dtype()) <= bytes_of_short_line;
    if (first.axes == 0 || (are_short && op != UPSWEEP_PLUS))
        return false;
    fold_by_blocks by(in.at(), axes, first, to.array.dtype);
    const std::int64_t room = by.room();
    const nb::object totals = new_array(1, &room, to.array.dtype);
    by.set_room(in.at(), PyArray_DATA(as_array(totals)));
    const auto fold = [&] {
        const gil_released others(in.count());
        const auto reduce = [op](const layout& lines, const layout& results) {
            return lib().reduce_axis(nullptr, op, &lines.array, lines.rank() - 1, &results.array);
        };
        const upsweep_status status = by.fold_blocks(reduce);
        return status == UPSWEEP_OK ? reduce(by.lines(), to) : status;
    };
    check(fold());
    return true;
}

// Divides sums, of f32 or f64, by how many elements each is of.
template <class T>
void divide_as(const layout& sums, std::int64_t elements)
{
    const auto divisor = static_cast<T>(elements);
    std::int64_t index[most_dimensions + 1]{};
    auto* at = static_cast<T*>(sums.array.data);
    for (std::int64_t left = sums.count(); left != 0; --left) {
        *at /= divisor;
        for (int k = sums.rank(); k-- > 0;) {
            at += sums.strides[k];
            if (++index[k] < sums.shape[k])
                break;
            at -= sums.strides[k] * sums.shape[k];
            index[k] = 0;
        }
    }
}
void divide(const layout& sums, std::int64_t elements)
{
    sums.array.dtype == UPSWEEP_F32 ? divide_as<float>(sums, elements) : divide_as<double>(sums, elements);
}

// Calls fold(lines, axis of the lines, results) for a fold along axes, unless fold_blocks(results) has folded them.
template <class FoldBlocks, class Fold>
nb::object fold_axes(const char* call, const operand& in, const fold_types& types, std::uint64_t axes,
                     bool keeps_dimensions, nb::handle out, nb::handle identity, FoldBlocks fold_blocks, Fold fold)
{
    const reduced_shape shape(in.at(), axes, keeps_dimensions);
    const results to(call, shape.rank, shape.extents, types, out);
    if (in.count() == 0 && !identity.is_none()) {
        const nb::object filled =
            nb::steal(PyObject_CallMethod(reinterpret_cast<PyObject*>(to.array()), "fill", "O", identity.ptr()));
        check(filled.ptr());
        return to.finish(in);
    }
    layout at;
    describe_results(to.array(), types.folded, axes, keeps_dimensions, at);
    if (fold_blocks(at))
        return to.finish(in);
    const lines from(in, axes);
    const auto fold_all = [&] {
        const gil_released others(in.count());
        return fold(&from.at().array, from.axis(), &at.array);
    };
    check(fold_all());
    return to.finish(in);
}

namespace {

struct destroy_reducer {
    void operator()(upsweep_reducer* of) const { lib().reducer_destroy(of); }
};
using owned_reducer = std::unique_ptr<upsweep_reducer, destroy_reducer>;

// Whether libupsweep converts elements to the type of the results before they are folded.
bool converts_first(const operand& in, const fold_types& types)
{
    return types.elements != in.dtype() && types.elements == types.folded;
}

} // namespace

nb::object reduce(const char* call, upsweep_op op, nb::handle x, nb::handle axis, std::optional<upsweep_dtype> dtype,
                  bool keeps_dimensions, nb::handle out, nb::handle identity)
{
    if (!is_of_numpy(x)) [[unlikely]]
        if (gpu_array on_gpu; on_gpu.open(call, x))
            return reduce_on_gpu(call, op, on_gpu, axis, dtype, keeps_dimensions, out, identity);
    if (axis.is_none() && !keeps_dimensions && out.is_none() && comes_in_chunks(x)) {
        const nb::object asked =
            dtype ? nb::steal(reinterpret_cast<PyObject*>(descr_of(*dtype))) : nb::object(nb::none());
        return of_chunks("reduce")(call, lib().op_name(op), x, asked, identity);
    }
    operand in(call, x);
    if (!dtype && !out.is_none() && (op == UPSWEEP_PLUS || op == UPSWEEP_MULTIPLIES) && PyArray_Check(out.ptr()))
        dtype = dtype_of(PyArray_DESCR(reinterpret_cast<PyArrayObject*>(out.ptr())));
    const fold_types types = types_of_reduction(call, op, in.dtype(), dtype);
    const std::uint64_t axes = axes_argument(call, axis, in.rank());
    const bool are_all = std::popcount(axes) == in.rank();
    // An array with gaps, or in another order, is converted as it lies.
    const bool is_as_it_lies = are_all && PyArray_IS_C_CONTIGUOUS(in.numpy()) == 0;
    if (!converts_first(in, types) || is_as_it_lies)
        in.convert(types.elements);
    if (!are_all)
        return fold_axes(
            call, in, types, axes, keeps_dimensions, out, identity,
            [&](const layout& to) { return fold_blocks_first(op, in, axes, to); },
            [op](const upsweep_array* lines, int along, const upsweep_array* results) {
                return lib().reduce_axis(nullptr, op, lines, along, results);
            });

    value total;
    if (in.count() == 0 && !identity.is_none()) {
        const nb::object neutral = new_array(0, nullptr, types.folded);
        const nb::object filled = nb::steal(PyObject_CallMethod(neutral.ptr(), "fill", "O", identity.ptr()));
        check(filled.ptr());
        std::memcpy(total.bytes, PyArray_DATA(as_array(neutral)), lib().dtype_size(types.folded));
    } else {
        const upsweep_array result = total.array(types.folded);
        const auto fold = [&] {
            const gil_released others(in.count());
            return lib().reduce(nullptr, op, &in.at().array, &result);
        };
        check(fold());
    }
    return finish_value(call, in, total, types, keeps_dimensions ? in.rank() : 0, out);
}

nb::object mean(nb::handle x, nb::handle axis, bool keeps_dimensions, nb::handle out)
{
    if (!is_of_numpy(x)) [[unlikely]]
        if (gpu_array on_gpu; on_gpu.open("mean", x))
            return mean_on_gpu(on_gpu, axis, keeps_dimensions, out);
    if (axis.is_none() && !keeps_dimensions && out.is_none() && comes_in_chunks(x))
        return of_chunks("mean")(x);
    operand in("mean", x);
    const fold_types types = types_of_mean(in.dtype());
    const std::uint64_t axes = axes_argument("mean", axis, in.rank());
    if (std::popcount(axes) != in.rank())
        return fold_axes(
            "mean", in, types, axes, keeps_dimensions, out, nb::none(),
            [&](const layout& to) {
                if (!is_float(in.dtype()) || !fold_blocks_first(UPSWEEP_PLUS, in, axes, to))
                    return false;
                divide(to, in.count() / to.count());
                return true;
            },
            [](const upsweep_array* lines, int along, const upsweep_array* results) {
                return lib().mean_axis(nullptr, lines, along, results);
            });

    value total;
    const upsweep_dtype sum = reduce_dtype(UPSWEEP_PLUS, in.dtype());
    const upsweep_array result = total.array(sum);
    const auto fold = [&] {
        const gil_released others(in.count());
        return lib().reduce(nullptr, UPSWEEP_PLUS, &in.at().array, &result);
    };
    check(fold());
    switch (sum) {
    case UPSWEEP_F32: total.set(total.as<float>() / static_cast<float>(in.count())); break;
    case UPSWEEP_F64: total.set(total.as<double>() / static_cast<double>(in.count())); break;
    case UPSWEEP_U64:
        total.set(static_cast<double>(total.as<std::uint64_t>()) / static_cast<double>(in.count()));
        break;
    default: total.set(static_cast<double>(total.as<std::int64_t>()) / static_cast<double>(in.count())); break;
    }
    return finish_value("mean", in, total, types, keeps_dimensions ? in.rank() : 0, out);
}

nb::object var(nb::handle x, nb::handle axis, double correction, bool keeps_dimensions)
{
    if (!is_of_numpy(x)) [[unlikely]]
        if (gpu_array on_gpu; on_gpu.open("var", x))
            return var_on_gpu(on_gpu, axis, correction, keeps_dimensions);
    if (axis.is_none() && !keeps_dimensions && comes_in_chunks(x))
        return of_chunks("var")(x, correction);
    operand in("var", x);
    const fold_types types = types_of_mean(in.dtype());
    const std::uint64_t axes = axes_argument("var", axis, in.rank());
    if (std::popcount(axes) != in.rank())
        return fold_axes(
            "var", in, types, axes, keeps_dimensions, nb::none(), nb::none(), [](const layout&) { return false; },
            [correction](const upsweep_array* lines, int along, const upsweep_array* results) {
                return lib().variance_axis(nullptr, lines, along, correction, results);
            });
    value variance;
    const upsweep_array result = variance.array(types.folded);
    const auto fold = [&] {
        const gil_released others(in.count());
        return lib().variance(nullptr, &in.at().array, correction, &result);
    };
    check(fold());
    return finish_value("var", in, variance, types, keeps_dimensions ? in.rank() : 0, nb::none());
}

// The variance of an array that comes in chunks.
class variance_of_chunks {
public:
    variance_of_chunks(nb::handle dtype, double correction)
    {
        const auto elements = dtype_argument("var", dtype);
        types_ = types_of_mean(*elements);
        upsweep_reducer* created = nullptr;
        check(lib().reducer_create_variance(*elements, correction, &created));
        fold_.reset(created);
    }

    // Chunks are fed one after the other.
    void feed(nb::handle x)
    {
        const operand in("var", x);
        const auto fold = [&] {
            const gil_released others(in.count());
            return lib().reducer_feed(fold_.get(), &in.at().array);
        };
        check(fold());
    }
    nb::object value() const
    {
        import_numpy();
        const nb::object result = new_array(0, nullptr, types_.folded);
        check(lib().reducer_result(fold_.get(), PyArray_DATA(as_array(result))));
        return scalar_of(types_.result == types_.folded ? result : copy_as(as_array(result), types_.result));
    }

private:
    fold_types types_{};
    owned_reducer fold_;
};

// --- argmin and argmax --------------------------------------------------------------------------------------------------------

nb::object argument(const char* call, decltype(&upsweep_argmin_axis) library::*find, nb::handle x, nb::handle axis,
                    bool keeps_dimensions, nb::handle out)
{
    if (!axis.is_none() && nb::isinstance<nb::tuple>(axis))
        refuse(PyExc_TypeError, call, "a position is one along one axis", "pass an integer, or None");
    if (!is_of_numpy(x)) [[unlikely]]
        if (gpu_array on_gpu; on_gpu.open(call, x))
            return argument_on_gpu(call, find, on_gpu, axis, keeps_dimensions, out);
    const operand in(call, x);
    const std::uint64_t axes = axes_argument(call, axis, in.rank());
    const fold_types types{in.dtype(), UPSWEEP_I64, UPSWEEP_I64};
    const lines from(in, axes);
    const auto search = [&](const upsweep_array& at) {
        const gil_released others(in.count());
        return (lib().*find)(nullptr, &from.at().array, from.axis(), &at);
    };
    if (std::popcount(axes) == in.rank()) {
        value position;
        check(search(position.array(UPSWEEP_I64)));
        return finish_value(call, in, position, types, keeps_dimensions ? in.rank() : 0, out);
    }
    const reduced_shape shape(in.at(), axes, keeps_dimensions);
    const results to(call, shape.rank, shape.extents, types, out);
    layout at;
    describe_results(to.array(), UPSWEEP_I64, axes, keeps_dimensions, at);
    check(search(at.array));
    return to.finish(in);
}

// --- scan -------------------------------------------------------------------------------------------------------------------

// array[:, ..., 0] = number, along the axis.
void set_first(const nb::object& array, int axis, int number)
{
    nb::list index;
    for (int k = 0; k < axis; ++k)
        index.append(nb::slice(nb::none(), nb::none(), nb::none()));
    index.append(0);
    array[nb::tuple(index)] = nb::int_(number);
}

nb::object scan(const char* call, upsweep_op op, nb::handle x, nb::handle axis_given,
                std::optional<upsweep_dtype> dtype, nb::handle out, const scan_options& how)
{
    if (!is_of_numpy(x)) [[unlikely]]
        if (gpu_array on_gpu; on_gpu.open(call, x))
            return scan_on_gpu(call, op, on_gpu, axis_given, dtype, out, how);
    operand in(call, x);
    const int axis = axis_of_scan(call, axis_given, in.rank());

    layout from;
    describe(in.numpy(), in.dtype(), from);
    from.shape[axis] += how.includes_initial ? 1 : 0;
    nb::object result;
    if (!out.is_none()) {
        PyArrayObject* given = output_argument(call, out, in.rank(), from.shape);
        if (dtype && *dtype != *dtype_of(PyArray_DESCR(given)))
            refuse(PyExc_TypeError, call, "dtype is not that of out", "leave one of them out");
        result = nb::borrow(out);
    } else {
        const upsweep_dtype type = dtype ? *dtype : result_dtype(op, in.dtype());
        if (in.rank() == 1 || how.includes_initial)
            result = new_array(in.rank(), from.shape, type);
        else
            result = nb::steal(PyArray_NewLikeArray(in.numpy(), NPY_KEEPORDER, descr_of(type), 0));
        check(result.ptr());
    }
    from.shape[axis] -= how.includes_initial ? 1 : 0;

    layout to;
    const upsweep_dtype type = *dtype_of(PyArray_DESCR(as_array(result)));
    describe(as_array(result), type, to);
    if (how.reverse) {
        turn(from, axis);
        turn(to, axis);
    }
    if (how.includes_initial) {
        --to.shape[axis];
        to.array.data =
            static_cast<char*>(to.array.data) + to.strides[axis] * static_cast<std::int64_t>(lib().dtype_size(type));
    }
    nb::object initial;
    const void* init = nullptr;
    if (!how.initial.is_none()) {
        initial = value_argument(call, "initial", how.initial, type);
        init = PyArray_DATA(as_array(initial));
    }
    const auto fold = [&] {
        const gil_released others(in.count());
        if (in.rank() == 1)
            return lib().scan(nullptr, op, how.exclusive, &from.array, &to.array, init);
        return lib().scan_axis(nullptr, op, how.exclusive, &from.array, axis, &to.array, init);
    };
    check(fold());
    if (how.includes_initial)
        set_first(result, axis, op == UPSWEEP_MULTIPLIES ? 1 : 0);
    return out.is_none() ? in.finish(std::move(result)) : result;
}

} // namespace

// --- what Python sees -------------------------------------------------------------------------------------------------------

// Whether an operator is an upsweep.monoid, which folds by what it has compiled (upsweep/_monoid.py).
bool is_of_user(nb::handle op) { return !nb::isinstance<nb::str>(op) && nb::hasattr(op.type(), "_is_monoid"); }

// A reduction of array, axis, dtype, keepdims and out.
template <upsweep_op Op>
void def_sum(nb::module_& m, const char* name, const docs::function& doc)
{
    m.def(
        name,
        [name](nb::handle x, nb::handle axis, nb::handle dtype, bool keepdims, nb::handle out) {
            if (const nb::object op = recorded(name, x); op.is_valid()) [[unlikely]]
                return op(x, axis, dtype, keepdims, out);
            return reduce(name, Op, x, axis, dtype_argument(name, dtype), keepdims, out, Py_None);
        },
        nb::arg(), nb::kw_only(), nb::arg("axis") = nb::none(), nb::arg("dtype") = nb::none(),
        nb::arg("keepdims") = false, nb::arg("out") = nb::none(), nb::sig(doc.signature), doc.text);
}

// The same for those that keep the type of their elements, or give truths.
template <upsweep_op Op>
void def_minimum(nb::module_& m, const char* name, const docs::function& doc)
{
    m.def(
        name,
        [name](nb::handle x, nb::handle axis, bool keepdims, nb::handle out) {
            return reduce(name, Op, x, axis, std::nullopt, keepdims, out, Py_None);
        },
        nb::arg(), nb::kw_only(), nb::arg("axis") = nb::none(), nb::arg("keepdims") = false,
        nb::arg("out") = nb::none(), nb::sig(doc.signature), doc.text);
}

template <upsweep_op Op>
void def_cumulative_sum(nb::module_& m, const char* name, const docs::function& doc)
{
    m.def(
        name,
        [name](nb::handle x, nb::handle axis, nb::handle dtype, bool include_initial, nb::handle out) {
            if (const nb::object op = recorded(name, x); op.is_valid()) [[unlikely]]
                return op(x, axis, dtype, include_initial, out);
            return scan(name, Op, x, axis, dtype_argument(name, dtype), out, {.includes_initial = include_initial});
        },
        nb::arg(), nb::kw_only(), nb::arg("axis") = nb::none(), nb::arg("dtype") = nb::none(),
        nb::arg("include_initial") = false, nb::arg("out") = nb::none(), nb::sig(doc.signature), doc.text);
}

template <upsweep_op Op>
void def_cummin(nb::module_& m, const char* name, const docs::function& doc)
{
    m.def(
        name,
        [name](nb::handle x, nb::handle axis, nb::handle out) {
            if (const nb::object op = recorded(name, x); op.is_valid()) [[unlikely]]
                return op(x, axis, out);
            return scan(name, Op, x, axis, std::nullopt, out, {});
        },
        nb::arg(), nb::kw_only(), nb::arg("axis") = nb::none(), nb::arg("out") = nb::none(), nb::sig(doc.signature),
        doc.text);
}

void bind_folds(nb::module_& m)
{
    def_sum<UPSWEEP_PLUS>(m, "sum", docs::sum);
    def_sum<UPSWEEP_MULTIPLIES>(m, "prod", docs::prod);
    def_minimum<UPSWEEP_MINIMUM>(m, "min", docs::min);
    def_minimum<UPSWEEP_MAXIMUM>(m, "max", docs::max);
    def_minimum<UPSWEEP_LOGICAL_AND>(m, "all", docs::all);
    def_minimum<UPSWEEP_LOGICAL_OR>(m, "any", docs::any);
    m.def(
        "mean",
        [](nb::handle x, nb::handle axis, bool keepdims, nb::handle out) {
            if (const nb::object op = recorded("mean", x); op.is_valid()) [[unlikely]]
                return op(x, axis, keepdims, out);
            return mean(x, axis, keepdims, out);
        },
        nb::arg(), nb::kw_only(), nb::arg("axis") = nb::none(), nb::arg("keepdims") = false,
        nb::arg("out") = nb::none(), nb::sig(docs::mean.signature), docs::mean.text);
    m.def("var", var, nb::arg(), nb::kw_only(), nb::arg("axis") = nb::none(), nb::arg("correction") = 0.0,
          nb::arg("keepdims") = false, nb::sig(docs::var.signature), docs::var.text);
    nb::class_<variance_of_chunks>(m, "variance_of_chunks", "The variance of an array that comes in chunks.")
        .def(nb::init<nb::handle, double>(), nb::arg("dtype"), nb::arg("correction"))
        .def("feed", &variance_of_chunks::feed, nb::arg("x"), "Fold the next chunk.")
        .def("value", &variance_of_chunks::value, nb::sig("def value(self) -> typing.Any"), "The variance so far.");
    m.def(
        "argmin",
        [](nb::handle x, nb::handle axis, bool keepdims, nb::handle out) {
            return argument("argmin", &library::argmin_axis, x, axis, keepdims, out);
        },
        nb::arg(), nb::kw_only(), nb::arg("axis") = nb::none(), nb::arg("keepdims") = false,
        nb::arg("out") = nb::none(), nb::sig(docs::argmin.signature), docs::argmin.text);
    m.def(
        "argmax",
        [](nb::handle x, nb::handle axis, bool keepdims, nb::handle out) {
            return argument("argmax", &library::argmax_axis, x, axis, keepdims, out);
        },
        nb::arg(), nb::kw_only(), nb::arg("axis") = nb::none(), nb::arg("keepdims") = false,
        nb::arg("out") = nb::none(), nb::sig(docs::argmax.signature), docs::argmax.text);
    def_cumulative_sum<UPSWEEP_PLUS>(m, "cumulative_sum", docs::cumulative_sum);
    def_cumulative_sum<UPSWEEP_MULTIPLIES>(m, "cumulative_prod", docs::cumulative_prod);
    def_cummin<UPSWEEP_MINIMUM>(m, "cummin", docs::cummin);
    def_cummin<UPSWEEP_MAXIMUM>(m, "cummax", docs::cummax);
    def_cummin<UPSWEEP_LOG_SUM_EXP>(m, "logcumsumexp", docs::logcumsumexp);

    m.def(
        "reduce",
        [](nb::handle x, nb::handle op, nb::handle axis, nb::handle identity, nb::handle dtype, bool keepdims,
           nb::handle out) -> nb::object {
            if (is_of_user(op)) {
                if (gpu_array on_gpu; !is_of_numpy(x) && on_gpu.open("reduce", x))
                    return reduce_by_operator(op, on_gpu, axis, identity, dtype_argument("reduce", dtype), keepdims,
                                              out);
                return op.attr("_reduce")(x, axis, identity, dtype, keepdims, out);
            }
            return reduce("reduce", op_argument("reduce", op), x, axis, dtype_argument("reduce", dtype), keepdims, out,
                          identity);
        },
        nb::arg(), nb::arg("op"), nb::kw_only(), nb::arg("axis") = nb::none(), nb::arg("identity") = nb::none(),
        nb::arg("dtype") = nb::none(), nb::arg("keepdims") = false, nb::arg("out") = nb::none(),
        nb::sig(docs::reduce.signature), docs::reduce.text);
    m.def(
        "scan",
        [](nb::handle x, nb::handle op, nb::handle axis, bool exclusive, bool reverse, nb::handle initial,
           nb::handle dtype, nb::handle out) -> nb::object {
            if (is_of_user(op)) {
                if (gpu_array on_gpu; !is_of_numpy(x) && on_gpu.open("scan", x))
                    return scan_by_operator(op, on_gpu, axis, dtype_argument("scan", dtype), out,
                                            {.exclusive = exclusive, .reverse = reverse, .initial = initial});
                return op.attr("_scan")(x, axis, exclusive, reverse, initial, dtype, out);
            }
            return scan("scan", op_argument("scan", op), x, axis, dtype_argument("scan", dtype), out,
                        {.exclusive = exclusive, .reverse = reverse, .initial = initial});
        },
        nb::arg(), nb::arg("op"), nb::kw_only(), nb::arg("axis") = nb::none(), nb::arg("exclusive") = false,
        nb::arg("reverse") = false, nb::arg("initial") = nb::none(), nb::arg("dtype") = nb::none(),
        nb::arg("out") = nb::none(), nb::sig(docs::scan.signature), docs::scan.text);
}

} // namespace upsweep::python
