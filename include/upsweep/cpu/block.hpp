// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <type_traits>

#include <upsweep/cpu/half.hpp>
#include <upsweep/cpu/vector.hpp>
#include <upsweep/op.hpp>

// One aligned block of 2^k elements on one core. The loops are plain C++ with constant trip counts over arrays that do not
// alias, which compilers turn into vector code of any width; the order of the operands does not depend on that width.
namespace upsweep::cpu_engine {

// Elements of the largest block whose up-sweep is kept in the first-level cache: 1024 unless elements are large.
template <class Acc>
inline constexpr std::size_t block_size = std::bit_floor(std::clamp<std::size_t>(8192 / sizeof(Acc), 2, 1024));

// A small block for the remainders, so that an array of a thousand elements does not run element by element.
template <class Acc>
inline constexpr std::size_t small_block_size = std::min<std::size_t>(32, block_size<Acc> / 2);

// Element i as the accumulator; what `in` gives may be a proxy of its value type.
template <class Acc, std::random_access_iterator In>
inline Acc load(In in, std::size_t i)
{
    return convert<Acc>(static_cast<std::iter_value_t<In>>(in[static_cast<std::iter_difference_t<In>>(i)]));
}

// The next Count elements as accumulators: where they lie if they are that already, else converted into the buffer.
template <std::size_t Count, class Acc, class In>
inline const Acc* load_block(In in, Acc* __restrict buffer)
{
    if constexpr (std::is_pointer_v<In> && std::same_as<std::iter_value_t<In>, Acc>) {
        return in;
    } else if constexpr (std::is_pointer_v<In> && std::same_as<std::iter_value_t<In>, f16> && std::same_as<Acc, float>) {
        widen<Count>(in, buffer);
        return buffer;
    } else {
        for (std::size_t j = 0; j < Count; ++j)
            buffer[j] = load<Acc>(in, j);
        return buffer;
    }
}

// Whether the bottom levels of Count elements fill squares of vectors.
template <std::size_t Count, class Acc, class Op>
inline constexpr bool has_squares = [] {
    if constexpr (is_vector_monoid<Op, Acc>)
        return Count >= square<Acc>::elements;
    else
        return false;
}();

// One level of the up-sweep: out[j] = in[2j] (+) in[2j + 1].
template <std::size_t Count, class Acc, class Op>
inline void fold_pairs(const Acc* __restrict in, Acc* __restrict out, const Op& op)
{
    for (std::size_t j = 0; j < Count / 2; ++j)
        out[j] = op(in[2 * j], in[2 * j + 1]);
}

template <std::size_t Count, class Acc, class Op>
inline Acc fold_levels(const Acc* in, Acc* out, Acc* other, const Op& op)
{
    if constexpr (Count == 1) {
        return in[0];
    } else if constexpr (has_squares<Count, Acc, Op>) {
        using rows = square<Acc>;
        std::array<Acc, rows::elements> lefts; // not needed for a total
        for (std::size_t i = 0; i < Count; i += rows::elements)
            store_vector<Acc>(rows::template up_sweep<Op>(in + i, lefts.data()), out + i / rows::side);
        return fold_levels<Count / rows::side>(static_cast<const Acc*>(out), other, out, op);
    } else {
        fold_pairs<Count>(in, out, op);
        return fold_levels<Count / 2>(static_cast<const Acc*>(out), other, out, op);
    }
}

// The type of a column: the accumulator, or an integer of twice the element's size.
template <class Element, class Acc, bool Narrow>
struct narrow_column {
    using type = Acc;
};
template <class Element, class Acc>
struct narrow_column<Element, Acc, true> {
    using unsigned_type = std::conditional_t<sizeof(Element) == 1, std::uint16_t, std::uint32_t>;
    using type = std::conditional_t<std::signed_integral<Element>, std::make_signed_t<unsigned_type>, unsigned_type>;
};

// Where any order gives the same bits: columns accumulate down the rows, one operation an element and no shuffles.
template <std::size_t Count, class Acc, class In, class Op>
inline Acc fold_columns(In in, const Op& op)
{
    // The sum of one column of one block fits twice the bits of a narrow element, which makes the most of a vector's lanes.
    using element = std::iter_value_t<In>;
    constexpr bool narrow = std::same_as<Op, plus> && sizeof(element) <= 2 && !std::same_as<element, bool>;
    using column = typename narrow_column<element, Acc, narrow>::type;

    Acc total = op.template identity<Acc>();
    if constexpr (has_vector_columns<Count, column, Op>) {
        std::array<column, Count> buffer;
        for (column value : vector_columns<Op, column, Count>(load_block<Count>(in, buffer.data())))
            total = op(total, static_cast<Acc>(value));
    } else {
        for (std::size_t j = 0; j < Count; ++j)
            total = op(total, load<Acc>(in, j));
    }
    return total;
}

// The total of `Count` elements in the canonical order.
template <std::size_t Count, class Acc, class In, class Op>
inline Acc block_total(In in, const Op& op)
{
    if constexpr (detail::is_exact<Op, Acc>) {
        return fold_columns<Count, Acc>(in, op);
    } else {
        std::array<Acc, Count> buffer;
        std::array<Acc, Count / 2> totals;
        return fold_levels<Count>(load_block<Count>(in, buffer.data()), totals.data(), buffer.data(), op);
    }
}

// The scan of one block in two sweeps over levels that stay in the first-level cache. up_sweep returns the block's total;
// down_sweep needs the fold of all elements before the block.
template <std::size_t Count, class Acc>
class block_scan {
public:
    template <class Op>
    Acc up_sweep(const Acc* in, const Op& op)
    {
        return up_levels<Count>(in, totals_.data(), scratch_.data(), op);
    }

