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

// log_sum_exp of vectors, lane by lane, with the bits that it gives of numbers (monoids.hpp, which has the formulas). V is a vector type of g++
// and clang, of elements of type T.
namespace upsweep::cpu_engine {

template <std::floating_point T, class V>
UPSWEEP_ALWAYS_INLINE inline V multiply_add(V a, V b, V c)
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

template <class Polynomial, std::floating_point T, class V>
UPSWEEP_ALWAYS_INLINE inline V values_of_polynomial(V x)
{
    constexpr auto coefficients = Polynomial::template coefficients<T>();
    V sum = V{} + coefficients[0];
    for (std::size_t k = 1; k < coefficients.size(); ++k)
        sum = multiply_add<T>(sum, x, V{} + coefficients[k]);
    return sum;
}

template <std::floating_point T, class V>
UPSWEEP_ALWAYS_INLINE inline V exponentials(V x)
{
    using numbers = detail::numbers_of_log_sum_exp<T>;
    typedef detail::bits_t<T> bits __attribute__((vector_size(sizeof(V))));
    const V rounded = multiply_add<T>(x, V{} + numbers::inverse_of_ln_2, V{} + numbers::round);
    const V k = rounded - numbers::round;
    const V r = multiply_add<T>(k, V{} - numbers::rest_of_ln_2, multiply_add<T>(k, V{} - numbers::ln_2, x));
    const V power = (V)(((bits)rounded + numbers::exponent_of_1) << numbers::exponent_place);
    return values_of_polynomial<detail::exponential_near_0, T>(r) * power;
}

template <std::floating_point T, class V>
UPSWEEP_ALWAYS_INLINE inline V inlined_logarithm_of_sum(V a, V b)
{
    constexpr T least = detail::numbers_of_log_sum_exp<T>::least_distance;
    const V greater = a < b ? b : a;
    const V lesser = a < b ? a : b;
    const V distance = lesser - greater;
    const auto counts = distance >= least;
    const V more = exponentials<T>(counts ? distance : V{} + least);
    const V sum = multiply_add<T>(values_of_polynomial<detail::logarithm_of_1_and, T>(more), more, greater);
    const auto is_nan = (a != a) | (b != b);
    return is_nan ? V{} + std::numeric_limits<T>::quiet_NaN() : counts ? sum : greater;
}

#if defined(__x86_64__) && !defined(__FMA__)
// By the processor's fused multiply-adds, which the code around it may not take for granted. They are a call each without.
template <std::floating_point T, class V>
[[gnu::flatten, gnu::noinline, gnu::target("fma")]] V logarithm_of_sum_by_fma(V a, V b)
{
    return inlined_logarithm_of_sum<T>(a, b);
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
    return inlined_logarithm_of_sum<T>(a, b);
}

} // namespace upsweep::cpu_engine
