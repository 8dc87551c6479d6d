// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Folds of arrays in memory of a GPU, on the stream of their library. Results are arrays of the same kind.
#include <algorithm>
#include <bit>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>

#include "fold.hpp"
#include "gpu_output.hpp"

namespace upsweep::python {

namespace {

// --- values of the host -------------------------------------------------------------------------------------------------------

double as_double(const value& of, upsweep_dtype dtype)
{
    switch (dtype) {
    case UPSWEEP_BOOL:
    case UPSWEEP_U8: return of.as<std::uint8_t>();
    case UPSWEEP_I8: return of.as<std::int8_t>();
    case UPSWEEP_I16: return of.as<std::int16_t>();
    case UPSWEEP_I32: return of.as<std::int32_t>();
    case UPSWEEP_I64: return static_cast<double>(of.as<std::int64_t>());
    case UPSWEEP_U16: return of.as<std::uint16_t>();
    case UPSWEEP_U32: return of.as<std::uint32_t>();
    case UPSWEEP_U64: return static_cast<double>(of.as<std::uint64_t>());
    case UPSWEEP_F16: {
        const nb::object scalar =
            nb::steal(PyArray_Scalar(const_cast<unsigned char*>(of.bytes), descr_of(UPSWEEP_F16), nullptr));
        check(scalar.ptr());
        return nb::cast<double>(nb::float_(scalar));
    }
    case UPSWEEP_BF16: return std::bit_cast<float>(std::uint32_t{of.as<std::uint16_t>()} << 16);
    case UPSWEEP_F32: return of.as<float>();
    case UPSWEEP_F64: break;
    }
    return of.as<double>();
}

// --- where results go ---------------------------------------------------------------------------------------------------------

upsweep_array value_at(const layout& of, upsweep_dtype dtype)
{
    return {of.array.data, dtype, of.array.memory, of.array.device, 0, nullptr, nullptr};
}

void clear(const gpu_array& in, const layout& at)
{
    check_gpu(gpu_lib()->clear(in.device(), in.stream(), at.array.data,
                               static_cast<std::uint64_t>(at.count()) * lib().dtype_size(at.array.dtype)));
}

// --- reduce -------------------------------------------------------------------------------------------------------------------

// Folds to a value of type `folded`, and writes it as `to` has it: divided by the number of elements for a mean.
void fold_to(upsweep_op op, const gpu_array& in, upsweep_dtype folded, bool divides, const layout& to)
{
    const bool is_direct = !divides && folded == to.array.dtype;
    std::optional<new_gpu_array> kept;
    if (!is_direct)
        kept.emplace(in, 0, nullptr, folded);
    const upsweep_array result = value_at(kept ? kept->at() : to, folded);
    on_gpu(in, [&](const gpu_library& library, upsweep_context* context) {
        return library.reduce(context, op, &in.at().array, &result);
    });
    if (kept)
        check_gpu(gpu_lib()->convert(in.device(), in.stream(), result.data, folded, divides,
                                     static_cast<std::uint64_t>(in.count()), to.array.data, to.array.dtype));
}

// Folds along some of the axes, the elements of which lie as those of one, or takes means.
void fold_axes_to(const char* call, upsweep_op op, const gpu_array& in, std::uint64_t axes, bool means,
                  bool keeps_dimensions, const layout& to)
{
    if (to.count() == 0)
        return;
    if (in.count() == 0) {
        if (op != UPSWEEP_PLUS || means)
            refuse(PyExc_ValueError, call, "the axis has no elements", "check that the array is not empty");
        return clear(in, to);
    }
    layout lines;
    layout results;
    lines.begin(in.at().array.data, in.dtype());
    results.begin(to.array.data, to.array.dtype);
    std::int64_t extent = 1;
    std::int64_t stride = 1;
    int of_result = 0;
    for (int k = 0; k < in.rank(); ++k) {
        if ((axes >> k & 1) == 0) {
            lines.append(in.at().shape[k], in.at().strides[k]);
            results.append(to.shape[of_result], to.strides[of_result]);
        }
        of_result += (axes >> k & 1) == 0 || keeps_dimensions ? 1 : 0;
    }
    for (int k = in.rank(); k-- > 0;) {
        if ((axes >> k & 1) == 0 || in.at().shape[k] == 1)
            continue;
        if (extent != 1 && in.at().strides[k] != extent * stride)
            refuse(PyExc_TypeError, call, "the elements along these axes do not lie as those of one axis",
                   "copy the array with these axes side by side");
        if (extent == 1)
            stride = in.at().strides[k];
        extent *= in.at().shape[k];
    }
    lines.append(extent, stride);
    lines.array.memory = results.array.memory = in.at().array.memory;
    lines.array.device = results.array.device = in.at().array.device;
    on_gpu(in, [&](const gpu_library& library, upsweep_context* context) {
        return means ? library.mean_axis(context, &lines.array, lines.rank() - 1, &results.array)
                     : library.reduce_axis(context, op, &lines.array, lines.rank() - 1, &results.array);
    });
}

// The least and the greatest element, for which the GPU is waited for.
range range_on_gpu(const char* call, const gpu_array& in)
{
    if (in.count() == 0)
        return {0, 1};
    double ends[2];
    for (const upsweep_op op : {UPSWEEP_MINIMUM, UPSWEEP_MAXIMUM}) {
        value end;
        const upsweep_array result = end.array(in.dtype());
        on_gpu(in, [&](const gpu_library& library, upsweep_context* context) {
            return library.reduce(context, op, &in.at().array, &result);
        });
        ends[op == UPSWEEP_MAXIMUM ? 1 : 0] = as_double(end, in.dtype());
    }
    const range over{ends[0], ends[1]};
    check_range_is_finite(call, over);
    return over;
}

// --- histogram ------------------------------------------------------------------------------------------------------------------

// What is counted: one number a bin, and what is in none, both in memory of the GPU. Counts are shown as signed numbers.
class gpu_tally {
public:
    gpu_tally(const gpu_array& in, std::int64_t bins)
        : in_(in), counts_(in, 1, &bins, UPSWEEP_I64), outside_(in, 1, &three, UPSWEEP_I64), counted_shape_(bins)
    {
        counted_ = value_at(counts_.at(), UPSWEEP_U64);
        counted_.rank = 1;
        counted_.shape = &counted_shape_;
        clear(in, counts_.at());
        clear(in, outside_.at());
    }

