// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>

#include <upsweep/numbers.hpp>
#include <upsweep/op.hpp>
#include <upsweep/qualifiers.hpp>
#include <upsweep/types.hpp>

// Operators beyond those of op.hpp, ready for reduce and scan, along axes, of segments and by key. Each is a monoid, whose identity is
// neutral to the bit; those of floating-point numbers are associative up to rounding, and the canonical order makes their bits those of every
// target: they use sums, products, quotients, fused multiply-adds and comparisons alone, which all machines round alike.
//
//     float total = up::reduce(cpu, log_likelihoods, up::log_sum_exp{});
//     auto moments = up::reduce(cpu, samples, up::mean_and_variance{});      // moments.mean(), moments.variance()
//     up::inclusive_scan(cpu, measured, filled, up::last_valid{});           // NaN is replaced by what was before it
namespace upsweep {

namespace detail {

// The polynomials of log_sum_exp, those whose greatest relative error is least (Remez 1934), of descending powers. They are computed by
// fused multiply-adds, each of which rounds once, wherever it is computed.
//
// e^x for |x| <= ln(2) / 2: to 2^-28 in float, and to 2^-55 in double.
struct exponential_near_0 {
    template <std::floating_point T>
    UPSWEEP_HOST_DEVICE static constexpr auto coefficients()
    {
        if constexpr (sizeof(T) == sizeof(float))
            return std::array{
                0x1.6a2434p-10F, 0x1.1239e2p-7F, 0x1.5558f2p-5F, 0x1.555492p-3F, 0x1.fffffcp-2F, 1.0F, 1.0F};
        else
            return std::array{0x1.ad66317e521c1p-26,
                              0x1.28b31cbd3b784p-22,
                              0x1.71df4520b92e3p-19,
                              0x1.a01992c517597p-16,
                              0x1.a01a011051361p-13,
                              0x1.6c16c187858ebp-10,
                              0x1.1111111130dfap-7,
                              0x1.555555554f35ap-5,
                              0x1.55555555554a2p-3,
                              0x1.0000000000010p-1,
                              1.0,
                              1.0};
    }
};
// ln(1 + x) / x for 0 <= x <= 1: to 2^-27 in float, and to 2^-54 in double.
struct logarithm_of_1_and {
    template <std::floating_point T>
    UPSWEEP_HOST_DEVICE static constexpr auto coefficients()
    {
        if constexpr (sizeof(T) == sizeof(float))
            return std::array{-0x1.b2f582p-9F, 0x1.4b0830p-6F,  -0x1.d8631cp-5F, 0x1.b579bep-4F,  -0x1.3a7a80p-3F,
                              0x1.935c9ep-3F,  -0x1.ff26e0p-3F, 0x1.554df0p-2F,  -0x1.ffffd2p-2F, 1.0F};
        else
            return std::array{0x1.a420f631af7bbp-16, -0x1.2ed5ef2c393d8p-12, 0x1.9ea2c85a0d313p-10,
                              -0x1.68968aff7dd5cp-8, 0x1.c2c3e3b09f32ap-7,   -0x1.b432153726788p-6,
                              0x1.596dad2f60a46p-5,  -0x1.d61fb27631dbfp-5,  0x1.1fddb302bcf66p-4,
                              -0x1.4ad860bfc3312p-4, 0x1.711cf2b7ef6f3p-4,   -0x1.98cd2f4e9fe65p-4,
                              0x1.c6f55516a5652p-4,  -0x1.fffa4ca322970p-4,  0x1.2491fa7af934ep-3,
                              -0x1.55554f4f18158p-3, 0x1.9999994a62ae6p-3,   -0x1.fffffffd7fd2dp-3,
                              0x1.555555554ff6dp-2,  -0x1.fffffffffff6dp-2,  1.0};
    }
};

template <std::floating_point T>
struct numbers_of_log_sum_exp {
    static constexpr bool is_float = sizeof(T) == sizeof(float);
    // Of the lesser number from the greater one, so far that it is added.
    static constexpr T least_distance = is_float ? -87 : -708;
    // A sum with it has no digits behind the point, and the lowest bits of an integer.
    static constexpr T round = is_float ? 0x1.8p23 : 0x1.8p52;
    static constexpr T inverse_of_ln_2 = is_float ? 0x1.715476p0 : 0x1.71547652b82fep0;
    static constexpr T ln_2 = is_float ? 0x1.62e430p-1 : 0x1.62e42fefa39efp-1;
    static constexpr T rest_of_ln_2 = is_float ? -0x1.05c610p-29 : 0x1.abc9e3b39803fp-56;
    // By which 2^k is made of the lowest bits of k.
    static constexpr bits_t<T> exponent_of_1 = std::numeric_limits<T>::max_exponent - 1;
    static constexpr int exponent_place = std::numeric_limits<T>::digits - 1;
};

// The value of a polynomial at x (Horner), without a loop, which compilers might not unroll.
template <class Polynomial, std::floating_point T, std::size_t... I>
UPSWEEP_HOST_DEVICE T value_of_polynomial(T x, std::index_sequence<I...>)
{
    constexpr auto coefficients = Polynomial::template coefficients<T>();
    T sum = coefficients[0];
    ((sum = std::fma(sum, x, coefficients[I + 1])), ...);
    return sum;
}
template <class Polynomial, std::floating_point T>
UPSWEEP_HOST_DEVICE T value_of_polynomial(T x)
{
    constexpr std::size_t degree = Polynomial::template coefficients<T>().size() - 1;
    return value_of_polynomial<Polynomial>(x, std::make_index_sequence<degree>{});
}

// e^x for x <= 0 that are not less than the least distance: 2^k e^r.
template <std::floating_point T>
UPSWEEP_HOST_DEVICE T exponential(T x)
{
    using numbers = numbers_of_log_sum_exp<T>;
    const T rounded = std::fma(x, numbers::inverse_of_ln_2, numbers::round);
    const T k = rounded - numbers::round;
    const T r = std::fma(k, -numbers::rest_of_ln_2, std::fma(k, -numbers::ln_2, x));
    const auto power = (std::bit_cast<bits_t<T>>(rounded) + numbers::exponent_of_1) << numbers::exponent_place;
    return value_of_polynomial<exponential_near_0>(r) * std::bit_cast<T>(power);
}

// ln(e^a + e^b), without branches, whose time would be a matter of luck. The engine of the CPU has the same of vectors, with the same bits
// (cpu/log_sum_exp.hpp): nvcc takes no vectors for functions that a device has, too.
template <std::floating_point T>
UPSWEEP_HOST_DEVICE T logarithm_of_sum(T a, T b)
{
    constexpr T least = numbers_of_log_sum_exp<T>::least_distance;
    const T greater = a < b ? b : a;
    const T lesser = a < b ? a : b;
    const T distance = lesser - greater; // NaN of equal infinities
    const bool counts = distance >= least;
    const T more = exponential(counts ? distance : least);
    const T sum = std::fma(value_of_polynomial<logarithm_of_1_and>(more), more, greater);
    const bool is_nan = (a != a) | (b != b);
    return is_nan ? std::numeric_limits<T>::quiet_NaN() : counts ? sum : greater;
}
// Not inlined in f64: the coefficients, of 8 bytes each, would take more registers than a thread of a GPU has.
[[gnu::noinline]] UPSWEEP_HOST_DEVICE inline double logarithm_of_sum_by_call(double a, double b)
{
    return logarithm_of_sum(a, b);
}

} // namespace detail

// ln(e^a + e^b), which overflows nowhere: the greater of both, and ln(1 + e^-d) of their distance d. Elements are f32, f64, f16 or bf16; -inf is
// the identity, and NaN remains. It is computed in f64 of f64, and else in f32, their distance, too: to some 3 units in the last place of the
// greater of both or of what is added to it, as if the lesser were another by half a unit. What is less than e^-708, or e^-87, is not added.
struct log_sum_exp {
    template <std::floating_point T>
    UPSWEEP_HOST_DEVICE T operator()(const T& a, const T& b) const
    {
        if constexpr (sizeof(T) == sizeof(double))
            return detail::logarithm_of_sum_by_call(a, b);
        else
            return detail::logarithm_of_sum(a, b);
    }
    template <std::floating_point T>
    UPSWEEP_HOST_DEVICE static constexpr T identity()
    {
        return -std::numeric_limits<T>::infinity();
    }
};

namespace detail {

template <std::floating_point T>
inline constexpr bool keeps_nan<log_sum_exp, T> = true;
template <>
inline constexpr std::uint8_t operator_number<log_sum_exp> = 9;

} // namespace detail

// The number of some elements, their mean, and the sum of the squares of their distances from it. One element is converted to it.
template <std::floating_point T>
class moments {
public:
    constexpr moments() = default;
    UPSWEEP_HOST_DEVICE explicit(false) constexpr moments(T element) : count_(1), mean_(element) {}
    UPSWEEP_HOST_DEVICE constexpr moments(std::uint64_t count, T mean, T squares)
        : count_(count), mean_(mean), squares_(squares)
    {
    }

