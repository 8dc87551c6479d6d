// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <memory>
#include <mutex>
#include <numeric>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <upsweep/cpu/grain_totals.hpp>
#include <upsweep/cpu/parallel.hpp>
#include <upsweep/cpu/reduce.hpp>
#include <upsweep/cpu/scan.hpp>
#include <upsweep/cpu/segmented.hpp>
#include <upsweep/cpu/store.hpp>
#include <upsweep/cpu/vector.hpp>
#include <upsweep/engine.hpp>
#include <upsweep/error.hpp>
#include <upsweep/op.hpp>
#include <upsweep/target.hpp>
#include <upsweep/verb/by_key.hpp>

// Runs of equal keys are found by comparing neighbours, which gives each run its number by a scan of flags. What is folded by key then
// is folded by segments: a run's fold begins where the run does, and not where a piece of the array does.
namespace upsweep::cpu_engine {

// What runs some elements begin.
struct run_heads {
    std::size_t count = 0;
    std::size_t last = 0; // where the last one begins, if there is one

    friend run_heads operator+(const run_heads& before, const run_heads& after)
    {
        return {before.count + after.count, after.count != 0 ? after.last : before.last};
    }
};

// Elements in which one thread looks for runs at a time: twice, the second time in its cache.
inline constexpr std::size_t keys_a_piece = std::size_t{1} << 14;

// Elements whose comparisons are one loop without branches.
inline constexpr std::size_t keys_a_block = 256;

template <class In>
bool begins_run(In in, std::size_t i)
{
    const auto at = [&](std::size_t k) -> decltype(auto) { return in[static_cast<std::iter_difference_t<In>>(k)]; };
    return i == 0 || !(at(i) == at(i - 1));
}

// How many of some elements begin a run. The counters have the width of the elements, so that vectors hold as many of either.
template <class In>
std::size_t count_heads(In in, std::size_t begin, std::size_t end)
{
    using counter = std::conditional_t<sizeof(std::iter_value_t<In>) == 1, std::uint8_t, std::uint32_t>;
    constexpr std::size_t at_once = sizeof(counter) == 1 ? 128 : keys_a_block; // which no counter overflows at
    const auto at = [&](std::size_t k) -> decltype(auto) { return in[static_cast<std::iter_difference_t<In>>(k)]; };
    std::size_t total = begin == 0 && end != 0 ? 1 : 0;
    for (std::size_t i = std::max<std::size_t>(begin, 1); i < end;) {
        counter count = 0;
        for (const std::size_t stop = std::min(end, i + at_once); i < stop; ++i)
            count = static_cast<counter>(count + static_cast<counter>(!(at(i) == at(i - 1))));
        total += count;
    }
    return total;
}

template <class In>
run_heads heads_in(In in, std::size_t begin, std::size_t end)
{
    run_heads heads;
    std::size_t end_of_last = 0; // of the last block with a head
    read_ahead ahead = further_on(in + static_cast<std::iter_difference_t<In>>(begin));
    for (std::size_t i = begin; i < end; i += keys_a_block) {
        const std::size_t stop = std::min(end, i + keys_a_block);
        ahead.advance<keys_a_block>();
        const std::size_t count = count_heads(in, i, stop);
        heads.count += count;
        end_of_last = count != 0 ? stop : end_of_last;
    }
    if (heads.count != 0)
        for (heads.last = end_of_last - 1; !begins_run(in, heads.last);)
            --heads.last;
    return heads;
}

// Bit k is byte k of 64, each of which is 0 or 1.
inline std::uint64_t bits_of_bytes(const std::uint8_t* bytes)
{
    std::uint64_t bits = 0;
    for (std::size_t k = 0; k < 8; ++k) {
        std::uint64_t eight = 0;
        std::memcpy(&eight, bytes + 8 * k, sizeof eight);
        eight = eight * 0x0102'0408'1020'4080 >> 56; // byte j of the eight moves to bit 56 + j
        bits |= eight << 8 * k;
    }
    return bits;
}

// Which of at most keys_a_block elements begin a run. Comparisons become bits, 64 to a word, of which only those that are set cost anything:
// whether an element begins a run, no processor guesses.
using heads_of_block = std::array<std::size_t, keys_a_block>;
template <class In>
std::span<const std::size_t> find_heads(In in, std::size_t begin, std::size_t end, heads_of_block& found)
{
    const auto at = [&](std::size_t k) -> decltype(auto) { return in[static_cast<std::iter_difference_t<In>>(k)]; };
    if (count_heads(in, begin, end) == 0)
        return {};
    std::array<std::uint8_t, keys_a_block> begins{};
    for (std::size_t i = std::max<std::size_t>(begin, 1); i < end; ++i)
        begins[i - begin] = static_cast<std::uint8_t>(!(at(i) == at(i - 1)));
    if (begin == 0)
        begins[0] = 1;
    std::size_t count = 0;
    for (std::size_t first = 0; first < end - begin; first += 64) {
        std::uint64_t word = bits_of_bytes(&begins[first]);
        if (word == ~std::uint64_t{0}) {
            std::iota(&found[count], &found[count] + 64, begin + first);
            count += 64;
            continue;
        }
        for (; word != 0; word &= word - 1)
            found[count++] = begin + first + static_cast<std::size_t>(std::countr_zero(word));
    }
    return {found.data(), count};
}

// Calls take(heads_before, begin, end) for the pieces of `count` elements that have heads, on all threads, and returns the heads
// of all.
template <class In, class Take>
run_heads for_each_piece_of_runs(const cpu& target, In in, std::size_t count, Take take)
{
    const std::size_t pieces = (count + keys_a_piece - 1) / keys_a_piece;
    const auto heads_of = [&](std::size_t k) {
        return heads_in(in, k * keys_a_piece, std::min(count, (k + 1) * keys_a_piece));
    };
    grain_totals<run_heads> totals(pieces);
    const auto work = [&](std::size_t) {
        run_heads before;
        std::size_t learned = 0;
        for (auto k = totals.take(); k; k = totals.take()) {
            totals.tell(*k, heads_of(*k));
            while (learned < *k)
                before = before + totals.learn(learned++, heads_of);
            if (totals[*k].count != 0)
                take(before, *k * keys_a_piece, std::min(count, (*k + 1) * keys_a_piece));
        }
        stream_fence();
    };
    if (pieces < 2)
        work(0);
    else
        for_each_index(target, static_cast<std::size_t>(thread_count(target)), work);
    run_heads all;
    for (std::size_t k = 0; k < pieces; ++k)
        all = all + totals[k];
    return all;
}

// Calls begin(heads_before, found) for the elements that begin runs, some hundred at most at a time. Returns the heads of all.
template <class In, class Begin>
run_heads for_each_run(const cpu& target, In in, std::size_t count, Begin begin)
{
    return for_each_piece_of_runs(target, in, count, [&](run_heads heads, std::size_t first, std::size_t end) {
        heads_of_block block;
        for (std::size_t i = first; i < end; i += keys_a_block) {
            const auto found = find_heads(in, i, std::min(end, i + keys_a_block), block);
            if (found.empty())
                continue;
            begin(heads, found);
            heads = {heads.count + found.size(), found.back()};
        }
    });
}

// Calls begun(number, heads) for the runs that begin in a piece of the array, the first of which has that number, and ended(number, bounds) for those
// that end there: run `number` + k has the elements from bounds[k] to bounds[k + 1] - 1. Runs too long for one thread, and the last one, are told
// afterwards, by long_one(number, begin, end). Returns the heads of all.
template <class In, class Begun, class Ended, class LongOne>
run_heads for_each_ended_run(const cpu& target, In in, std::size_t count, Begun begun, Ended ended, LongOne long_one)
{
    struct long_run {
        std::size_t number, begin, end;
    };
    constexpr std::size_t too_long = std::size_t{1} << 18;
    std::vector<long_run> long_ones;
    std::mutex holds_long_ones;
    const run_heads all =
        for_each_piece_of_runs(target, in, count, [&](const run_heads& before, std::size_t first, std::size_t end) {
            const auto memory = std::make_unique_for_overwrite<std::size_t[]>(end - first + 1);
            memory[0] = before.last;
            std::size_t heads = 0;
            heads_of_block block;
            for (std::size_t i = first; i < end; i += keys_a_block) {
                const auto found = find_heads(in, i, std::min(end, i + keys_a_block), block);
                std::ranges::copy(found, memory.get() + 1 + heads);
                heads += found.size();
            }
            begun(before.count, std::span<const std::size_t>(memory.get() + 1, heads));
            std::span<const std::size_t> bounds(memory.get(), heads + 1);
            std::size_t number = before.count - 1; // of the run that enters the piece
            if (before.count == 0 || bounds[1] - bounds[0] >= too_long) {
                if (before.count != 0) {
                    const std::lock_guard lock(holds_long_ones);
                    long_ones.push_back({number, bounds[0], bounds[1]});
                }
                bounds = bounds.subspan(1);
                ++number;
            }
            if (bounds.size() > 1)
                ended(number, bounds);
        });
    if (all.count != 0)
        long_ones.push_back({all.count - 1, all.last, count});
    for (const long_run& run : long_ones)
        long_one(run.number, run.begin, run.end);
    return all;
}

} // namespace upsweep::cpu_engine

