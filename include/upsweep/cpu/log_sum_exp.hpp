// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <concepts>
#include <cstddef>
#include <limits>

#ifdef __FMA__
#include <immintrin.h>
#endif

#include <upsweep/monoids.hpp>
#include <upsweep/op.hpp>

// log_sum_exp of vectors, with the bits that it gives of numbers.
namespace upsweep::cpu_engine {

// What it does to numbers (monoids.hpp), lane by lane. V is a vector type of g++ and clang, of elements of type T.
template <std::floating_point T>
struct arithmetic_of_vectors {
    template <class V>
    UPSWEEP_ALWAYS_INLINE static V multiply_add(V a, V b, V c)
    {
#ifdef __FMA__
        if constexpr (sizeof(V) == sizeof(__m256) && std::same_as<T, float>)
            return (V)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
        else if constexpr (sizeof(V) == sizeof(__m256d) && std::same_as<T, double>)
            return (V)_mm256_fmadd_pd((__m256d)a, (__m256d)b, (__m256d)c);
#endif
        for (std::size_t k = 0; k < sizeof(V) / sizeof(T); ++k)
            a[k] = std::fma(a[k], b[k], c[k]);
        return a;
    }
    template <class V>
    UPSWEEP_ALWAYS_INLINE static V power_of_2(V has_k)
    {
        typedef detail::bits_t<T> bits __attribute__((vector_size(sizeof(V))));
        constexpr detail::bits_t<T> bias = std::numeric_limits<T>::max_exponent - 1;
        return (V)(((bits)has_k + bias) << (std::numeric_limits<T>::digits - 1));
    }
    template <class Condition, class V>
    UPSWEEP_ALWAYS_INLINE static V choose(Condition condition, V a, V b)
    {
        return condition ? a : b;
    }
};

#if defined(__x86_64__) && !defined(__FMA__)
// By the processor's fused multiply-adds, which the code around it may not take for granted. They are a call each without.
template <std::floating_point T, class V>
[[gnu::flatten, gnu::noinline, gnu::target("fma")]] V logarithm_of_sum_by_fma(V a, V b)
{
    return detail::logarithm_of_sum<T, arithmetic_of_vectors<T>>(a, b);
}
#endif

// Not inlined: it takes some fifty instructions, and what folds a block would have it many times.
template <std::floating_point T, class V>
[[gnu::noinline]] V logarithm_of_sum(V a, V b)
{
#if defined(__x86_64__) && !defined(__FMA__)
    if (__builtin_cpu_supports("fma"))
        return logarithm_of_sum_by_fma<T>(a, b);
#endif
    return detail::logarithm_of_sum<T, arithmetic_of_vectors<T>>(a, b);
}

} // namespace upsweep::cpu_engine
