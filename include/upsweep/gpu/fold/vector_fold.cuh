// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstring>
#include <iterator>
#include <type_traits>

#include <upsweep/fold_order.hpp>
#include <upsweep/gpu/fold/packed.cuh>
#include <upsweep/gpu/primitive/vector.cuh>
#include <upsweep/gpu/primitive/warp.cuh>
#include <upsweep/gpu/source/array.cuh>
#include <upsweep/op.hpp>

// What a lane makes of a vector of elements, its total or its results in a scan, and how a warp loads and stores its
// warp tile.
namespace upsweep::gpu {

// --- reduce ---------------------------------------------------------------------------------------------------------

// Whether every order of the operands gives the same bits, so that the cheapest may be taken.
template <class Op, class Acc>
inline constexpr bool is_any_order = detail::is_exact<Op, Acc> ||
                                     (detail::is_extremum<Op> && std::is_floating_point_v<Acc>);

// The type in which a lane adds up its elements of a warp tile: sums of narrow integers fit into 32 bits there.
template <class Op, class Acc, class T>
using lane_accumulator_t =
    std::conditional_t<std::is_same_v<Op, plus> && std::is_integral_v<T> && sizeof(T) <= 2,
                       std::conditional_t<std::is_signed_v<T>, std::int32_t, std::uint32_t>, Acc>;

// The total of a vector, in the type in which a lane adds up where any order will do.
template <class Acc, class T, int Count, class Op>
__device__ auto vector_total(const lane_vector<T, Count>& vector, const Op& op)
{
    using partial = std::conditional_t<is_any_order<Op, Acc>, lane_accumulator_t<Op, Acc, T>, Acc>;
    if constexpr (!std::is_same_v<partial, Acc> && sizeof(T) == 1) {
        return add_bytes(vector.memory, partial{});
    } else if constexpr (std::is_same_v<partial, Acc> && std::is_same_v<T, Acc> && is_packed<Op, Acc> &&
                         sizeof(vector.memory) == sizeof(uint4)) {
        return static_cast<Acc>(packed_total<T, Op>(vector.memory));
    } else {
        partial values[Count];
#pragma unroll
        for (int j = 0; j < Count; ++j)
            values[j] = convert<partial>(vector[j]);
        return lane_total<Count>(values, op);
    }
}

// --- scan -----------------------------------------------------------------------------------------------------------

// What a scan begins with.
template <class Acc>
struct scan_start {
    Acc before;    // the fold of the elements before the first one, or the identity
    Acc first;     // the first result of an exclusive scan
    bool has_init; // whether the result is init (+) the fold, where init is `first`
    bool is_piece; // whether there are elements before the first one
};

// Makes results of the vectors of a lane.
template <int Elements, scan_kind Kind, class Acc, class Source, class Out, class Op>
struct vector_scan {
    using element = std::iter_value_t<Source>;
    using result = std::iter_value_t<Out>;
    // Whether narrow integers are folded word by word.
    static constexpr bool packed = is_packed<Op, element> && std::is_same_v<result, element> &&
                                   std::is_same_v<Acc, word_accumulator_t<Op, element>> &&
                                   has_words<Elements, Source> && has_words<Elements, Out>;
    Op op;
    scan_start<Acc> start;

    __device__ Acc total(const lane_vector<element, Elements>& vector) const
    {
        if constexpr (packed) {
            return packed_total<element, Op>(vector.memory);
        } else {
            Acc values[Elements];
            convert_all(vector, values);
            return lane_total<Elements>(values, op);
        }
    }

