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

// What a lane makes of a vector of elements: its total, or its results in a scan.
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

// The type in which some elements are folded, fewer than 2^16, before their total is an accumulator.
template <class Op, class Acc, class T>
struct element_of_few {
    using type = std::conditional_t<is_any_order<Op, Acc>, lane_accumulator_t<Op, Acc, T>, Acc>;
};
template <class Op, class Acc, class T>
using element_of_few_t = typename element_of_few<Op, Acc, T>::type;

// The type of an element of a whole vector. Elements that are accumulators already may be totals of any number of elements.
template <class Op, class Acc, class T>
using vector_element_t =
    std::conditional_t<std::is_same_v<T, Acc>, Acc, typename detail::element_of_block<Op, Acc>::type>;

// The total of a vector, in the type in which a lane adds up where any order will do.
template <class Acc, class T, int Count, class Op>
__device__ auto vector_total(const lane_vector<T, Count>& vector, const Op& op)
{
    using partial =
        std::conditional_t<is_any_order<Op, Acc>, lane_accumulator_t<Op, Acc, T>, vector_element_t<Op, Acc, T>>;
    if constexpr (is_any_order<Op, Acc> && !std::is_same_v<partial, Acc> && sizeof(T) == 1) {
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

// Gives NaN in the results of a lane its one pattern, where a sum with `nan` is NaN if any of them is. The lanes of a warp call this together, and
// mostly none has any: a branch that all of them take costs less than conditional moves.
template <class Op, class Acc, class Result, int Elements, int Rows>
__device__ void name_nan([[maybe_unused]] const Acc& nan,
                         [[maybe_unused]] lane_vector<Result, Elements> (&results)[Rows])
{
    if constexpr (detail::keeps_nan<Op, Acc>) {
        if (__any_sync(all_lanes, nan != nan ? 1 : 0) == 0)
            return;
#pragma unroll
        for (int r = 0; r < Rows; ++r) {
            typename lane_vector<Result, Elements>::elements all;
#pragma unroll
            for (int j = 0; j < Elements; ++j)
                all.element[j] = as_result<Result, Op>(convert<Acc>(results[r][j]));
            results[r] = lane_vector<Result, Elements>::of(all);
        }
    }
}

// Makes results of the vectors of a lane.
template <int Elements, scan_kind Kind, class Acc, class Source, class Out, class Op>
struct vector_scan {
    using element = std::iter_value_t<Source>;
    using result = std::iter_value_t<Out>;
    // Whether narrow integers are folded word by word.
    using form = packed_form<Op, element>;
    static constexpr bool packed = form::exists && std::is_same_v<result, element> &&
                                   std::is_same_v<Acc, typename form::accumulator> && has_words<Elements, Source> &&
                                   has_words<Elements, Out>;
    Op op;
    scan_start<Acc> start;

    __device__ Acc total(const lane_vector<element, Elements>& vector) const
    {
        if constexpr (packed) {
            return form::total(vector.memory);
        } else {
            Acc values[Elements];
            convert_all(vector, values);
            return lane_total<Elements>(values, op);
        }
    }

    // The results, where `before` is the fold of all elements before the vector, and `after` that of those up to its
    // end. NaN has any pattern of bits; `nan` becomes NaN if there may be any.
    __device__ lane_vector<result, Elements> results(const lane_vector<element, Elements>& vector, const Acc& before,
                                                     const Acc& after, bool is_first, Acc& nan) const
    {
        if constexpr (packed) {
            return {form::template scan<Kind>(vector.memory, after_init(before))};
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
            note_nan(folds, nan);
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

    // Where the operator makes no NaN, the last fold tells whether there is any among the others, and else their sum, which is
    // NaN also where infinities of both signs are.
    __device__ void note_nan([[maybe_unused]] const Acc (&folds)[Elements + 1], [[maybe_unused]] Acc& nan) const
    {
        if constexpr (detail::keeps_nan<Op, Acc>) {
#pragma unroll
            for (int j = 0; j <= Elements; ++j)
                if (j == Elements || (detail::makes_nan<Op, Acc> && (j > 0 || Kind == scan_kind::exclusive)))
                    nan += after_init(folds[j]);
        }
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

} // namespace upsweep::gpu
