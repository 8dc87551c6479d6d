// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstring>
#include <type_traits>

#include <upsweep/fold_order.hpp>
#include <upsweep/gpu/fold/packed.cuh>
#include <upsweep/gpu/primitive/vector.cuh>
#include <upsweep/gpu/primitive/warp.cuh>
#include <upsweep/gpu/source/array.cuh>
#include <upsweep/op.hpp>

// Scan within a lane: a vector of elements becomes one of results.
namespace upsweep::gpu {

// What lies before the first element.
template <class Acc>
struct scan_start {
    Acc before;    // the fold of earlier elements, or the identity
    Acc first;     // what the exclusive scan of an array begins with
    bool has_init; // whether that is put before every result
    bool is_piece; // whether there are earlier elements
};

// From the vectors of a lane to its results.
template <int Elements, scan_kind Kind, class Acc, class In, class Out, class Op>
struct vector_scan {
    using element = std::iter_value_t<In>;
    using result = std::iter_value_t<Out>;
    // Whether sums of narrow integers go word by word.
    static constexpr bool packed = is_packed<Op, Acc> && std::is_same_v<element, Acc> && std::is_same_v<result, Acc> &&
                                   has_words<Elements, In> && has_words<Elements, Out>;
    Op op;
    scan_start<Acc> start;

    __device__ Acc total(const lane_vector<element, Elements>& vector) const
    {
        if constexpr (packed) {
            return packed_total<Acc>(vector.memory);
        } else {
            Acc values[Elements];
            convert_all(vector, values);
            return lane_total<Elements>(values, op);
        }
    }

    // The results, where `before` is the fold of all elements before the vector, and `after` that of those up to its end.
    __device__ lane_vector<result, Elements> results(const lane_vector<element, Elements>& vector, const Acc& before,
                                                     const Acc& after, bool is_first) const
    {
        if constexpr (packed) {
            return {packed_scan<Acc, Kind>(vector.memory, after_init(before))};
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
            if constexpr (Kind == scan_kind::exclusive)
                if (is_first && !start.is_piece)
                    all.element[0] = convert<result>(start.first);
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
