// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <upsweep/gpu/target/cuda.cuh>
#include <upsweep/runtime.h>

#include "../histograms.hpp"
#include "../lines.hpp"
#include "../shapes.hpp"

// The kernels of ../shapes.hpp for one type of values or elements. Each type is instantiated in files of its own, since the kernels of
// segments and runs take long to compile. Whatever is null does not exist.
namespace upsweep::runtime::gpu {

// Of segments of elements that have been converted.
struct segment_kernels {
    void (*reduce)(const cuda& target, const shape_fold& fold, const elements& in, const elements& offsets,
                   const elements& out);
    void (*scan)(const cuda& target, const shape_fold& fold, const elements& in, const elements& offsets,
                 const elements& out, const scan_start& start);
};
const segment_kernels& segment_kernels_of(const shape_fold& fold);

// Of runs of keys of so many bytes, by values that have been converted; the reduction returns the number of runs.
struct key_kernels {
    std::uint64_t (*reduce)(const cuda& target, const shape_fold& fold, const elements& keys, const elements& values,
                            const elements& keys_out, const elements& totals_out);
    void (*scan)(const cuda& target, const shape_fold& fold, const elements& keys, const elements& values,
                 const elements& out, const scan_start& start);
};
const key_kernels& key_kernels_of(const shape_fold& fold, std::size_t key_bytes);

using encode_kernels = std::uint64_t (*)(const cuda& target, const elements& in, const elements& values_out,
                                         const elements& lengths_out);
encode_kernels encode_kernels_of(upsweep_dtype dtype);

// Of elements that are moved, whatever they mean: words of so many bytes.
struct word_kernels {
    void (*decode)(const cuda& target, const elements& values, const elements& lengths, const elements& out);
    std::uint64_t (*select)(const cuda& target, const elements& in, const elements& flags, const elements& out);
    std::uint64_t (*partition)(const cuda& target, const elements& in, const elements& flags, const elements& out);
};
const word_kernels* word_kernels_of(std::size_t bytes);

using recurrence_kernels = void (*)(const cuda& target, const recurrence_layout& of);
recurrence_kernels recurrence_kernels_of(upsweep_dtype dtype);

// Returns false, and does nothing, where these kernels do not take such images.
using image_kernels = bool (*)(const cuda& target, const image_layout& of);
image_kernels image_kernels_of(upsweep_dtype in, upsweep_dtype out);

// The histograms of ../histograms.hpp. Bins are even_bins or edges.
template <class Bins>
struct histogram_kernels {
    void (*lines)(const cuda& target, const counted_layout& lines, const Bins& bins);
    void (*segments)(const cuda& target, const elements& in, const elements& offsets, const Bins& bins,
                     const elements& counts, outside* out_of_range);
};
template <class Bins>
const histogram_kernels<Bins>* histogram_kernels_of(upsweep_dtype dtype);

template <class Bins>
using weight_kernels = void (*)(const cuda& target, const elements& in, const elements& weights, const Bins& bins,
                                const elements& sums, const elements& out_of_range);
template <class Bins>
weight_kernels<Bins> weight_kernels_of(upsweep_dtype samples, upsweep_dtype weights);

// --- what the files of this folder instantiate ---------------------------------------------------------------------------------

// The operators of kernels, which are those of one or of the other: log_sum_exp is of floating-point numbers alone, and takes so many instructions
// that kernels of others would take longer if it was one of their choices.
struct any_operator;
struct log_sum_exp_alone;

// Word is float, double, or an unsigned integer, which stands for signed ones, too.
template <class Word, class Operators>
void reduce_segments_of(const cuda& target, const shape_fold& fold, const elements& in, const elements& offsets,
                        const elements& out);
template <class Word, class Operators>
void scan_segments_of(const cuda& target, const shape_fold& fold, const elements& in, const elements& offsets,
                      const elements& out, const scan_start& start);
template <class Key, class Word, class Operators>
std::uint64_t reduce_by_key_of(const cuda& target, const shape_fold& fold, const elements& keys, const elements& values,
                               const elements& keys_out, const elements& totals_out);
template <class Key, class Word, class Operators>
void scan_by_key_of(const cuda& target, const shape_fold& fold, const elements& keys, const elements& values,
                    const elements& out, const scan_start& start);
template <class T>
std::uint64_t encode_runs_of(const cuda& target, const elements& in, const elements& values_out,
                             const elements& lengths_out);
template <class Word>
void decode_runs_of(const cuda& target, const elements& values, const elements& lengths, const elements& out);
template <class Word>
std::uint64_t select_of(const cuda& target, const elements& in, const elements& flags, const elements& out);
template <class Word>
std::uint64_t partition_of(const cuda& target, const elements& in, const elements& flags, const elements& out);
template <class T, class Bins>
void count_lines_of(const cuda& target, const counted_layout& lines, const Bins& bins);
template <class T, class Bins>
void count_segments_of(const cuda& target, const elements& in, const elements& offsets, const Bins& bins,
                       const elements& counts, outside* out_of_range);
// Sums of signed and of unsigned numbers have the same bits modulo 2^64.
template <class T, class Weight, class Bins>
void add_up_weights_of(const cuda& target, const elements& in, const elements& weights, const Bins& bins,
                       const elements& sums, const elements& out_of_range);
template <class T>
void recur(const cuda& target, const recurrence_layout& of);
template <class T, class Sum>
bool integrate(const cuda& target, const image_layout& of);

} // namespace upsweep::runtime::gpu
