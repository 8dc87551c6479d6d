// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Folds of arrays in memory of a GPU, on the stream of their library. Results are arrays of the same kind.
#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>

#include "any_order.hpp"
#include "blocks.hpp"
#include "fold.hpp"
#include "gpu_output.hpp"

namespace upsweep::python {

using runtime::is_of_any_order;

namespace {

bool has_no_gaps(const layout& at)
{
    std::int64_t behind = 1;
    for (int k = at.rank(); k-- > 0; behind *= at.shape[k])
        if (at.shape[k] > 1 && at.strides[k] != behind)
            return false;
    return true;
}

// Converts the elements of an array without gaps to those of another one.
void convert(const gpu_array& in, const upsweep_array& from, const layout& to)
{
    check_gpu(gpu_lib()->convert(in.device(), in.stream(), from.data, from.dtype,
                                 static_cast<std::uint64_t>(to.count()), false, 1, to.array.data, to.array.dtype));
}

// Where a fold writes results of its own type, which are then converted to those that were asked for.
class folded_output {
public:
    folded_output(const char* call, const gpu_array& in, upsweep_dtype folded, const layout& to) : in_(in), to_(to)
    {
        if (folded == to.array.dtype)
            return;
        aside_.emplace(in, to.rank(), to.shape, folded);
        if (!has_no_gaps(to))
            refuse(PyExc_TypeError, call, "results that are converted are not written to an array with gaps",
                   "pass out without gaps, or leave it out");
    }
    const layout& at() const { return aside_ ? aside_->at() : to_; }

    void finish() const
    {
        if (aside_)
            convert(in_, aside_->at().array, to_);
    }

private:
    const gpu_array& in_;
    const layout& to_;
    std::optional<new_gpu_array> aside_;
};

// Converts halves to a new array, if each is a line of its own: the fold of one is that one, and needs no results of float32 beside it. Returns whether
// it has.
bool convert_single_halves(const gpu_array& in, const layout& to, nb::handle out)
{
    const bool are_single = out.is_none() && is_half(in.dtype()) && in.count() == to.count() && has_no_gaps(in.at()) &&
                            reinterpret_cast<std::uintptr_t>(in.at().array.data) % lib().dtype_size(in.dtype()) == 0;
    if (are_single)
        convert(in, in.at().array, to);
    return are_single;
}

// Copies an array whose axes do not lie as one to one whose last axes they are. Returns which they are then.
std::uint64_t bring_together(const char* call, gpu_array& in, std::uint64_t axes)
{
    if (lie_as_one_axis(in.at(), axes))
        return axes;
    in.bring_behind(call, axes);
    const int count = std::popcount(axes);
    return ~std::uint64_t{0} >> (64 - count) << (in.rank() - count);
}

// The lines along some of the axes of an array, and where their results go. Elements that do not lie as those of one axis are copied.
struct gpu_lines {
    layout lines;
    layout results;

