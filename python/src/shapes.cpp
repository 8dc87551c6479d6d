// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Segments, runs of equal keys, integral images.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "array.hpp"
#include "docs.hpp"
#include "gpu_shapes.hpp"
#include "library.hpp"
#include "recorded.hpp"

namespace upsweep::python {

namespace {

// A new array of one dimension, described for a call.
struct output {
    nb::object array;
    layout at;

    output(std::int64_t extent, upsweep_dtype dtype) : array(new_array(1, &extent, dtype))
    {
        describe(as_array(array), dtype, at);
    }
    // Keeps the first elements, and gives back the memory of the others.
    nb::object first(std::uint64_t count) const
    {
        npy_intp extent = static_cast<npy_intp>(count);
        PyArray_Dims shape{&extent, 1};
        check(PyArray_Resize(as_array(array), &shape, 0, NPY_CORDER));
        return array;
    }

private:
    // PyArray_Resize returns None, which is owned.
    static void check(PyObject* none)
    {
        python::check(none);
        Py_DECREF(none);
    }
};

// Folds of libupsweep's type for them as those that Python is given.
nb::object rounded(const nb::object& totals, upsweep_op op, upsweep_dtype elements)
{
    const upsweep_dtype result = result_dtype(op, elements);
    return result == reduce_dtype(op, elements) ? totals : copy_as(as_array(totals), result);
}

void check_line(const char* call, const char* name, const operand& x)
{
    if (x.rank() != 1)
        refuse(PyExc_ValueError, call, std::string(name) + " has not one dimension",
               "pass an array of one, as x.ravel()");
}

// Offsets as the C ABI takes them. They are always checked: in Python a wrong number must not read foreign memory.
struct segment_bounds : operand {
    segment_bounds(const char* call, nb::handle offsets, const operand& x) : operand(call, offsets)
    {
        check_line(call, "offsets", *this);
        if (is_float(dtype()) || dtype() == UPSWEEP_BOOL)
            refuse(PyExc_TypeError, call, "offsets are no integers", "convert them");
        if (lib().dtype_size(dtype()) < 4)
            convert(UPSWEEP_I64);
        const auto look = [&] {
            const gil_released others(count());
            return lib().check_offsets(nullptr, &at().array, static_cast<std::uint64_t>(x.count()));
        };
        check(look());
    }
};

nb::object segment_reduce(nb::handle x, nb::handle offsets, nb::handle op_given)
{
    constexpr const char* call = "segment_reduce";
    if (const nb::object op = recorded(call, x); op.is_valid()) [[unlikely]]
        return op(x, offsets, op_given);
    if (!is_of_numpy(x)) [[unlikely]]
        if (gpu_array on_gpu; on_gpu.open(call, x))
            return segment_reduce_on_gpu(on_gpu, offsets, op_argument(call, op_given));
    const operand in(call, x);
    check_line(call, "x", in);
    const upsweep_op op = op_argument(call, op_given);
    const segment_bounds bounds(call, offsets, in);
    const output to(bounds.count() - 1, reduce_dtype(op, in.dtype()));
    const auto fold = [&] {
        const gil_released others(in.count() + bounds.count());
        return lib().segmented_reduce(nullptr, op, &in.at().array, &bounds.at().array, &to.at.array);
    };
    check(fold());
    return in.finish(rounded(to.array, op, in.dtype()));
}

// Where the results of a scan are written: an argument `out`, or a new array.
struct scan_output {
    nb::object array;
    layout at;
    nb::object initial;
    const void* init = nullptr;

