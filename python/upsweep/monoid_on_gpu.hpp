// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

// What upsweep.monoid puts before an operator of the user for a GPU, where NVRTC has none of the headers of C++: the numbers and functions of
// <algorithm>, <bit>, <cmath>, <cstdint> and <limits> that operators call. CUDA's functions take float and double, and its own min and max
// differ from those of C++ where an operand is NaN. Whatever follows is compiled for the GPU.
namespace std {

using int8_t = signed char;
using int16_t = short;
using int32_t = int;
using int64_t = long;
using uint8_t = unsigned char;
using uint16_t = unsigned short;
using uint32_t = unsigned int;
using uint64_t = unsigned long;
using size_t = decltype(sizeof 0);
using ptrdiff_t = decltype(static_cast<char*>(nullptr) - static_cast<char*>(nullptr));

} // namespace std

using namespace std;

#define INFINITY std::numeric_limits<float>::infinity()
#define HUGE_VAL std::numeric_limits<double>::infinity()
#define NAN std::numeric_limits<float>::quiet_NaN()
#define M_PI 3.14159265358979323846

namespace upsweep_operator {

template <class T>
inline constexpr bool is_float = false;
template <>
inline constexpr bool is_float<float> = true;
template <bool, class T>
struct chosen {
    using type = float;
};
template <class T>
struct chosen<false, T> {
    using type = double;
};
// The type in which C++ computes a function of numbers: float where all of them are.
template <class... T>
using number = typename chosen<(is_float<T> && ...), void>::type;

template <unsigned long Bytes>
struct unsigned_of_size;
template <>
struct unsigned_of_size<1> {
    using type = unsigned char;
};
template <>
struct unsigned_of_size<2> {
    using type = unsigned short;
};
template <>
struct unsigned_of_size<4> {
    using type = unsigned int;
};
template <>
struct unsigned_of_size<8> {
    using type = unsigned long;
};

} // namespace upsweep_operator

