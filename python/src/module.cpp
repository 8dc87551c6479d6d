// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// The module upsweep._core.
#include <exception>

#include "array.hpp"
#include "gpu_array.hpp"
#include "gpu_operators.hpp"
#include "library.hpp"
#include "module_functions.hpp"

NB_MODULE(_core, m)
{
    using namespace upsweep::python;
    try {
        open_library();
    } catch (const std::exception& failure) {
        throw nb::import_error(failure.what());
    }
    m.doc() = "What libupsweep does for NumPy's arrays.";
    m.def(
        "version", [] { return lib().version(); }, "The version of the library.");
    m.def(
        "cpu_isa", [] { return lib().cpu_isa(); }, "The level of the instruction set of the library that was opened.");
    m.def(
        "cpu_threads", [] { return lib().cpu_threads(); }, "How many threads fold.");
    m.def(
        "gpu_name",
        [] {
            const gpu_library* gpu = gpu_lib();
            return gpu != nullptr ? gpu->gpu_name() : lib().gpu_name();
        },
        "The GPU that could fold, or None.", nb::sig("def gpu_name() -> str | None"));
    m.def(
        "why_no_gpu",
        [] {
            const gpu_library* gpu = gpu_lib();
            return gpu != nullptr ? gpu->last_error() : lib().last_error();
        },
        "What gpu_name said when it found none.");
    bind_gpu_arrays(m);
    bind_gpu_operators(m);
    bind_folds(m);
    bind_histograms(m);
    bind_partials(m);
    bind_shapes(m);
    bind_xla_handlers(m);
    m.attr("_builtins") = builtins(m, "upsweep");
}