    scan_output(const char* call, upsweep_op op, const operand& in, nb::handle dtype, nb::handle initial_given,
                nb::handle out)
    {
        const std::int64_t extent = in.count();
        const auto asked = dtype_argument(call, dtype);
        if (out.is_none()) {
            npy_intp shape = extent;
            const upsweep_dtype type = asked ? *asked : result_dtype(op, in.dtype());
            array = nb::steal(PyArray_Zeros(1, &shape, descr_of(type), 0));
            check(array.ptr());
        } else {
            PyArrayObject* given = output_argument(call, out, 1, &extent);
            if (asked && *asked != *dtype_of(PyArray_DESCR(given)))
                refuse(PyExc_TypeError, call, "dtype is not that of out", "leave one of them out");
            array = nb::borrow(out);
        }
        const upsweep_dtype type = *dtype_of(PyArray_DESCR(as_array(array)));
        describe(as_array(array), type, at);
        if (!initial_given.is_none()) {
            initial = value_argument(call, "initial", initial_given, type);
            init = PyArray_DATA(as_array(initial));
        }
    }
};

nb::object segment_scan(nb::handle x, nb::handle offsets, nb::handle op_given, bool exclusive, nb::handle initial,
                        nb::handle dtype, nb::handle out)
{
    constexpr const char* call = "segment_scan";
    if (!is_of_numpy(x)) [[unlikely]]
        if (gpu_array on_gpu; on_gpu.open(call, x))
            return segment_scan_on_gpu(on_gpu, offsets, op_argument(call, op_given), {exclusive, initial, dtype, out});
    const operand in(call, x);
    check_line(call, "x", in);
    const upsweep_op op = op_argument(call, op_given);
    const segment_bounds bounds(call, offsets, in);
    const scan_output to(call, op, in, dtype, initial, out);
    const auto fold = [&] {
        const gil_released others(in.count() + bounds.count());
        return lib().segmented_scan(nullptr, op, exclusive, &in.at().array, &bounds.at().array, &to.at.array, to.init);
    };
    check(fold());
    return out.is_none() ? in.finish(to.array) : to.array;
}

nb::object reduce_by_key(nb::handle keys_given, nb::handle values_given, nb::handle op_given)
{
    constexpr const char* call = "reduce_by_key";
    if (!is_of_numpy(keys_given)) [[unlikely]]
        if (gpu_array on_gpu; on_gpu.open(call, keys_given))
            return reduce_by_key_on_gpu(on_gpu, values_given, op_argument(call, op_given));
    const operand keys(call, keys_given);
    const operand values(call, values_given);
    check_line(call, "keys", keys);
    check_line(call, "values", values);
    const upsweep_op op = op_argument(call, op_given);
    const output to_keys(keys.count(), keys.dtype());
    const output totals(keys.count(), reduce_dtype(op, values.dtype()));
    std::uint64_t runs = 0;
    const auto fold = [&] {
        const gil_released others(keys.count());
        return lib().reduce_by_key(nullptr, op, &keys.at().array, &values.at().array, &to_keys.at.array,
                                   &totals.at.array, &runs);
    };
    check(fold());
    return nb::make_tuple(keys.finish(to_keys.first(runs)),
                          values.finish(rounded(totals.first(runs), op, values.dtype())));
}

nb::object scan_by_key(nb::handle keys_given, nb::handle values_given, nb::handle op_given, bool exclusive,
                       nb::handle initial, nb::handle dtype, nb::handle out)
{
    constexpr const char* call = "scan_by_key";
    if (!is_of_numpy(keys_given)) [[unlikely]]
        if (gpu_array on_gpu; on_gpu.open(call, keys_given))
            return scan_by_key_on_gpu(on_gpu, values_given, op_argument(call, op_given),
                                      {exclusive, initial, dtype, out});
    const operand keys(call, keys_given);
    const operand values(call, values_given);
    check_line(call, "keys", keys);
    check_line(call, "values", values);
    const upsweep_op op = op_argument(call, op_given);
    const scan_output to(call, op, values, dtype, initial, out);
    const auto fold = [&] {
        const gil_released others(values.count());
        return lib().scan_by_key(nullptr, op, exclusive, &keys.at().array, &values.at().array, &to.at.array, to.init);
    };
    check(fold());
    return out.is_none() ? values.finish(to.array) : to.array;
}

nb::object run_length_encode(nb::handle x)
{
    constexpr const char* call = "run_length_encode";
    if (!is_of_numpy(x)) [[unlikely]]
        if (gpu_array on_gpu; on_gpu.open(call, x))
            return run_length_encode_on_gpu(on_gpu);
    const operand in(call, x);
    check_line(call, "x", in);
    const output values(in.count(), in.dtype());
    const output lengths(in.count(), UPSWEEP_I64);
    std::uint64_t runs = 0;
    const auto encode = [&] {
        const gil_released others(in.count());
        return lib().run_length_encode(nullptr, &in.at().array, &values.at.array, &lengths.at.array, &runs);
    };
    check(encode());
    return nb::make_tuple(in.finish(values.first(runs)), in.finish(lengths.first(runs)));
}

nb::object run_length_decode(nb::handle values_given, nb::handle lengths_given)
{
    constexpr const char* call = "run_length_decode";
    if (!is_of_numpy(values_given)) [[unlikely]]
        if (gpu_array on_gpu; on_gpu.open(call, values_given))
            return run_length_decode_on_gpu(on_gpu, lengths_given);
    const operand values(call, values_given);
    operand lengths(call, lengths_given);
    check_line(call, "values", values);
    check_line(call, "lengths", lengths);
    if (is_float(lengths.dtype()) || lengths.dtype() == UPSWEEP_BOOL)
        refuse(PyExc_TypeError, call, "lengths are no integers", "convert them");
    lengths.convert(lengths.dtype() == UPSWEEP_U64 ? UPSWEEP_U64 : UPSWEEP_I64);
    std::int64_t count = 0;
    const upsweep_array sum{&count, lengths.dtype(), UPSWEEP_HOST, 0, 0, nullptr, nullptr};
    check(lib().reduce(nullptr, UPSWEEP_PLUS, &lengths.at().array, &sum));
    // Where lengths are negative, or their sum beyond all memory, libupsweep says so.
    const output to(std::max<std::int64_t>(count, 0), values.dtype());
    const auto decode = [&] {
        const gil_released others(count);
        return lib().run_length_decode(nullptr, &values.at().array, &lengths.at().array, &to.at.array);
    };
    check(decode());
    return values.finish(to.array);
}

// The elements of x, with their flags in the same order.
struct flagged {
    operand in;
    operand flags;

