// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "integer_sum.hpp"

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <type_traits>

#include <fmt/format.h>

#include "../runtime/element_type.hpp"
#include "runtime_call.hpp"

namespace upsweep::cli {

namespace {

bool is_signed_integer(upsweep_dtype dtype)
{
    return runtime::with_type(dtype, []<class T>(std::type_identity<T>) { return std::signed_integral<T>; });
}

// Narrower elements: no sum of fewer than 2^31 of them leaves 64 bits.
constexpr std::uint64_t piece_of_narrow = std::uint64_t{1} << 30;

} // namespace

bool is_integer(upsweep_dtype dtype)
{
    return runtime::with_type(
        dtype, []<class T>(std::type_identity<T>) { return std::integral<T> && !std::same_as<T, bool>; });
}

integer_sum::integer_sum(upsweep_context* context, upsweep_dtype dtype, int piece_level)
    : context_(context), dtype_(dtype), is_signed_(is_signed_integer(dtype)), piece_level_(piece_level)
{
}

void integer_sum::feed(const std::string& file, const void* elements, std::uint64_t count)
{
    const std::uint64_t size = upsweep_dtype_size(dtype_);
    const std::uint64_t most = size == 8 ? std::uint64_t{1} << piece_level_ : piece_of_narrow;
    const auto* rest = static_cast<const std::byte*>(elements);
    while (count > 0) {
        const std::uint64_t piece = std::min(count, most);
        feed_piece(file, rest, piece);
        rest += piece * size;
        count -= piece;
    }
}

void integer_sum::feed_piece(const std::string& file, const void* elements, std::uint64_t count)
{
    const auto size = static_cast<std::int64_t>(count);
    const upsweep_array all = upsweep_array_of(elements, dtype_, &size);
    const upsweep_dtype wide = is_signed_ ? UPSWEEP_I64 : UPSWEEP_U64;
    const auto sum = [&](const upsweep_array& in, bool is_signed) {
        const std::uint64_t bits = fold(file, UPSWEEP_PLUS, in, is_signed ? UPSWEEP_I64 : UPSWEEP_U64);
        return is_signed ? int128{static_cast<std::int64_t>(bits)} : int128{bits};
    };
    if (dtype_ == wide) {
        const std::uint64_t lowest = fold(file, UPSWEEP_MINIMUM, all, wide);
        const std::uint64_t highest = fold(file, UPSWEEP_MAXIMUM, all, wide);
        // The sum of so many elements below this is exact in 64 bits.
        const std::uint64_t small_enough = std::uint64_t{1} << (63 - piece_level_);
        const auto is_small = [&](std::uint64_t bits) {
            return is_signed_ ? bits + small_enough < 2 * small_enough : bits < small_enough;
        };
        if (!is_small(lowest) || !is_small(highest)) {
            // The lower and the upper halves of all elements, apart.
            const std::int64_t two = 2;
            upsweep_array lower = upsweep_array_of(elements, UPSWEEP_U32, &size);
            upsweep_array upper = upsweep_array_of(static_cast<const std::byte*>(elements) + 4,
                                                   is_signed_ ? UPSWEEP_I32 : UPSWEEP_U32, &size);
            lower.strides = upper.strides = &two;
            sum_ += sum(lower, false) + sum(upper, is_signed_) * (int128{1} << 32);
            return;
        }
    }
    sum_ += sum(all, is_signed_);
}

std::uint64_t integer_sum::fold(const std::string& file, upsweep_op op, const upsweep_array& in,
                                upsweep_dtype result) const
{
    const std::int64_t one = 1;
    std::uint64_t value = 0;
    const upsweep_array out = upsweep_array_of(&value, result, &one);
    check(upsweep_reduce(context_, op, &in, &out), file);
    return value;
}

bool integer_sum::fits() const
{
    return is_signed_ ? sum_ == static_cast<std::int64_t>(sum_) : sum_ == static_cast<std::uint64_t>(sum_);
}

std::string integer_sum::digits() const { return fmt::format("{}", sum_); }

} // namespace upsweep::cli