    // out[i] = the fold before element i, by way of folds before ever smaller blocks: a left child has its parent's fold, a
    // right child has that (+) the total of its left sibling.
    template <class Op>
    void down_sweep(const Acc& before, Acc* out, const Op& op)
    {
        down_levels<Count>(before, out, totals_.data(), scratch_.data(), op);
    }

private:
    // The totals of the left children among Size blocks: all that the down-sweep needs to know of a level. A level's part
    // of the array ends where that of the next begins.
    template <std::size_t Size>
    Acc* lefts_of()
    {
        return lefts_.data() + (Count - Size);
    }

    template <std::size_t Size, class Op>
    Acc up_levels(const Acc* in, Acc* out, Acc* other, const Op& op)
    {
        if constexpr (Size == 1) {
            return in[0];
        } else if constexpr (has_squares<Size, Acc, Op>) {
            using rows = square<Acc>;
            Acc* lefts = lefts_of<Size>();
            for (std::size_t i = 0; i < Size; i += rows::elements, lefts += rows::elements - rows::side)
                store_vector<Acc>(rows::template up_sweep<Op>(in + i, lefts), out + i / rows::side);
            return up_levels<Size / rows::side>(static_cast<const Acc*>(out), other, out, op);
        } else {
            up_level<Size>(in, lefts_of<Size>(), out, op);
            return up_levels<Size / 2>(static_cast<const Acc*>(out), other, out, op);
        }
    }

    template <std::size_t Size, class Op>
    static void up_level(const Acc* __restrict in, Acc* __restrict lefts, Acc* __restrict totals, const Op& op)
    {
        for (std::size_t j = 0; j < Size / 2; ++j) {
            const Acc left = in[2 * j];
            const Acc right = in[2 * j + 1];
            lefts[j] = left;
            totals[j] = op(left, right);
        }
    }

    // Writes the folds before each of the Size blocks of a level to `out`.
    template <std::size_t Size, class Op>
    void down_levels(const Acc& before, Acc* out, Acc* other, Acc* another, const Op& op)
    {
        if constexpr (Size == 1) {
            out[0] = before;
        } else if constexpr (has_squares<Size, Acc, Op>) {
            using rows = square<Acc>;
            down_levels<Size / rows::side>(before, other, another, out, op);
            const Acc* lefts = lefts_of<Size>();
            for (std::size_t i = 0; i < Size; i += rows::elements, lefts += rows::elements - rows::side)
                rows::template down_sweep<Op>(load_vector(other + i / rows::side), lefts, out + i);
        } else {
            down_levels<Size / 2>(before, other, another, out, op);
            down_level<Size>(static_cast<const Acc*>(other), lefts_of<Size>(), out, op);
        }
    }

    template <std::size_t Size, class Op>
    static void down_level(const Acc* __restrict parents, const Acc* __restrict lefts, Acc* __restrict out, const Op& op)
    {
        for (std::size_t j = 0; j < Size / 2; ++j) {
            out[2 * j] = parents[j];
            out[2 * j + 1] = op(parents[j], lefts[j]);
        }
    }

    std::array<Acc, Count> lefts_;
    std::array<Acc, Count / 2> totals_;
    std::array<Acc, Count / 2> scratch_;
};

} // namespace upsweep::cpu_engine
