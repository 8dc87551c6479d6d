// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Which segments, runs, recurrences and images a GPU folds.
#include "shapes.hpp"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <type_traits>

#include <cuda_runtime.h>

#include <upsweep/gpu/shapes/segmented.cuh>
#include <upsweep/gpu/streaming/chunk.cuh>
#include <upsweep/gpu/target/launch.cuh>
#include <upsweep/verb/segmented.hpp>

#include "conversion.cuh"
#include "device.cuh"
#include "elementwise.cuh"
#include "shapes/kernels.hpp"

namespace upsweep::runtime::gpu {

namespace {

// --- elements of other types ----------------------------------------------------------------------------------------------

// Floats are equal where their words are: zeros have one word. NaN, which equals nothing, has a word that no number has, and not that of its
// neighbours.
template <class T, class Word>
__global__ void words_of_keys_kernel(const T* keys, std::uint64_t count, Word* words)
{
    for_each_element(count, [&](std::uint64_t i) {
        const T key = keys[i];
        const Word nan = std::bit_cast<Word>(std::numeric_limits<T>::quiet_NaN()) | static_cast<Word>(i % 2);
        words[i] = key != key ? nan : key == 0 ? Word{0} : std::bit_cast<Word>(key);
    });
}

// A byte that is a number is no truth.
bool is_same(upsweep_dtype of, upsweep_dtype as, upsweep_dtype to)
{
    return has_bits_of(of, as) && has_bits_of(as, to) && (as != UPSWEEP_BOOL || of == UPSWEEP_BOOL);
}

template <class To>
void convert_to_truths(const device& gpu, const elements& of, To* out)
{
    upsweep::gpu::launch(gpu.target, "upsweep", convert_to_truths_kernel<To>, grid_of_conversion(of.count),
                         static_cast<const std::byte*>(of.data), static_cast<int>(of.bytes()), is_float(of.dtype),
                         of.count, out);
}

// Elements without gaps as numbers of 4 or 8 bytes, of which integers are those of type `as` that have as many bits.
void convert_numbers(const device& gpu, const elements& of, upsweep_dtype as, upsweep_dtype to, std::byte* out)
{
    const bool is_wide = upsweep_dtype_size(to) == 8;
    const int bits = is_wide ? 64 : 8 * static_cast<int>(upsweep_dtype_size(as));
    const auto convert = [&]<class Acc, class To>(Acc, To) {
        upsweep::gpu::launch(gpu.target, "upsweep", convert_kernel<Acc, To>, grid_of_conversion(of.count),
                             static_cast<const std::byte*>(of.data), of.dtype, bits, of.count,
                             reinterpret_cast<To*>(out));
    };
    if (to == UPSWEEP_F32)
        convert(float{}, float{});
    else if (to == UPSWEEP_F64)
        convert(double{}, double{});
    else if (is_wide)
        convert(std::uint64_t{}, std::uint64_t{});
    else if (is_signed(as))
        convert(std::int64_t{}, std::int32_t{});
    else
        convert(std::uint64_t{}, std::int32_t{});
}

} // namespace

bool has_bits_of(upsweep_dtype dtype, upsweep_dtype other)
{
    const bool are_integers = dtype < UPSWEEP_F16 && other < UPSWEEP_F16;
    return dtype == other || (are_integers && upsweep_dtype_size(dtype) == upsweep_dtype_size(other));
}

scratch::scratch(const device& gpu, const elements& like) : gpu_(gpu), elements_(like)
{
    elements_.data = nullptr;
    if (like.count == 0)
        return;
    elements_.data = allocate_copy(gpu, like.count * like.bytes(), "pass elements of a type that is not converted");
}

scratch::~scratch()
{
    if (elements_.data != nullptr)
        free_copy(gpu_, elements_.data);
}

converted::converted(const device& gpu, const elements& of, upsweep_dtype as, upsweep_dtype to)
    : dense_(gpu, of), elements_(dense_.get())
{
    elements_.dtype = to;
    if (is_same(of.dtype, as, to) || of.count == 0)
        return;
    copy_.emplace(gpu, elements_);
    const upsweep::gpu::current_device current(gpu.target.device());
    std::byte* const out = copy_->get().data;
    if (as == UPSWEEP_BOOL && (to == UPSWEEP_I32 || to == UPSWEEP_U8)) {
        to == UPSWEEP_U8 ? convert_to_truths(gpu, dense_.get(), reinterpret_cast<std::uint8_t*>(out))
                         : convert_to_truths(gpu, dense_.get(), reinterpret_cast<std::int32_t*>(out));
        return;
    }
    convert_numbers(gpu, dense_.get(), as, to, out);
}

bool convert_to(const device& gpu, const elements& of, upsweep_dtype to, std::byte* out)
{
    if (upsweep_dtype_size(to) < 4)
        return false;
    const upsweep::gpu::current_device current(gpu.target.device());
    convert_numbers(gpu, of, to, to, out);
    return true;
}

converted_results::converted_results(const device& gpu, const elements& of, upsweep_dtype from, written which)
    : gpu_(gpu), dense_(which == written::all ? without_gaps::to_be_written(gpu, of) : without_gaps(gpu, of)),
      elements_(dense_.get())
{
    elements_.dtype = from;
    if (!has_bits_of(of.dtype, from) && of.count != 0)
        aside_.emplace(gpu, elements_);
}

void converted_results::write(std::uint64_t count, const elements* offsets) const
{
    if (count == 0)
        return;
    const auto convert = [&]<class From>(From) {
        upsweep::gpu::launch(gpu_.target, "upsweep", convert_results_kernel<From>, grid_of_conversion(count),
                             reinterpret_cast<const From*>(aside_->get().data), count, dense_.get().data,
                             dense_.get().dtype,
                             offsets != nullptr ? reinterpret_cast<const std::uint64_t*>(offsets->data) : nullptr,
                             offsets != nullptr ? offsets->count - 1 : 0);
    };
    const upsweep::gpu::current_device current(gpu_.target.device());
    if (aside_ && elements_.dtype == UPSWEEP_F32)
        convert(float{});
    else if (aside_)
        convert(std::int32_t{});
    dense_.write_back();
}

void write_truths(const device& gpu, const elements& in, const elements& out)
{
    const upsweep::gpu::current_device current(gpu.target.device());
    convert_to_truths(gpu, in, reinterpret_cast<std::uint8_t*>(out.data));
}

void check_offsets(const device& gpu, const elements& offsets, std::uint64_t count)
{
    upsweep::check_offsets(gpu.target, std::span(reinterpret_cast<const std::uint64_t*>(offsets.data), offsets.count),
                           count);
}

void reduce_segments(const device& gpu, const shape_fold& fold, const elements& in, const elements& offsets,
                     const elements& out)
{
    segment_kernels_of(fold).reduce(gpu.target, fold, in, offsets, out);
}

void scan_segments(const device& gpu, const shape_fold& fold, const elements& in, const elements& offsets,
                   const elements& out, const scan_start& start)
{
    segment_kernels_of(fold).scan(gpu.target, fold, in, offsets, out, start);
    if (start.kind == scan_kind::inclusive && start.init != nullptr)
        put_init(gpu, fold, out, &offsets, start.init);
}

upsweep_dtype key_dtype(upsweep_dtype dtype)
{
    if (dtype >= UPSWEEP_F16)
        return dtype == UPSWEEP_F64 ? UPSWEEP_F64 : UPSWEEP_F32;
    return upsweep_dtype_size(dtype) == 8 ? UPSWEEP_U64 : UPSWEEP_I32;
}

key_words::key_words(const device& gpu, const elements& keys) : keys_(gpu, keys, key_dtype(keys.dtype))
{
    if (!are_floats() || keys.count == 0)
        return;
    elements like = keys_.get();
    const bool are_wide = like.dtype == UPSWEEP_F64;
    like.dtype = are_wide ? UPSWEEP_U64 : UPSWEEP_I32;
    words_.emplace(gpu, like);
    const upsweep::gpu::current_device current(gpu.target.device());
    const auto write = [&]<class T, class Word>(T, Word) {
        upsweep::gpu::launch(gpu.target, "upsweep", words_of_keys_kernel<T, Word>, grid_of_elements(like.count),
                             reinterpret_cast<const T*>(keys_.get().data), like.count,
                             reinterpret_cast<Word*>(words_->get().data));
    };
    are_wide ? write(double{}, std::uint64_t{}) : write(float{}, std::uint32_t{});
}

std::uint64_t reduce_by_key(const device& gpu, const shape_fold& fold, const elements& keys, const elements& values,
                            const elements& keys_out, const elements& totals_out)
{
    return key_kernels_of(fold, keys.bytes()).reduce(gpu.target, fold, keys, values, keys_out, totals_out);
}

void scan_by_key(const device& gpu, const shape_fold& fold, const elements& keys, const elements& values,
                 const elements& out, const scan_start& start)
{
    key_kernels_of(fold, keys.bytes()).scan(gpu.target, fold, keys, values, out, start);
    if (start.kind == scan_kind::inclusive && start.init != nullptr)
        put_init(gpu, fold, out, nullptr, start.init);
}

found_on_gpu encode_runs(const device& gpu, const elements& in, const elements& values_out, const elements& lengths_out)
{
    const encode_kernels encode = encode_kernels_of(in.dtype);
    if (encode == nullptr)
        return {};
    return {true, encode(gpu.target, in, values_out, lengths_out)};
}

bool decode_runs(const device& gpu, const elements& values, const elements& lengths, const elements& out)
{
    const word_kernels* const kernels = word_kernels_of(values.bytes());
    if (kernels == nullptr)
        return false;
    kernels->decode(gpu.target, values, lengths, out);
    return true;
}

found_on_gpu select(const device& gpu, const elements& in, const elements& flags, const elements& out)
{
    const word_kernels* const kernels = word_kernels_of(in.bytes());
    if (kernels == nullptr)
        return {};
    return {true, kernels->select(gpu.target, in, flags, out)};
}

found_on_gpu partition(const device& gpu, const elements& in, const elements& flags, const elements& out)
{
    const word_kernels* const kernels = word_kernels_of(in.bytes());
    if (kernels == nullptr)
        return {};
    return {true, kernels->partition(gpu.target, in, flags, out)};
}

bool linear_recurrence(const device& gpu, upsweep_dtype dtype, const recurrence_layout& of)
{
    const recurrence_kernels recur = recurrence_kernels_of(dtype);
    if (recur == nullptr)
        return false;
    recur(gpu.target, of);
    return true;
}

bool integrate_images(const device& gpu, upsweep_dtype in, upsweep_dtype out, const image_layout& of)
{
    const image_kernels integrate = image_kernels_of(in, out);
    return integrate != nullptr && integrate(gpu.target, of);
}

} // namespace upsweep::runtime::gpu
