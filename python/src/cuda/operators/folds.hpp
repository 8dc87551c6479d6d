// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include <upsweep/fold_order.hpp>
#include <upsweep/gpu/target/cuda.cuh>

// Folds by an operator of the user of elements in memory of the GPU, without gaps. Only the operator, which is compiled
// at run time, knows their type: all else moves words of their size.
namespace upsweep::python {

// The axis that is folded, and what is before and behind it. Elements, and the results of scans, have these extents;
// those of reductions have extent 1 along the axis.
struct lines {
    std::size_t before;
    std::size_t length;
    std::size_t behind;
};

// The target has the kernels that were loaded for the operator. The identity, and the initial value, which may be null,
// are words in memory of the host.
struct operator_folds {
    void (*reduce)(const cuda& target, const void* in, const lines& of, void* out, const void* identity);
    void (*scan)(const cuda& target, scan_kind kind, const void* in, const lines& of, void* out, const void* identity,
                 const void* init);
};

// Of unsigned words of 1, 2, 4 or 8 bytes. Each is instantiated in a file of its own.
template <class Word>
operator_folds folds_by_operator();

// What a kernel of these folds is called, in what has been compiled for a GPU, by its stub in the host's code.
const char* name_of_kernel(const void* stub);

} // namespace upsweep::python
