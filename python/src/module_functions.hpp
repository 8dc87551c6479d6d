// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dlfcn.h>

#include <array>
#include <cstddef>
#include <stdexcept>
#include <utility>

#include <nanobind/nanobind.h>

// The functions of a module as built-in functions of Python. Those of nanobind are of a type of its own, which can neither be pickled
// nor be referred to weakly, as jax.jit and torch.compile do.
namespace upsweep::python {

namespace nb = nanobind;

inline constexpr std::size_t most_functions = 64;
inline std::array<PyObject*, most_functions> functions_of_nanobind; // kept for ever, as are the two tables below
inline std::array<PyMethodDef, most_functions> builtin_definitions;

// Every Python from 3.9 on has PyObject_Vectorcall, but the headers of the stable ABI have it from 3.12 on alone.
using vectorcall = PyObject* (*)(PyObject*, PyObject* const*, std::size_t, PyObject*);
inline vectorcall call_vector;

template <std::size_t K>
PyObject* pass_on(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* names)
{
    return call_vector(functions_of_nanobind[K], arguments, static_cast<std::size_t>(count), names);
}

template <std::size_t... K>
constexpr auto passing_functions(std::index_sequence<K...>)
{
    return std::array{&pass_on<K>...};
}

// The functions that the module has by now, by their names, as those of the package `package`.
inline nb::dict builtins(const nb::module_& m, const char* package)
{
    static constexpr auto passing = passing_functions(std::make_index_sequence<most_functions>());
    call_vector = reinterpret_cast<vectorcall>(dlsym(RTLD_DEFAULT, "PyObject_Vectorcall"));
    if (call_vector == nullptr)
        throw std::runtime_error("this Python has no PyObject_Vectorcall");
    nb::dict result;
    std::size_t k = 0;
    for (const auto [name, function] : nb::borrow<nb::dict>(m.attr("__dict__"))) {
        if (!nb::hasattr(function, "__nb_signature__"))
            continue;
        if (k == most_functions)
            throw std::runtime_error("more functions than there is room for");
        functions_of_nanobind[k] = nb::borrow(function).release().ptr();
        builtin_definitions[k] = {nb::borrow<nb::str>(nb::borrow(name).release()).c_str(),
                                  reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(passing[k])),
                                  METH_FASTCALL | METH_KEYWORDS,
                                  nb::borrow<nb::str>(nb::object(function.attr("__doc__")).release()).c_str()};
        const nb::str of(package);
        result[name] = nb::steal(PyCFunction_NewEx(&builtin_definitions[k], m.ptr(), of.ptr()));
        ++k;
    }
    return result;
}

} // namespace upsweep::python
