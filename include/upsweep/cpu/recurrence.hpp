// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <vector>

#include <upsweep/cpu/affine_lanes.hpp>
#include <upsweep/cpu/axis.hpp>
#include <upsweep/cpu/grain_totals.hpp>
#include <upsweep/cpu/line_bundle.hpp>
#include <upsweep/cpu/line_recurrences.hpp>
#include <upsweep/cpu/parallel.hpp>
#include <upsweep/cpu/recurrence_lanes.hpp>
#include <upsweep/cpu/reduce.hpp>
#include <upsweep/cpu/store.hpp>
#include <upsweep/engine.hpp>
#include <upsweep/lines.hpp>
#include <upsweep/target.hpp>
#include <upsweep/verb/recurrence.hpp>
#include <upsweep/view.hpp>

// Linear recurrences, shared among threads: bundles of lines, or pieces of one bundle.
namespace upsweep::cpu_engine {

// Scans a bundle on all threads, as piece_scan (axis.hpp) does: each takes the pieces in the order of their numbers, folds each, and scans it
// from the cache when the states before it are known.
template <class Lanes, class Call>
void scan_in_pieces(const cpu& target, const Call& call, const typename Lanes::bundle& lines, std::size_t length,
                    int level)
{
    using accumulator = decltype(Call::value);
    const std::size_t piece = std::size_t{1} << level;
    grain_totals<affine_row<accumulator>> totals(length >> level);
    for_each_index(target, static_cast<std::size_t>(thread_count(target)), [&](std::size_t) {
        Lanes lanes(call, lines);
        affine_stack<accumulator> learned_totals(lanes.lanes(), length);
        learned_totals.begin(lanes.first_states());
        std::size_t learned = 0;
        std::vector<accumulator> before(lanes.lanes());
        const auto total_of = [&](std::size_t k) {
            affine_row<accumulator> total(lanes.lanes());
            lanes.fold(k * piece, level, total);
            return total;
        };
        const auto learn_next = [&] {
            const affine_row<accumulator>& total = totals.learn(learned++, total_of);
            learned_totals.push(total.a(), total.b(), level);
        };
        for (auto k = totals.take(); k; k = totals.take()) {
            totals.tell(*k, total_of(*k));
            while (learned < *k)
                learn_next();
            std::copy_n(learned_totals.states(), before.size(), before.begin());
            learn_next();
            totals.wait_for_readers(*k);
            lanes.scan(*k * piece, piece, before.data(), learned_totals.states());
        }
        stream_fence();
    });
    if (length % piece == 0)
        return;
    Lanes lanes(call, lines);
    affine_stack<accumulator> all(lanes.lanes(), length);
    all.begin(lanes.first_states());
    for (std::size_t k = 0; k < length >> level; ++k)
        all.push(totals[k].a(), totals[k].b(), level);
    const std::vector<accumulator> before(all.states(), all.states() + lanes.lanes());
    lanes.scan(length / piece * piece, length % piece, before.data(), nullptr);
    stream_fence();
}

// Scans bundles of `most` lines each, each on a thread, or where they are few, each on all of them.
template <class Lanes, class Call, std::size_t N>
void scan_bundles(const cpu& target, const Call& call, const line_grid<N>& grid, std::size_t most, int level_of_piece)
{
    using bundle = typename Lanes::bundle;
    std::vector<std::size_t> begins; // of the bundles, most of which lie evenly apart
    for (std::size_t line = 0; line < grid.count();) {
        constexpr std::size_t few = 8;
        begins.push_back(line);
        const std::size_t even = grid.run() < few ? most : grid.run() - line % grid.run();
        line += std::min({most, grid.count() - line, even});
    }
    const std::size_t bundles = begins.size();
    begins.push_back(grid.count());
    const auto bundle_of = [&](std::size_t k) { return bundle(grid, begins[k], begins[k + 1] - begins[k]); };
    const auto threads = static_cast<std::size_t>(thread_count(target));
    if (threads > 1 && bundles < 4 * threads && grid.length() >> level_of_piece >= 4 * threads) {
        for (std::size_t k = 0; k < bundles; ++k)
            scan_in_pieces<Lanes>(target, call, bundle_of(k), grid.length(), level_of_piece);
        return;
    }
    constexpr std::size_t elements_a_task = std::size_t{1} << 15;
    const std::size_t at_once = std::max<std::size_t>(1, elements_a_task / (most * grid.length()));
    const auto work = [&](std::size_t task) {
        Lanes lanes(call, bundle_of(task * at_once));
        for (std::size_t k = task * at_once; k < std::min(bundles, (task + 1) * at_once); ++k) {
            lanes.take(bundle_of(k));
            lanes.scan(0, grid.length(), lanes.first_states(), nullptr);
        }
        stream_fence();
    };
    if (bundles <= at_once)
        work(0);
    else
        for_each_index(target, (bundles + at_once - 1) / at_once, work);
}

template <class Recurrence, std::size_t N>
void scan_recurrence(const cpu& target, const typename Recurrence::call& call, const line_grid<N>& grid)
{
    using accumulator = typename Recurrence::accumulator;
    constexpr std::size_t few_lines = 8;
    constexpr std::size_t few_elements = 512;
    constexpr std::size_t elements_a_piece = piece_bytes / 4 / sizeof(accumulator); // of each array
    const bool is_long = grid.length() >= few_elements;
    if (grid.count() == 1 || (is_long && (grid.is_along_memory() || grid.count() < few_lines))) {
        using lanes = blocks_as_lanes<Recurrence>;
        static_assert(elements_a_piece % lanes::chunk == 0);
        return scan_bundles<lanes>(target, call, grid, 1, level_of<elements_a_piece>);
    }
    const std::size_t most = grid.is_along_memory() ? 128 / sizeof(accumulator) : 4096 / sizeof(accumulator);
    const auto rows_a_piece =
        std::bit_floor(std::max<std::size_t>(elements_a_piece / std::min(most, grid.count()), 64));
    scan_bundles<lines_as_lanes<Recurrence>>(target, call, grid, most, std::countr_zero(rows_a_piece));
}

} // namespace upsweep::cpu_engine

