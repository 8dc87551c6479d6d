// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Functions that kernels have and the C library has not.
#include "upsweep/simulator/cuda/math.h"

double sinpi(double v)
{
    const double rest = std::fmod(v, 2.0); // exact
    const double size = std::fabs(rest), pi = 3.14159265358979323846;
    if (size == 0 || size == 1)
        return std::copysign(0.0, v);
    const double from_zero = size < 1 ? size : size - 1; // the second half wave is the first one upside down
    const double wave = from_zero <= 0.25   ? std::sin(pi * from_zero)
                        : from_zero <= 0.75 ? std::cos(pi * (0.5 - from_zero))
                                            : std::sin(pi * (1 - from_zero));
    return (rest < 0) != (size > 1) ? -wave : wave;
}

double cospi(double v)
{
    const double size = std::fmod(std::fabs(v), 2.0), pi = 3.14159265358979323846;
    const double from_zero = size <= 1 ? size : 2 - size;
    return from_zero <= 0.25   ? std::cos(pi * from_zero)
           : from_zero <= 0.75 ? std::sin(pi * (0.5 - from_zero))
                               : -std::cos(pi * (1 - from_zero));
}

// Acklam's rational approximation, and two steps of Halley's method, which make it exact to rounding.
double normcdfinv(double p)
{
    if (std::isnan(p) || p < 0 || p > 1)
        return std::nan("");
    if (p == 0 || p == 1)
        return p == 0 ? -HUGE_VAL : HUGE_VAL;
    constexpr double a[] = {-3.969683028665376e+01, 2.209460984245205e+02,  -2.759285104469687e+02,
                            1.383577518672690e+02,  -3.066479806614716e+01, 2.506628277459239e+00};
    constexpr double b[] = {-5.447609879822406e+01, 1.615858368580409e+02, -1.556989798598866e+02,
                            6.680131188771972e+01, -1.328068155288572e+01};
    constexpr double c[] = {-7.784894002430293e-03, -3.223964580411365e-01, -2.400758277161838e+00,
                            -2.549732539343734e+00, 4.374664141464968e+00,  2.938163982698783e+00};
    constexpr double d[] = {7.784695709041462e-03, 3.224671290700398e-01, 2.445134137142996e+00, 3.754408661907416e+00};
    const bool is_upper = p > 0.5;
    const double tail = is_upper ? 1 - p : p;
    double x = 0;
    if (tail < 0.02425) {
        const double q = std::sqrt(-2 * std::log(tail));
        x = (((((c[0] * q + c[1]) * q + c[2]) * q + c[3]) * q + c[4]) * q + c[5]) /
            ((((d[0] * q + d[1]) * q + d[2]) * q + d[3]) * q + 1);
    } else {
        const double q = tail - 0.5, r = q * q;
        x = (((((a[0] * r + a[1]) * r + a[2]) * r + a[3]) * r + a[4]) * r + a[5]) * q /
            (((((b[0] * r + b[1]) * r + b[2]) * r + b[3]) * r + b[4]) * r + 1);
    }
    for (int step = 0; step < 2; ++step) {
        const double error = normcdf(x) - tail;
        const double u = error * 2.50662827463100050242 * std::exp(x * x / 2);
        x -= u / (1 + x * u / 2);
    }
    return is_upper ? -x : x;
}

// erf is inverted by Newton's method from the normal distribution's quantile.
double erfinv(double v)
{
    if (std::isnan(v) || std::fabs(v) > 1)
        return std::nan("");
    if (std::fabs(v) == 1)
        return std::copysign(HUGE_VAL, v);
    double x = 0.70710678118654752440 * normcdfinv((v + 1) / 2);
    for (int step = 0; step < 2 && std::fabs(x) < 5; ++step)
        x -= (std::erf(x) - v) * 0.88622692545275801365 * std::exp(x * x);
    return x;
}
