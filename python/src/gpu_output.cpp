// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "gpu_output.hpp"

#include <algorithm>
#include <cstring>
#include <string>

namespace upsweep::python {

gpu_output::gpu_output(const char* call, const gpu_array& in, int rank, const std::int64_t* shape, upsweep_dtype dtype,
                       nb::handle out, const layout* in_order_of)
    : in_(in), out_(out)
{
    if (out.is_none()) {
        made_.emplace(in, rank, shape, dtype, in_order_of);
        return;
    }
    if (!given_.open(call, out))
        refuse(PyExc_TypeError, call, "out does not lie in memory of a GPU, where the array lies",
               "pass an array there that has the shape of the result");
    if (given_.device() != in.device() && given_.device() >= 0 && in.device() >= 0)
        refuse(PyExc_ValueError, call, "out lies in memory of another GPU", "pass one on the array's device");
    if (given_.rank() != rank || !std::equal(shape, shape + rank, given_.at().shape))
        refuse(PyExc_ValueError, call, "out has not the shape of the result", "pass an array of that shape");
    if (given_.is_read_only())
        refuse(PyExc_ValueError, call, "out is read-only", "pass an array that can be written, or leave out out");
    if (given_.dtype() != dtype)
        refuse(PyExc_TypeError, call,
               std::string("results of type ") + lib().dtype_name(dtype) + " are not converted to out, of type " +
                   lib().dtype_name(given_.dtype()),
               "pass an array of that type");
    if (given_.stream() != in.stream())
        check_gpu(gpu_lib()->order(in.device(), given_.stream(), in.stream()));
}

nb::object gpu_output::finish()
{
    if (made_)
        return made_->finish();
    if (given_.stream() != in_.stream())
        check_gpu(gpu_lib()->order(in_.device(), in_.stream(), given_.stream()));
    return nb::borrow(out_);
}

std::optional<upsweep_dtype> dtype_of_output(const char* call, nb::handle out)
{
    if (gpu_array given; !out.is_none() && given.open(call, out))
        return given.dtype();
    return std::nullopt;
}

namespace {

// bfloat16 is the upper half of a float32, rounded to even, and NumPy need not know it.
void round_to_bf16(value& of)
{
    const auto bits = of.as<std::uint32_t>();
    const bool is_nan = (bits & 0x7fffffff) > 0x7f800000;
    const auto rounded = static_cast<std::uint16_t>(is_nan ? 0x7fc0 : (bits + 0x7fff + (bits >> 16 & 1)) >> 16);
    std::memcpy(of.bytes, &rounded, sizeof rounded);
}

} // namespace

value value_of(const char* call, const char* name, nb::handle number, upsweep_dtype dtype)
{
    const bool is_bf16 = dtype == UPSWEEP_BF16;
    const nb::object array = value_argument(call, name, number, is_bf16 ? UPSWEEP_F32 : dtype);
    value result;
    std::memcpy(result.bytes, PyArray_DATA(as_array(array)),
                static_cast<std::size_t>(PyArray_ITEMSIZE(as_array(array))));
    if (is_bf16)
        round_to_bf16(result);
    return result;
}

upsweep_array value_at(const layout& of, upsweep_dtype dtype)
{
    return {of.array.data, dtype, of.array.memory, of.array.device, 0, nullptr, nullptr};
}

void clear(const gpu_array& in, const layout& at)
{
    check_gpu(gpu_lib()->clear(in.device(), in.stream(), at.array.data,
                               static_cast<std::uint64_t>(at.count()) * lib().dtype_size(at.array.dtype)));
}

void fill(const gpu_array& in, upsweep_op op, const layout& at, const value* number)
{
    layout lines;
    lines.begin(at);
    lines.append(1, 1);
    on_gpu(in, [&](const gpu_library& library, upsweep_context* context) {
        return library.scan_axis(context, op, true, &lines.array, at.rank(), &lines.array,
                                 number != nullptr ? number->bytes : nullptr);
    });
}

scan_arguments::scan_arguments(const char* call, const layout& in, const layout& out, int axis, const scan_options& how)
{
    from.begin(in);
    to.begin(out);
    if (how.reverse) {
        turn(from, axis);
        turn(to, axis);
    }
    if (!how.initial.is_none())
        initial_ = value_of(call, "initial", how.initial, out.array.dtype);
}

void write(const gpu_array& in, void* to, const void* from, std::uint64_t bytes)
{
    check_gpu(gpu_lib()->write(in.device(), in.stream(), to, from, bytes));
}

nb::object on_gpu_from(const gpu_array& like, const nb::object& array, upsweep_dtype dtype)
{
    layout at;
    describe(as_array(array), dtype, at);
    new_gpu_array to(like, at.rank(), at.shape, dtype);
    write(like, to.at().array.data, at.array.data, static_cast<std::uint64_t>(PyArray_NBYTES(as_array(array))));
    return to.finish();
}

} // namespace upsweep::python