namespace upsweep::detail {

template <>
struct engine<cpu, verb::linear_recurrence> {
    template <class Acc, class A, class B, class Out, class H, std::size_t Rank>
    static void scan(const cpu& target, const view<const A, Rank>& a, const view<const B, Rank>& b,
                     const view<Out, Rank>& out, axis along, const state_before<Acc, H, Rank>& before)
    {
        using recurrence = cpu_engine::forward_recurrence<Acc, A, B, Out, H>;
        std::array<std::array<std::ptrdiff_t, recurrence::arrays>, Rank> strides;
        std::array<std::size_t, Rank> extents;
        for (std::size_t k = 0; k < Rank; ++k) {
            extents[k] = a.extent(k);
            strides[k] = {a.stride(k), b.stride(k), out.stride(k), before.strides[k]};
        }
        const bool is_in_place = static_cast<const void*>(out.data()) == static_cast<const void*>(a.data()) ||
                                 static_cast<const void*>(out.data()) == static_cast<const void*>(b.data());
        const typename recurrence::call call{a.data(),    b.data(),     out.data(),
                                             before.data, before.value, store_for(out, is_in_place)};
        cpu_engine::scan_recurrence<recurrence>(target, call,
                                                cpu_engine::line_grid<recurrence::arrays>(extents, along, strides));
    }

    template <class Acc, class A, class H, class G, class DA, class DB, class H0, class DH, std::size_t Rank>
    static void gradient(const cpu& target, const view<const A, Rank>& a, const view<const H, Rank>& h,
                         const view<const G, Rank>& out_gradient, const view<DA, Rank>& a_gradient,
                         const view<DB, Rank>& b_gradient, axis along, const state_before<Acc, H0, Rank>& before,
                         const line_results<DH, Rank>& before_gradient)
    {
        using recurrence = cpu_engine::gradient_recurrence<Acc, A, H, G, DA, DB, H0, DH>;
        std::array<std::array<std::ptrdiff_t, recurrence::arrays>, Rank> strides;
        std::array<std::size_t, Rank> extents;
        for (std::size_t k = 0; k < Rank; ++k) {
            extents[k] = a.extent(k);
            strides[k] = {a.stride(k),          h.stride(k),       out_gradient.stride(k),    a_gradient.stride(k),
                          b_gradient.stride(k), before.strides[k], before_gradient.strides[k]};
        }
        const cpu_engine::line_grid<recurrence::arrays> grid(extents, along, strides);
        if (grid.count() == 0)
            return;
        if (grid.length() == 0) { // Nothing depends on the states.
            for (std::size_t line = 0; before_gradient.data != nullptr && line < grid.count(); ++line)
                before_gradient.data[grid.offsets(line)[6]] = DH{};
            return;
        }
        const typename recurrence::call call{
            a.data(),    h.data(),     out_gradient.data(),  a_gradient.data(),           b_gradient.data(),
            before.data, before.value, before_gradient.data, store_for(b_gradient, false)};
        cpu_engine::scan_recurrence<recurrence>(target, call, grid);
    }

private:
    template <class Out, std::size_t Rank>
    static cpu_engine::store_kind store_for(const view<Out, Rank>& out, bool is_in_place)
    {
        const bool is_large = out.size() * sizeof(Out) >= cpu_engine::stream_threshold && !is_in_place;
        return is_large ? cpu_engine::store_kind::streamed : cpu_engine::store_kind::cached;
    }
};

} // namespace upsweep::detail
