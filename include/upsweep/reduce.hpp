// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <utility>

#include <upsweep/cpu/reduce.hpp>
#include <upsweep/fold_order.hpp>
#include <upsweep/op.hpp>
#include <upsweep/range.hpp>
#include <upsweep/target.hpp>
#include <upsweep/verb/reduce.hpp>

#ifdef __CUDACC__
#include <upsweep/gpu/fold/reduce.cuh>
#include <upsweep/gpu/streaming/reducer.cuh>
#endif

// Arrays that come in pieces, for every target. engine<Target, verb::reducer> has
//
//     template <class T, class Acc, class Op>
//     class state;        // constructed from a target and an operator
//         void feed(In first, std::size_t count);
//         std::uint64_t count() const;
//         Acc fold() const;
namespace upsweep {

// Folds an array that comes in pieces, to the same bits as in one piece.
//
//     up::reducer<float, up::plus> sum(up::cpu{});
//     while (read(piece)) sum.feed(piece);
//     float total = sum.result();
//
// On a GPU (up::reducer<float, up::plus, up::cuda>) the pieces may lie in memory of the host, of any length: they are
// gathered, copied and folded in chunks, which take up to 64 MiB of the GPU's memory, and as much page-locked memory of
// the host, from the first of them on. Pieces in memory of the GPU are folded where they lie, in order of the target's
// stream. When feed returns, a piece has been read.
template <class T, class Op = plus, target Target = cpu>
class reducer {
    using state_t = typename detail::engine<Target, detail::verb::reducer>::template state<
        T, typename detail::reduce_accumulator<Op, T>::type, Op>;

public:
    using accumulator = typename detail::reduce_accumulator<Op, T>::type;

    explicit reducer(Target target, Op op = {}) : state_(std::move(target), std::move(op)) {}

    // Appends elements. Reads each once, on a CPU by all threads of the target.
    template <input_range R>
    void feed(R&& in)
    {
        state_.feed(detail::first_of(in), detail::size_of(in));
    }

    // How many elements have been fed.
    std::uint64_t count() const { return state_.count(); }

    // The fold of everything that has been fed so far; of nothing, as up::reduce says.
    result_t<Op, T> result() const
    {
        detail::check_fold_exists<Op>(count());
        return as_result<result_t<Op, T>, Op>(state_.fold());
    }

    // Limits how much of a GPU's memory the elements on their way take. To be called before the first ones are fed.
    void limit_gpu_memory(std::uint64_t bytes) requires requires(state_t& state) { state.limit_memory(bytes); }
    {
        state_.limit_memory(bytes);
    }

private:
    state_t state_;
};

} // namespace upsweep
