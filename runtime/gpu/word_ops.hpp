// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>

#include <upsweep/op.hpp>
#include <upsweep/runtime.h>

#include "shape_fold.hpp"

// Operators on unsigned integers that are chosen at run time, for which the order does not matter: one kernel serves several.
namespace upsweep::runtime::gpu {

// The minimum of words of which some bits are taken, and with all bits turned before and after, the maximum.
template <class Word>
struct word_minimum {
    Word taken;
    Word turned;

    UPSWEEP_HOST_DEVICE Word operator()(Word a, Word b) const
    {
        const Word x = turn(a);
        const Word y = turn(b);
        return (x < y ? x : y) ^ turned;
    }
    template <std::same_as<Word>>
    UPSWEEP_HOST_DEVICE Word identity() const
    {
        return static_cast<Word>(~Word{0}) ^ turned;
    }

private:
    UPSWEEP_HOST_DEVICE Word turn(Word x) const { return (x & taken) ^ turned; }
};

// Of the bits of both words those that count, and of the bits of one of them those that count: a union has both, an intersection the former, and a parity
// the latter.
template <class Word>
struct word_bits {
    Word of_both;
    Word of_one;

    UPSWEEP_HOST_DEVICE Word operator()(Word a, Word b) const { return (a & b & of_both) | ((a ^ b) & of_one); }
    template <std::same_as<Word>>
    UPSWEEP_HOST_DEVICE Word identity() const
    {
        return static_cast<Word>(~of_one);
    }
};

// Those of a fold of elements which had type `dtype` first. Whether all of some floating-point numbers are true is told by the least of them, without
// their signs: it is zero, or not.
template <class Word>
word_minimum<Word> make_word_minimum(const shape_fold& fold, upsweep_dtype dtype)
{
    constexpr auto all = static_cast<Word>(~Word{0});
    const bool has_sign = fold.as == UPSWEEP_BOOL && is_float(dtype);
    return {has_sign ? static_cast<Word>(all >> 1) : all, fold.op == UPSWEEP_MAXIMUM ? all : Word{0}};
}

template <class Word>
word_bits<Word> make_word_bits(const shape_fold& fold)
{
    constexpr auto all = static_cast<Word>(~Word{0});
    return {fold.op == UPSWEEP_BIT_XOR ? Word{0} : all, fold.op == UPSWEEP_BIT_AND ? Word{0} : all};
}

} // namespace upsweep::runtime::gpu

namespace upsweep::detail {

template <class Word>
inline constexpr bool is_exact<runtime::gpu::word_minimum<Word>, Word> = true;
template <class Word>
inline constexpr bool is_exact<runtime::gpu::word_bits<Word>, Word> = true;

} // namespace upsweep::detail
