// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "shape_fold.hpp"

#include "../fold.hpp"

namespace upsweep::runtime::gpu {

namespace {

bool is_integer(upsweep_dtype dtype) { return dtype >= UPSWEEP_I8 && dtype <= UPSWEEP_U64; }
bool is_half_float(upsweep_dtype dtype) { return dtype == UPSWEEP_F16 || dtype == UPSWEEP_BF16; }
bool is_wide(upsweep_dtype dtype) { return upsweep_dtype_size(dtype) == 8; }
bool is_narrow(upsweep_dtype dtype) { return upsweep_dtype_size(dtype) <= 2; }

// The type in which elements are folded that have been converted to `as`. Integers of fewer bits are those of 32, since all operators but
// minimum and maximum are the same modulo 2^k, and these are exact.
shape_fold fold_in(upsweep_op op, upsweep_dtype as)
{
    if (!is_integer(as)) {
        const upsweep_dtype dtype = as == UPSWEEP_F64 ? UPSWEEP_F64 : UPSWEEP_F32;
        return {as, dtype, op, dtype};
    }
    if (as == UPSWEEP_U32 || is_wide(as))
        return {as, as, op, as};
    return {as, UPSWEEP_I32, op, UPSWEEP_I32};
}

// Truths are 0 and 1, in whose bits logical operators are those of bits.
shape_fold fold_of_truths(upsweep_op op)
{
    op = op_of_truths(op);
    if (op != UPSWEEP_BIT_XOR)
        op = op == UPSWEEP_LOGICAL_OR ? UPSWEEP_BIT_OR : UPSWEEP_BIT_AND;
    return {UPSWEEP_BOOL, UPSWEEP_I32, op, UPSWEEP_I32};
}

} // namespace

upsweep_op op_of_truths(upsweep_op op)
{
    switch (op) {
    case UPSWEEP_BIT_XOR: return op;
    case UPSWEEP_PLUS: // A sum that is converted to bool is true where any element is.
    case UPSWEEP_MAXIMUM:
    case UPSWEEP_BIT_OR:
    case UPSWEEP_LOGICAL_OR: return UPSWEEP_LOGICAL_OR;
    default: return UPSWEEP_LOGICAL_AND;
    }
}

bool is_of_truths(upsweep_op op, upsweep_dtype dtype)
{
    return dtype == UPSWEEP_BOOL || op == UPSWEEP_LOGICAL_AND || op == UPSWEEP_LOGICAL_OR;
}

shape_fold reduction_of(upsweep_op op, upsweep_dtype dtype)
{
    const bool counts = op == UPSWEEP_PLUS || op == UPSWEEP_MULTIPLIES;
    if (is_of_truths(op, dtype) && !counts)
        return fold_of_truths(op);
    if (!counts || !(is_integer(dtype) || dtype == UPSWEEP_BOOL))
        return fold_in(op, dtype);
    // Sums and products of integers have 64 bits. Sums of 32 bits have kernels that read them.
    const upsweep_dtype result = is_signed(dtype) || dtype == UPSWEEP_BOOL ? UPSWEEP_I64 : UPSWEEP_U64;
    const bool reads_32 = op == UPSWEEP_PLUS && !is_wide(dtype) && dtype != UPSWEEP_U32;
    return {dtype, reads_32 ? UPSWEEP_I32 : result, op, result};
}

shape_fold scan_of(upsweep_op op, upsweep_dtype dtype)
{
    return is_of_truths(op, dtype) ? fold_of_truths(op) : fold_in(op, dtype);
}

shape_fold reduction_of_lines(upsweep_op op, upsweep_dtype dtype)
{
    const bool counts = op == UPSWEEP_PLUS || op == UPSWEEP_MULTIPLIES;
    if (counts && is_half_float(dtype))
        return {dtype, dtype, op, UPSWEEP_F32};
    if (counts && dtype == UPSWEEP_BOOL)
        return {dtype, UPSWEEP_U8, op, UPSWEEP_I64};
    if (counts && (is_narrow(dtype) || (op == UPSWEEP_MULTIPLIES && is_integer(dtype))))
        return {dtype, dtype, op, is_signed(dtype) ? UPSWEEP_I64 : UPSWEEP_U64};
    if (op == UPSWEEP_PLUS && dtype == UPSWEEP_U32)
        return {dtype, dtype, op, UPSWEEP_U64};
    const bool is_extremum = op == UPSWEEP_MINIMUM || op == UPSWEEP_MAXIMUM;
    if (is_extremum && is_narrow(dtype) && dtype != UPSWEEP_BOOL)
        return {dtype, dtype, op, dtype};
    const shape_fold fold = reduction_of(op, dtype);
    if (fold.as == UPSWEEP_BOOL && (fold.op == UPSWEEP_BIT_AND || fold.op == UPSWEEP_BIT_OR))
        return {fold.as, UPSWEEP_U8, fold.op == UPSWEEP_BIT_OR ? UPSWEEP_MAXIMUM : UPSWEEP_MINIMUM, UPSWEEP_U8};
    return fold;
}

shape_fold scan_of_lines(upsweep_op op, upsweep_dtype dtype)
{
    if (op == UPSWEEP_PLUS && is_half_float(dtype))
        return {dtype, dtype, op, dtype};
    return scan_of(op, dtype);
}

// Some elements are true if the union or the greatest of their words is not zero, and all are if the least is not. The union is found where kernels are
// faster for it. bf16 is read as f16: the bits of zeros are the same.
shape_fold reduction_of_lines_of_truths(upsweep_op op, upsweep_dtype dtype)
{
    const bool is_any = op == UPSWEEP_LOGICAL_OR;
    const upsweep_op extremum = is_any ? UPSWEEP_MAXIMUM : UPSWEEP_MINIMUM;
    const upsweep_op of_words = is_any ? UPSWEEP_BIT_OR : UPSWEEP_MINIMUM;
    if (is_half_float(dtype))
        return {UPSWEEP_BOOL, UPSWEEP_F16, extremum, UPSWEEP_F16};
    switch (upsweep_dtype_size(dtype)) {
    case 1: return {UPSWEEP_BOOL, UPSWEEP_U8, extremum, UPSWEEP_U8};
    case 2: return {UPSWEEP_BOOL, UPSWEEP_U16, extremum, UPSWEEP_U16};
    case 4: return {UPSWEEP_BOOL, UPSWEEP_U32, of_words, UPSWEEP_U32};
    default: return {UPSWEEP_BOOL, UPSWEEP_U64, of_words, UPSWEEP_U64};
    }
}

folded_init::folded_init(const shape_fold& fold, upsweep_dtype dtype, const void* init) : is_given_(init != nullptr)
{
    if (is_given_)
        convert_elements(dtype, init, fold.result, &value_, 1);
}

} // namespace upsweep::runtime::gpu
