// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <type_traits>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include <upsweep/cpu/half.hpp>
#include <upsweep/types.hpp>

namespace upsweep::cpu_engine {

// Copies bytes around the caches, so that the lines of the destination are not read first: a third less traffic. Pays
// where the destination is larger than the last-level cache and is not the source.
inline void stream_bytes(const void* from, void* to, std::size_t bytes)
{
#ifdef __SSE2__
    const auto* source = static_cast<const std::byte*>(from);
    auto* destination = static_cast<std::byte*>(to);

    const std::size_t head = std::min(bytes, static_cast<std::size_t>(-reinterpret_cast<std::uintptr_t>(to) % 64));
    std::memcpy(destination, source, head);
    std::size_t i = head;
    for (; i + 64 <= bytes; i += 64) { // a whole line at a time
        const __m128i a = _mm_loadu_si128(reinterpret_cast<const __m128i*>(source + i));
        const __m128i b = _mm_loadu_si128(reinterpret_cast<const __m128i*>(source + i + 16));
        const __m128i c = _mm_loadu_si128(reinterpret_cast<const __m128i*>(source + i + 32));
        const __m128i d = _mm_loadu_si128(reinterpret_cast<const __m128i*>(source + i + 48));
        _mm_stream_si128(reinterpret_cast<__m128i*>(destination + i), a);
        _mm_stream_si128(reinterpret_cast<__m128i*>(destination + i + 16), b);
        _mm_stream_si128(reinterpret_cast<__m128i*>(destination + i + 32), c);
        _mm_stream_si128(reinterpret_cast<__m128i*>(destination + i + 48), d);
    }
    std::memcpy(destination + i, source + i, bytes - i);
#else
    std::memcpy(to, from, bytes);
#endif
}

// Makes streamed stores visible to whoever learns, by an ordinary store, that they are done.
inline void stream_fence()
{
#ifdef __SSE2__
    _mm_sfence();
#endif
}

// Writes `count` results, each converted (f16 and bf16: rounded to nearest even) to the output's type.
template <class Acc, class Out>
void store_results(const Acc* __restrict results, Out out, std::size_t count, bool stream)
{
    using value = std::iter_value_t<Out>;
    if constexpr (std::contiguous_iterator<Out> && std::is_trivially_copyable_v<value>) {
        value* const to = std::to_address(out);
        if constexpr (std::same_as<value, Acc>) {
            if (stream)
                stream_bytes(results, to, count * sizeof(value));
            else
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
