// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include <upsweep/fold_order.hpp>
#include <upsweep/gpu/target/cuda.cuh>
#include <upsweep/runtime.h>

#include "../lines.hpp"

// Folds of the lines of arrays in memory of the GPU, where they lie, by kernels of their type. Each type is instantiated in a file of its
// own.
namespace upsweep::runtime::gpu {

// Writes sums, or means if `means`, of i8, u8, i16, u16, i32, u32, u64, f16, bf16, f32 or f64; means of signed integers are others.
template <class T>
void sum_lines(const cuda& target, const line_layout& lines, bool means, bool is_signed);
// Writes minima or maxima of i8, u8, i16, u16, i32, i64, f32 or f64.
template <class T>
void extrema_of_lines(const cuda& target, upsweep_op op, const line_layout& lines);
// The same of f16 or bf16, or, to tell truths, of f16 without signs.
template <class T>
void extrema_of_half_floats(const cuda& target, const shape_fold& fold, const line_layout& lines);
// Writes products of any type of numbers; u64 stands for i64, too.
template <class T>
void products_of_lines(const cuda& target, const line_layout& lines);
// Writes minima or maxima of u32 or u64, or, to tell truths, of words of elements that had type `dtype` first; and reductions by an operator on bits.
template <class Word>
void word_extrema_of_lines(const cuda& target, const shape_fold& fold, upsweep_dtype dtype, const line_layout& lines);
template <class Word>
void bits_of_lines(const cuda& target, const shape_fold& fold, const line_layout& lines);
// Writes reductions by log_sum_exp, of f32 or f64.
template <class T>
void log_sum_exp_of_lines(const cuda& target, const line_layout& lines);
// Writes variances, of f16, bf16, f32 or f64; without a correction moments, of type moments<double>.
template <class T>
void variances_of_lines(const cuda& target, line_layout lines, std::optional<double> correction);
// Writes, as f32 or f64, the variances of all that lines of moments<double> are of, which lie side by side without gaps.
template <class Result>
void variances_of_moments(const cuda& target, const line_layout& lines, double correction);
// Writes scans by plus, of unsigned integers and of all floating-point numbers, and by another operator, of f32, f64 or an unsigned integer, which stands
// for signed ones, too.
template <class T>
void scan_sums_of_lines(const cuda& target, const line_layout& lines, const scan_start& start);
template <class Word>
void scan_lines_by_any(const cuda& target, const shape_fold& fold, const line_layout& lines, const scan_start& start);
template <class T>
void running_log_sum_exp_of_lines(const cuda& target, const line_layout& lines, const scan_start& start);
// Writes the positions of minima or maxima.
template <class T>
void arguments_of_lines(const cuda& target, upsweep_op op, const line_layout& lines);

} // namespace upsweep::runtime::gpu
