// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <upsweep/cpu/reduce.hpp>
#include <upsweep/error.hpp>
#include <upsweep/fold_order.hpp>
#include <upsweep/op.hpp>
#include <upsweep/range.hpp>
#include <upsweep/target.hpp>

namespace upsweep {

// Folds an array that comes in pieces, to the same bits as in one piece.
//
//     up::reducer<float, up::plus> sum(up::cpu{});
//     while (read(piece)) sum.feed(piece);
//     float total = sum.result();
template <class T, class Op = plus>
class reducer {
public:
    using accumulator = accumulator_t<Op, T>;
    static_assert(
        monoid_over<Op, accumulator>,
        "the operator is not a monoid over the element type: it needs op(a, b) and an identity (see up::monoid)");

    explicit reducer(cpu target, Op op = {}) : target_(target), op_(op), stack_(op) {}

    // Appends elements. Reads each once, on all threads of the target.
    template <input_range R>
    void feed(R&& in)
    {
        cpu_engine::fold_onto(target_, stack_, detail::first_of(in), detail::size_of(in), op_);
    }

    // How many elements have been fed.
    std::uint64_t count() const { return stack_.count(); }

    // The fold of everything fed so far. Of nothing: the operator's identity (+0.0 for a sum of floating-point numbers);
    // minimum and maximum have none and throw.
    result_t<Op, T> result() const
    {
        if (stack_.count() != 0)
            return convert<result_t<Op, T>>(stack_.fold());
        if constexpr (detail::is_extremum<Op>)
            throw error(error_kind::invalid_argument, "reduce", "minimum and maximum of no elements do not exist",
                        "check that the input is not empty");
        return convert<result_t<Op, T>>(fold_of_nothing<accumulator>(op_));
    }

private:
    cpu target_;
    Op op_;
    fold_stack<accumulator, Op> stack_;
};

// in[0] (+) in[1] (+) ... (+) in[n - 1], in the canonical order: the same bits for every target and number of threads.
// The result has the type result_t<Op, T>. n - 1 operations, one pass over the input, no copy of it.
// Of no elements: see reducer::result.
template <input_range R, class Op = plus>
[[nodiscard]] auto reduce(cpu target, R&& in, Op op = {})
{
    reducer<std::ranges::range_value_t<R>, Op> fold(target, op);
    fold.feed(in);
    return fold.result();
}

// The same with the result written to *result, converted to its type (integers modulo 2^k).
template <input_range R, class Result, class Op>
void reduce(cpu target, R&& in, Result* result, Op op)
{
    *result = convert<Result>(reduce(target, in, op));
}

} // namespace upsweep

#ifdef __CUDACC__
#include <upsweep/gpu/fold/reduce.cuh>
#endif