    // The results, where `before` is the fold of all elements before the vector, and `after` that of those up to its
    // end.
    __device__ lane_vector<result, Elements> results(const lane_vector<element, Elements>& vector, const Acc& before,
                                                     const Acc& after, bool is_first) const
    {
        if constexpr (packed) {
            return {packed_scan<element, Kind, Op>(vector.memory, static_cast<element>(after_init(before)))};
        } else {
            Acc values[Elements];
            Acc folds[Elements + 1]; // before each element, and after the last
            convert_all(vector, values);
            lane_folds<Elements>(before, values, folds, op);
            folds[Elements] = after;
            typename lane_vector<result, Elements>::elements all;
#pragma unroll
            for (int j = 0; j < Elements; ++j)
                all.element[j] = convert<result>(after_init(folds[Kind == scan_kind::inclusive ? j + 1 : j]));
            if constexpr (detail::keeps_nan<Op, Acc>)
                name_nan(folds, all.element);
            if constexpr (Kind == scan_kind::exclusive)
                if (is_first && !start.is_piece)
                    all.element[0] = as_result<result, Op>(start.first);
            lane_vector<result, Elements> packed_results;
            std::memcpy(static_cast<void*>(&packed_results.memory), &all, sizeof(all));
            return packed_results;
        }
    }

private:
    __device__ static void convert_all(const lane_vector<element, Elements>& vector, Acc (&values)[Elements])
    {
#pragma unroll
        for (int j = 0; j < Elements; ++j)
            values[j] = convert<Acc>(vector[j]);
    }

    // Gives NaN its one pattern. It stays in the folds after it, so that the last one tells whether there is any.
    __device__ void name_nan(const Acc (&folds)[Elements + 1], result (&results)[Elements]) const
    {
        if (!detail::is_nan_of<Op>(after_init(folds[Elements])))
            return;
#pragma unroll
        for (int j = 0; j < Elements; ++j)
            results[j] = as_result<result, Op>(after_init(folds[Kind == scan_kind::inclusive ? j + 1 : j]));
    }

    // init (+) a fold, where an exclusive scan has an init.
    __device__ Acc after_init(const Acc& fold) const
    {
        if constexpr (Kind == scan_kind::exclusive)
            if (start.has_init)
                return op(start.first, fold);
        return fold;
    }
};

// --- warp tiles -----------------------------------------------------------------------------------------------------

// A warp loads and stores its warp tile at the full width of memory, in the striped arrangement of vector.cuh. The warp
// tile begins at element `first`, and the tile of the block at element `tile`. In place of a vector behind the end of
// the array a lane loads the first vector of the tile: the results of a scan do not depend on what follows the end.
template <class Source, class T, int Count, int Rows>
__device__ void load_striped(Source in, unsigned first, unsigned tile, unsigned count,
                             lane_vector<T, Count> (&vectors)[Rows])
{
    const unsigned mine = first + static_cast<unsigned>(lane_id() * Count);
    const bool has_whole = is_aligned<Count>(in) && tile + Count <= count;
    if (has_whole)
#pragma unroll
        for (int r = 0; r < Rows; ++r) {
            const unsigned from = mine + r * Count * lanes;
            vectors[r] = load_vector<Count>(in + (from + Count <= count ? from : tile));
        }
    if (!has_whole || count % Count != 0)
#pragma unroll
        for (int r = 0; r < Rows; ++r) {
            const unsigned from = mine + r * Count * lanes;
            if (has_whole && (from >= count || from + Count <= count))
                continue;
            vectors[r] = gather_within<Count>(in, count, from);
        }
}

template <class Out, class T, int Count, int Rows>
__device__ void store_striped(Out out, unsigned first, unsigned count, const lane_vector<T, Count> (&vectors)[Rows])
{
    const bool aligned = is_aligned<Count>(out);
#pragma unroll
    for (int r = 0; r < Rows; ++r) {
        const unsigned to = first + static_cast<unsigned>((r * lanes + lane_id()) * Count);
        if constexpr (may_have_words<Count, Out>) {
            if (aligned && to + Count <= count) {
                store_vector<Count>(address_of(out + to), vectors[r]);
                continue;
            }
        }
        scatter_within<Count>(out, count, to, vectors[r]);
    }
}

} // namespace upsweep::gpu
