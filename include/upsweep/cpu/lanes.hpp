// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>

#include <upsweep/cpu/vector.hpp>
#include <upsweep/fold_order.hpp>
#include <upsweep/op.hpp>

// Many lines of one length, folded in lockstep. Elements of the same number, one of each line, are a row; a line is a lane. All lanes
// have folded equally many elements, so that one binary counter serves them all, and its digits are rows of totals.
namespace upsweep::cpu_engine {

// Lanes that one loop folds: a few vectors, so that the loop has something to do, but so few that the rows of a block stay in the
// first-level cache.
template <class Acc>
inline constexpr std::size_t unit_lanes = std::max<std::size_t>(1, std::bit_floor(512 / sizeof(Acc)));

// Rows that are folded at once.
inline constexpr std::size_t rows_at_once = 8;

// Whether the operator can be applied to vectors of lanes.
template <class Op, class Acc>
inline constexpr bool has_vector_lanes =
    is_vector_monoid<Op, Acc> || (std::integral<Acc> && !std::same_as<Acc, bool> && detail::is_builtin<Op> &&
                                  !detail::is_logical<Op>);

// What the loops over lanes take at a time: a vector of accumulators, or one.
template <class Op, class Acc>
struct lane_group {
    using type = Acc;
    static constexpr std::size_t lanes = 1;

    UPSWEEP_ALWAYS_INLINE static type load(const Acc* from) { return *from; }
    template <store_kind>
    UPSWEEP_ALWAYS_INLINE static void store(const type& group, Acc* to)
    {
        *to = group;
    }
    UPSWEEP_ALWAYS_INLINE static type fold(const Op& op, const type& a, const type& b) { return op(a, b); }
};
template <class Op, class Acc>
    requires has_vector_lanes<Op, Acc>
struct lane_group<Op, Acc> {
    using type = vector_t<Acc>;
    static constexpr std::size_t lanes = vector_bytes / sizeof(Acc);

    UPSWEEP_ALWAYS_INLINE static type load(const Acc* from) { return load_vector(from); }
    template <store_kind Store>
    UPSWEEP_ALWAYS_INLINE static void store(type group, Acc* to)
    {
        store_vector<Acc, Store>(group, to);
    }
    UPSWEEP_ALWAYS_INLINE static type fold(const Op&, type a, type b) { return apply<Op, Acc>(a, b); }
};

// NaN has one pattern of bits in results.
template <class Op, class Acc>
UPSWEEP_ALWAYS_INLINE inline auto named_nan(typename lane_group<Op, Acc>::type fold)
{
    if constexpr (detail::keeps_nan<Op, Acc>) {
        const typename lane_group<Op, Acc>::type nan = detail::quiet_nan<Acc>() - typename lane_group<Op, Acc>::type{};
        return fold != fold ? nan : fold;
    } else {
        return fold;
    }
}

// Rows of lanes: the first of them, and how much further the next one lies.
template <class Acc>
struct lane_rows {
    const Acc* first;
    std::ptrdiff_t step;

    const Acc* row(std::size_t r) const { return first + static_cast<std::ptrdiff_t>(r) * step; }
};

// The total of `Rows` elements, which is a power of two, of each lane of a group.
template <std::size_t Rows, class Op, class Group>
UPSWEEP_ALWAYS_INLINE inline Group total_of(const Group* elements, const Op& op)
{
    if constexpr (Rows == 1)
        return elements[0];
}

} // namespace upsweep::cpu_engine
