// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Which lines along an axis a GPU folds.
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>

#include "any_op.hpp"
#include "device.cuh"
#include "lines.hpp"
#include "lines/lines.hpp"

namespace upsweep::runtime::gpu {

namespace {

// Types of 8 and 16 bits, which kernels of lines read. Other operators than plus, multiplies, minimum and maximum have none for them.
template <class T>
inline constexpr bool is_narrow = sizeof(T) <= 2;

template <class F>
void with_read_type(upsweep_dtype dtype, F f)
{
    switch (dtype) {
    case UPSWEEP_I8: return f(std::int8_t{});
    case UPSWEEP_U8: return f(std::uint8_t{});
    case UPSWEEP_I16: return f(std::int16_t{});
    case UPSWEEP_U16: return f(std::uint16_t{});
    case UPSWEEP_F16: return f(f16{});
    case UPSWEEP_BF16: return f(bf16{});
    default: return with_folded_type(dtype, f);
    }
}

// Products of 64 bits are the same of signed and of unsigned numbers.
template <class T>
using multiplied_as = std::conditional_t<std::same_as<T, std::int64_t>, std::uint64_t, T>;

} // namespace

bool reduce_lines(const device& gpu, const shape_fold& fold, upsweep_dtype dtype, const line_layout& lines, bool means)
{
    const cuda& target = gpu.target;
    const bool is_extremum = fold.op == UPSWEEP_MINIMUM || fold.op == UPSWEEP_MAXIMUM;
    if (!have_few_dimensions(lines))
        return false;
    if (fold.op == UPSWEEP_MULTIPLIES) {
        with_type(fold.dtype, [&]<class T>(std::type_identity<T>) {
            if constexpr (!std::same_as<T, bool>)
                products_of_lines<multiplied_as<T>>(target, lines);
        });
        return true;
    }
    with_read_type(fold.dtype, [&]<class T>(T) {
        if constexpr (is_narrow<T>) {
            if (!is_extremum)
                sum_lines<T>(target, lines, means, is_signed(dtype));
            else if constexpr (std::integral<T>)
                extrema_of_lines<T>(target, fold.op, lines);
            else
                extrema_of_half_floats<T>(target, fold, lines);
        } else {
            if constexpr (std::floating_point<T>)
                if (fold.op == UPSWEEP_LOG_SUM_EXP)
                    return log_sum_exp_of_lines<T>(target, lines);
            if (fold.op == UPSWEEP_PLUS && fold.dtype == UPSWEEP_U32)
                return sum_lines<std::uint32_t>(target, lines, means, false);
            if (fold.op == UPSWEEP_PLUS)
                return sum_lines<summed_as<T>>(target, lines, means, is_signed(dtype));
            const bool are_words = fold.dtype == UPSWEEP_U32 || fold.dtype == UPSWEEP_U64;
            if (is_extremum && !are_words)
                return extrema_of_lines<compared_as<T>>(target, fold.op, lines);
            if constexpr (std::integral<T>) {
                if (is_extremum)
                    word_extrema_of_lines<T>(target, fold, dtype, lines);
                else
                    bits_of_lines<T>(target, fold, lines);
            }
        }
    });
    return true;
}

bool scan_lines(const device& gpu, const shape_fold& fold, const line_layout& lines, const scan_start& start)
{
    if (!have_few_dimensions(lines))
        return false;
    with_read_type(fold.dtype, [&]<class T>(T) {
        if constexpr (!std::integral<T> || !is_narrow<T>)
            if (fold.op == UPSWEEP_PLUS)
                return scan_sums_of_lines<T>(gpu.target, lines, start);
        if constexpr (std::floating_point<T>)
            if (fold.op == UPSWEEP_LOG_SUM_EXP)
                return running_log_sum_exp_of_lines<T>(gpu.target, lines, start);
        if constexpr (!is_narrow<T>)
            scan_lines_by_any<T>(gpu.target, fold, lines, start);
    });
    return true;
}

bool variances_of_lines(const device& gpu, upsweep_dtype dtype, const line_layout& lines,
                        std::optional<double> correction)
{
    if (!have_few_dimensions(lines))
        return false;
    switch (dtype) {
    case UPSWEEP_F16: return variances_of_lines<f16>(gpu.target, lines, correction), true;
    case UPSWEEP_BF16: return variances_of_lines<bf16>(gpu.target, lines, correction), true;
    case UPSWEEP_F32: return variances_of_lines<float>(gpu.target, lines, correction), true;
    case UPSWEEP_F64: return variances_of_lines<double>(gpu.target, lines, correction), true;
    default: return false;
    }
}

void variances_of_moments(const device& gpu, const line_layout& lines, double correction, upsweep_dtype result)
{
    if (result == UPSWEEP_F32)
        variances_of_moments<float>(gpu.target, lines, correction);
    else
        variances_of_moments<double>(gpu.target, lines, correction);
}

bool find_arguments(const device& gpu, upsweep_op op, upsweep_dtype dtype, const line_layout& lines)
{
    const cuda& target = gpu.target;
    if (!have_few_dimensions(lines))
        return false;
    switch (dtype) {
    case UPSWEEP_BOOL:
    case UPSWEEP_U8: return arguments_of_lines<std::uint8_t>(target, op, lines), true;
    case UPSWEEP_I8: return arguments_of_lines<std::int8_t>(target, op, lines), true;
    case UPSWEEP_I16: return arguments_of_lines<std::int16_t>(target, op, lines), true;
    case UPSWEEP_U16: return arguments_of_lines<std::uint16_t>(target, op, lines), true;
    case UPSWEEP_I32: return arguments_of_lines<std::int32_t>(target, op, lines), true;
    case UPSWEEP_U32: return arguments_of_lines<std::uint32_t>(target, op, lines), true;
    case UPSWEEP_I64: return arguments_of_lines<std::int64_t>(target, op, lines), true;
    case UPSWEEP_U64: return arguments_of_lines<std::uint64_t>(target, op, lines), true;
    case UPSWEEP_F32: return arguments_of_lines<float>(target, op, lines), true;
    case UPSWEEP_F64: return arguments_of_lines<double>(target, op, lines), true;
    case UPSWEEP_F16: return arguments_of_lines<f16>(target, op, lines), true;
    case UPSWEEP_BF16: return arguments_of_lines<bf16>(target, op, lines), true;
    default: return false;
    }
}

} // namespace upsweep::runtime::gpu
