// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <type_traits>

#include <upsweep/cpu/half.hpp>
#include <upsweep/cpu/vector.hpp>
#include <upsweep/range.hpp>
#include <upsweep/types.hpp>

namespace upsweep::cpu_engine {

// So many bytes of results are written around the caches: about a last-level cache.
inline constexpr std::size_t stream_threshold = std::size_t{32} << 20;

// Whether results of type Acc go to `out` as they are.
template <class Acc, class Out>
inline constexpr bool is_direct = (std::contiguous_iterator<Out> && std::same_as<std::iter_value_t<Out>, Acc>);

// Writes bytes around the caches, to any address: lines of the destination that are not written as a whole go through them.
inline void stream_bytes(const void* from, void* to, std::size_t bytes)
{
#ifdef __SSE2__
    constexpr std::size_t line = 64;
    using byte = unsigned char;
    const auto* source = static_cast<const byte*>(from);
    auto* target = static_cast<byte*>(to);
    const std::size_t head = std::min(bytes, (line - reinterpret_cast<std::uintptr_t>(to) % line) % line);
    std::memcpy(target, source, head);
    std::size_t done = head;
    for (; bytes - done >= line; done += line)
#ifdef __AVX512F__
        _mm512_stream_si512(reinterpret_cast<__m512i*>(target + done), _mm512_loadu_si512(source + done));
#else
        for (std::size_t k = done; k < done + line; k += vector_bytes)
            stream_vector<byte>(load_vector(source + k), target + k);
#endif
    std::memcpy(target + done, source + done, bytes - done);
#else
    std::memcpy(to, from, bytes);
#endif
}

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

// The same for a block of results, around the caches where they lie side by side.
template <std::size_t Count, class Acc, class Out>
void stream_results(const Acc* __restrict results, Out out)
{
    using value = std::iter_value_t<Out>;
    if constexpr (detail::strided_iterator<Out> || !std::contiguous_iterator<Out> ||
                  !std::is_trivially_copyable_v<value>) {
        store_results(results, out, Count);
    } else if constexpr (std::same_as<value, Acc>) {
        stream_bytes(results, std::to_address(out), Count * sizeof(value));
    } else {
        std::array<value, Count> converted;
        store_results(results, converted.data(), Count);
        stream_bytes(converted.data(), std::to_address(out), sizeof converted);
    }
}

} // namespace upsweep::cpu_engine
