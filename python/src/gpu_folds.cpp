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

// The lines along some of the axes of an array, the elements of which lie as those of one axis, and where their results go.
struct gpu_lines {
    layout lines;
    layout results;

    gpu_lines(const char* call, const gpu_array& in, std::uint64_t axes, bool keeps_dimensions, const layout& to)
    {
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
    }
    std::int32_t axis() const { return lines.rank() - 1; }
};

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
    const gpu_lines all(call, in, axes, keeps_dimensions, to);
    on_gpu(in, [&](const gpu_library& library, upsweep_context* context) {
        return means ? library.mean_axis(context, &all.lines.array, all.axis(), &all.results.array)
                     : library.reduce_axis(context, op, &all.lines.array, all.axis(), &all.results.array);
    });
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

nb::object argument_on_gpu(const char* call, decltype(&upsweep_argmin_axis) library::*find, gpu_array& in,
                           nb::handle axis, bool keeps_dimensions, nb::handle out)
{
    const std::uint64_t axes = axes_argument(call, axis, in.rank());
    const reduced_shape shape(in.at(), axes, keeps_dimensions);
    gpu_output to(call, in, shape.rank, shape.extents, UPSWEEP_I64, out);
    const gpu_lines all(call, in, axes, keeps_dimensions, to.at());
    on_gpu(in, [&](const gpu_library& library, upsweep_context* context) {
        return (library.*find)(context, &all.lines.array, all.axis(), &all.results.array);
    });
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

} // namespace upsweep::python
