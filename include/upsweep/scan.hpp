// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include <upsweep/cpu/scan.hpp>
#include <upsweep/fold_order.hpp>
#include <upsweep/op.hpp>
#include <upsweep/range.hpp>
#include <upsweep/target.hpp>
#include <upsweep/verb/scan.hpp>

#ifdef __CUDACC__
#include <upsweep/gpu/fold/scan.cuh>
#include <upsweep/gpu/streaming/scanner.cuh>
#endif

// Arrays that come in pieces, for every target. engine<Target, verb::scanner> has
//
//     template <class Out, class Acc, class Op>
//     class state;        // constructed from a target, a scan_kind, an operator and an std::optional<Acc>
//         void feed(In in, To out, std::size_t count);
//         std::uint64_t count() const;

namespace upsweep {

// Scans an array that comes in pieces, to the same bits as in one piece. Out is the type of the results; elements are
// converted to scan_accumulator_t<Op, Out> before they are folded.
//
//     up::scanner<float, up::plus> running_sum(up::cpu{}, up::scan_kind::inclusive);
//     while (read(piece)) { running_sum.feed(piece, piece); write(piece); }
//
// On a GPU (up::scanner<float, up::plus, up::cuda>) elements and results may lie in memory of the host, of any length:
// they pass in chunks, which take up to 64 MiB of the GPU's memory, and as much page-locked memory of the host, and when
// feed returns, the results are there. Or both lie in memory of the GPU: then the results are written in order of the
// target's stream. The elements have the type of the results there.
template <class Out, class Op = plus, target Target = cpu>
class scanner {
    using state_t = typename detail::engine<Target, detail::verb::scanner>::template state<
        Out, typename detail::monoid_scan_accumulator<Op, Out>::type, Op>;

public:
    using accumulator = typename detail::monoid_scan_accumulator<Op, Out>::type;

    // With `init`, every result is init (+) what it would be without.
    explicit scanner(Target target, scan_kind kind, Op op = {}, std::optional<accumulator> init = std::nullopt)
        : state_(std::move(target), kind, std::move(op), std::move(init))
    {
    }

    // Writes the results of the next size(in) elements to `out`, which may be `in` itself.
    template <input_range In, output_range To>
        requires std::same_as<std::ranges::range_value_t<To>, Out>
    void feed(In&& in, To&& out)
    {
        const std::size_t count = detail::count_of_scan(in, out);
        state_.feed(detail::first_of(in), detail::first_of(out), count);
    }

    // How many elements have been fed.
    std::uint64_t count() const { return state_.count(); }

    // Limits how much of a GPU's memory the elements and results on their way take. To be called before the first
    // elements are fed.
    void limit_gpu_memory(std::uint64_t bytes) requires requires(state_t& state) { state.limit_memory(bytes); }
    {
        state_.limit_memory(bytes);
    }

private:
    state_t state_;
};

} // namespace upsweep
