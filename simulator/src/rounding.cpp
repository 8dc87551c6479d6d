// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "upsweep/simulator/cuda/rounding.h"

#include <cfenv>
#include <cmath>

namespace upsweep::simulator::rounding {

namespace {

// Sets the processor's rounding while it lives. What is computed meanwhile goes through volatile variables, so that the
// compiler moves nothing out of this time.
class rounded {
public:
    explicit rounded(direction to) : saved_(std::fegetround())
    {
        constexpr int modes[] = {FE_TONEAREST, FE_TOWARDZERO, FE_UPWARD, FE_DOWNWARD};
        std::fesetround(modes[static_cast<int>(to)]);
    }
    ~rounded() { std::fesetround(saved_); }
    rounded(const rounded&) = delete;
    rounded& operator=(const rounded&) = delete;

private:
    int saved_;
};

template <class T, class F>
T evaluate(direction to, F operation, T a, T b = 0, T c = 0)
{
    volatile T x = a, y = b, z = c, result;
    {
        rounded during(to);
        result = operation(x, y, z);
    }
    return result;
}

} // namespace

#define UPSWEEP_ROUNDED(type)                                                                                          \
    type add(type a, type b, direction to)                                                                             \
    {                                                                                                                  \
        return evaluate(                                                                                               \
            to, [](type x, type y, type) { return x + y; }, a, b);                                                     \
    }                                                                                                                  \
    type subtract(type a, type b, direction to)                                                                        \
    {                                                                                                                  \
        return evaluate(                                                                                               \
            to, [](type x, type y, type) { return x - y; }, a, b);                                                     \
    }                                                                                                                  \
    type multiply(type a, type b, direction to)                                                                        \
    {                                                                                                                  \
        return evaluate(                                                                                               \
            to, [](type x, type y, type) { return x * y; }, a, b);                                                     \
    }                                                                                                                  \
    type divide(type a, type b, direction to)                                                                          \
    {                                                                                                                  \
        return evaluate(                                                                                               \
            to, [](type x, type y, type) { return x / y; }, a, b);                                                     \
    }                                                                                                                  \
    type multiply_add(type a, type b, type c, direction to)                                                            \
    {                                                                                                                  \
        return evaluate(                                                                                               \
            to, [](type x, type y, type z) { return std::fma(x, y, z); }, a, b, c);                                    \
    }                                                                                                                  \
    type square_root(type a, direction to)                                                                             \
    {                                                                                                                  \
        return evaluate(                                                                                               \
            to, [](type x, type, type) { return std::sqrt(x); }, a);                                                   \
    }
UPSWEEP_ROUNDED(float)
UPSWEEP_ROUNDED(double)
#undef UPSWEEP_ROUNDED

template <class To, class From>
To convert(From value, direction to)
{
    volatile From x = value;
    volatile To result;
    {
        rounded during(to);
        result = static_cast<To>(x);
    }
    return result;
}
template float convert(double, direction);
template float convert(int, direction);
template float convert(unsigned, direction);
template float convert(long long, direction);
template float convert(unsigned long long, direction);
template double convert(long long, direction);
template double convert(unsigned long long, direction);

} // namespace upsweep::simulator::rounding
