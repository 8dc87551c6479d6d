// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Folds by operators of the user (upsweep/_monoid.py) of arrays in memory of a GPU. Python compiles the kernels that a fold asks for.
#include "gpu_operators.hpp"

#include <cstdint>
#include <optional>
#include <string>

#include "gpu_output.hpp"

namespace upsweep::python {

namespace {

// The type to which elements are converted: an argument, or that of the operator, or their own.
upsweep_dtype type_of_fold(const char* call, nb::handle op, const gpu_array& in, std::optional<upsweep_dtype> asked)
{
    if (!asked)
        asked = dtype_argument(call, op.attr("dtype"));
    const upsweep_dtype type = asked ? *asked : in.dtype();
    if (is_half(type))
        refuse(PyExc_TypeError, call, std::string(lib().dtype_name(type)) + " is no type of an operator of the user",
               "pass dtype, of bool, integers, float32 or float64");
    return type;
}

// Elements in the order in which an operator folds them, and what is before the axis, how long it is and what is behind it.
struct elements_of_lines {
    layout at;
    std::uint64_t extents[3] = {1, 1, 1};

    // Several axes are one where they are neighbours. Others come behind all that are kept.
    elements_of_lines(const layout& of, std::uint64_t axes)
    {
        const auto is_folded = [&](int k) { return (axes >> k & 1) != 0; };
        int place = 0;
        bool are_neighbours = true;
        for (int k = 0; k < of.rank(); ++k) {
            if (of.shape[k] == 1)
                continue;
            if (is_folded(k) != (place == 1))
                ++place;
            are_neighbours = are_neighbours && place <= 2;
        }
        at.begin(of.array.data, of.array.dtype);
        at.array.memory = of.array.memory;
        at.array.device = of.array.device;
        if (are_neighbours) {
            append(of, [](int) { return true; });
        } else {
            append(of, [&](int k) { return !is_folded(k); });
            append(of, is_folded);
        }
        bool is_behind = false;
        for (int k = 0; k < of.rank(); ++k) {
            is_behind = is_behind || (is_folded(k) && of.shape[k] != 1);
            const int part = is_folded(k) ? 1 : is_behind && are_neighbours ? 2 : 0;
            extents[part] *= static_cast<std::uint64_t>(of.shape[k]);
        }
    }

private:
    template <class Which>
    void append(const layout& of, Which which)
    {
        for (int k = 0; k < of.rank(); ++k)
            if (which(k))
                at.append(of.shape[k], of.strides[k]);
    }
};

// Calls fold(library, context, operator, missing) again until no kernel is missing: its size tells which kernels an array takes.
template <class Fold>
void fold_by(nb::handle op, const gpu_array& in, upsweep_dtype type, Fold fold)
{
    std::int32_t capability = 0;
    check_gpu(gpu_lib()->compute_capability(in.device(), &capability));
    const nb::object compiled = op.attr("_on_gpu")(lib().dtype_name(type), capability);
    auto* const loaded = reinterpret_cast<upsweep_python_operator*>(nb::cast<std::uintptr_t>(compiled.attr("loaded")));
    for (;;) {
        const char* missing = nullptr;
        on_gpu(in, [&](const gpu_library& library, upsweep_context* context) {
            return fold(library, context, loaded, &missing);
        });
        if (missing == nullptr)
            return;
        const auto cubin = nb::cast<nb::bytes>(compiled.attr("kernel")(missing));
        check_gpu(gpu_lib()->operator_load(loaded, missing, cubin.data()));
    }
}

} // namespace

nb::object reduce_by_operator(nb::handle op, gpu_array& in, nb::handle axis, nb::handle identity,
                              std::optional<upsweep_dtype> dtype, bool keeps_dimensions, nb::handle out)
{
    constexpr const char* call = "reduce";
    const upsweep_dtype type = type_of_fold(call, op, in, dtype);
    in.convert(call, type);
    const std::uint64_t axes = axes_argument(call, axis, in.rank());
    const reduced_shape shape(in.at(), axes, keeps_dimensions);
    gpu_output to(call, in, shape.rank, shape.extents, type, out);
    const value neutral = value_of(call, "identity", op.attr("identity"), type);
    if (in.count() == 0) {
        const value number = identity.is_none() ? neutral : value_of(call, "identity", identity, type);
        fill(in, type == UPSWEEP_BOOL ? UPSWEEP_LOGICAL_OR : UPSWEEP_PLUS, to.at(),
             &number); // any operator that there is
        return to.finish();
    }
    const elements_of_lines from(in.at(), axes);
    fold_by(
        op, in, type,
        [&](const gpu_library& library, upsweep_context* context, upsweep_python_operator* by, const char** missing) {
            return library.reduce_by(context, by, &from.at.array, from.extents, &to.at().array, neutral.bytes, missing);
        });
    return to.finish();
}

nb::object scan_by_operator(nb::handle op, gpu_array& in, nb::handle axis_given, std::optional<upsweep_dtype> dtype,
                            nb::handle out, const scan_options& how)
{
    constexpr const char* call = "scan";
    const int axis = axis_of_scan(call, axis_given, in.rank());
    const upsweep_dtype type = type_of_fold(call, op, in, dtype);
    in.convert(call, type);
    gpu_output to_all(call, in, in.rank(), in.at().shape, type, out);
    if (in.count() == 0)
        return to_all.finish();
    const scan_arguments of(call, in.at(), to_all.at(), axis, how);
    const elements_of_lines elements(of.from, std::uint64_t{1} << axis);
    const value neutral = value_of(call, "identity", op.attr("identity"), type);
    fold_by(
        op, in, type,
        [&](const gpu_library& library, upsweep_context* context, upsweep_python_operator* by, const char** missing) {
            return library.scan_by(context, by, how.exclusive, &elements.at.array, elements.extents, &of.to.array,
                                   neutral.bytes, of.init(), missing);
        });
    return to_all.finish();
}

void bind_gpu_operators(nb::module_& m)
{
    m.def(
        "new_operator",
        [] {
            upsweep_python_operator* created = nullptr;
            check_gpu(gpu_lib()->operator_create(&created));
            return reinterpret_cast<std::uintptr_t>(created);
        },
        "Where the kernels of an operator of the user are loaded, for ever.");
    m.def(
        "cuda_version", [] { return gpu_lib()->cuda_version(); },
        "13000 for CUDA 13.0, by which kernels were compiled.");
}

} // namespace upsweep::python
