/* Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
 *
 * Folds by operators of the user of arrays in memory of a GPU, in libupsweep-cuda. What an operator is compiled to comes kernel by kernel,
 * as folds ask for them. */
#ifndef UPSWEEP_PYTHON_OPERATORS_H
#define UPSWEEP_PYTHON_OPERATORS_H

#include <upsweep/runtime.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The kernels of an operator, for elements of one type and GPUs of one compute capability. They stay loaded as long as the process lives,
 * in which streams may be that run them. */
typedef struct upsweep_python_operator upsweep_python_operator;

UPSWEEP_API upsweep_status upsweep_python_operator_create(upsweep_python_operator** created);
/* Loads a kernel from machine code, a cubin. */
UPSWEEP_API upsweep_status upsweep_python_operator_load(upsweep_python_operator* of, const char* kernel,
                                                        const void* cubin);

/* 90 for 9.0. -1 is the current device. */
UPSWEEP_API upsweep_status upsweep_python_compute_capability(int32_t device, int32_t* capability);
/* The version of CUDA by which the kernels were compiled: 13000 for 13.0. */
UPSWEEP_API int32_t upsweep_python_cuda_version(void);

/* Folds along an axis. The elements, in their order, are those of an array without gaps whose extents are `extents`: of what is before the
 * axis, of the axis, of what is behind it. The identity, and the initial value, which may be null, have the type of the elements.
 * *missing is set to null, or to the name of a kernel that must be loaded first: nothing has been written then. */
UPSWEEP_API upsweep_status upsweep_python_reduce_by(upsweep_context* context, upsweep_python_operator* op,
                                                    const upsweep_array* in, const uint64_t extents[3],
                                                    const upsweep_array* out, const void* identity,
                                                    const char** missing);
UPSWEEP_API upsweep_status upsweep_python_scan_by(upsweep_context* context, upsweep_python_operator* op, bool exclusive,
                                                  const upsweep_array* in, const uint64_t extents[3],
                                                  const upsweep_array* out, const void* identity, const void* init,
                                                  const char** missing);

#ifdef __cplusplus
}
#endif
#endif