    UPSWEEP_HOST_DEVICE constexpr std::uint64_t count() const { return count_; }
    UPSWEEP_HOST_DEVICE constexpr T mean() const { return mean_; }
    UPSWEEP_HOST_DEVICE constexpr T sum_of_squares() const { return squares_; }
    // Of a population, and the estimate from a sample, whose divisor is less by one. NaN where there are too few elements.
    UPSWEEP_HOST_DEVICE constexpr T variance() const { return quotient(count_); }
    UPSWEEP_HOST_DEVICE constexpr T sample_variance() const { return quotient(count_ == 0 ? 0 : count_ - 1); }

    friend constexpr bool operator==(const moments&, const moments&) = default;

private:
    UPSWEEP_HOST_DEVICE constexpr T quotient(std::uint64_t divisor) const
    {
        return divisor == 0 ? std::numeric_limits<T>::quiet_NaN() : squares_ / static_cast<T>(divisor);
    }

    std::uint64_t count_ = 0;
    T mean_{};
    T squares_{};
};

namespace detail {

// Moments of a number of elements that is known when a program is compiled.
template <class T, std::uint64_t Count>
struct moments_of {
    T mean;
    T squares;

    UPSWEEP_HOST_DEVICE explicit(false) constexpr operator moments<T>() const { return {Count, mean, squares}; }
};
template <class T>
struct moments_of<T, 1> {
    T mean;

