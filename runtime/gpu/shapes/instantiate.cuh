// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include <upsweep/op.hpp>

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

// Sums of 64 bits are folded as unsigned ones, whose bits are those of signed ones.
template <class T>
using summed_as = std::conditional_t<std::same_as<T, std::int64_t>, std::uint64_t, T>;
// Running sums have the type of their elements, so that all may be unsigned.
template <class T>
struct scanned {
    using type = T;
};
template <std::integral T>
struct scanned<T> : std::make_unsigned<T> {
};
template <class T>
using scanned_as = typename scanned<T>::type;

// Calls f(operator, type of elements, type of results).
template <class T, class F>
auto with_reduction(upsweep_op op, F f)
{
    using summed = summed_as<T>;
    if (op == UPSWEEP_MINIMUM)
        return f(minimum{}, std::type_identity<T>{}, std::type_identity<T>{});
    if (op == UPSWEEP_MAXIMUM)
        return f(maximum{}, std::type_identity<T>{}, std::type_identity<T>{});
    return f(plus{}, std::type_identity<summed>{}, std::type_identity<accumulator_t<plus, summed>>{});
}

// Calls write(place for a number), whose kernel writes it there, and waits for it.
template <class F>
std::uint64_t found_by(const cuda& target, const char* call, F write)
{
    return detail::returned<cuda>::value<std::uint64_t>(target, call, write);
}

} // namespace upsweep::runtime::gpu
