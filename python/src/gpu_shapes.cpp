// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "gpu_shapes.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

#include "fold.hpp"
#include "gpu_inputs.hpp"
#include "gpu_output.hpp"

namespace upsweep::python {

namespace {

// The first of the elements that there was room for, as an array of their own, of another type where it is asked for.
nb::object first_of(const gpu_array& like, new_gpu_array& all, std::uint64_t count, upsweep_dtype dtype)
{
    const auto extent = static_cast<std::int64_t>(count);
    const upsweep_array& from = all.at().array;
    if (extent == all.at().count() && dtype == from.dtype)
        return all.finish();
    new_gpu_array kept(like, 1, &extent, dtype);
    const upsweep_array& to = kept.at().array;
    if (dtype != from.dtype)
        check_gpu(
            gpu_lib()->convert(like.device(), like.stream(), from.data, from.dtype, count, false, 1, to.data, dtype));
    else if (count != 0)
        write(like, to.data, from.data, count * lib().dtype_size(dtype));
    return kept.finish();
}

// Where a scan of segments or runs is written, and what each begins with.
class gpu_scan_output {
public:
    gpu_scan_output(const char* call, upsweep_op op, gpu_array& in, const segment_scan_options& how)
    {
        auto dtype = dtype_argument(call, how.dtype);
        if (!dtype)
            dtype = dtype_of_output(call, how.out);
        const upsweep_dtype type = dtype ? *dtype : result_dtype(op, in.dtype());
        in.convert(call, type);
        const std::int64_t extent = in.count();
        to_.emplace(call, in, 1, &extent, type, how.out);
        if (!how.initial.is_none())
            initial_ = value_of(call, "initial", how.initial, type);
    }
    const upsweep_array& array() const { return to_->at().array; }
    const void* init() const { return initial_ ? initial_->bytes : nullptr; }
    nb::object finish() { return to_->finish(); }

private:
    std::optional<gpu_output> to_;
    std::optional<value> initial_;
};

// One number that a reduction of a whole array gives, for which the GPU is waited for.
std::int64_t reduced_to_host(upsweep_op op, const gpu_array& in, upsweep_dtype result)
{
    value number;
    const upsweep_array to = number.array(result);
    on_gpu(in, [&](const gpu_library& library, upsweep_context* context) {
        return library.reduce(context, op, &in.at().array, &to);
    });
    return number.as<std::int64_t>();
}

} // namespace

// --- segments -------------------------------------------------------------------------------------------------------------------

nb::object segment_reduce_on_gpu(gpu_array& in, nb::handle offsets_given, upsweep_op op)
{
    constexpr const char* call = "segment_reduce";
    check_is_line(call, "x", in);
    const segment_offsets offsets(call, offsets_given, in);
    const std::int64_t segments = offsets.segments();
    new_gpu_array to(in, 1, &segments, reduce_dtype(op, in.dtype()));
    on_gpu(in, [&](const gpu_library& library, upsweep_context* context) {
        return library.segmented_reduce(context, op, &in.at().array, &offsets.array(), &to.at().array);
    });
    return first_of(in, to, static_cast<std::uint64_t>(segments), result_dtype(op, in.dtype()));
}

nb::object segment_scan_on_gpu(gpu_array& in, nb::handle offsets_given, upsweep_op op, const segment_scan_options& how)
{
    constexpr const char* call = "segment_scan";
    check_is_line(call, "x", in);
    const segment_offsets offsets(call, offsets_given, in);
    gpu_scan_output to(call, op, in, how);
    if (how.out.is_none()) // What is in no segment is zero.
        check_gpu(gpu_lib()->clear(in.device(), in.stream(), to.array().data,
                                   static_cast<std::uint64_t>(in.count()) * lib().dtype_size(to.array().dtype)));
    on_gpu(in, [&](const gpu_library& library, upsweep_context* context) {
        return library.segmented_scan(context, op, how.exclusive, &in.at().array, &offsets.array(), &to.array(),
                                      to.init());
    });
    return to.finish();
}

// --- runs of equal keys -----------------------------------------------------------------------------------------------------------

nb::object reduce_by_key_on_gpu(gpu_array& keys, nb::handle values_given, upsweep_op op)
{
    constexpr const char* call = "reduce_by_key";
    gpu_array values;
    open_beside(call, "values", keys, values_given, values);
    check_is_line(call, "keys", keys);
    check_is_line(call, "values", values);
    const std::int64_t most = keys.count();
    new_gpu_array to_keys(keys, 1, &most, keys.dtype());
    new_gpu_array totals(values, 1, &most, reduce_dtype(op, values.dtype()));
    std::uint64_t runs = 0;
    on_gpu(keys, [&](const gpu_library& library, upsweep_context* context) {
        return library.reduce_by_key(context, op, &keys.at().array, &values.at().array, &to_keys.at().array,
                                     &totals.at().array, &runs);
    });
    return nb::make_tuple(first_of(keys, to_keys, runs, keys.dtype()),
                          first_of(values, totals, runs, result_dtype(op, values.dtype())));
}

nb::object scan_by_key_on_gpu(gpu_array& keys, nb::handle values_given, upsweep_op op, const segment_scan_options& how)
{
    constexpr const char* call = "scan_by_key";
    gpu_array values;
    open_beside(call, "values", keys, values_given, values);
    check_is_line(call, "keys", keys);
    check_is_line(call, "values", values);
    gpu_scan_output to(call, op, values, how);
    on_gpu(keys, [&](const gpu_library& library, upsweep_context* context) {
        return library.scan_by_key(context, op, how.exclusive, &keys.at().array, &values.at().array, &to.array(),
                                   to.init());
    });
    return to.finish();
}

nb::object run_length_encode_on_gpu(gpu_array& in)
{
    check_is_line("run_length_encode", "x", in);
    const std::int64_t most = in.count();
    new_gpu_array values(in, 1, &most, in.dtype());
    new_gpu_array lengths(in, 1, &most, UPSWEEP_I64);
    std::uint64_t runs = 0;
    on_gpu(in, [&](const gpu_library& library, upsweep_context* context) {
        return library.run_length_encode(context, &in.at().array, &values.at().array, &lengths.at().array, &runs);
    });
    return nb::make_tuple(first_of(in, values, runs, in.dtype()), first_of(in, lengths, runs, UPSWEEP_I64));
}

nb::object run_length_decode_on_gpu(gpu_array& values, nb::handle lengths_given)
{
    constexpr const char* call = "run_length_decode";
    gpu_array lengths;
    open_beside(call, "lengths", values, lengths_given, lengths);
    check_is_line(call, "values", values);
    check_is_line(call, "lengths", lengths);
    check_are_integers(call, "lengths", lengths.dtype());
    lengths.convert(call, UPSWEEP_I64);
    std::int64_t count = 0;
    if (lengths.count() != 0) {
        if (reduced_to_host(UPSWEEP_MINIMUM, lengths, UPSWEEP_I64) < 0)
            refuse(PyExc_ValueError, call, "a length is negative", "pass what run_length_encode gives");
        count = reduced_to_host(UPSWEEP_PLUS, lengths, UPSWEEP_I64);
    }
    new_gpu_array to(values, 1, &count, values.dtype());
    on_gpu(values, [&](const gpu_library& library, upsweep_context* context) {
        return library.run_length_decode(context, &values.at().array, &lengths.at().array, &to.at().array);
    });
    return to.finish();
}

// --- elements by flags ------------------------------------------------------------------------------------------------------------

namespace {

void open_mask(const char* call, const gpu_array& in, nb::handle mask, gpu_array& flags)
{
    open_beside(call, "the mask", in, mask, flags);
    if (flags.dtype() != UPSWEEP_BOOL)
        refuse(PyExc_TypeError, call, "the mask is not of bool", "pass truths, as x > 0");
    if (in.rank() != flags.rank() || !std::equal(in.at().shape, in.at().shape + in.rank(), flags.at().shape))
        refuse(PyExc_ValueError, call, "the mask has not the shape of the array", "pass one truth an element");
}

} // namespace

nb::object select_on_gpu(gpu_array& in, nb::handle mask)
{
    gpu_array flags;
    open_mask("select", in, mask, flags);
    const std::int64_t truths = reduced_to_host(UPSWEEP_PLUS, flags, UPSWEEP_I64);
    new_gpu_array to(in, 1, &truths, in.dtype());
    std::uint64_t selected = 0;
    on_gpu(in, [&](const gpu_library& library, upsweep_context* context) {
        return library.select(context, &in.at().array, &flags.at().array, &to.at().array, &selected);
    });
    return to.finish();
}

nb::object partition_on_gpu(gpu_array& in, nb::handle mask)
{
    gpu_array flags;
    open_mask("partition", in, mask, flags);
    const std::int64_t count = in.count();
    new_gpu_array to(in, 1, &count, in.dtype());
    std::uint64_t selected = 0;
    on_gpu(in, [&](const gpu_library& library, upsweep_context* context) {
        return library.partition(context, &in.at().array, &flags.at().array, &to.at().array, &selected);
    });
    return nb::make_tuple(to.finish(), selected);
}

// --- integral images --------------------------------------------------------------------------------------------------------------

nb::object integral_image_on_gpu(gpu_array& in, nb::handle dtype_given, nb::handle out)
{
    constexpr const char* call = "integral_image";
    if (in.rank() < 2)
        refuse(PyExc_ValueError, call, "an image has rows and columns", "pass an array of two dimensions at least");
    auto dtype = dtype_argument(call, dtype_given);
    if (!dtype)
        dtype = dtype_of_output(call, out);
    const upsweep_dtype type = dtype ? *dtype : reduce_dtype(UPSWEEP_PLUS, in.dtype());
    if (is_float(in.dtype()) && !is_float(type)) // which libupsweep does not convert
        in.convert(call, type);
    gpu_output to(call, in, in.rank(), in.at().shape, type, out);
    on_gpu(in, [&](const gpu_library& library, upsweep_context* context) {
        return library.integral_image(context, &in.at().array, &to.at().array);
    });
    return to.finish();
}

// --- linear recurrences -----------------------------------------------------------------------------------------------------------

namespace {

constexpr const char* recurrence = "linear_recurrence";

bool is_number(nb::handle x) { return PyFloat_Check(x.ptr()) || PyLong_Check(x.ptr()) || PyArray_CheckScalar(x.ptr()); }

// An argument of a recurrence: an array in memory of the GPU, or a number of Python, which becomes one there.
class recurrence_argument {
public:
    // Returns whether it is an array in memory of a GPU.
    bool open(nb::handle x)
    {
        given_ = x;
        is_array_ = !is_number(x) && !x.is_none() && array_.open(recurrence, x);
        return is_array_;
    }
    bool is_array() const { return is_array_; }
    bool is_given() const { return !given_.is_none(); }
    const gpu_array& array() const { return array_; }

