// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstring>
#include <iterator>
#include <type_traits>

#include <upsweep/cpu/half.hpp>
#include <upsweep/range.hpp>
#include <upsweep/types.hpp>

namespace upsweep::cpu_engine {

// Whether results of type Acc go to `out` as they are.
template <class Acc, class Out>
inline constexpr bool is_direct = (std::contiguous_iterator<Out> && std::same_as<std::iter_value_t<Out>, Acc>);

// Writes `count` results, each converted (f16 and bf16: rounded to nearest even) to the output's type.
template <class Acc, class Out>
void store_results(const Acc* __restrict results, Out out, std::size_t count)
{
    using value = std::iter_value_t<Out>;
    if constexpr (detail::strided_iterator<Out> && std::same_as<value, Acc>) {
        out.write(count, results);
    } else if constexpr (detail::strided_iterator<Out>) {
        constexpr std::size_t at_once = 256;
        std::array<value, at_once> converted;
        for (std::size_t i = 0; i < count; i += at_once) {
            const std::size_t part = std::min(at_once, count - i);
            store_results(results + i, converted.data(), part);
            (out + static_cast<std::iter_difference_t<Out>>(i)).write(part, converted.data());
        }
    } else if constexpr (std::contiguous_iterator<Out> && std::is_trivially_copyable_v<value>) {
        value* const to = std::to_address(out);
        if constexpr (std::same_as<value, Acc>) {
            std::memcpy(to, results, count * sizeof(value));
        } else if constexpr (std::same_as<value, f16> && std::same_as<Acc, float>) {
            narrow(results, to, count);
        } else {
            for (std::size_t j = 0; j < count; ++j)
                to[j] = convert<value>(results[j]);
        }
    } else {
        for (std::size_t j = 0; j < count; ++j)
            out[static_cast<std::iter_difference_t<Out>>(j)] = convert<value>(results[j]);
    }
}

} // namespace upsweep::cpu_engine
