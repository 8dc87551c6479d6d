// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "exact_sum.hpp"

#include <algorithm>
#include <cstddef>

namespace upsweep::cli {

namespace {

// A piece stays in the caches of a CPU while it is folded three times; a GPU is worth a call only for more.
constexpr int piece_level_of_cpu = 18;
constexpr int piece_level_of_gpu = 23;

// Narrower elements: no sum of fewer than 2^31 of them leaves 64 bits.
constexpr std::uint64_t piece_of_narrow = std::uint64_t{1} << 30;

} // namespace

exact_sum::exact_sum(upsweep_context* context, upsweep_dtype dtype, bool on_gpu)
    : context_(context), dtype_(dtype), piece_level_(on_gpu ? piece_level_of_gpu : piece_level_of_cpu)
{
}

void exact_sum::feed(const input_chunk& chunk)
{
    const std::uint64_t size = upsweep_dtype_size(dtype_);
    const std::uint64_t most = size == 8 ? std::uint64_t{1} << piece_level_ : piece_of_narrow;
    const auto* const elements = static_cast<const std::byte*>(chunk.elements);
    for (std::uint64_t done = 0; done < chunk.count; done += most)
        feed_piece(chunk.file, elements + done * size, std::min(chunk.count - done, most));
}

void exact_sum::feed_piece(const std::string& file, const void* elements, std::uint64_t count)
{
    const auto size = static_cast<std::int64_t>(count);
    const upsweep_array all = upsweep_array_of(elements, dtype_, &size);
    const auto fold = [&](upsweep_op op, const upsweep_array& in) { return integer_fold(*context_, op, in, file); };
    if (upsweep_dtype_size(dtype_) == 8) {
        // The sum of so many elements below this is exact in 64 bits.
        const int128 small_enough = int128{1} << (63 - piece_level_);
        if (fold(UPSWEEP_MINIMUM, all) < -small_enough || fold(UPSWEEP_MAXIMUM, all) >= small_enough) {
            // The lower and the upper halves of all elements, apart.
            const std::int64_t two = 2;
            upsweep_array lower = upsweep_array_of(elements, UPSWEEP_U32, &size);
            upsweep_array upper = upsweep_array_of(static_cast<const std::byte*>(elements) + 4,
                                                   dtype_ == UPSWEEP_I64 ? UPSWEEP_I32 : UPSWEEP_U32, &size);
            lower.strides = upper.strides = &two;
            sum_ += fold(UPSWEEP_PLUS, lower) + fold(UPSWEEP_PLUS, upper) * (int128{1} << 32);
            return;
        }
    }
    sum_ += fold(UPSWEEP_PLUS, all);
}

} // namespace upsweep::cli
