// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <utility>

#include <upsweep/bins.hpp>
#include <upsweep/cpu/histogram.hpp>
#include <upsweep/outside.hpp>
#include <upsweep/range.hpp>
#include <upsweep/target.hpp>
#include <upsweep/verb/histogram.hpp>

#ifdef __CUDACC__
#include <upsweep/gpu/histogram/histogram.cuh>
#include <upsweep/gpu/streaming/counter.cuh>
#endif

// Samples that come in pieces, for every target. engine<Target, verb::counter> has
//
//     template <class T, class Bins>
//     class state;        // constructed from a target and bins, which have been checked
//         void feed(In first, std::size_t count);
//         void result(std::span<std::uint64_t> counts, outside& out_of_range) const;
namespace upsweep {

// Counts samples that come in pieces, in bins as up::histogram takes them. T is the type of the samples.
//
//     up::counter<float, up::even_bins> count(up::cpu{}, {0, 1, 100});
//     while (read(piece)) count.feed(piece);
//     up::outside out_of_range = count.result(counts);
//
// On a GPU (up::counter<float, up::even_bins, up::cuda>) the pieces may lie in memory of the host, of any length: they
// are gathered, copied and counted in chunks, which take up to 64 MiB of the GPU's memory, and as much page-locked
// memory of the host, from the first of them on. Pieces in memory of the GPU are counted where they lie, in order of the
// target's stream. When feed returns, a piece has been read. A counter in which feed has failed halfway refuses further
// calls.
template <class T, class Bins, target Target = cpu>
class counter {
    using state_t = typename detail::engine<Target, detail::verb::counter>::template state<T, Bins>;

public:
    // Errors: as up::histogram says of bins.
    explicit counter(Target target, Bins bins)
        : bins_((detail::check_bins(bins), bins)), state_(std::move(target), bins)
    {
    }

    template <input_range R>
    void feed(R&& in)
    {
        state_.feed(detail::first_of(in), detail::size_of(in));
    }

    // Overwrites `counts`, which has one element a bin and lies in memory of the host, with the numbers of the samples
    // fed so far, and returns how many were in no bin. More may be fed afterwards.
    outside result(std::span<std::uint64_t> counts) const
    {
        detail::check_counters(bins_, counts.size());
        outside out_of_range;
        state_.result(counts, out_of_range);
        return out_of_range;
    }

    // Limits how much of a GPU's memory the samples on their way take. To be called before the first ones are fed.
    void limit_gpu_memory(std::uint64_t bytes) requires requires(state_t& state) { state.limit_memory(bytes); }
    {
        state_.limit_memory(bytes);
    }

private:
    Bins bins_;
    state_t state_;
};

} // namespace upsweep
