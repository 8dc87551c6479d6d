// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>

#include <upsweep/op.hpp>
#include <upsweep/runtime.h>

#include "../element_type.hpp"
#include "shape_fold.hpp"

namespace upsweep::runtime::gpu {

// An operator that is chosen at run time, on float, double, or unsigned integers of 32 or 64 bits: any built-in one but plus and log_sum_exp, which
// have kernels of their own. One kernel serves all of them and, since elements of every other type are converted to one of these, all types. It computes
// the product, the minimum and, of integers, the union and the parity of each pair, without branches, and chooses. With the bits turned
// before and after, a minimum is a maximum or one of signed numbers, and a union an intersection.
template <class T>
struct any_op {
    using word = std::conditional_t<sizeof(T) == sizeof(std::uint32_t), std::uint32_t, std::uint64_t>;

    upsweep_op op;
    T neutral; // of the elements before they were converted: the greatest number of 8 bits, say
    word turned = 0;

    UPSWEEP_HOST_DEVICE T operator()(const T& a, const T& b) const
    {
        const T product = multiplies{}(a, b);
        const T least = turn(minimum{}(turn(a), turn(b)));
        if constexpr (std::integral<T>) {
            const T united = turn(turn(a) | turn(b));
            const T of_numbers = op == UPSWEEP_MULTIPLIES ? product : least;
            const T of_bits = op == UPSWEEP_BIT_XOR ? a ^ b : united;
            return op >= UPSWEEP_BIT_AND ? of_bits : of_numbers;
        } else {
            return op == UPSWEEP_MULTIPLIES ? product : least;
        }
    }
    template <std::same_as<T>>
    UPSWEEP_HOST_DEVICE T identity() const
    {
        return neutral;
    }

private:
    UPSWEEP_HOST_DEVICE T turn(const T& x) const { return std::bit_cast<T>(std::bit_cast<word>(x) ^ turned); }
};

// The identity of an operator on elements of type T, in the type in which they are folded.
template <class Folded, class T>
Folded neutral_of(upsweep_op op)
{
    using number = std::conditional_t<std::integral<T>, T, Folded>; // half floats have the identities of others
    switch (op) {
    case UPSWEEP_MULTIPLIES: return Folded{1};
    case UPSWEEP_MINIMUM: return static_cast<Folded>(minimum::identity<number>());
    case UPSWEEP_MAXIMUM: return static_cast<Folded>(maximum::identity<number>());
    case UPSWEEP_LOG_SUM_EXP: return -std::numeric_limits<Folded>::infinity(); // of floating-point numbers
    case UPSWEEP_BIT_AND: return std::same_as<T, bool> ? Folded{1} : static_cast<Folded>(~std::uint64_t{0});
    default: return Folded{};
    }
}

// Calls f with a value of the type in which elements of a dtype are folded: integers have no sign there.
template <class F>
void with_folded_type(upsweep_dtype dtype, F f)
{
    switch (dtype) {
    case UPSWEEP_F32: return f(float{});
    case UPSWEEP_F64: return f(double{});
    case UPSWEEP_I32:
    case UPSWEEP_U32: return f(std::uint32_t{});
    default: return f(std::uint64_t{});
    }
}

// Elements of such a type as those that are summed, whose sums have 64 bits, and as signed numbers, which are compared.
template <class Word>
using summed_as = std::conditional_t<std::same_as<Word, std::uint32_t>, std::int32_t, Word>;
template <class Word>
using compared_as = std::conditional_t<std::same_as<Word, std::uint64_t>, std::int64_t, summed_as<Word>>;

// The bits of which a minimum of numbers of type T, whose words these are, is the maximum, or one of signed numbers, if they are turned before and after.
template <class T, class Word>
Word turned_of_extremum(const shape_fold& fold)
{
    constexpr auto highest = static_cast<Word>(Word{1} << (8 * sizeof(Word) - 1));
    // The sign of floating-point numbers is one bit; integers in descending order are those with all bits turned.
    const Word descends = std::integral<T> ? static_cast<Word>(~Word{0}) : highest;
    const Word turned = fold.op == UPSWEEP_MAXIMUM ? descends : Word{0};
    return static_cast<Word>(is_signed(fold.dtype) ? turned ^ highest : turned);
}

// T is that type.
template <class T>
any_op<T> make_any_op(const shape_fold& fold)
{
    using word = typename any_op<T>::word;
    word turned = 0;
    if (fold.op == UPSWEEP_MINIMUM || fold.op == UPSWEEP_MAXIMUM)
        turned = turned_of_extremum<T, word>(fold);
    if (fold.op == UPSWEEP_BIT_AND)
        turned = static_cast<word>(~word{0});
    const T neutral =
        with_type(fold.as, [&]<class Element>(std::type_identity<Element>) { return neutral_of<T, Element>(fold.op); });
    return {fold.op, neutral, turned};
}

} // namespace upsweep::runtime::gpu

namespace upsweep::detail {

template <class T>
inline constexpr bool is_exact<runtime::gpu::any_op<T>, T> = std::integral<T>;
template <class T>
inline constexpr bool keeps_nan<runtime::gpu::any_op<T>, T> = std::floating_point<T>;
template <class T>
inline constexpr bool makes_nan<runtime::gpu::any_op<T>, T> = std::floating_point<T>;

} // namespace upsweep::detail
