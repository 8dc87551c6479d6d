// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <upsweep/bins.hpp>
#include <upsweep/fold_order.hpp>
#include <upsweep/gpu/target/cuda.cuh>
#include <upsweep/outside.hpp>
#include <upsweep/runtime.h>

#include "../../array.hpp"

// Folds and histograms of arrays in memory of the GPU by kernels of their own type, of arrays without gaps but for reductions. Scans by other operators
// and of other types have kernels that convert each element (../elements.cuh).
namespace upsweep::runtime::gpu {

// Writes the fold of elements, of the type that upsweep_reduce_dtype tells, to memory that the GPU reaches. They lie at strides that take few dimensions
// to tell; products are of elements without gaps alone.
using reduce_kernel = void (*)(const cuda& target, upsweep_op op, const elements& in, void* result);
inline constexpr std::size_t few_dimensions = 4;
// The first elements and results of a scan: the others lie behind them, or before them. `init` is null or a value of the type of the results in
// memory of the host, and null for inclusive scans.
struct scan_arrays {
    scan_kind kind;
    const void* in;
    void* out;
    std::size_t count;
    const void* init;
    bool are_reversed; // for sums alone
};
using scan_kernel = void (*)(const cuda& target, upsweep_op op, const scan_arrays& of);

// Writes the variance of elements at such strides, f32 or f64 as quotient_dtype_of tells, to memory that the GPU reaches.
using variance_kernel = void (*)(const cuda& target, double correction, const elements& in, void* result);

struct typed_kernels {
    reduce_kernel reduce;       // by plus, multiplies, minimum and maximum
    reduce_kernel reduce_bits;  // may be null
    reduce_kernel reduce_truth; // by logical operators
    scan_kernel scan;           // by plus, minimum and maximum; may be null
    // Add the numbers of samples to counts and *out_of_range, which the GPU reaches. May be null.
    void (*count_even)(const cuda& target, const even_bins& bins, const void* in, std::size_t count,
                       std::span<std::uint64_t> counts, outside* out_of_range);
    void (*count_edges)(const cuda& target, const edges& bins, const void* in, std::size_t count,
                        std::span<std::uint64_t> counts, outside* out_of_range);
    variance_kernel variance;
    scan_kernel scan_products = nullptr;
    scan_kernel scan_log_sum_exp = nullptr;
};

// Returns the kernels of a type, or null where it has none.
const typed_kernels* typed_kernels_of(upsweep_dtype dtype);

// Returns what writes running sums of elements of one type as those of a wider one, or null where there is no kernel for the two.
scan_kernel widened_sums_of(upsweep_dtype in, upsweep_dtype out);

// What folds by an operator.
inline reduce_kernel reduce_kernel_of(const typed_kernels& kernels, upsweep_op op)
{
    switch (op) {
    case UPSWEEP_BIT_AND:
    case UPSWEEP_BIT_OR:
    case UPSWEEP_BIT_XOR: return kernels.reduce_bits;
    case UPSWEEP_LOGICAL_AND:
    case UPSWEEP_LOGICAL_OR: return kernels.reduce_truth;
    case UPSWEEP_LOG_SUM_EXP: return nullptr;
    default: return kernels.reduce;
    }
}

// What scans by an operator.
inline scan_kernel scan_kernel_of(const typed_kernels& kernels, upsweep_op op)
{
    switch (op) {
    case UPSWEEP_PLUS:
    case UPSWEEP_MINIMUM:
    case UPSWEEP_MAXIMUM: return kernels.scan;
    case UPSWEEP_MULTIPLIES: return kernels.scan_products;
    case UPSWEEP_LOG_SUM_EXP: return kernels.scan_log_sum_exp;
    default: return nullptr;
    }
}

template <class T>
void reduce_typed(const cuda& target, upsweep_op op, const elements& in, void* result);
// Of elements as unsigned words, whatever their type.
template <class Word>
void reduce_bits(const cuda& target, upsweep_op op, const elements& in, void* result);
// Of integers as unsigned words, too.
template <class T>
void reduce_truth(const cuda& target, upsweep_op op, const elements& in, void* result);
template <class T>
void variance_typed(const cuda& target, double correction, const elements& in, void* result);
template <class T>
void scan_typed(const cuda& target, upsweep_op op, const scan_arrays& of);
template <class From, class T>
void scan_widened(const cuda& target, upsweep_op op, const scan_arrays& of);
template <class T>
void scan_products(const cuda& target, upsweep_op op, const scan_arrays& of);
template <class T>
void scan_log_sum_exp(const cuda& target, upsweep_op op, const scan_arrays& of);
template <class T, class Bins>
void count_typed(const cuda& target, const Bins& bins, const void* in, std::size_t count,
                 std::span<std::uint64_t> counts, outside* out_of_range);

} // namespace upsweep::runtime::gpu
