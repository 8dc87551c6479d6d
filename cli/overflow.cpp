// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "overflow.hpp"

#include <cstring>
#include <functional>
#include <limits>
#include <type_traits>

#include <fmt/core.h>
#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/parallel_reduce.h>

#include "../runtime/element_type.hpp"
#include "failure.hpp"

namespace upsweep::cli {

namespace {

template <class T>
constexpr bool is_integer_type = std::is_integral_v<T> && !std::is_same_v<T, bool>;

template <class From, class To>
constexpr bool holds_all = int128{std::numeric_limits<To>::min()} <= int128{std::numeric_limits<From>::min()} &&
                           int128{std::numeric_limits<From>::max()} <= int128{std::numeric_limits<To>::max()};

template <class T>
constexpr T top_bit = static_cast<T>(T{1} << (std::numeric_limits<T>::digits - 1));

// Whether is_found(begin, end) is true for any of the parts of [0, count), which all threads look through. A function of many types of
// elements calls it with their types erased, so that oneTBB's templates are compiled once.
bool any_part(std::uint64_t count, const std::function<bool(std::uint64_t, std::uint64_t)>& is_found)
{
    namespace tbb = oneapi::tbb;
    constexpr std::uint64_t grain = 32768;
    return tbb::parallel_reduce(
        tbb::blocked_range<std::uint64_t>(0, count, grain), false,
        [&](const auto& part, bool found) { return found || is_found(part.begin(), part.end()); }, std::logical_or());
}

// The first i for which word_of(i) has the top bit set. There is hardly ever one, so the words are first looked through without a
// branch, on all threads.
template <class Word, class F>
std::optional<std::uint64_t> first_with_top_bit(std::uint64_t count, const F& word_of)
{
    const auto has_one = [&](std::uint64_t begin, std::uint64_t end) {
        Word all{0};
        for (std::uint64_t i = begin; i < end; ++i)
            all = static_cast<Word>(all | word_of(i));
        return (all & top_bit<Word>) != 0;
    };
    if (!any_part(count, has_one))
        return std::nullopt;
    for (std::uint64_t i = 0; i < count; ++i)
        if ((word_of(i) & top_bit<Word>) != 0)
            return i;
    return std::nullopt;
}

// A word whose top bit tells whether `sum`, which is a + b modulo a power of two, is not a + b.
template <class Out, class In>
std::make_unsigned_t<Out> sum_wraps(Out a, In b, Out sum)
{
    using word = std::make_unsigned_t<Out>;
    if constexpr (holds_all<In, Out> && std::is_signed_v<Out>) {
        const Out x{b};
        return static_cast<word>((a ^ sum) & (x ^ sum)); // both have another sign than the sum
    } else if constexpr (holds_all<In, Out>) {
        const Out x{b};
        return static_cast<word>((a & x) | ((a | x) & ~sum)); // the carry out of the top bit
    } else {
        Out ignored;
        return __builtin_add_overflow(a, b, &ignored) ? top_bit<word> : word{0};
    }
}

template <class Out, class In>
std::make_unsigned_t<Out> product_wraps(Out a, In b)
{
    using word = std::make_unsigned_t<Out>;
    Out ignored;
    return __builtin_mul_overflow(a, b, &ignored) ? top_bit<word> : word{0};
}

// Calls f with the types of the elements, which may be bool, and of the results.
template <class F>
void with_types(upsweep_dtype in, upsweep_dtype out, const F& f)
{
    runtime::with_type(in, [&]<class In>(std::type_identity<In>) {
        runtime::with_type(out, [&]<class Out>(std::type_identity<Out>) {
            // What is neither zero nor one is no bool in memory, but readers give no others.
            if constexpr (std::is_same_v<In, bool> && is_integer_type<Out>)
                f(std::type_identity<std::uint8_t>{}, std::type_identity<Out>{});
            else if constexpr (is_integer_type<In> && is_integer_type<Out>)
                f(std::type_identity<In>{}, std::type_identity<Out>{});
        });
    });
}

std::string_view remedy_for(upsweep_dtype dtype)
{
    return upsweep_dtype_size(dtype) == sizeof(std::uint64_t)
               ? "give --out-dtype f64, or --wrap for results modulo 2^64"
               : "give a wider --out-dtype, or --wrap for results modulo a power of two";
}

} // namespace

bool is_integral(upsweep_dtype dtype)
{
    return runtime::with_type(dtype, []<class T>(std::type_identity<T>) { return std::is_integral_v<T>; });
}

bool store_integer(int128 number, upsweep_dtype dtype, scalar& value)
{
    return runtime::with_type(dtype, [&]<class T>(std::type_identity<T>) {
        if constexpr (is_integer_type<T>) {
            const auto stored = static_cast<T>(number);
            std::memcpy(&value, &stored, sizeof stored);
            return int128{stored} == number;
        } else {
            return false;
        }
    });
}

int128 integer_fold(upsweep_context& context, upsweep_op op, const upsweep_array& in, const std::string& file)
{
    upsweep_dtype type{};
    check(upsweep_reduce_dtype(op, in.dtype, &type), file);
    const std::int64_t one = 1;
    scalar value{};
    const upsweep_array out = upsweep_array_of(&value, type, &one);
    check(upsweep_reduce(&context, op, &in, &out), file);
    return runtime::with_type(type, [&]<class T>(std::type_identity<T>) -> int128 {
        if constexpr (std::is_integral_v<T>) {
            T typed;
            std::memcpy(&typed, &value, sizeof typed);
            return typed;
        } else {
            return 0;
        }
    });
}

void check_elements_fit(const input_chunk& chunk, upsweep_dtype from, upsweep_dtype to)
{
    with_types(from, to, [&]<class In, class Out>(std::type_identity<In>, std::type_identity<Out>) {
        if constexpr (!holds_all<In, Out>) {
            using word = std::make_unsigned_t<In>;
            const auto* const elements = static_cast<const In*>(chunk.elements);
            const auto wrong = first_with_top_bit<word>(chunk.count, [elements](std::uint64_t i) {
                Out ignored;
                return __builtin_add_overflow(elements[i], In{0}, &ignored) ? top_bit<word> : word{0};
            });
            if (wrong)
                throw failure(fmt::format("{}: {} does not fit {}; {}", chunk.place_of(*wrong), elements[*wrong],
                                          upsweep_dtype_name(to), remedy_for(to)));
        }
    });
}

scan_check::scan_check(upsweep_op op, bool exclusive, upsweep_dtype in, upsweep_dtype out, const scalar* init)
    : op_(op), exclusive_(exclusive), in_(in), out_(out), last_value_(op == UPSWEEP_MULTIPLIES ? 1 : 0)
{
    if (init == nullptr)
        return;
    runtime::with_type(out, [&]<class Out>(std::type_identity<Out>) {
        if constexpr (is_integer_type<Out>) {
            Out value;
            std::memcpy(&value, init, sizeof value);
            last_value_ = int128{value};
        }
    });
}

template <class In, class Out>
bool scan_check::cannot_wrap(std::uint64_t count) const
{
    if (op_ != UPSWEEP_PLUS)
        return false;
    // The element before the piece is one more of an exclusive scan.
    const int128 most = int128{count} + 1;
    return last_value_ + most * std::numeric_limits<In>::min() >= std::numeric_limits<Out>::min() &&
           last_value_ + most * std::numeric_limits<In>::max() <= std::numeric_limits<Out>::max();
}

template <class In, class Out>
std::optional<std::uint64_t> scan_check::first_wrapped(const In* elements, const Out* values, std::uint64_t count)
{
    using word = std::make_unsigned_t<Out>;
    if (cannot_wrap<In, Out>(count))
        return std::nullopt;

    // The first value follows one of the piece before.
    const bool follows = !exclusive_ || last_element_.has_value();
    const In element = exclusive_ ? static_cast<In>(last_element_.value_or(0)) : elements[0];
    const auto before = static_cast<Out>(last_value_);
    const auto wraps = [this](Out a, In b, Out value) {
        return op_ == UPSWEEP_PLUS ? sum_wraps(a, b, value) : product_wraps(a, b);
    };
    if (follows && (wraps(before, element, values[0]) & top_bit<word>) != 0)
        return 0;
    const In* const between = exclusive_ ? elements : elements + 1;
    const auto found =
        op_ == UPSWEEP_PLUS
            ? first_with_top_bit<word>(count - 1,
                                       [=](std::uint64_t i) { return sum_wraps(values[i], between[i], values[i + 1]); })
            : first_with_top_bit<word>(count - 1,
                                       [=](std::uint64_t i) { return product_wraps(values[i], between[i]); });
    return found ? std::optional(*found + 1) : std::nullopt;
}

void scan_check::feed(const input_chunk& chunk, std::uint64_t first, std::uint64_t count, const void* values)
{
    if (count == 0)
        return;
    with_types(in_, out_, [&]<class In, class Out>(std::type_identity<In>, std::type_identity<Out>) {
        const auto* const elements = static_cast<const In*>(chunk.elements) + first;
        const auto* const typed = static_cast<const Out*>(values);
        if (const auto wrapped = first_wrapped(elements, typed, count))
            throw failure(fmt::format("{}: the running {} does not fit {}; {}", chunk.place_of(first + *wrapped),
                                      op_ == UPSWEEP_PLUS ? "sum" : "product", upsweep_dtype_name(out_),
                                      remedy_for(out_)));
        last_value_ = int128{typed[count - 1]};
        if (exclusive_)
            last_element_ = int128{elements[count - 1]};
    });
}

} // namespace upsweep::cli
