// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>

#include <upsweep/qualifiers.hpp>
#include <upsweep/types.hpp>

// A monoid is an associative operator with an identity. Every fold of the library applies one to the elements of an
// array, as Blelloch (1990) defines reduce and scan.
//
// An identity must be neutral to the bit, op(x, identity) == x, because engines fill up vectors and tiles with it. That
// is why the sum of floating-point numbers has the identity -0.0: adding +0.0 would turn -0.0 into +0.0.
namespace upsweep {

namespace detail {

// The type in which integers of type T are added and multiplied: an unsigned one, so that signed integers wrap modulo
// 2^k as unsigned ones do. The language would promote types narrower than int to int, where a product can overflow.
template <std::integral T>
using wrapping_t = std::conditional_t<(sizeof(T) <= sizeof(std::uint32_t)), std::uint32_t, std::uint64_t>;

// a - b, of integers modulo 2^k.
template <class T>
UPSWEEP_HOST_DEVICE constexpr T difference(const T& a, const T& b)
{
    if constexpr (std::integral<T>)
        return static_cast<T>(static_cast<wrapping_t<T>>(a) - static_cast<wrapping_t<T>>(b));
    else
        return a - b;
}

template <class T>
UPSWEEP_HOST_DEVICE constexpr T lowest()
{
    if constexpr (std::floating_point<T>)
        return -std::numeric_limits<T>::infinity();
    else
        return std::numeric_limits<T>::lowest();
}

template <class T>
UPSWEEP_HOST_DEVICE constexpr T highest()
{
    if constexpr (std::floating_point<T>)
        return std::numeric_limits<T>::infinity();
    else
        return std::numeric_limits<T>::max();
}

template <std::floating_point T>
using bits_t = std::conditional_t<sizeof(T) == sizeof(std::uint32_t), std::uint32_t, std::uint64_t>;

} // namespace detail

// A monoid of the user says with one of these tags whether its operands may be swapped. Reduce and scan never swap
// them, because the fold order is fixed.
struct commutative_t {};
struct ordered_t {};
inline constexpr commutative_t commutative{};
inline constexpr ordered_t ordered{};

struct plus {
    template <class T>
    UPSWEEP_HOST_DEVICE constexpr T operator()(const T& a, const T& b) const
    {
        if constexpr (std::integral<T>)
            return static_cast<T>(static_cast<detail::wrapping_t<T>>(a) + static_cast<detail::wrapping_t<T>>(b));
        else
            return a + b;
    }
    template <class T>
    UPSWEEP_HOST_DEVICE static constexpr T identity()
    {
        return std::floating_point<T> ? static_cast<T>(-0.0) : T{};
    }
};

struct multiplies {
    template <class T>
    UPSWEEP_HOST_DEVICE constexpr T operator()(const T& a, const T& b) const
    {
        if constexpr (std::integral<T>)
            return static_cast<T>(static_cast<detail::wrapping_t<T>>(a) * static_cast<detail::wrapping_t<T>>(b));
        else
            return a * b;
    }
    template <class T>
    UPSWEEP_HOST_DEVICE static constexpr T identity()
    {
        return T(1);
    }
};

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
namespace detail {

// A GPU has an instruction for the minimum and for the maximum, whose results differ only in the payload of a NaN.
__device__ inline float device_minimum(float a, float b)
{
    float lesser;
    asm("min.NaN.f32 %0, %1, %2;" : "=f"(lesser) : "f"(a), "f"(b));
    return lesser;
}
__device__ inline float device_maximum(float a, float b)
{
    float greater;
    asm("max.NaN.f32 %0, %1, %2;" : "=f"(greater) : "f"(a), "f"(b));
    return greater;
}

// It has none for doubles: without branches, one choice between the operands, by predicates that it combines as it compares.
__device__ inline double device_minimum(double a, double b)
{
    const bool is_a = bool(a < b) | bool(a != a) | (bool(a == b) & bool(__double2hiint(a) < 0));
    return is_a ? a : b;
}
__device__ inline double device_maximum(double a, double b)
{
    const bool is_a = bool(a > b) | bool(a != a) | (bool(a == b) & bool(__double2hiint(a) >= 0));
    return is_a ? a : b;
}

} // namespace detail
#endif

// The lesser of two operands, or NaN if either is NaN. -0.0 is less than +0.0.
struct minimum {
    template <class T>
    UPSWEEP_HOST_DEVICE constexpr T operator()(const T& a, const T& b) const
    {
        if constexpr (std::floating_point<T>) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
            if (!std::is_constant_evaluated())
                return detail::device_minimum(a, b);
#endif
            if (bool(a != a) | bool(b != b)) [[unlikely]]
                return a != a ? a : b;
            // The choice between two operands is an instruction of many processors, and no branch. Of zeros it is the second
            // one, so that the union of both choices has the sign of -0.
            using bits = detail::bits_t<T>;
            const T one = a < b ? a : b;
            const T other = b < a ? b : a;
            return std::bit_cast<T>(static_cast<bits>(std::bit_cast<bits>(one) | std::bit_cast<bits>(other)));
        } else {
            return b < a ? b : a;
        }
    }
    template <class T>
    UPSWEEP_HOST_DEVICE static constexpr T identity()
    {
        return detail::highest<T>();
    }
};

