// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "gpu_inputs.hpp"

#include <cstdint>
#include <string>

#include "gpu_output.hpp"

namespace upsweep::python {

void put_beside(const char* call, const char* name, const gpu_array& first, const gpu_array& other)
{
    if (other.device() != first.device() && other.device() >= 0 && first.device() >= 0)
        refuse(PyExc_ValueError, call, std::string(name) + " lies in memory of another GPU",
               "pass one on the same device");
    if (other.stream() != first.stream())
        check_gpu(gpu_lib()->order(first.device(), other.stream(), first.stream()));
}

void refuse_host(const char* call, const char* name)
{
    refuse(PyExc_TypeError, call, std::string(name) + " lies in memory of the host, and other arrays in a GPU's",
           "bring all of them there");
}

void open_beside(const char* call, const char* name, const gpu_array& first, nb::handle x, gpu_array& other)
{
    if (!other.open(call, x))
        refuse_host(call, name);
    put_beside(call, name, first, other);
}

void check_is_line(const char* call, const char* name, const gpu_array& x)
{
    if (x.rank() != 1)
        refuse(PyExc_ValueError, call, std::string(name) + " has not one dimension",
               "pass an array of one, as x.ravel()");
}

void check_are_integers(const char* call, const char* name, upsweep_dtype dtype)
{
    if (is_float(dtype) || dtype == UPSWEEP_BOOL)
        refuse(PyExc_TypeError, call, std::string(name) + " are no integers", "convert them");
}

segment_offsets::segment_offsets(const char* call, nb::handle given, const gpu_array& in)
{
    if (offsets_.open(call, given)) {
        put_beside(call, "offsets", in, offsets_);
        check_is_line(call, "offsets", offsets_);
        check_are_integers(call, "offsets", offsets_.dtype());
        if (lib().dtype_size(offsets_.dtype()) < 4)
            offsets_.convert(call, UPSWEEP_I64);
        on_gpu(in, [&](const gpu_library& library, upsweep_context* context) {
            return library.check_offsets(context, &offsets_.at().array, static_cast<std::uint64_t>(in.count()));
        });
        return;
    }
    operand host(call, given);
    if (host.rank() != 1)
        refuse(PyExc_ValueError, call, "offsets has not one dimension", "pass an array of one, as x.ravel()");
    check_are_integers(call, "offsets", host.dtype());
    host.convert(host.dtype() == UPSWEEP_U64 ? UPSWEEP_U64 : UPSWEEP_I64);
    check(lib().check_offsets(nullptr, &host.at().array, static_cast<std::uint64_t>(in.count())));
    copy_ = on_gpu_from(in, copy_as(host.numpy(), host.dtype()), host.dtype());
    open_beside(call, "offsets", in, copy_, offsets_);
}

} // namespace upsweep::python