    // Brings it beside the first array, as elements of this type.
    void prepare(const char* name, const gpu_array& first, upsweep_dtype dtype)
    {
        if (is_array_) {
            if (&array_ != &first)
                put_beside(recurrence, name, first, array_);
            return array_.convert(recurrence, dtype);
        }
        if (!is_number(given_))
            refuse_host(recurrence, name);
        const value number = value_of(recurrence, name, given_, dtype);
        made_.emplace(first, 0, nullptr, dtype);
        write(first, made_->at().array.data, number.bytes, lib().dtype_size(dtype));
    }
    const layout& at() const { return is_array_ ? array_.at() : made_->at(); }

private:
    nb::handle given_;
    bool is_array_ = false;
    gpu_array array_;
    std::optional<new_gpu_array> made_;
};

// The type of the results: that of the arrays, the wider one of two.
upsweep_dtype promoted(const recurrence_argument& a, const recurrence_argument& b)
{
    std::optional<upsweep_dtype> type;
    for (const recurrence_argument* const each : {&a, &b}) {
        if (!each->is_array())
            continue;
        const upsweep_dtype dtype = each->array().dtype();
        if (!is_float(dtype))
            refuse(PyExc_TypeError, recurrence, "coefficients in memory of a GPU are no floating-point numbers",
                   "convert them to float32 or float64");
        if (!type)
            type = dtype;
        else if (*type != dtype)
            type = *type == UPSWEEP_F64 || dtype == UPSWEEP_F64 ? UPSWEEP_F64 : UPSWEEP_F32;
    }
    if (!type)
        refuse(PyExc_TypeError, recurrence, "neither a nor b lies in memory of a GPU, where the initial states lie",
               "bring one of them there");
    return *type;
}

bool has_type(const recurrence_argument& of, upsweep_dtype dtype)
{
    return of.is_array() && of.array().dtype() == dtype;
}

// The shape that two are broadcast to, the last dimensions being those that meet.
struct broadcast_shape {
    int rank = 0;
    std::int64_t extents[most_dimensions]{};