// The greater of two operands, or NaN if either is NaN. +0.0 is greater than -0.0.
struct maximum {
    template <class T>
    UPSWEEP_HOST_DEVICE constexpr T operator()(const T& a, const T& b) const
    {
        if constexpr (std::floating_point<T>) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
            if (!std::is_constant_evaluated())
                return detail::device_maximum(a, b);
#endif
            if (bool(a != a) | bool(b != b)) [[unlikely]]
                return a != a ? a : b;
            using bits = detail::bits_t<T>;
            const T one = a > b ? a : b;
            const T other = b > a ? b : a;
            return std::bit_cast<T>(static_cast<bits>(std::bit_cast<bits>(one) & std::bit_cast<bits>(other)));
        } else {
            return a < b ? b : a;
        }
    }
    template <class T>
    UPSWEEP_HOST_DEVICE static constexpr T identity()
    {
        return detail::lowest<T>();
    }
};

struct bit_and {
    template <std::integral T>
    UPSWEEP_HOST_DEVICE constexpr T operator()(const T& a, const T& b) const
    {
        return static_cast<T>(a & b);
    }
    template <std::integral T>
    UPSWEEP_HOST_DEVICE static constexpr T identity()
    {
        return static_cast<T>(~std::uint64_t{0});
    }
};

struct bit_or {
    template <std::integral T>
    UPSWEEP_HOST_DEVICE constexpr T operator()(const T& a, const T& b) const
    {
        return static_cast<T>(a | b);
    }
    template <std::integral T>
    UPSWEEP_HOST_DEVICE static constexpr T identity()
    {
        return T{};
    }
};

struct bit_xor {
    template <std::integral T>
    UPSWEEP_HOST_DEVICE constexpr T operator()(const T& a, const T& b) const
    {
        return static_cast<T>(a ^ b);
    }
    template <std::integral T>
    UPSWEEP_HOST_DEVICE static constexpr T identity()
    {
        return T{};
    }
};

// Tells whether all elements are true. Everything but zero is true, NaN included.
struct logical_and {
    UPSWEEP_HOST_DEVICE constexpr bool operator()(bool a, bool b) const { return a & b; }
    template <std::same_as<bool> T>
    UPSWEEP_HOST_DEVICE static constexpr T identity()
    {
        return true;
    }
};

// Tells whether any element is true.
struct logical_or {
    UPSWEEP_HOST_DEVICE constexpr bool operator()(bool a, bool b) const { return a | b; }
    template <std::same_as<bool> T>
    UPSWEEP_HOST_DEVICE static constexpr T identity()
    {
        return false;
    }
};

// A monoid of the user. f(a, b) takes and returns values of type T, is associative, and f(x, neutral) == f(neutral, x)
// == x.
//
//     up::monoid{[](affine f, affine g) { return compose(f, g); }, affine{1, 0}, up::ordered}
template <class F, class T, class Order = ordered_t>
struct monoid {
    F f;
    T neutral;
    Order order{};

    UPSWEEP_HOST_DEVICE constexpr T operator()(const T& a, const T& b) const { return f(a, b); }
    template <std::same_as<T>>
    UPSWEEP_HOST_DEVICE constexpr T identity() const
    {
        return neutral;
    }
};
template <class F, class T>
monoid(F, T) -> monoid<F, T, ordered_t>;
template <class F, class T, class Order>
monoid(F, T, Order) -> monoid<F, T, Order>;

// clang-format 14 does not know compound requirements.
// clang-format off
template <class Op, class T>
concept monoid_over = std::copyable<T> && std::default_initializable<T> && requires(const Op op, const T a, const T b) {
    { op(a, b) } -> std::convertible_to<T>;
    { op.template identity<T>() } -> std::convertible_to<T>;
};
// clang-format on