namespace upsweep::detail {

template <>
struct engine<cpu, verb::runs> {
    template <class In, class Values, class Lengths, class Runs>
    static void encode(const cpu& target, In in, std::size_t count, Values values, Lengths lengths, std::size_t room,
                       Runs* runs)
    {
        using length = std::iter_value_t<Lengths>;
        const auto put_length = [&](std::size_t run, std::size_t elements) {
            lengths[static_cast<std::iter_difference_t<Lengths>>(run)] = static_cast<length>(elements);
        };
        // Results of runs of one element are as many as the elements, and go around the caches.
        const auto put_all = [&]<class Out>(Out to, std::size_t first, std::size_t results, const auto& result) {
            using value = std::iter_value_t<Out>;
            Out const begin = to + static_cast<std::iter_difference_t<Out>>(first);
            if constexpr (std::is_pointer_v<Out> && std::is_trivially_copyable_v<value>)
                if (results > cpu_engine::keys_a_block * 7 / 8 &&
                    count * sizeof(value) >= cpu_engine::stream_threshold) {
                    std::array<value, cpu_engine::keys_a_block> staged;
                    for (std::size_t k = 0; k < results; ++k)
                        staged[k] = result(k);
                    return cpu_engine::stream_bytes(staged.data(), begin, results * sizeof(value));
                }
            for (std::size_t k = 0; k < results; ++k)
                begin[static_cast<std::iter_difference_t<Out>>(k)] = result(k);
        };
        const auto heads = cpu_engine::for_each_run(
            target, in, count, [&](const cpu_engine::run_heads& before, std::span<const std::size_t> found) {
                const std::size_t fit = std::min(found.size(), room - std::min(room, before.count));
                const std::size_t ended = std::min(fit, found.size() - 1); // of these the lengths are known
                const auto key = [&](std::size_t k) { return in[static_cast<std::iter_difference_t<In>>(found[k])]; };
                const auto elements = [&](std::size_t k) { return static_cast<length>(found[k + 1] - found[k]); };
                put_all(values, before.count, fit, key);
                put_all(lengths, before.count, ended, elements);
                if (before.count != 0 && before.count <= room) // ends the run before
                    put_length(before.count - 1, found[0] - before.last);
            });
        if (heads.count > room)
            refuse_runs("run_length_encode", heads.count, room);
        if (heads.count != 0)
            put_length(heads.count - 1, count - heads.last);
        *runs = static_cast<Runs>(heads.count);
    }