    flagged(const char* call, nb::handle x, nb::handle mask) : in(call, x), flags(call, mask)
    {
        if (flags.dtype() != UPSWEEP_BOOL)
            refuse(PyExc_TypeError, call, "the mask is not of bool", "pass truths, as x > 0");
        if (in.rank() != flags.rank() || !std::equal(in.at().shape, in.at().shape + in.rank(), flags.at().shape))
            refuse(PyExc_ValueError, call, "the mask has not the shape of the array", "pass one truth an element");
    }
};

nb::object select(nb::handle x, nb::handle mask)
{
    constexpr const char* call = "select";
    if (!is_of_numpy(x)) [[unlikely]]
        if (gpu_array on_gpu; on_gpu.open(call, x))
            return select_on_gpu(on_gpu, mask);
    const flagged all(call, x, mask);
    std::uint64_t truths = 0;
    {
        const upsweep_array number{&truths, UPSWEEP_I64, UPSWEEP_HOST, 0, 0, nullptr, nullptr};
        const auto count = [&] {
            const gil_released others(all.in.count());
            return lib().reduce(nullptr, UPSWEEP_PLUS, &all.flags.at().array, &number);
        };
        check(count());
    }
    const output to(static_cast<std::int64_t>(truths), all.in.dtype());
    std::uint64_t selected = 0;
    const auto move = [&] {
        const gil_released others(all.in.count());
        return lib().select(nullptr, &all.in.at().array, &all.flags.at().array, &to.at.array, &selected);
    };
    check(move());
    return all.in.finish(to.array);
}

nb::object partition(nb::handle x, nb::handle mask)
{
    constexpr const char* call = "partition";
    if (!is_of_numpy(x)) [[unlikely]]
        if (gpu_array on_gpu; on_gpu.open(call, x))
            return partition_on_gpu(on_gpu, mask);
    const flagged all(call, x, mask);
    const output to(all.in.count(), all.in.dtype());
    std::uint64_t selected = 0;
    const auto move = [&] {
        const gil_released others(all.in.count());
        return lib().partition(nullptr, &all.in.at().array, &all.flags.at().array, &to.at.array, &selected);
    };
    check(move());
    return nb::make_tuple(all.in.finish(to.array), selected);
}

// --- for upsweep/_recurrence.py: arrays of NumPy, all of one type and, but for h0, of one shape --------------------------------

void recur(nb::handle a_given, nb::handle b_given, nb::handle h0_given, int axis, bool reverse, nb::handle out)
{
    constexpr const char* call = "linear_recurrence";
    const operand a(call, a_given);
    const operand b(call, b_given);
    std::optional<operand> h0;
    if (!h0_given.is_none())
        h0.emplace(call, h0_given);
    layout to;
    describe(output_argument(call, out, a.rank(), a.at().shape), a.dtype(), to);
    const auto scan = [&] {
        const gil_released others(a.count());
        return lib().linear_recurrence(nullptr, &a.at().array, &b.at().array, h0 ? &h0->at().array : nullptr, axis,
                                       reverse, &to.array);
    };
    check(scan());
}

nb::object integral_image(nb::handle x, nb::handle dtype, nb::handle out)
{
    constexpr const char* call = "integral_image";
    if (const nb::object op = recorded(call, x); op.is_valid()) [[unlikely]]
        return op(x, dtype, out);
    if (!is_of_numpy(x)) [[unlikely]]
        if (gpu_array on_gpu; on_gpu.open(call, x))
            return integral_image_on_gpu(on_gpu, dtype, out);
    const operand in(call, x);
    if (in.rank() < 2)
        refuse(PyExc_ValueError, call, "an image has rows and columns", "pass an array of two dimensions at least");
    const auto asked = dtype_argument(call, dtype);
    nb::object result;
    if (out.is_none()) {
        result = new_array(in.rank(), in.at().shape, asked ? *asked : reduce_dtype(UPSWEEP_PLUS, in.dtype()));
    } else {
        PyArrayObject* given = output_argument(call, out, in.rank(), in.at().shape);
        if (asked && *asked != *dtype_of(PyArray_DESCR(given)))
            refuse(PyExc_TypeError, call, "dtype is not that of out", "leave one of them out");
        result = nb::borrow(out);
    }
    layout to;
    describe(as_array(result), *dtype_of(PyArray_DESCR(as_array(result))), to);
    const auto fold = [&] {
        const gil_released others(in.count());
        return lib().integral_image(nullptr, &in.at().array, &to.array);
    };
    check(fold());
    return out.is_none() ? in.finish(std::move(result)) : result;
}

} // namespace

void bind_shapes(nb::module_& m)
{
    m.def("segment_reduce", &segment_reduce, nb::arg(), nb::arg(), nb::arg("op"),
          nb::sig(docs::segment_reduce.signature), docs::segment_reduce.text);
    m.def("segment_scan", &segment_scan, nb::arg(), nb::arg(), nb::arg("op"), nb::kw_only(),
          nb::arg("exclusive") = false, nb::arg("initial") = nb::none(), nb::arg("dtype") = nb::none(),
          nb::arg("out") = nb::none(), nb::sig(docs::segment_scan.signature), docs::segment_scan.text);
    m.def("reduce_by_key", &reduce_by_key, nb::arg(), nb::arg(), nb::arg("op"), nb::sig(docs::reduce_by_key.signature),
          docs::reduce_by_key.text);
    m.def("scan_by_key", &scan_by_key, nb::arg(), nb::arg(), nb::arg("op"), nb::kw_only(), nb::arg("exclusive") = false,
          nb::arg("initial") = nb::none(), nb::arg("dtype") = nb::none(), nb::arg("out") = nb::none(),
          nb::sig(docs::scan_by_key.signature), docs::scan_by_key.text);
    m.def("run_length_encode", &run_length_encode, nb::arg(), nb::sig(docs::run_length_encode.signature),
          docs::run_length_encode.text);
    m.def("run_length_decode", &run_length_decode, nb::arg(), nb::arg(), nb::sig(docs::run_length_decode.signature),
          docs::run_length_decode.text);
    m.def("select", &select, nb::arg(), nb::arg(), nb::sig(docs::select.signature), docs::select.text);
    m.def("partition", &partition, nb::arg(), nb::arg(), nb::sig(docs::partition.signature), docs::partition.text);
    m.def("recur", &recur, nb::arg(), nb::arg(), nb::arg().none(), nb::arg(), nb::arg(), nb::arg(),
          nb::sig(
              "def recur(a: numpy.ndarray, b: numpy.ndarray, h0: numpy.ndarray | None, axis: int, reverse: bool, out: "
              "numpy.ndarray, /) -> None"),
          "Write the states of a linear recurrence.");
    m.def("recur_on_gpu", &recurrence_on_gpu, nb::arg(), nb::arg(), nb::arg().none(), nb::arg().none(), nb::arg(),
          nb::arg().none(),
          nb::sig("def recur_on_gpu(a: typing.Any, b: typing.Any, initial: typing.Any, axis: int | None, reverse: "
                  "bool, out: typing.Any, /) -> typing.Any"),
          "The states of a linear recurrence of arrays in memory of a GPU; None where there is none.");
    m.def("integral_image", &integral_image, nb::arg(), nb::kw_only(), nb::arg("dtype") = nb::none(),
          nb::arg("out") = nb::none(), nb::sig(docs::integral_image.signature), docs::integral_image.text);
}

} // namespace upsweep::python