    void add_even(range over)
    {
        on_gpu(in_, [&](const gpu_library& library, upsweep_context* context) {
            return library.histogram_even(context, &in_.at().array, over.low, over.high, &counted_, outside());
        });
    }
    void add_between(const double* edges, std::size_t count)
    {
        on_gpu(in_, [&](const gpu_library& library, upsweep_context* context) {
            return library.histogram_edges(context, &in_.at().array, edges, count, &counted_, outside());
        });
    }
    nb::object counts() { return counts_.finish(); }
    nb::object finish(const nb::object& edges)
    {
        return nb::module_::import_("upsweep._histogram")
            .attr("make_on_gpu")(counts_.finish(), edges, outside_.finish());
    }

private:
    static constexpr std::int64_t three = 3;

    upsweep_outside* outside() { return static_cast<upsweep_outside*>(outside_.at().array.data); }

    const gpu_array& in_;
    new_gpu_array counts_;
    new_gpu_array outside_;
    std::int64_t counted_shape_;
    upsweep_array counted_{};
};

nb::object histogram_between_on_gpu(gpu_array& in, nb::handle bins)
{
    const nb::object edges = nb::module_::import_("upsweep._histogram").attr("checked_edges")(bins);
    const std::int64_t count = PyArray_SIZE(as_array(edges)) - 1;
    const nb::object doubles = copy_as(as_array(edges), UPSWEEP_F64);
    gpu_tally to(in, count);
    to.add_between(static_cast<const double*>(PyArray_DATA(as_array(doubles))), static_cast<std::size_t>(count) + 1);
    const auto dtype = dtype_of(PyArray_DESCR(as_array(edges)));
    const nb::object shown = dtype ? copy_as(as_array(edges), *dtype) : doubles; // without gaps
    return to.finish(on_gpu_from(in, shown, dtype.value_or(UPSWEEP_F64)));
}

} // namespace

nb::object reduce_on_gpu(const char* call, upsweep_op op, gpu_array& in, nb::handle axis,
                         std::optional<upsweep_dtype> dtype, bool keeps_dimensions, nb::handle out, nb::handle identity)
{
    if (!dtype && (op == UPSWEEP_PLUS || op == UPSWEEP_MULTIPLIES))
        dtype = dtype_of_output(call, out);
    const fold_types types = types_of_reduction(call, op, in.dtype(), dtype);
    in.convert(call, types.elements);
    const std::uint64_t axes = axes_argument(call, axis, in.rank());
    const bool is_whole = std::popcount(axes) == in.rank();
    if (!is_whole && types.folded != types.result)
        refuse(PyExc_TypeError, call, "results along an axis of an array in memory of a GPU are not converted",
               "leave dtype out, or convert the array");
    const reduced_shape shape(in.at(), axes, keeps_dimensions);
    gpu_output to(call, in, shape.rank, shape.extents, types.result, out);
    if (!is_whole) {
        fold_axes_to(call, op, in, axes, false, keeps_dimensions, to.at());
    } else if (in.count() == 0 && !identity.is_none()) {
        const value neutral = value_of(call, "identity", identity, types.result);
        write(in, to.at().array.data, neutral.bytes, lib().dtype_size(types.result));
    } else {
        fold_to(op, in, types.folded, false, to.at());
    }
    return to.finish();
}

nb::object mean_on_gpu(gpu_array& in, nb::handle axis, bool keeps_dimensions, nb::handle out)
{
    const fold_types types = types_of_mean(in.dtype());
    const std::uint64_t axes = axes_argument("mean", axis, in.rank());
    const reduced_shape shape(in.at(), axes, keeps_dimensions);
    gpu_output to("mean", in, shape.rank, shape.extents, types.result, out);
    if (std::popcount(axes) == in.rank())
        fold_to(UPSWEEP_PLUS, in, reduce_dtype(UPSWEEP_PLUS, in.dtype()), true, to.at());
    else
        fold_axes_to("mean", UPSWEEP_PLUS, in, axes, true, keeps_dimensions, to.at());
    return to.finish();
}

nb::object scan_on_gpu(const char* call, upsweep_op op, gpu_array& in, nb::handle axis_given,
                       std::optional<upsweep_dtype> dtype, nb::handle out, const scan_options& how)
{
    const int axis = axis_of_scan(call, axis_given, in.rank());
    if (!dtype)
        dtype = dtype_of_output(call, out);
    const upsweep_dtype type = dtype ? *dtype : result_dtype(op, in.dtype());
    if (in.rank() != 1) {
        if (how.includes_initial)
            refuse(PyExc_TypeError, call, "along an axis of an array in memory of a GPU no initial values are written",
                   "leave include_initial out");
        in.convert(call, type);
    }
    std::int64_t extents[most_dimensions]{};
    std::copy_n(in.at().shape, in.rank(), extents);
    extents[axis] += how.includes_initial ? 1 : 0;
    gpu_output to_all(call, in, in.rank(), extents, type, out);

    layout from;
    from.begin(in.at());
    layout to;
    to.begin(to_all.at());
    if (how.reverse) {
        turn(from, axis);
        turn(to, axis);
    }
    if (how.includes_initial) {
        const value none = value_of(call, "initial", nb::int_(op == UPSWEEP_MULTIPLIES ? 1 : 0), type);
        write(in, to.array.data, none.bytes, lib().dtype_size(type));
        to.array.data =
            static_cast<char*>(to.array.data) + to.strides[0] * static_cast<std::int64_t>(lib().dtype_size(type));
        to.shape[0] -= 1;
    }
    std::optional<value> initial;
    if (!how.initial.is_none())
        initial = value_of(call, "initial", how.initial, type);
    const void* const init = initial ? initial->bytes : nullptr;
    on_gpu(in, [&](const gpu_library& library, upsweep_context* context) {
        return in.rank() == 1 ? library.scan(context, op, how.exclusive, &from.array, &to.array, init)
                              : library.scan_axis(context, op, how.exclusive, &from.array, axis, &to.array, init);
    });
    return to_all.finish();
}

nb::object histogram_on_gpu(gpu_array& in, nb::handle bins, nb::handle range_given)
{
    if (nb::isinstance<nb::str>(bins))
        refuse(PyExc_TypeError, "histogram", "rules for edges are for arrays in memory of the host",
               "pass the number of bins, or their edges");
    const bool is_number = PyLong_Check(bins.ptr()) || PyArray_IsScalar(bins.ptr(), Integer);
    if (!is_number || PyBool_Check(bins.ptr()))
        return histogram_between_on_gpu(in, bins);
    const nb::object number = nb::steal(PyNumber_Index(bins.ptr()));
    check(number.ptr());
    const auto count = nb::cast<std::int64_t>(number);
    const bool finds_range = range_given.is_none();
    const range over = finds_range ? range_on_gpu("histogram", in) : range_argument("histogram", range_given);
    const even_bins even = even_bins_of(count, over, finds_range && in.count() != 0, in.dtype());
    gpu_tally to(in, count);
    if (even.between.empty())
        to.add_even(even.over);
    else
        to.add_between(even.between.data(), even.between.size());
    return to.finish(on_gpu_from(in, even.edges, *dtype_of(PyArray_DESCR(as_array(even.edges)))));
}

nb::object bincount_on_gpu(gpu_array& in, std::int64_t minlength)
{
    check_numbers_to_count(in.rank(), in.dtype(), minlength);
    std::int64_t bins = minlength;
    if (in.count() != 0)
        bins = std::max(bins, bins_up_to(range_on_gpu("bincount", in)));
    gpu_tally to(in, bins);
    if (bins != 0)
        to.add_even({0, static_cast<double>(bins)});
    return to.counts();
}

} // namespace upsweep::python
