// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include <upsweep/cpu/scan.hpp>
#include <upsweep/error.hpp>
#include <upsweep/fold_order.hpp>
#include <upsweep/op.hpp>
#include <upsweep/range.hpp>
#include <upsweep/target.hpp>
#include <upsweep/view.hpp>

namespace upsweep {

// Scans an array that comes in pieces, to the same bits as in one piece. Out is the type of the results; elements are
// converted to scan_accumulator_t<Op, Out> before they are folded.
//
//     up::scanner<float, up::plus> running_sum(up::cpu{}, up::scan_kind::inclusive);
//     while (read(piece)) { running_sum.feed(piece, piece); write(piece); }
template <class Out, class Op = plus>
class scanner {
public:
    using accumulator = scan_accumulator_t<Op, Out>;
    static_assert(
        monoid_over<Op, accumulator>,
        "the operator is not a monoid over the result type: it needs op(a, b) and an identity (see up::monoid)");

    // With `init`, every result is init (+) what it would be without.
    explicit scanner(cpu target, scan_kind kind, Op op = {}, std::optional<accumulator> init = std::nullopt)
        : target_(target), kind_(kind), op_(op), init_(init), stack_(op)
    {
    }

    // Writes the results of the next size(in) elements to `out`, which may be `in` itself.
    template <input_range In, output_range To>
        requires std::same_as<std::ranges::range_value_t<To>, Out>
    void feed(In&& in, To&& out)
    {
        const std::size_t count = detail::size_of(in);
        if (detail::size_of(out) < count)
            throw error(error_kind::invalid_argument, "scan", "the output is shorter than the input",
                        "make room for one result an element");
        const auto from = detail::first_of(in);
        const auto to = detail::first_of(out);
        detail::check_overlap("scan", from, to, count);
        if (count == 0)
            return;

        const bool first = stack_.count() == 0;
        const bool large = count * sizeof(Out) >= stream_threshold && !detail::same_elements(from, to);
        const auto store = large ? cpu_engine::store_kind::streamed : cpu_engine::store_kind::cached;
        cpu_engine::scan_onto(target_, stack_, from, to, count, op_, {kind_, store, init_ ? &*init_ : nullptr});
        if (first && kind_ == scan_kind::exclusive)
            *to = convert<Out>(init_ ? *init_ : fold_of_nothing<accumulator>(op_));
    }

    // How many elements have been fed.
    std::uint64_t count() const { return stack_.count(); }

private:
    static constexpr std::size_t stream_threshold = std::size_t{32} << 20; // about a last-level cache

    cpu target_;
    scan_kind kind_;
    Op op_;
    std::optional<accumulator> init_;
    fold_stack<accumulator, Op> stack_;
};

namespace detail {

template <class In, class Out, class Op, class... Init>
void scan(cpu target, scan_kind kind, In&& in, Out&& out, Op op, Init... init)
{
    scanner<std::ranges::range_value_t<Out>, Op>(target, kind, op, init...).feed(in, out);
}

} // namespace detail

// out[i] = in[0] (+) ... (+) in[i], in the canonical order: out[i] has the bits of reduce over the first i + 1 elements
// (in the accumulator of the result type), for every target and number of threads. `out` may be `in`; spans that overlap
// otherwise are refused. Below 3 n operations; memory: one block a thread.
template <input_range In, output_range Out, class Op = plus>
void inclusive_scan(cpu target, In&& in, Out&& out, Op op = {})
{
    detail::scan(target, scan_kind::inclusive, in, out, op);
}

// out[0] = identity (+0.0 for a sum of floating-point numbers) and out[i] = in[0] (+) ... (+) in[i - 1]: the inclusive scan
// shifted by one, to the bit.
template <input_range In, output_range Out, class Op = plus>
void exclusive_scan(cpu target, In&& in, Out&& out, Op op = {})
{
    detail::scan(target, scan_kind::exclusive, in, out, op);
}

// The same with out[i] = init (+) (in[0] (+) ... (+) in[i - 1]) and out[0] = init.
template <input_range In, output_range Out, class Op, class Init>
void exclusive_scan(cpu target, In&& in, Out&& out, Op op, const Init& init)
{
    using accumulator = scan_accumulator_t<Op, std::ranges::range_value_t<Out>>;
    detail::scan(target, scan_kind::exclusive, in, out, op, std::optional<accumulator>(convert<accumulator>(init)));
}

} // namespace upsweep

#ifdef __CUDACC__
#include <upsweep/gpu/fold/scan.cuh>
#endif
