/* Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
 *
 * What the module needs of a GPU beside the C ABI, in libupsweep-cuda: the module itself is compiled without CUDA. Calls are put in
 * order of a stream, a cudaStream_t of the device, and fail as those of the C ABI do. */
#ifndef UPSWEEP_PYTHON_MEMORY_H
#define UPSWEEP_PYTHON_MEMORY_H

#include <upsweep/runtime.h>

#ifdef __cplusplus
extern "C" {
#endif

UPSWEEP_API upsweep_status upsweep_python_allocate(int32_t device, void* stream, uint64_t bytes, void** memory);
/* Waits for all that the GPU does: nobody knows which streams read the memory. */
UPSWEEP_API void upsweep_python_free(int32_t device, void* memory);
/* What comes to the stream `later` from now on waits for what is in `earlier`. */
UPSWEEP_API upsweep_status upsweep_python_order(int32_t device, void* earlier, void* later);
/* From memory of the GPU, or of the host, whose bytes have been read when the call returns. */
UPSWEEP_API upsweep_status upsweep_python_write(int32_t device, void* stream, void* to, const void* from,
                                                uint64_t bytes);
UPSWEEP_API upsweep_status upsweep_python_clear(int32_t device, void* stream, void* to, uint64_t bytes);
/* Writes values of type i64, u64, f32 or f64 as values of another type: `divides` divides them by `divisor` first, in f32 if they are
 * that, else in f64. */
UPSWEEP_API upsweep_status upsweep_python_convert(int32_t device, void* stream, const void* from,
                                                  upsweep_dtype from_dtype, uint64_t count, bool divides,
                                                  uint64_t divisor, void* to, upsweep_dtype to_dtype);

#ifdef __cplusplus
}
#endif
#endif
