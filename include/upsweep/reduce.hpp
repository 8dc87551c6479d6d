// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <upsweep/cpu/reduce.hpp>
#include <upsweep/fold_order.hpp>
#include <upsweep/op.hpp>
#include <upsweep/range.hpp>
#include <upsweep/target.hpp>
#include <upsweep/verb/reduce.hpp>

#ifdef __CUDACC__
#include <upsweep/gpu/fold/reduce.cuh>
#endif

namespace upsweep {

// Folds an array that comes in pieces, to the same bits as in one piece.
//
//     up::reducer<float, up::plus> sum(up::cpu{});
//     while (read(piece)) sum.feed(piece);
//     float total = sum.result();
template <class T, class Op = plus>
class reducer {
public:
    using accumulator = typename detail::reduce_accumulator<Op, T>::type;

    explicit reducer(cpu target, Op op = {}) : target_(target), op_(op), stack_(op) {}

    // Appends elements. Reads each once, on all threads of the target.
    template <input_range R>
    void feed(R&& in)
    {
        cpu_engine::fold_onto(target_, stack_, detail::first_of(in), detail::size_of(in), op_);
    }

    // How many elements have been fed.
    std::uint64_t count() const { return stack_.count(); }

    // The fold of everything that has been fed so far; of nothing, as up::reduce says.
    result_t<Op, T> result() const
    {
        detail::check_fold_exists<Op>(stack_.count());
        return convert<result_t<Op, T>>(cpu_engine::fold_of(stack_, op_));
    }

private:
    cpu target_;
    Op op_;
    fold_stack<accumulator, Op> stack_;
};

} // namespace upsweep
