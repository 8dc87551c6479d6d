// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <iterator>
#include <type_traits>

#include <upsweep/cpu/block.hpp>
#include <upsweep/cpu/reduce.hpp>
#include <upsweep/cpu/vector.hpp>
#include <upsweep/fold_order.hpp>
#include <upsweep/op.hpp>
#include <upsweep/qualifiers.hpp>

// Segments of few elements, and rows, which are segments of equal length, on one core: what costs time is not the elements but what has
// to be decided about each segment.
namespace upsweep::cpu_engine {

// Appends the total of Size elements if the binary digit of the count says so.
template <std::size_t Size, class Acc, class In, class Op>
UPSWEEP_ALWAYS_INLINE inline void fold_digit(Acc& fold, In& in, std::size_t count, const Op& op)
{
    if ((count & Size) == 0)
        return;
    const Acc total = block_total<Size, Acc>(in, op);
    fold = count >= 2 * Size ? op(fold, total) : total;
    in += Size;
}

inline constexpr std::size_t few_elements = 32; // for which a stack costs more than the elements

// Whether short segments are folded and scanned without branches on their lengths, which no processor guesses where they are random.
// Elements behind the segment are then read, and folded for nothing.
template <class Acc, class In, class Op>
inline constexpr bool reads_beyond = std::is_pointer_v<In>&& std::is_arithmetic_v<Acc> && !std::same_as<Acc, bool> &&
                                     detail::is_builtin<Op> && !detail::is_logical<Op>;
inline constexpr std::size_t most_without_branches = 128; // elements that are read so

// Sets a vector of four values, of which nvcc knows no list.
template <class V, class T>
UPSWEEP_ALWAYS_INLINE inline void set_vector(V& v, T a, T b, T c, T d)
{
    v[0] = a;
    v[1] = b;
    v[2] = c;
    v[3] = d;
}

// `before`, and then the totals of the blocks that the digits of count % Size stand for. The totals of all digits are computed, and those
// that the count has chosen by a mask; `nothing` is folded where it has none. Reads Size elements, 8 or 16.
template <std::size_t Size, class Acc, class In, class Op>
UPSWEEP_ALWAYS_INLINE inline Acc fold_last_digits(const Acc& before, In in, std::size_t count, const Acc& nothing,
                                                  const Op& op)
{
    typedef Acc digits __attribute__((vector_size(4 * sizeof(Acc))));
    typedef unsigned_t<Acc> masks __attribute__((vector_size(4 * sizeof(Acc))));
    const Acc identity = op.template identity<Acc>();
    digits totals{};
    digits none{};
    masks digit{};
    set_vector(totals, identity, block_total<4, Acc>(in + (count & (Size - 8)), op),
               block_total<2, Acc>(in + (count & (Size - 4)), op), load<Acc>(in, count & (Size - 2)));
    if constexpr (Size == 16)
        totals[0] = block_total<8, Acc>(in, op);
    set_vector(none, identity, identity, identity, count % Size == 0 ? nothing : identity);
    using word = unsigned_t<Acc>;
    set_vector(digit, word{8}, word{4}, word{2}, word{1});
    const masks has = (masks)(((masks{} + static_cast<unsigned_t<Acc>>(count)) & digit) != 0);
    const digits folded = (digits)((has & (masks)totals) | (~has & (masks)none));
    const Acc fold = Size == 16 ? op(before, folded[0]) : before;
    return op(op(op(fold, folded[1]), folded[2]), folded[3]);
}

// The fold of the elements of a segment. Most segments are short: their digits are taken one by one, without a stack.
template <class Acc, class In, class Op>
UPSWEEP_ALWAYS_INLINE inline Acc fold_of_segment(In in, std::size_t count, const Op& op)
{
    if (count == 0)
        return fold_of_nothing<Acc>(op);
    if (count < few_elements) {
        Acc fold = load<Acc>(in, 0);
        fold_digit<16>(fold, in, count, op);
        fold_digit<8>(fold, in, count, op);
        fold_digit<4>(fold, in, count, op);
        fold_digit<2>(fold, in, count, op);
        fold_digit<1>(fold, in, count, op);
        return fold;
    }
    fold_stack<Acc, Op> stack(op);
    fold_serially(stack, in, count, op);
    return stack.fold();
}

// The same where lengths are random and `readable` elements of the array begin here. `are_tiny`: whether most segments have fewer than
// eight elements.
template <class Acc, class In, class Op>
Acc fold_of_random_segment(In in, std::size_t count, std::size_t readable, bool are_tiny, const Op& op)
{
    if (count >= most_without_branches || readable < most_without_branches)
        return fold_of_segment<Acc>(in, count, op);
    const Acc identity = op.template identity<Acc>();
    if (are_tiny && count < 8)
        return fold_last_digits<8>(identity, in, count, fold_of_nothing<Acc>(op), op);
    Acc fold = identity;
    if (count >= 16) {
        fold_digit<64>(fold, in, count, op);
        fold_digit<32>(fold, in, count, op);
        fold_digit<16>(fold, in, count, op);
    }
    return fold_last_digits<16>(fold, in, count, count == 0 ? fold_of_nothing<Acc>(op) : identity, op);
}

// Writes the results of a segment of few elements. A binary counter of five digits holds the totals of the blocks that the digits stand
// for, and the folds up to the end of each.
template <scan_kind Kind, class Acc, class In, class Out, class Op>
UPSWEEP_ALWAYS_INLINE inline void scan_short_segment(In in, Out out, std::size_t count, const Op& op, const Acc* init)
{
    using result = std::iter_value_t<Out>;
    constexpr std::size_t digits = std::bit_width(few_elements - 1);
    const auto named = [&](const Acc& fold) { return as_result<result, Op>(init != nullptr ? op(*init, fold) : fold); };
    std::array<Acc, digits + 1> totals; // g++ does not know that so few elements have no more digits
    std::array<Acc, digits> folds;
    result before = as_result<result, Op>(init != nullptr ? *init : fold_of_nothing<Acc>(op));
    if (count == 1) {
        *out = Kind == scan_kind::inclusive ? named(load<Acc>(in, 0)) : before;
        return;
    }
    for (std::size_t i = 0; i < count; ++i) {
        Acc total = load<Acc>(in, i);
        std::size_t digit = 0;
        for (; (i >> digit & 1) != 0; ++digit)
            total = op(totals[digit], total);
        totals[digit] = total;
        const std::size_t above = i >> digit;
        const Acc fold =
            above == 0 ? total : op(folds[digit + static_cast<std::size_t>(std::countr_zero(above))], total);
        folds[digit] = fold;
        const result after = named(fold);
        out[static_cast<std::iter_difference_t<Out>>(i)] = Kind == scan_kind::inclusive ? after : before;
        before = after;
    }
}

// Writes the folds before each of Count elements, given the one before the first of them, and returns their total: both sweeps in
// registers.
template <std::size_t Count, class Acc, class Op>
UPSWEEP_ALWAYS_INLINE inline Acc scan_in_registers(const Acc* in, const Acc& before, Acc* folds, const Op& op)
{
    if constexpr (Count == 1) {
        const Acc element = *in;
        *folds = before;
        return element;
    } else {
        constexpr std::size_t half = Count / 2;
        const Acc left = scan_in_registers<half>(in, before, folds, op);
        return op(left, scan_in_registers<half>(in + half, op(before, left), folds + half, op));
    }
}

// Writes the results of a segment by a block of Size elements, whatever they are behind the segment. Of as many places of `out`, which may be `in`, those behind
// the segment keep what they have, or get what the segments there will replace.
template <scan_kind Kind, std::size_t Size, class Acc, class In, class Out, class Op>
void scan_block_of_segment(In in, Out out, std::size_t count, const Op& op)
{
    using result = std::iter_value_t<Out>;
    const Acc before = op.template identity<Acc>();
    std::array<Acc, Size> converted;
    std::array<Acc, Size + 1> all_folds; // before each element and after the last
    Acc* const folds = all_folds.data() + (Kind == scan_kind::inclusive ? 1 : 0);
    const Acc* const elements = load_block<Size>(in, converted.data());
    Acc end;
    bool has_nan = false;
    if constexpr (Size <= 16 && std::floating_point<Acc> && detail::is_arithmetic<Op>) {
        end = all_folds[Size] = scan_in_registers<Size>(elements, before, all_folds.data(), op);
        has_nan = any_nan<Size, Op>(folds);
    } else {
        block_scan<Size, Acc, Op> block;
        read_ahead nothing;
        end = block.up_sweep(elements, op, nothing);
        has_nan = block.template down_sweep<store_kind::cached>(Kind, before, end, folds, op);
    }
    if (has_nan || detail::is_nan_of<Op>(end))
        std::transform(folds, folds + Size, folds, as_result<Acc, Op, Acc>);
    if (Kind == scan_kind::exclusive)
        folds[0] = fold_of_nothing<Acc>(op);
    if (static_cast<const void*>(in) == static_cast<const void*>(out))
        for (std::size_t i = 0; i < Size; ++i)
            out[i] = i < count ? convert<result>(folds[i]) : out[i];
    else
        for (std::size_t i = 0; i < Size; ++i)
            out[i] = convert<result>(folds[i]);
}

// The same for at most most_without_branches elements, where as many can be read and written.
template <scan_kind Kind, class Acc, class In, class Out, class Op>
void scan_as_block(In in, Out out, std::size_t count, const Op& op)
{
    if (count <= 4)
        scan_block_of_segment<Kind, 4, Acc>(in, out, count, op);
    else if (count <= 16)
        scan_block_of_segment<Kind, 16, Acc>(in, out, count, op);
    else if (count <= 32)
        scan_block_of_segment<Kind, 32, Acc>(in, out, count, op);
    else if (count <= 64)
        scan_block_of_segment<Kind, 64, Acc>(in, out, count, op);
    else
        scan_block_of_segment<Kind, 128, Acc>(in, out, count, op);
}

} // namespace upsweep::cpu_engine