    template <class Values, class Lengths, class Out>
    static void decode(const cpu& target, Values values, Lengths lengths, std::size_t runs, Out out, std::size_t room)
    {
        std::vector<std::uint64_t> ends(runs);
        engine<cpu, verb::scan>::template scan<scan_kind::inclusive, std::uint64_t>(target, lengths, ends.data(), runs,
                                                                                    plus{}, nullptr);
        const std::size_t count = runs != 0 ? ends.back() : 0;
        if (count > room || !std::ranges::is_sorted(ends))
            throw error(error_kind::invalid_argument, "run_length_decode",
                        "the runs have " + std::to_string(count) + " elements, and the output " + std::to_string(room),
                        "make room for the sum of the lengths, none of which is negative");
        // Threads share the output, and not the runs, one of which may be all of it.
        constexpr std::size_t at_once = std::size_t{1} << 16;
        cpu_engine::for_each_stretch(target, count, at_once, [&](std::size_t at, std::size_t some) {
            const std::size_t stop = at + some;
            auto run = std::ranges::upper_bound(ends, at) - ends.begin();
            for (; at < stop; ++run) {
                const std::size_t end = std::min<std::size_t>(stop, ends[static_cast<std::size_t>(run)]);
                std::fill_n(out + static_cast<std::iter_difference_t<Out>>(at), end - at,
                            values[static_cast<std::iter_difference_t<Values>>(run)]);
                at = end;
            }
        });
    }

