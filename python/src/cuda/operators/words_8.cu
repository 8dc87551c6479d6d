// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "instantiate.cuh"

template upsweep::python::operator_folds upsweep::python::folds_by_operator<std::uint8_t>();