namespace std {

template <class T>
constexpr const T& min(const T& a, const T& b)
{
    return b < a ? b : a;
}
template <class T>
constexpr const T& max(const T& a, const T& b)
{
    return a < b ? b : a;
}
template <class T>
constexpr const T& clamp(const T& x, const T& low, const T& high)
{
    return x < low ? low : high < x ? high : x;
}
template <class T>
constexpr void swap(T& a, T& b)
{
    const T before = a;
    a = b;
    b = before;
}

constexpr int abs(int x) { return x < 0 ? -x : x; }
constexpr long abs(long x) { return x < 0 ? -x : x; }
constexpr long long abs(long long x) { return x < 0 ? -x : x; }
inline float abs(float x) { return ::fabs(x); }
inline double abs(double x) { return ::fabs(x); }

#define UPSWEEP_OF_ONE(name)                                                                                           \
    template <class T>                                                                                                 \
    auto name(T x)                                                                                                     \
    {                                                                                                                  \
        return ::name(static_cast<upsweep_operator::number<T>>(x));                                                    \
    }
#define UPSWEEP_OF_TWO(name)                                                                                           \
    template <class A, class B>                                                                                        \
    auto name(A a, B b)                                                                                                \
    {                                                                                                                  \
        using number = upsweep_operator::number<A, B>;                                                                 \
        return ::name(static_cast<number>(a), static_cast<number>(b));                                                 \
    }
#define UPSWEEP_ALL_OF_ONE(of)                                                                                         \
    of(acos) of(acosh) of(asin) of(asinh) of(atan) of(atanh) of(cbrt) of(ceil) of(cos) of(cosh) of(erf) of(erfc)       \
        of(exp) of(exp2) of(expm1) of(fabs) of(floor) of(isfinite) of(isinf) of(isnan) of(lgamma) of(log) of(log10)    \
            of(log1p) of(log2) of(logb) of(nearbyint) of(rint) of(round) of(signbit) of(sin) of(sinh) of(sqrt) of(tan) \
                of(tanh) of(tgamma) of(trunc)
#define UPSWEEP_ALL_OF_TWO(of)                                                                                         \
    of(atan2) of(copysign) of(fdim) of(fmax) of(fmin) of(fmod) of(hypot) of(nextafter) of(pow) of(remainder)
UPSWEEP_ALL_OF_ONE(UPSWEEP_OF_ONE)
UPSWEEP_ALL_OF_TWO(UPSWEEP_OF_TWO)

template <class A, class B, class C>
auto fma(A a, B b, C c)
{
    using number = upsweep_operator::number<A, B, C>;
    return ::fma(static_cast<number>(a), static_cast<number>(b), static_cast<number>(c));
}

template <class To, class From>
constexpr To bit_cast(const From& x)
{
    return __builtin_bit_cast(To, x);
}
template <class T>
int popcount(T x)
{
    return __popcll(x);
}
template <class T>
int countl_zero(T x)
{
    return x == 0 ? 8 * sizeof x : __clzll(x) - (64 - 8 * static_cast<int>(sizeof x));
}
template <class T>
int countr_zero(T x)
{
    return x == 0 ? 8 * sizeof x : __ffsll(x) - 1;
}
template <class T>
int bit_width(T x)
{
    return 8 * static_cast<int>(sizeof x) - countl_zero(x);
}
template <class T>
bool has_single_bit(T x)
{
    return popcount(x) == 1;
}
template <class T>
constexpr T rotl(T x, int by)
{
    constexpr int bits = 8 * sizeof x;
    const int left = (by % bits + bits) % bits;
    return left == 0 ? x : static_cast<T>(x << left | x >> (bits - left));
}
template <class T>
constexpr T rotr(T x, int by)
{
    return rotl(x, -by);
}

template <class T>
struct numeric_limits {
    static constexpr bool is_signed = static_cast<T>(-1) < static_cast<T>(0);
    static constexpr int digits = 8 * sizeof(T) - (is_signed ? 1 : 0);
    static constexpr T max()
    {
        return static_cast<T>(static_cast<typename upsweep_operator::unsigned_of_size<sizeof(T)>::type>(-1) >>
                              (is_signed ? 1 : 0));
    }
    static constexpr T min() { return is_signed ? static_cast<T>(-max() - 1) : static_cast<T>(0); }
    static constexpr T lowest() { return min(); }
};
template <>
struct numeric_limits<bool> {
    static constexpr bool max() { return true; }
    static constexpr bool min() { return false; }
    static constexpr bool lowest() { return false; }
};
template <>
struct numeric_limits<float> {
    static constexpr int digits = 24;
    static constexpr float max() { return 0x1.fffffep127F; }
    static constexpr float min() { return 0x1p-126F; }
    static constexpr float lowest() { return -max(); }
    static constexpr float epsilon() { return 0x1p-23F; }
    static constexpr float infinity() { return __builtin_bit_cast(float, 0x7f800000U); }
    static constexpr float quiet_NaN() { return __builtin_bit_cast(float, 0x7fc00000U); }
};
template <>
struct numeric_limits<double> {
    static constexpr int digits = 53;
    static constexpr double max() { return 0x1.fffffffffffffp1023; }
    static constexpr double min() { return 0x1p-1022; }
    static constexpr double lowest() { return -max(); }
    static constexpr double epsilon() { return 0x1p-52; }
    static constexpr double infinity() { return __builtin_bit_cast(double, 0x7ff0000000000000UL); }
    static constexpr double quiet_NaN() { return __builtin_bit_cast(double, 0x7ff8000000000000UL); }
};

} // namespace std

// The functions of C++ instead of CUDA's, in a block.
#define UPSWEEP_NAME_OF_STD(name) using std::name;
#define UPSWEEP_FUNCTIONS_OF_STD                                                                                       \
    UPSWEEP_NAME_OF_STD(min)                                                                                           \
    UPSWEEP_NAME_OF_STD(max)                                                                                           \
    UPSWEEP_NAME_OF_STD(abs)                                                                                           \
    UPSWEEP_NAME_OF_STD(fma)                                                                                           \
    UPSWEEP_ALL_OF_ONE(UPSWEEP_NAME_OF_STD) UPSWEEP_ALL_OF_TWO(UPSWEEP_NAME_OF_STD)

// An operator on words: of 64 bits, or of 32, in which narrower values are the lower part.
#define UPSWEEP_OPERATOR_ON_WORDS(T, Word, name)                                                                       \
    extern "C" Word name(Word a, Word b)                                                                               \
    {                                                                                                                  \
        using bits = upsweep_operator::unsigned_of_size<sizeof(T)>::type;                                              \
        const auto value = [](Word word) { return __builtin_bit_cast(T, static_cast<bits>(word)); };                   \
        return __builtin_bit_cast(bits, operator_of_user::fold(value(a), value(b)));                                   \
    }
