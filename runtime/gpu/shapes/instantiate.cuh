// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include <upsweep/op.hpp>

#include "../any_op.hpp"
#include "kernels.hpp"

// What the files of this folder share: arrays of the C ABI as spans.
namespace upsweep::runtime::gpu {

template <class T>
std::span<const T> as_input(const elements& of)
{
    return {reinterpret_cast<const T*>(of.data), of.count};
}
template <class T>
std::span<T> as_output(const elements& of)
{
    return {reinterpret_cast<T*>(of.data), of.count};
}

// Sums have kernels of their own, and so have minima and maxima of numbers that have not been converted: the identity of fewer bits, the result of
// no elements, is another one.
template <class Word, class F>
auto with_other_reduction(const shape_fold& fold, F f)
{
    using summed = summed_as<Word>;
    using compared = compared_as<Word>;
    const bool is_compared = fold.as == fold.dtype && fold.dtype != UPSWEEP_U32 && fold.dtype != UPSWEEP_U64;
    if (fold.op == UPSWEEP_PLUS)
        return f(plus{}, std::type_identity<summed>{}, std::type_identity<accumulator_t<plus, summed>>{});
    if (is_compared && fold.op == UPSWEEP_MINIMUM)
        return f(minimum{}, std::type_identity<compared>{}, std::type_identity<compared>{});
    if (is_compared && fold.op == UPSWEEP_MAXIMUM)
        return f(maximum{}, std::type_identity<compared>{}, std::type_identity<compared>{});
    return f(make_any_op<Word>(fold), std::type_identity<Word>{}, std::type_identity<Word>{});
}

// Calls f(operator, type of elements, type of results) for a reduction of words.
template <class Word, class Operators, class F>
auto with_reduction(const shape_fold& fold, F f)
{
    if constexpr (std::is_same_v<Operators, log_sum_exp_alone>)
        return f(log_sum_exp{}, std::type_identity<Word>{}, std::type_identity<Word>{});
    else
        return with_other_reduction<Word>(fold, f);
}

// Calls f(operator) for a scan of words.
template <class Word, class Operators, class F>
void with_scan(const shape_fold& fold, F f)
{
    if constexpr (std::is_same_v<Operators, log_sum_exp_alone>)
        f(log_sum_exp{});
    else if (fold.op == UPSWEEP_PLUS)
        f(plus{});
    else
        f(make_any_op<Word>(fold));
}

// Calls write(place for a number), whose kernel writes it there, and waits for it.
template <class F>
std::uint64_t found_by(const cuda& target, const char* call, F write)
{
    return detail::returned<cuda>::value<std::uint64_t>(target, call, write);
}

} // namespace upsweep::runtime::gpu