    broadcast_shape(const layout& a, const layout& b) : rank(std::max(a.rank(), b.rank()))
    {
        for (int k = 0; k < rank; ++k) {
            const int of_a = k - (rank - a.rank());
            const int of_b = k - (rank - b.rank());
            const std::int64_t in_a = of_a < 0 ? 1 : a.shape[of_a];
            const std::int64_t in_b = of_b < 0 ? 1 : b.shape[of_b];
            if (in_a != in_b && in_a != 1 && in_b != 1)
                refuse(PyExc_ValueError, recurrence, "the shapes of a and b are not broadcast against one another",
                       "pass arrays whose extents agree or are 1");
            extents[k] = in_a == 1 ? in_b : in_a;
        }
    }
};

// An array as one of this shape, with strides of zero where it is broadcast.
void broadcast(const char* name, const layout& from, int rank, const std::int64_t* extents, layout& to)
{
    to.begin(from.array.data, from.array.dtype);
    to.array.memory = from.array.memory;
    to.array.device = from.array.device;
    for (int k = 0; k < rank; ++k) {
        const int own = k - (rank - from.rank());
        const bool is_repeated = own < 0 || from.shape[own] == 1;
        if (from.rank() > rank || (!is_repeated && from.shape[own] != extents[k]))
            refuse(PyExc_ValueError, recurrence,
                   std::string("the shape of ") + name + " is not broadcast to that of the lines",
                   "pass a number, or an array of the shape of the result without the axis");
        to.append(extents[k], is_repeated ? 0 : from.strides[own]);
    }
}

} // namespace

nb::object recurrence_on_gpu(nb::handle a_given, nb::handle b_given, nb::handle initial_given, nb::handle axis_given,
                             bool reverse, nb::handle out)
{
    import_numpy();
    recurrence_argument a;
    recurrence_argument b;
    recurrence_argument initial;
    const bool has_any = static_cast<int>(a.open(a_given)) + static_cast<int>(b.open(b_given)) +
                             static_cast<int>(initial.open(initial_given)) !=
                         0;
    if (!has_any)
        return nb::none();
    const upsweep_dtype result = promoted(a, b);
    // Numbers beside half floats are not rounded to these, but folded as float32.
    const bool are_of_type =
        has_type(a, result) && has_type(b, result) && (!initial.is_given() || has_type(initial, result));
    const upsweep_dtype work = are_of_type || result == UPSWEEP_F64 ? result : UPSWEEP_F32;
    const gpu_array& first = a.is_array() ? a.array() : b.array();
    a.prepare("a", first, work);
    b.prepare("b", first, work);
    const broadcast_shape shape(a.at(), b.at());
    const int axis = axis_of_scan(recurrence, axis_given, shape.rank);
    layout of_a;
    layout of_b;
    layout of_initial;
    broadcast("a", a.at(), shape.rank, shape.extents, of_a);
    broadcast("b", b.at(), shape.rank, shape.extents, of_b);
    if (initial.is_given()) {
        initial.prepare("initial", first, work);
        std::int64_t lines[most_dimensions];
        std::copy_n(shape.extents, axis, lines);
        std::copy(shape.extents + axis + 1, shape.extents + shape.rank, lines + axis);
        broadcast("initial", initial.at(), shape.rank - 1, lines, of_initial);
    }
    if (work != result && !out.is_none())
        refuse(PyExc_TypeError, recurrence, "states of float16 and bfloat16 are not written to out beside numbers",
               "leave out out, or pass arrays of one type");
    gpu_output to(recurrence, first, shape.rank, shape.extents, work, out);
    on_gpu(first, [&](const gpu_library& library, upsweep_context* context) {
        return library.linear_recurrence(context, &of_a.array, &of_b.array,
                                         initial.is_given() ? &of_initial.array : nullptr, axis, reverse,
                                         &to.at().array);
    });
    nb::object states = to.finish();
    if (work == result)
        return states;
    return nb::module_::import_("upsweep._gpu_arrays").attr("converted")(states, lib().dtype_name(result));
}

} // namespace upsweep::python
