// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>

#include <upsweep/monoids.hpp>
#include <upsweep/op.hpp>
#include <upsweep/qualifiers.hpp>
#include <upsweep/runtime.h>
#include <upsweep/target.hpp>

#include "element_type.hpp"
#include "engine.hpp"
#include "shapes.hpp"

// Variances: folds by mean_and_variance, of which the sum of squares is divided by the number of elements.
namespace upsweep::runtime {

// Folds moments, whose result is a variance. The sum of squares is divided by the number of elements less the correction, or by zero where
// that is negative; it is one division in f64, and the quotient is rounded once to a smaller type.
struct variance : mean_and_variance {
    double correction = 0;

    explicit variance(double of) : correction(of) {}

    template <class Result>
    UPSWEEP_HOST_DEVICE Result result(const moments<double>& fold) const
    {
        const double divisor = static_cast<double>(fold.count()) - correction;
        return as_result<Result, plus>(fold.sum_of_squares() / (divisor > 0 ? divisor : 0));
    }
};

// Writes the variance of a line.
struct variance_of_line {
    variance fold;

    template <class Result>
    UPSWEEP_HOST_DEVICE void operator()(const moments<double>& of, Result& to) const
    {
        to = fold.result<Result>(of);
    }
};

// The type of the variance of elements, and of their mean: f32 of f16, bf16 and f32, else f64.
template <class T>
using quotient_t = std::conditional_t<std::is_same_v<T, float> || sub_word_float<T>, float, double>;
inline upsweep_dtype quotient_dtype_of(upsweep_dtype dtype)
{
    return dtype == UPSWEEP_F16 || dtype == UPSWEEP_BF16 || dtype == UPSWEEP_F32 ? UPSWEEP_F32 : UPSWEEP_F64;
}

// Variances on the CPU, of one type of elements. The files dtypes/variance_*.cpp instantiate it.
struct variance_engine {
    std::unique_ptr<any_reducer> (*reducer)(double correction, cpu target);
    void (*of_lines)(const cpu& host, const line_layout& lines, double correction);
};
template <class T>
const variance_engine& variance_engine_of();

const variance_engine& variance_engine_for(upsweep_dtype dtype);

} // namespace upsweep::runtime
