// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>

#include "../../variance.hpp"
#include "instantiate.cuh"

// The files variances_*.cu include it, and no others.
namespace upsweep::runtime::gpu {

// Writes the variance of a line, or its moments, where those have the place of several results: one kernel serves both. Kernels that have results in
// registers first take no lines of moments: they are of lines of up to four elements, and of smaller accumulators.
struct variance_or_moments {
    variance fold;
    bool are_moments = false;

    template <class Result>
    UPSWEEP_HOST_DEVICE void operator()(const moments<double>& of, Result& to) const
    {
        if (are_moments)
            reinterpret_cast<moments<double>&>(to) = of;
        else
            to = fold.result<Result>(of);
    }
};

template <class T>
void variances_of_lines(const cuda& target, line_layout lines, std::optional<double> correction)
{
    using result = quotient_t<T>;
    static_assert(sizeof(moments<double>) % sizeof(result) == 0);
    if (!correction)
        for (std::ptrdiff_t& stride : lines.out_strides)
            stride *= sizeof(moments<double>) / sizeof(result);
    detail::engine<cuda, detail::verb::reduce_lines>::fold<moments<double>>(
        target, lines_as<T, result>(lines), mean_and_variance{},
        variance_or_moments{variance(correction.value_or(0)), !correction});
}

} // namespace upsweep::runtime::gpu

#define UPSWEEP_VARIANCES_OF_LINES(T)                                                                                  \
    template void upsweep::runtime::gpu::variances_of_lines<T>(const upsweep::cuda&, line_layout, std::optional<double>)
