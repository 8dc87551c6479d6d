// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

// NumPy's C interface, shared by the files of the module. One of them defines UPSWEEP_HOLDS_NUMPY.
#define NPY_NO_DEPRECATED_API NPY_1_23_API_VERSION
#define NPY_TARGET_VERSION NPY_1_23_API_VERSION
#define PY_ARRAY_UNIQUE_SYMBOL upsweep_numpy
#ifndef UPSWEEP_HOLDS_NUMPY
#define NO_IMPORT_ARRAY
#endif

#include <nanobind/nanobind.h>
#include <numpy/arrayobject.h>
