// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>

#include <upsweep/cpu/scan.hpp>
#include <upsweep/fold_order.hpp>
#include <upsweep/op.hpp>
#include <upsweep/range.hpp>
#include <upsweep/target.hpp>
#include <upsweep/verb/scan.hpp>

#ifdef __CUDACC__
#include <upsweep/gpu/fold/scan.cuh>
#endif

namespace upsweep {

// Scans an array that comes in pieces, to the same bits as in one piece. Out is the type of the results; elements are
// converted to scan_accumulator_t<Op, Out> before they are folded.
//
//     up::scanner<float, up::plus> running_sum(up::cpu{}, up::scan_kind::inclusive);
//     while (read(piece)) { running_sum.feed(piece, piece); write(piece); }
template <class Out, class Op = plus>
class scanner {
public:
    using accumulator = typename detail::monoid_scan_accumulator<Op, Out>::type;

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
        const std::size_t count = detail::count_of_scan(in, out);
        cpu_engine::scan_piece(target_, stack_, detail::first_of(in), detail::first_of(out), count, op_, kind_,
                               init_ ? &*init_ : nullptr);
    }

    // How many elements have been fed.
    std::uint64_t count() const { return stack_.count(); }

private:
    cpu target_;
    scan_kind kind_;
    Op op_;
    std::optional<accumulator> init_;
    fold_stack<accumulator, Op> stack_;
};

} // namespace upsweep
