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

// Sums of integers of 32 bits have 64, which tell the signs of the elements.
template <class Word>
using summed_as = std::conditional_t<std::same_as<Word, std::uint32_t>, std::int32_t, Word>;

// Calls write(place for a number), whose kernel writes it there, and waits for it.
template <class F>
std::uint64_t found_by(const cuda& target, const char* call, F write)
{
    return detail::returned<cuda>::value<std::uint64_t>(target, call, write);
}

} // namespace upsweep::runtime::gpu