    gpu_lines(const char* call, gpu_array& in, std::uint64_t axes, bool keeps_dimensions, const layout& to)
    {
        begin_beside(results, in.at(), to.array.data, to.array.dtype);
        append_kept(results, axes, keeps_dimensions, to);
        axes = bring_together(call, in, axes);
        begin_beside(lines, in.at(), in.at().array.data, in.dtype());
        append_lines(lines, in.at(), axes);
    }
    std::int32_t axis() const { return lines.rank() - 1; }
};

// None where there is nothing by which room for their totals can be made.
first_blocks blocks_to_fold_first_on_gpu(const gpu_array& in, std::uint64_t axes, upsweep_op op, upsweep_dtype folded)
{
    return in.can_be_made() ? blocks_to_fold_first(in.at(), axes, op, folded) : first_blocks{};
}

// Whether an array is folded whole faster by blocks: where neighbours in the order of the fold lie apart, as those of a transposed array do. If
// any order will do and there are no gaps, libupsweep takes the order in which they lie.
bool is_faster_by_blocks(const layout& at, bool is_of_any_order)
{
    constexpr std::int64_t small_array = 1 << 16;
    if (at.count() < small_array)
        return false;
    std::int64_t reach = 1; // from the lowest element to behind the highest one
    std::int64_t last = 0;  // distance of neighbours along the last dimension
    bool is_turned = false;
    for (int k = at.rank(); k-- > 0;) {
        const std::int64_t distance = std::abs(at.strides[k]);
        if (at.shape[k] == 1)
            continue;
        reach += (at.shape[k] - 1) * distance;
        is_turned = is_turned || (last != 0 && distance != 0 && distance < last);
        last = last == 0 ? distance : last;
    }
    return is_turned && !(is_of_any_order && reach == at.count());
}

// Folds blocks first, and then their results.
void fold_blocks_first(upsweep_op op, const gpu_array& in, std::uint64_t axes, bool keeps_dimensions,
                       const first_blocks& first, const layout& to)
{
    fold_by_blocks by(in.at(), axes, first, to.array.dtype);
    const std::int64_t room = by.room();
    const new_gpu_array totals(in, 1, &room, to.array.dtype);
    by.set_room(in.at(), totals.at().array.data);
    layout ends;
    begin_beside(ends, in.at(), to.array.data, to.array.dtype);
    append_kept(ends, axes, keeps_dimensions, to);
    on_gpu(in, [&](const gpu_library& library, upsweep_context* context) {
        const auto reduce = [&](const layout& lines, const layout& results) {
            return library.reduce_axis(context, op, &lines.array, lines.rank() - 1, &results.array);
        };
        if (const upsweep_status status = by.fold_blocks(reduce); status != UPSWEEP_OK)
            return status;
        return ends.rank() == 0 ? library.reduce(context, op, &by.lines().array, &ends.array)
                                : reduce(by.lines(), ends);
    });
}

// Writes folds along some of the axes.
void fold_along(const char* call, upsweep_op op, gpu_array& in, std::uint64_t axes, bool keeps_dimensions,
                const layout& to)
{
    const bool is_whole = std::popcount(axes) == in.rank();
    if (to.count() == 0)
        return;
    if (in.count() != 0 && (!is_whole || is_faster_by_blocks(in.at(), is_of_any_order(op, in.dtype()))))
        if (const first_blocks first = blocks_to_fold_first_on_gpu(in, axes, op, to.array.dtype); first.axes != 0)
            return fold_blocks_first(op, in, axes, keeps_dimensions, first, to);
    if (is_whole) {
        const upsweep_array result = value_at(to, to.array.dtype);
        on_gpu(in, [&](const gpu_library& library, upsweep_context* context) {
            return library.reduce(context, op, &in.at().array, &result);
        });
        return;
    }
    const gpu_lines all(call, in, axes, keeps_dimensions, to);
    on_gpu(in, [&](const gpu_library& library, upsweep_context* context) {
        return library.reduce_axis(context, op, &all.lines.array, all.axis(), &all.results.array);
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
    const reduced_shape shape(in.at(), axes, keeps_dimensions);
    gpu_output to(call, in, shape.rank, shape.extents, types.result, out);
    if (in.count() == 0 && !identity.is_none()) {
        const value neutral = value_of(call, "identity", identity, types.result);
        fill(in, op, to.at(), &neutral);
        return to.finish();
    }
    if ((op == UPSWEEP_PLUS || op == UPSWEEP_MULTIPLIES) && convert_single_halves(in, to.at(), out))
        return to.finish();
    const folded_output folded(call, in, types.folded, to.at());
    fold_along(call, op, in, axes, keeps_dimensions, folded.at());
    folded.finish();
    return to.finish();
}

nb::object argument_on_gpu(const char* call, decltype(&upsweep_argmin_axis) library::*find, gpu_array& in,
                           nb::handle axis, bool keeps_dimensions, nb::handle out)
{
    const std::uint64_t axes = axes_argument(call, axis, in.rank());
    const reduced_shape shape(in.at(), axes, keeps_dimensions);
    gpu_output to(call, in, shape.rank, shape.extents, UPSWEEP_I64, out);
    if (to.at().count() == 0)
        return to.finish();
    const gpu_lines all(call, in, axes, keeps_dimensions, to.at());
    on_gpu(in, [&](const gpu_library& library, upsweep_context* context) {
        return (library.*find)(context, &all.lines.array, all.axis(), &all.results.array);
    });
    return to.finish();
}

nb::object mean_on_gpu(gpu_array& in, nb::handle axis, bool keeps_dimensions, nb::handle out)
{
    constexpr const char* call = "mean";
    const fold_types types = types_of_mean(in.dtype());
    const std::uint64_t axes = axes_argument(call, axis, in.rank());
    const reduced_shape shape(in.at(), axes, keeps_dimensions);
    gpu_output to(call, in, shape.rank, shape.extents, types.result, out);
    // The sum of a line is divided where it is made; that of a large array has faster kernels, and is divided by another one.
    constexpr std::int64_t most_of_a_line = 1 << 14;
    const auto is_line = [&] {
        return in.count() > 0 && in.count() <= most_of_a_line && lie_as_one_axis(in.at(), axes);
    };
    const upsweep_dtype summed = reduce_dtype(UPSWEEP_PLUS, in.dtype());
    const bool is_large = std::popcount(axes) == in.rank() && !is_line();
    if (is_large || (to.at().count() != 0 && has_no_gaps(to.at()) &&
                     blocks_to_fold_first_on_gpu(in, axes, UPSWEEP_PLUS, summed).axes != 0)) {
        const auto lines = static_cast<std::uint64_t>(to.at().count());
        const new_gpu_array sums(in, shape.rank, shape.extents, summed);
        fold_along(call, UPSWEEP_PLUS, in, axes, keeps_dimensions, sums.at());
        check_gpu(gpu_lib()->convert(in.device(), in.stream(), sums.at().array.data, sums.at().array.dtype, lines, true,
                                     static_cast<std::uint64_t>(in.count()) / lines, to.at().array.data, types.result));
        return to.finish();
    }
    if (convert_single_halves(in, to.at(), out))
        return to.finish();
    const folded_output folded(call, in, types.folded, to.at());
    if (to.at().count() != 0) {
        const gpu_lines all(call, in, axes, keeps_dimensions, folded.at());
        on_gpu(in, [&](const gpu_library& library, upsweep_context* context) {
            return library.mean_axis(context, &all.lines.array, all.axis(), &all.results.array);
        });
    }
    folded.finish();
    return to.finish();
}

nb::object var_on_gpu(gpu_array& in, nb::handle axis, double correction, bool keeps_dimensions)
{
    constexpr const char* call = "var";
    const fold_types types = types_of_mean(in.dtype());
    const std::uint64_t axes = axes_argument(call, axis, in.rank());
    const reduced_shape shape(in.at(), axes, keeps_dimensions);
    gpu_output to(call, in, shape.rank, shape.extents, types.result, nb::none());
    const folded_output folded(call, in, types.folded, to.at());
    if (to.at().count() != 0) {
        const bool is_copied = in.rank() > most_dimensions_of_library && std::popcount(axes) != in.rank();
        const std::uint64_t folded_axes = is_copied ? bring_together(call, in, axes) : axes;
        layout results;
        begin_beside(results, in.at(), folded.at().array.data, folded.at().array.dtype);
        append_kept(results, axes, keeps_dimensions, folded.at());
        on_gpu(in, [&](const gpu_library& library, upsweep_context* context) {
            return library.variance_axes(context, &in.at().array, folded_axes, correction, &results.array);
        });
    }
    folded.finish();
    return to.finish();
}

nb::object scan_on_gpu(const char* call, upsweep_op op, gpu_array& in, nb::handle axis_given,
                       std::optional<upsweep_dtype> dtype, nb::handle out, const scan_options& how)
{
    const int axis = axis_of_scan(call, axis_given, in.rank());
    if (!dtype)
        dtype = dtype_of_output(call, out);
    const upsweep_dtype type = dtype ? *dtype : result_dtype(op, in.dtype());
    std::int64_t extents[most_dimensions]{};
    std::copy_n(in.at().shape, in.rank(), extents);
    extents[axis] += how.includes_initial ? 1 : 0;
    gpu_output to_all(call, in, in.rank(), extents, type, out, how.includes_initial ? nullptr : &in.at());

    scan_arguments of(call, in.at(), to_all.at(), axis, how);
    layout& to = of.to;
    if (how.includes_initial) {
        layout first;
        first.begin(to);
        first.shape[axis] = 1;
        fill(in, op, first, nullptr);
        to.array.data =
            static_cast<char*>(to.array.data) + to.strides[axis] * static_cast<std::int64_t>(lib().dtype_size(type));
        to.shape[axis] -= 1;
    }
    on_gpu(in, [&](const gpu_library& library, upsweep_context* context) {
        return in.rank() == 1
                   ? library.scan(context, op, how.exclusive, &of.from.array, &to.array, of.init())
                   : library.scan_axis(context, op, how.exclusive, &of.from.array, axis, &to.array, of.init());
    });
    return to_all.finish();
}

} // namespace upsweep::python