    template <class Acc, class Keys, class Values, class KeysOut, class Totals, class Runs, class Op>
    static void reduce(const cpu& target, Keys keys, Values values, std::size_t count, KeysOut keys_out, Totals totals,
                       std::size_t room, Runs* runs, const Op& op)
    {
        using result = std::iter_value_t<Totals>;
        const auto put = [&](std::size_t run, const Acc& fold) {
            if (run < room)
                totals[static_cast<std::iter_difference_t<Totals>>(run)] = as_result<result, Op>(fold);
        };
        const auto put_keys = [&](std::size_t first, std::span<const std::size_t> heads) {
            const std::size_t fit = std::min(heads.size(), room - std::min(room, first));
            for (std::size_t k = 0; k < fit; ++k)
                keys_out[static_cast<std::iter_difference_t<KeysOut>>(first + k)] =
                    keys[static_cast<std::iter_difference_t<Keys>>(heads[k])];
        };
        const auto fold_some = [&](std::size_t first, std::span<const std::size_t> bounds) {
            const std::size_t ended = bounds.size() - 1;
            if (bounds.back() - bounds.front() == ended) { // all have one element
                for (std::size_t k = 0; k < ended; ++k)
                    put(first + k, cpu_engine::load<Acc>(values, bounds.front() + k));
                return;
            }
            cpu_engine::fold_segments<Acc>(values, count, cpu_engine::segment_tasks(bounds), 0, ended, op,
                                           [&](std::size_t k, const Acc& fold) { put(first + k, fold); });
        };
        const auto heads = cpu_engine::for_each_ended_run(
            target, keys, count, put_keys, fold_some, [&](std::size_t run, std::size_t begin, std::size_t end) {
                fold_stack<Acc, Op> stack(op);
                cpu_engine::fold_onto(target, stack, values + static_cast<std::iter_difference_t<Values>>(begin),
                                      end - begin, op);
                put(run, stack.fold());
            });
        if (heads.count > room)
            refuse_runs("reduce_by_key", heads.count, room);
        *runs = static_cast<Runs>(heads.count);
    }

    template <scan_kind Kind, class Acc, class Keys, class Values, class Out, class Op>
    static void scan(const cpu& target, Keys keys, Values values, std::size_t count, Out out, const Op& op,
                     const Acc* init)
    {
        const auto scan_some = [&](std::size_t, std::span<const std::size_t> bounds) {
            cpu_engine::scan_segments<Kind, Acc>(values, cpu_engine::segment_tasks(bounds), 0, bounds.size() - 1, out,
                                                 op, init);
        };
        cpu_engine::for_each_ended_run(
            target, keys, count, [](std::size_t, std::span<const std::size_t>) {}, scan_some,
            [&](std::size_t, std::size_t begin, std::size_t end) {
                cpu_engine::scan_segment<Kind, Acc>(target, values + static_cast<std::iter_difference_t<Values>>(begin),
                                                    out + static_cast<std::iter_difference_t<Out>>(begin), end - begin,
                                                    op, init);
            });
    }
};

} // namespace upsweep::detail