    moments_of() = default;
    UPSWEEP_HOST_DEVICE explicit(false) constexpr moments_of(T element) : mean(element) {}
    UPSWEEP_HOST_DEVICE explicit(false) constexpr operator moments<T>() const { return mean; }
};

} // namespace detail

// Mean and variance in one pass (Chan, Golub and LeVeque 1983; of one element at a time, Welford 1962). Numbers of all types are reduced to
// moments<double>.
struct mean_and_variance {
    template <class T>
    UPSWEEP_HOST_DEVICE constexpr moments<T> operator()(const moments<T>& a, const moments<T>& b) const
    {
        if (a.count() == 0)
            return b;
        if (b.count() == 0)
            return a;
        const std::uint64_t count = a.count() + b.count();
        // Most operands in a tree have as many elements as one another: a division would take longer than all else.
        const T share = a.count() == b.count() ? T(0.5) : static_cast<T>(b.count()) / static_cast<T>(count);
        const T distance = b.mean() - a.mean();
        const T between = distance * distance * (static_cast<T>(a.count()) * share);
        return {count, a.mean() + distance * share, (a.sum_of_squares() + b.sum_of_squares()) + between};
    }
    // The same of equally many elements, which takes no counts and no branches.
    template <class T, std::uint64_t Count>
    UPSWEEP_HOST_DEVICE constexpr detail::moments_of<T, 2 * Count>
    operator()(const detail::moments_of<T, Count>& a, const detail::moments_of<T, Count>& b) const
    {
        return joined(a, b, false);
    }
    // b (+) a where `swapped`: the squares need not know which comes first.
    template <class T, std::uint64_t Count>
    UPSWEEP_HOST_DEVICE static constexpr detail::moments_of<T, 2 * Count>
    joined(const detail::moments_of<T, Count>& a, const detail::moments_of<T, Count>& b, bool swapped)
    {
        const T first = swapped ? b.mean : a.mean;
        const T distance = (swapped ? a.mean : b.mean) - first;
        const T between = distance * distance * (static_cast<T>(Count) * T(0.5));
        const T mean = first + distance * T(0.5);
        if constexpr (Count == 1)
            return {mean, between};
        else
            return {mean, (a.squares + b.squares) + between};
    }
    template <class M>
    requires std::default_initializable<M> UPSWEEP_HOST_DEVICE static constexpr M identity() { return M{}; }
};

// A value and where it is.
template <class T>
struct indexed {
    T value{};
    std::uint64_t index = 0;

