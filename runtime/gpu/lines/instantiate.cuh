// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <type_traits>

#include <upsweep/gpu/shapes/axis.cuh>
#include <upsweep/op.hpp>

#include "../../scan_init.hpp"
#include "../any_op.hpp"
#include "../word_ops.hpp"
#include "lines.hpp"

// The files of this folder include it, and no others.
namespace upsweep::runtime::gpu {

// The axis, and the last dimensions beside it: those before them have extent 1.
template <class T, class Out>
detail::lines<const T, Out, most_line_dimensions> lines_as(const line_layout& of)
{
    std::array<std::size_t, most_line_dimensions> extents{of.extents[0]};
    std::array<std::ptrdiff_t, most_line_dimensions> in_strides{of.in_strides[0]};
    std::array<std::ptrdiff_t, most_line_dimensions> out_strides{of.out_strides[0]};
    for (std::size_t k = 1; k < most_line_dimensions; ++k) {
        const std::size_t of_layout = most_dimensions - most_line_dimensions + k;
        extents[k] = of.extents[of_layout];
        in_strides[k] = of.in_strides[of_layout];
        out_strides[k] = of.out_strides[of_layout];
    }
    const view<const T, most_line_dimensions> in(reinterpret_cast<const T*>(of.in), extents, in_strides);
    extents[0] = of.results;
    return {in, view<Out, most_line_dimensions>(reinterpret_cast<Out*>(of.out), extents, out_strides)};
}

// Writes the sum of a line, or its mean if there is a count. The mean of integers, an f64, goes to the place of an integer of 64 bits: one
// kernel serves both.
struct sum_or_mean {
    double count = 0;
    bool is_signed = false;

    template <class Result, class Acc>
    UPSWEEP_HOST_DEVICE void operator()(const Acc& fold, Result& result) const
    {
        if (count == 0) {
            result = as_result<Result, plus>(fold);
        } else if constexpr (std::integral<Acc>) {
            using signed_acc = std::make_signed_t<Acc>;
            const double sum =
                is_signed ? static_cast<double>(static_cast<signed_acc>(fold)) : static_cast<double>(fold);
            result = std::bit_cast<Result>(sum / count);
        } else {
            result = as_result<Result, plus>(fold / static_cast<Acc>(count));
        }
    }
};

template <class T, class Result, class Op, class Finish>
void fold_lines(const cuda& target, const line_layout& lines, const Op& op, const Finish& finish)
{
    detail::engine<cuda, detail::verb::reduce_lines>::template fold<Result>(target, lines_as<T, Result>(lines), op,
                                                                            finish);
}

template <class T>
void sum_lines(const cuda& target, const line_layout& lines, bool means, bool is_signed)
{
    const sum_or_mean finish{means ? static_cast<double>(lines.length()) : 0, is_signed};
    fold_lines<T, accumulator_t<plus, T>>(target, lines, plus{}, finish);
}

template <class T>
void extrema_of_lines(const cuda& target, upsweep_op op, const line_layout& lines)
{
    if (op == UPSWEEP_MINIMUM)
        fold_lines<T, T>(target, lines, minimum{}, detail::as_results_of<minimum>{});
    else
        fold_lines<T, T>(target, lines, maximum{}, detail::as_results_of<maximum>{});
}

template <class T>
void products_of_lines(const cuda& target, const line_layout& lines)
{
    fold_lines<T, accumulator_t<multiplies, T>>(target, lines, multiplies{}, detail::as_results_of<multiplies>{});
}

template <class Word>
void word_extrema_of_lines(const cuda& target, const shape_fold& fold, upsweep_dtype dtype, const line_layout& lines)
{
    fold_lines<Word, Word>(target, lines, make_word_minimum<Word>(fold, dtype),
                           detail::as_results_of<word_minimum<Word>>{});
}

template <class Word>
void bits_of_lines(const cuda& target, const shape_fold& fold, const line_layout& lines)
{
    fold_lines<Word, Word>(target, lines, make_word_bits<Word>(fold), detail::as_results_of<word_bits<Word>>{});
}

template <class T, class Op>
void scan_lines_of(const cuda& target, const line_layout& lines, const scan_start& start, const Op& op)
{
    using accumulator = scan_accumulator_t<Op, T>;
    const auto init = init_of<T, accumulator>(start);
    detail::engine<cuda, detail::verb::scan_lines>::scan(
        target, lines_as<T, T>(lines), op, upsweep::gpu::start_of_lines(start.kind, op, init ? &*init : nullptr));
}

template <class T>
void scan_sums_of_lines(const cuda& target, const line_layout& lines, const scan_start& start)
{
    scan_lines_of<T>(target, lines, start, plus{});
}

template <class Word>
void scan_lines_by_any(const cuda& target, const shape_fold& fold, const line_layout& lines, const scan_start& start)
{
    scan_lines_of<Word>(target, lines, start, make_any_op<Word>(fold));
}

template <class T>
void log_sum_exp_of_lines(const cuda& target, const line_layout& lines)
{
    fold_lines<T, T>(target, lines, log_sum_exp{}, detail::as_results_of<log_sum_exp>{});
}

template <class T>
void running_log_sum_exp_of_lines(const cuda& target, const line_layout& lines, const scan_start& start)
{
    scan_lines_of<T>(target, lines, start, log_sum_exp{});
}

} // namespace upsweep::runtime::gpu

#define UPSWEEP_SUM_LINES(T)                                                                                           \
    template void upsweep::runtime::gpu::sum_lines<T>(const upsweep::cuda&, const line_layout&, bool, bool)
#define UPSWEEP_EXTREMA_OF_LINES(T)                                                                                    \
    template void upsweep::runtime::gpu::extrema_of_lines<T>(const upsweep::cuda&, upsweep_op, const line_layout&)
#define UPSWEEP_SCAN_SUMS_OF_LINES(T)                                                                                  \
    template void upsweep::runtime::gpu::scan_sums_of_lines<T>(const upsweep::cuda&, const line_layout&,               \
                                                               const scan_start&)
#define UPSWEEP_PRODUCTS_OF_LINES(T)                                                                                   \
    template void upsweep::runtime::gpu::products_of_lines<T>(const upsweep::cuda&, const line_layout&)
#define UPSWEEP_WORD_EXTREMA_OF_LINES(Word)                                                                            \
    template void upsweep::runtime::gpu::word_extrema_of_lines<Word>(const upsweep::cuda&, const shape_fold&,          \
                                                                     upsweep_dtype, const line_layout&)
#define UPSWEEP_BITS_OF_LINES(Word)                                                                                    \
    template void upsweep::runtime::gpu::bits_of_lines<Word>(const upsweep::cuda&, const shape_fold&,                  \
                                                             const line_layout&)
#define UPSWEEP_SCAN_LINES_BY_ANY(Word)                                                                                \
    template void upsweep::runtime::gpu::scan_lines_by_any<Word>(const upsweep::cuda&, const shape_fold&,              \
                                                                 const line_layout&, const scan_start&)
#define UPSWEEP_LOG_SUM_EXP_OF_LINES(T)                                                                                \
    template void upsweep::runtime::gpu::log_sum_exp_of_lines<T>(const upsweep::cuda&, const line_layout&)
#define UPSWEEP_RUNNING_LOG_SUM_EXP_OF_LINES(T)                                                                        \
    template void upsweep::runtime::gpu::running_log_sum_exp_of_lines<T>(const upsweep::cuda&, const line_layout&,     \
                                                                         const scan_start&)
