// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <upsweep/runtime.h>

// How a GPU folds lines and segments in its own memory. There are kernels for few types, to which elements of all others are converted, and
// from which results are.
namespace upsweep::runtime::gpu {

inline bool is_float(upsweep_dtype dtype) { return dtype >= UPSWEEP_F16; }
inline bool is_signed(upsweep_dtype dtype) { return dtype >= UPSWEEP_I8 && dtype <= UPSWEEP_I64; }

// Whether truths are folded: the operator is logical, or the elements are bool. All operators on them but bit_xor are one of the logical ones.
bool is_of_truths(upsweep_op op, upsweep_dtype dtype);
upsweep_op op_of_truths(upsweep_op op);

struct shape_fold {
    upsweep_dtype as; // to which elements are converted first; bool makes truths of them
    upsweep_dtype
        dtype; // in which they are folded, or read: i32, u32, i64, u64, f32 or f64; of lines, also those of fewer bits
    upsweep_op op; // by which they are; of truths, which are 0 and 1, another one than the caller's
    upsweep_dtype result;
};

// Of elements of a type, or to results of a type, for which the operator must be defined.
shape_fold reduction_of(upsweep_op op, upsweep_dtype dtype);
shape_fold scan_of(upsweep_op op, upsweep_dtype dtype);
// The same of lines, for which there are more kernels: sums of u32, sums, minima and maxima of types of 8 and 16 bits, which of truths are whether all are true,
// and whether any is; products of all types; and running sums of f16 and bf16.
shape_fold reduction_of_lines(upsweep_op op, upsweep_dtype dtype);
shape_fold scan_of_lines(upsweep_op op, upsweep_dtype dtype);
// By a logical operator, of elements that are no truths: folds the words in which they lie to one that is not zero, but for the sign of a
// floating-point number, where the result is true. `as` is bool.
shape_fold reduction_of_lines_of_truths(upsweep_op op, upsweep_dtype dtype);

// An initial value of the type of the results, or null, as one of the type in which they are folded.
class folded_init {
public:
    folded_init(const shape_fold& fold, upsweep_dtype dtype, const void* init);

    const void* get() const { return is_given_ ? &value_ : nullptr; }

private:
    std::uint64_t value_ = 0;
    bool is_given_;
};

} // namespace upsweep::runtime::gpu
