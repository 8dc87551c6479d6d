// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
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
    for (std::size_t i = begin; i < end; i += keys_a_block) {
        const std::size_t stop = std::min(end, i + keys_a_block);
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

// Where each run begins, and the end of the last one: segments of the values.
template <class In>
std::vector<std::uint64_t> offsets_of_runs(const cpu& target, In keys, std::size_t count)
{
    const run_heads all =
        for_each_piece_of_runs(target, keys, count, [](const run_heads&, std::size_t, std::size_t) {});
    std::vector<std::uint64_t> offsets(all.count + 1);
    for_each_run(target, keys, count, [&](const run_heads& before, std::span<const std::size_t> found) {
        std::ranges::copy(found, offsets.begin() + static_cast<std::ptrdiff_t>(before.count));
    });
    offsets.back() = count;
    return offsets;
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
        const std::vector<std::uint64_t> offsets = cpu_engine::offsets_of_runs(target, keys, count);
        const std::size_t found = offsets.size() - 1;
        if (found > room)
            refuse_runs("reduce_by_key", found, room);
        constexpr std::size_t keys_a_task = 4096;
        cpu_engine::for_each_stretch(target, found, keys_a_task, [&](std::size_t first, std::size_t some) {
            for (std::size_t k = first; k < first + some; ++k)
                keys_out[static_cast<std::iter_difference_t<KeysOut>>(k)] =
                    keys[static_cast<std::iter_difference_t<Keys>>(offsets[k])];
        });
        engine<cpu, verb::reduce_segments>::template fold<Acc>(target, values, count, std::span(offsets), totals, op);
        *runs = static_cast<Runs>(found);
    }

    template <scan_kind Kind, class Acc, class Keys, class Values, class Out, class Op>
    static void scan(const cpu& target, Keys keys, Values values, std::size_t count, Out out, const Op& op,
                     const Acc* init)
    {
        const std::vector<std::uint64_t> offsets = cpu_engine::offsets_of_runs(target, keys, count);
        engine<cpu, verb::scan_segments>::template scan<Kind, Acc>(target, values, count, std::span(offsets), out, op,
                                                                   init);
    }
};

} // namespace upsweep::detail
