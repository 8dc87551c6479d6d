// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "exact_product.hpp"

#include <algorithm>
#include <type_traits>

#include "../runtime/element_type.hpp"
#include "failure.hpp"

namespace upsweep::cli {

namespace {

// A piece stays in the caches of a CPU while it is folded three times; a GPU is worth a call only for more.
constexpr std::uint64_t piece_of_cpu = std::uint64_t{1} << 18;
constexpr std::uint64_t piece_of_gpu = std::uint64_t{1} << 23;

} // namespace

exact_product::exact_product(upsweep_context* context, upsweep_dtype dtype, bool on_gpu)
    : context_(context), dtype_(dtype), piece_(on_gpu ? piece_of_gpu : piece_of_cpu)
{
}

void exact_product::feed(const input_chunk& chunk)
{
    for (std::uint64_t first = 0; first < chunk.count; first += piece_)
        feed_piece(chunk, first, std::min(chunk.count - first, piece_));
}

void exact_product::feed_piece(const input_chunk& chunk, std::uint64_t first, std::uint64_t count)
{
    if (product_ == 0)
        return;
    runtime::with_type(dtype_, [&]<class T>(std::type_identity<T>) {
        const T* const elements = static_cast<const T*>(chunk.elements) + first;
        const auto size = static_cast<std::int64_t>(count);
        const upsweep_array piece = upsweep_array_of(elements, dtype_, &size);
        const auto fold = [&](upsweep_op op) { return integer_fold(*context_, op, piece, chunk.file); };
        if (!too_large_at_.empty()) {
            if (fold(UPSWEEP_LOGICAL_AND) == 0)
                product_ = 0;
        } else if (fold(UPSWEEP_MINIMUM) >= -1 && fold(UPSWEEP_MAXIMUM) <= 1) {
            product_ *= fold(UPSWEEP_MULTIPLIES);
        } else if constexpr (std::is_integral_v<T>) {
            for (std::uint64_t i = 0; i < count; ++i)
                if (!multiply(elements[i]) && too_large_at_.empty())
                    too_large_at_ = chunk.place_of(first + i);
        }
    });
}

// Returns false, and leaves the product as it is, where it would be too large.
bool exact_product::multiply(int128 factor)
{
    constexpr int128 limit = ~(int128{1} << 127);
    const int128 magnitude = factor < 0 ? -factor : factor;
    if (magnitude > 1 && (product_ < 0 ? -product_ : product_) > limit / magnitude)
        return false;
    product_ *= factor;
    return true;
}

int128 exact_product::value() const
{
    if (product_ != 0 && !too_large_at_.empty())
        throw failure(too_large_at_ + ": the product does not fit 127 bits and a sign; give --out-dtype f64, or --wrap "
                                      "for it modulo a power of two");
    return product_;
}

} // namespace upsweep::cli
