// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <span>
#include <type_traits>

#include <upsweep/gpu/reduce.cuh>

#include "kernels.hpp"
#include "view.hpp"

namespace upsweep::runtime::gpu {

template <class T>
void reduce_typed(const cuda& target, upsweep_op op, const elements& in, void* result)
{
    const auto with = [&]<class Op>(const auto& all, Op f) {
        upsweep::reduce(target, all, static_cast<result_t<Op, T>*>(result), f);
    };
    switch (op) {
    case UPSWEEP_MULTIPLIES: return with(std::span(reinterpret_cast<const T*>(in.data), in.count), multiplies{});
    case UPSWEEP_MINIMUM: return with(view_of<T>(in), minimum{});
    case UPSWEEP_MAXIMUM: return with(view_of<T>(in), maximum{});
    default: return with(view_of<T>(in), plus{});
    }
}

template <class Word>
void reduce_bits(const cuda& target, upsweep_op op, const elements& in, void* result)
{
    const auto with = [&]<class Op>(Op f) {
        upsweep::reduce(target, view_of<Word>(in), static_cast<Word*>(result), f);
    };
    switch (op) {
    case UPSWEEP_BIT_AND: return with(bit_and{});
    case UPSWEEP_BIT_OR: return with(bit_or{});
    default: return with(bit_xor{});
    }
}

// Some integer is true if one of them has a bit, and all are if the least, as an unsigned one, is not zero.
template <class T>
void reduce_truth(const cuda& target, upsweep_op op, const elements& in, void* result)
{
    using accumulator = std::conditional_t<std::integral<T>, T, bool>;
    using any = std::conditional_t<std::integral<T>, bit_or, logical_or>;
    using all = std::conditional_t<std::integral<T>, minimum, logical_and>;
    const auto with = [&]<class Op>(Op f) {
        detail::engine<cuda, detail::verb::reduce>::fold<accumulator>(target, view_of<T>(in).begin(), in.count, f,
                                                                      static_cast<bool*>(result));
    };
    if (op == UPSWEEP_LOGICAL_OR)
        with(any{});
    else
        with(all{});
}

} // namespace upsweep::runtime::gpu

#define UPSWEEP_REDUCE_TYPED(T)                                                                                        \
    template void upsweep::runtime::gpu::reduce_typed<T>(const upsweep::cuda&, upsweep_op,                             \
                                                         const upsweep::runtime::elements&, void*)
#define UPSWEEP_REDUCE_BITS(Word)                                                                                      \
    template void upsweep::runtime::gpu::reduce_bits<Word>(const upsweep::cuda&, upsweep_op,                           \
                                                           const upsweep::runtime::elements&, void*)
#define UPSWEEP_REDUCE_TRUTH(T)                                                                                        \
    template void upsweep::runtime::gpu::reduce_truth<T>(const upsweep::cuda&, upsweep_op,                             \
                                                         const upsweep::runtime::elements&, void*)
