// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "fold.hpp"
#include "gpu_array.hpp"

// Folds by operators of the user, `op`, of arrays in memory of a GPU. Results lie there, too; nothing is waited for but the compiler.
namespace upsweep::python {

nb::object reduce_by_operator(nb::handle op, gpu_array& in, nb::handle axis, nb::handle identity,
                              std::optional<upsweep_dtype> dtype, bool keeps_dimensions, nb::handle out);
nb::object scan_by_operator(nb::handle op, gpu_array& in, nb::handle axis, std::optional<upsweep_dtype> dtype,
                            nb::handle out, const scan_options& how);

void bind_gpu_operators(nb::module_& m);

} // namespace upsweep::python