    friend constexpr bool operator==(const indexed&, const indexed&) = default;
};

namespace detail {

// Whether a is the one to choose and b is not, wherever they are: NaN before all else, -0.0 less than +0.0.
template <class Op, class T>
UPSWEEP_HOST_DEVICE constexpr bool precedes(const T& a, const T& b)
{
    if constexpr (std::floating_point<T>) {
        using bits = bits_t<T>;
        if (a != a)
            return b == b;
        if (a == b)
            return std::same_as<Op, minimum> ? std::bit_cast<bits>(a) > std::bit_cast<bits>(b)
                                             : std::bit_cast<bits>(a) < std::bit_cast<bits>(b);
    }
    return std::same_as<Op, minimum> ? a < b : b < a;
}

// The operand whose value precedes that of the other, and of equal ones the one with the lower index.
template <class Op>
struct indexed_extremum {
    template <class T>
    UPSWEEP_HOST_DEVICE constexpr indexed<T> operator()(const indexed<T>& a, const indexed<T>& b) const
    {
        const bool is_a = precedes<Op>(a.value, b.value);
        const bool is_b = precedes<Op>(b.value, a.value) || (!is_a && b.index < a.index);
        return is_b ? b : a;
    }
    template <class I>
    UPSWEEP_HOST_DEVICE static constexpr I identity()
    {
        return {Op::template identity<decltype(I::value)>(), std::numeric_limits<std::uint64_t>::max()};
    }
};

} // namespace detail

// The least or the greatest of indexed values, by the order of up::argmin: for scans, segments and keys, where the index of the least so far or of
// the least of a segment is asked for. The highest index is the identity's, and none of an element.
using indexed_minimum = detail::indexed_extremum<minimum>;
using indexed_maximum = detail::indexed_extremum<maximum>;

// A value, or none.
template <class T>
class maybe {
public:
    constexpr maybe() = default;
    UPSWEEP_HOST_DEVICE explicit(false) constexpr maybe(const T& value) : value_(value), has_value_(true) {}

    UPSWEEP_HOST_DEVICE constexpr bool has_value() const { return has_value_; }
    UPSWEEP_HOST_DEVICE constexpr const T& value() const { return value_; } // T{} where there is none

    friend constexpr bool operator==(const maybe&, const maybe&) = default;

private:
    T value_{};
    bool has_value_ = false;
};

// The last operand that is there: a scan fills gaps with what was before them (forward fill), a reduction finds the last element. Of
// floating-point numbers NaN are the gaps, of maybe<T> those without a value.
struct last_valid {
    template <std::floating_point T>
    UPSWEEP_HOST_DEVICE constexpr T operator()(const T& a, const T& b) const
    {
        if (b == b)
            return b;
        return a == a ? a : std::numeric_limits<T>::quiet_NaN();
    }
    template <class T>
    UPSWEEP_HOST_DEVICE constexpr maybe<T> operator()(const maybe<T>& a, const maybe<T>& b) const
    {
        return b.has_value() ? b : a;
    }
    template <class T>
    UPSWEEP_HOST_DEVICE static constexpr T identity()
    {
        if constexpr (std::floating_point<T>)
            return std::numeric_limits<T>::quiet_NaN();
        else
            return T{};
    }
};

// The map x -> max(x + shift, bound), or x -> min(x + shift, bound).
template <class T>
struct shift_and_bound {
    T shift{};
    T bound{};

    friend constexpr bool operator==(const shift_and_bound&, const shift_and_bound&) = default;
};

namespace detail {

// Composes maps x -> Op(x + shift, bound), the first operand first: the affine maps of the semiring whose sum is Op and whose product is the
// sum. The identity of Op, which is that semiring's zero, absorbs what is added to it.
template <class Op>
struct tropical {
    template <class T>
    UPSWEEP_HOST_DEVICE constexpr shift_and_bound<T> operator()(const shift_and_bound<T>& first,
                                                                const shift_and_bound<T>& then) const
    {
        return {sum(first.shift, then.shift), Op{}(sum(first.bound, then.shift), then.bound)};
    }
    // The value of a map.
    template <class T>
    UPSWEEP_HOST_DEVICE static constexpr T apply(const shift_and_bound<T>& map, const T& x)
    {
        return Op{}(sum(x, map.shift), map.bound);
    }
    template <class M>
    UPSWEEP_HOST_DEVICE static constexpr M identity()
    {
        using value = decltype(M::shift);
        return {plus::identity<value>(), Op::template identity<value>()};
    }

private:
    template <class T>
    UPSWEEP_HOST_DEVICE static constexpr T sum(const T& a, const T& b)
    {
        const T zero = Op::template identity<T>();
        return a == zero || b == zero ? zero : plus{}(a, b);
    }
};

} // namespace detail

// Scans of max-plus and min-plus maps, which do not commute: s_t = max(s_(t-1) + shift_t, bound_t), the recurrence of alignments, queues and
// schedules. The states follow from the scanned maps by apply, or are their bounds if the first state is that without a bound. Sums of integers are
// modulo 2^k.
using max_plus = detail::tropical<maximum>;
using min_plus = detail::tropical<minimum>;

namespace detail {

template <class T>
    requires(std::is_arithmetic_v<T> || sub_word_float<T>)
struct accumulator<mean_and_variance, T> {
    using type = moments<double>;
};

template <std::derived_from<mean_and_variance> Op, class T>
struct element_of_block<Op, moments<T>> {
    using type = moments_of<T, 1>;
};

template <class T, std::uint64_t Count>
struct joined<moments_of<T, Count>> {
    using type = moments_of<T, 2 * Count>;
};

} // namespace detail
} // namespace upsweep
