// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <upsweep/axis.hpp>
#include <upsweep/gpu/reduce.cuh>
#include <upsweep/gpu/scan.cuh>
#include <upsweep/gpu/shapes/axis.cuh>

#include "folds.hpp"
#include "gpu/elementwise.cuh"

// The files of this folder include it, and no others. Each is compiled twice: to what is optimised once the operator is known (LTO-IR), and to
// the host's code, which launches what has become of it.

// The operator of the user, which upsweep/_monoid_on_gpu.py compiles: of words of 64 bits, or of narrower ones, which have 32 on their way.
extern "C" __device__ std::uint32_t upsweep_operator_32(std::uint32_t a, std::uint32_t b);
extern "C" __device__ std::uint64_t upsweep_operator_64(std::uint64_t a, std::uint64_t b);

namespace upsweep::python {

template <class Word>
struct operator_of_user {
    __device__ Word operator()(Word a, Word b) const
    {
        if constexpr (sizeof(Word) == sizeof(std::uint64_t))
            return upsweep_operator_64(a, b);
        else
            return static_cast<Word>(upsweep_operator_32(a, b));
    }
};

template <class Word>
auto monoid_of(const void* identity)
{
    return monoid{operator_of_user<Word>{}, *static_cast<const Word*>(identity)};
}

template <class Word>
view<Word, 3> view_of(void* data, const lines& of, std::size_t length)
{
    return {static_cast<Word*>(data), {of.before, length, of.behind}};
}

template <class Word>
void reduce_by_operator(const cuda& target, const void* in, const lines& of, void* out, const void* identity)
{
    const auto op = monoid_of<Word>(identity);
    const auto* const from = static_cast<const Word*>(in);
    if (of.before * of.behind == 1)
        detail::engine<cuda, detail::verb::reduce>::fold<Word>(target, from, of.length, op, static_cast<Word*>(out));
    else
        reduce(target, view<const Word, 3>(from, {of.before, of.length, of.behind}), axis{1}, view_of<Word>(out, of, 1),
               op);
}

// init (+) each result: of inclusive scans, whose kernels know of no initial value.
template <class Word, class Op>
__global__ void begin_with_kernel(Word init, Word* results, std::uint64_t count, Op op)
{
    runtime::gpu::for_each_element(count, [&](std::uint64_t i) { results[i] = op(init, results[i]); });
}

template <scan_kind Kind, class Word>
void scan_by_operator(const cuda& target, const Word* in, const lines& of, Word* out, const void* identity,
                      const Word* init)
{
    const auto op = monoid_of<Word>(identity);
    constexpr auto begin_with = begin_with_kernel<Word, std::remove_const_t<decltype(op)>>;
    const bool begins_afterwards = Kind == scan_kind::inclusive && init != nullptr;
    if (begins_afterwards) // A scan in place cannot be done again, once it turns out that this kernel is missing.
        target.loaded()->in_place_of(reinterpret_cast<const void*>(begin_with));
    if (of.before * of.behind == 1)
        detail::engine<cuda, detail::verb::scan>::scan<Kind, Word>(target, in, out, of.length, op, init);
    else
        detail::scan_lines<Kind>(target, view<const Word, 3>(in, {of.before, of.length, of.behind}), axis{1},
                                 view_of<Word>(out, of, of.length), op, init);
    if (const std::uint64_t count = of.before * of.length * of.behind; begins_afterwards)
        gpu::launch(target, "scan", begin_with, runtime::gpu::grid_of_elements(count), *init, out, count, op);
}

template <class Word>
void scan_by_operator(const cuda& target, scan_kind kind, const void* in, const lines& of, void* out,
                      const void* identity, const void* init)
{
    const auto* const from = static_cast<const Word*>(in);
    auto* const to = static_cast<Word*>(out);
    const auto* const first = static_cast<const Word*>(init);
    if (kind == scan_kind::exclusive)
        scan_by_operator<scan_kind::exclusive>(target, from, of, to, identity, first);
    else
        scan_by_operator<scan_kind::inclusive>(target, from, of, to, identity, first);
}

template <class Word>
operator_folds folds_by_operator()
{
    return {reduce_by_operator<Word>, scan_by_operator<Word>};
}

} // namespace upsweep::python
