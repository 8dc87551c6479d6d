// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <type_traits>

#include <upsweep/fold_order.hpp>
#include <upsweep/gpu/primitive/warp.cuh>
#include <upsweep/op.hpp>

// What scans of lines, segments and runs make of folds.
namespace upsweep::gpu {

// Whether they are exclusive, and what each of them begins with. A kernel that asks when it runs serves both kinds, since what differs is which of two
// folds a lane writes. Kernels that are as fast as their code is short have the answers as constants, of type std::bool_constant.
template <class Acc, class HasInit = bool, class IsExclusive = bool>
struct line_start {
    Acc first;        // the first result of an exclusive scan
    HasInit has_init; // whether a result is init (+) a fold, where init is `first`
    IsExclusive is_exclusive;

    // How far a result lies before the fold of all elements before one: at that element, or at the one before it.
    __device__ int rows_ahead() const { return is_exclusive ? 0 : 1; }

    // The result that goes with a fold. Of an exclusive scan that is the fold of the elements before one, which may be the first.
    template <class Result, class Op>
    __device__ Result result_of(const Acc& fold, bool is_first, const Op& op) const
    {
        Acc result = fold;
        if (has_init)
            result = op(first, fold);
        return as_result<Result, Op>(first_or(result, is_first));
    }
    // The same at an element, of the folds before it and with it.
    template <class Result, class Op>
    __device__ Result result_at(const Acc& before, const Acc& with, bool is_first, const Op& op) const
    {
        if constexpr (std::is_same_v<IsExclusive, std::false_type>)
            return as_result<Result, Op>(with); // by way of a copy, scans of short segments take up to 9 % longer
        else
            return result_of<Result>(first_or(before, with, false), is_first, op);
    }

    // Both in two steps, where one question for all folds of a lane takes fewer registers than one for each: the init comes before the folds, and
    // then a fold is chosen for each element.
    template <int Count, class Op>
    __device__ void put_init(Acc (&folds)[Count], const Op& op) const
    {
        if (!has_init)
            return;
#pragma unroll
        for (int j = 0; j < Count; ++j)
            folds[j] = op(first, folds[j]);
    }
    __device__ Acc first_or(const Acc& fold, bool is_first) const
    {
        Acc result = fold;
        replace_if(is_exclusive && is_first, result, first);
        return result;
    }
    __device__ Acc first_or(const Acc& before, const Acc& with, bool is_first) const
    {
        Acc fold = with;
        replace_if(is_exclusive, fold, before);
        return first_or(fold, is_first);
    }
};

// `init` may be null.
template <class Acc, class Op>
line_start<Acc> start_of_lines(scan_kind kind, const Op& op, const Acc* init)
{
    return {init != nullptr ? *init : fold_of_nothing<Acc>(op), init != nullptr, kind == scan_kind::exclusive};
}

// Of a kind that is a constant. An inclusive scan has no init.
template <scan_kind Kind, class Acc, class Op>
auto start_of_segments(const Op& op, const Acc* init)
{
    const Acc first = init != nullptr ? *init : fold_of_nothing<Acc>(op);
    if constexpr (Kind == scan_kind::exclusive)
        return line_start<Acc, bool, std::true_type>{first, init != nullptr, {}};
    else
        return line_start<Acc, std::false_type, std::false_type>{first, {}, {}};
}

} // namespace upsweep::gpu
