// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <type_traits>

#include "../fold.hpp"
#include "../streaming.cuh"

// All kernels of libupsweep that fold in one type. The files of this folder include it, and no others.
namespace upsweep::runtime::gpu {

// Which operators there are for elements that are folded as Acc (fold_of in engine.cu).
template <class Acc, class Op>
inline constexpr bool folds_by =
    detail::is_arithmetic<Op> || detail::is_extremum<Op> || std::is_same_v<Op, log_sum_exp>;
template <class Op>
inline constexpr bool folds_by<bool, Op> = detail::is_logical<Op> || std::is_same_v<Op, bit_xor>;
template <class Op>
inline constexpr bool folds_by<std::int64_t, Op> = detail::is_extremum<Op>;
template <class Op>
inline constexpr bool folds_by<std::uint64_t, Op> = !detail::is_logical<Op> && !std::is_same_v<Op, log_sum_exp>;

template <class Acc>
std::unique_ptr<any_reducer> make_reducer_in(upsweep_op op, const reduce_request& request)
{
    return with_op(op, [&]<class Op>(Op) -> std::unique_ptr<any_reducer> {
        if constexpr (folds_by<Acc, Op>)
            return std::make_unique<chunk_reducer<Acc, Op>>(request);
        else
            return nullptr;
    });
}

template <class Acc>
std::unique_ptr<any_scanner> make_scanner_in(upsweep_op op, const scan_request& request)
{
    return with_op(op, [&]<class Op>(Op) -> std::unique_ptr<any_scanner> {
        if constexpr (folds_by<Acc, Op>)
            return std::make_unique<block_scanner<Acc, Op>>(request);
        else
            return nullptr;
    });
}

} // namespace upsweep::runtime::gpu

#define UPSWEEP_FOLD_IN(Acc)                                                                                           \
    template std::unique_ptr<upsweep::runtime::any_reducer> upsweep::runtime::gpu::make_reducer_in<Acc>(               \
        upsweep_op, const reduce_request&);                                                                            \
    template std::unique_ptr<upsweep::runtime::any_scanner> upsweep::runtime::gpu::make_scanner_in<Acc>(               \
        upsweep_op, const scan_request&)
