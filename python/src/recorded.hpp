// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "array.hpp"

namespace upsweep::python {

// The function of upsweep.torch or upsweep.jax that takes a call of this name instead, where x takes part in what these libraries
// record: gradients, and functions that are compiled. Null for every other array, and for calls that they have no operator of.
inline nb::object recorded(const char* call, nb::handle x)
{
    import_numpy();
    if (PyArray_CheckExact(x.ptr())) [[likely]]
        return {};
    // Kept for ever, since it is asked before each call.
    static const nb::handle operators_of =
        nb::object(nb::module_::import_("upsweep._recorded").attr("operators_of")).release();
    const nb::object operators = operators_of(x);
    if (operators.is_none()) [[likely]]
        return {};
    const nb::object function = nb::getattr(operators, call, nb::none());
    return function.is_none() ? nb::object() : function;
}

} // namespace upsweep::python