namespace detail {

template <class Op>
inline constexpr bool is_logical = std::same_as<Op, logical_and> || std::same_as<Op, logical_or>;
template <class Op>
inline constexpr bool is_arithmetic = std::same_as<Op, plus> || std::same_as<Op, multiplies>;
template <class Op>
inline constexpr bool is_bitwise = std::same_as<Op, bit_and> || std::same_as<Op, bit_or> || std::same_as<Op, bit_xor>;
template <class Op>
inline constexpr bool is_extremum = std::same_as<Op, minimum> || std::same_as<Op, maximum>;
template <class Op>
inline constexpr bool is_builtin = is_arithmetic<Op> || is_bitwise<Op> || is_extremum<Op> || is_logical<Op>;

template <class Op, class T>
struct accumulator {
    using type = std::conditional_t<sub_word_float<T>, float, T>;
};
template <class Op, std::integral T>
    requires is_arithmetic<Op>
struct accumulator<Op, T> {
    using type = std::conditional_t<std::signed_integral<T> || std::same_as<T, bool>, std::int64_t, std::uint64_t>;
};
template <class Op, class T>
    requires is_logical<Op>
struct accumulator<Op, T> {
    using type = bool;
};
template <class F, class A, class Order, class T>
struct accumulator<monoid<F, A, Order>, T> {
    using type = A;
};

template <class Op, class Out>
struct scan_accumulator {
    using type = std::conditional_t<sub_word_float<Out>, float, Out>;
};
template <class Op, class Out>
    requires is_logical<Op>
struct scan_accumulator<Op, Out> {
    using type = bool;
};
template <class F, class A, class Order, class Out>
struct scan_accumulator<monoid<F, A, Order>, Out> {
    using type = A;
};

// As what an engine folds the elements of a block where each operand is the total of as many elements as the other: Acc, or a type
// whose values tell by their type how many elements they are of, where an operator has less to do so.
template <class Op, class Acc>
struct element_of_block {
    using type = Acc;
};

// The type of what two such operands make.
template <class T>
struct joined {
    using type = T;
};
template <class T>
using joined_t = typename joined<T>::type;

// Whether every order of the operands gives the same bits, so that an engine may take the one it likes best.
template <class Op, class T>
inline constexpr bool is_exact = (std::integral<T> && is_builtin<Op>);

// Whether NaN among the operands of Op gives NaN.
template <class Op, class T>
inline constexpr bool keeps_nan = (std::floating_point<T> && (is_arithmetic<Op> || is_extremum<Op>));

// Whether Op makes NaN of other operands. A prefix can then be NaN and a longer one not: the fold of 27 elements may be (inf) + (-inf)
// where the sum of the first 24 overflows, and the fold of 32, which adds up their last 16 first, -inf.
template <class Op, class T>
inline constexpr bool makes_nan = (std::floating_point<T> && is_arithmetic<Op>);

template <class Op, class T>
UPSWEEP_HOST_DEVICE constexpr bool is_nan_of(const T& fold)
{
    if constexpr (keeps_nan<Op, T>)
        return fold != fold;
    else
        return false;
}

template <class T>
UPSWEEP_HOST_DEVICE constexpr T quiet_nan()
{
    if constexpr (std::same_as<T, f16>)
        return f16::from_bits(0x7e00);
    else if constexpr (std::same_as<T, bf16>)
        return bf16::from_bits(0x7fc0);
    else
        return std::numeric_limits<T>::quiet_NaN();
}

} // namespace detail

// A fold by Op as a result. NaN in results of the built-in operators has one pattern of bits, the positive quiet one without
// payload, so that results are equal byte by byte: processors differ in the bits of a NaN that they make.
template <class Result, class Op, class Acc>
UPSWEEP_HOST_DEVICE constexpr Result as_result(const Acc& fold)
{
    if constexpr (std::floating_point<Result> || sub_word_float<Result>)
        if (detail::is_nan_of<Op>(fold))
            return detail::quiet_nan<Result>();
    return convert<Result>(fold);
}

namespace detail {

// The result of a reduction: what the operator makes of the fold, where it has a function for that, or else the fold.
template <class Result, class Op, class Acc>
UPSWEEP_HOST_DEVICE constexpr Result result_by(const Op& op, const Acc& fold)
{
    if constexpr (requires { op.template result<Result>(fold); })
        return op.template result<Result>(fold);
    else
        return as_result<Result, Op>(fold);
}

} // namespace detail

// The type in which elements of type T are reduced: 64-bit integers for sums and products of integers, float for f16
// and bf16, bool for the logical operators, the monoid's own type for a monoid of the user, else T.
template <class Op, class T>
using accumulator_t = typename detail::accumulator<Op, T>::type;

// The type of the result: the accumulator's, but a minimum or maximum is one of the elements and has their type.
template <class Op, class T>
using result_t = std::conditional_t<detail::is_extremum<Op>, T, accumulator_t<Op, T>>;

// The type in which a scan with results of type Out runs: float for f16 and bf16, bool for the logical operators, the
// monoid's own type for a monoid of the user, else Out. Sums of integers wrap modulo 2^k.
template <class Op, class Out>
using scan_accumulator_t = typename detail::scan_accumulator<Op, Out>::type;

// The fold of no elements: the identity, except that a sum of no floating-point numbers is +0.0.
template <class T, class Op>
UPSWEEP_HOST_DEVICE constexpr T fold_of_nothing(const Op& op)
{
    if constexpr (std::same_as<Op, plus>)
        return T{};
    else
        return op.template identity<T>();
}

} // namespace upsweep
