// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#ifdef __F16C__
#include <immintrin.h>
#endif

#include <upsweep/types.hpp>

// Converts arrays of f16 to float and back, by the processor's own instruction where it has one. For bf16 compilers
// turn the conversions of types.hpp into vector code by themselves.
namespace upsweep::cpu_engine {

template <std::size_t Count>
inline void widen(const f16* __restrict in, float* __restrict out)
{
#ifdef __F16C__
    if constexpr (Count % 8 == 0) {
        for (std::size_t j = 0; j < Count; j += 8)
            _mm256_storeu_ps(out + j, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(in + j))));
        return;
    }
#endif
    for (std::size_t j = 0; j < Count; ++j)
        out[j] = in[j];
}

inline void narrow(const float* __restrict in, f16* __restrict out, std::size_t count)
{
    std::size_t j = 0;
#ifdef __F16C__
    for (const std::size_t whole = count / 8 * 8; j < whole; j += 8)
        _mm_storeu_si128(reinterpret_cast<__m128i*>(out + j),
                         _mm256_cvtps_ph(_mm256_loadu_ps(in + j), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
#endif
    for (; j < count; ++j)
        out[j] = f16(in[j]);
}

} // namespace upsweep::cpu_engine
