// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <memory>
#include <numeric>
#include <type_traits>
#include <vector>

#ifdef __AVX2__
#include <immintrin.h>
#endif

#include <upsweep/cpu/block.hpp>
#include <upsweep/cpu/grain_totals.hpp>
#include <upsweep/cpu/parallel.hpp>
#include <upsweep/cpu/store.hpp>
#include <upsweep/engine.hpp>
#include <upsweep/op.hpp>
#include <upsweep/range.hpp>
#include <upsweep/target.hpp>
#include <upsweep/verb/select.hpp>

// Select and partition: the flags of a piece are counted, which tells the pieces behind it where their elements go, and its elements
// are packed from the cache. Neither takes a branch on a flag, whose time would be a matter of luck.
namespace upsweep::cpu_engine {

// Elements that one thread takes at a time, and those whose flags are counted, and packed, together.
inline constexpr std::size_t flags_a_piece = std::size_t{1} << 14;
inline constexpr std::size_t flags_a_block = 256;

// The flags of some elements as bytes, 0 or 1.
using flag_bytes = std::array<std::uint8_t, flags_a_block>;

// The flags of elements that are a block, or fewer; those behind them are 0.
template <class Flags>
std::size_t read_flags(const Flags& flags, std::size_t first, std::size_t count, flag_bytes& to)
{
    const auto at = [&](std::size_t i) {
        return static_cast<std::uint8_t>(static_cast<bool>(flags[static_cast<std::ptrdiff_t>(first + i)]) ? 1 : 0);
    };
    if (count == flags_a_block) {
        for (std::size_t i = 0; i < flags_a_block; ++i)
            to[i] = at(i);
    } else {
        to.fill(0);
        for (std::size_t i = 0; i < count; ++i)
            to[i] = at(i);
    }
    std::uint32_t sum = 0;
    for (const std::uint8_t flag : to)
        sum += flag;
    return sum;
}

#ifdef __AVX2__
// For every set of eight lanes, the lanes of the set one behind the other.
inline constexpr auto packed_lanes = [] {
    std::array<std::array<std::uint8_t, 8>, 256> table{};
    for (std::size_t set = 0; set < 256; ++set)
        for (std::uint8_t lane = 0, next = 0; lane < 8; ++lane)
            if ((set >> lane & 1) != 0)
                table[set][next++] = lane;
    return table;
}();
// For every set of four lanes of eight bytes, the same of their halves.
inline constexpr auto packed_halves = [] {
    std::array<std::array<std::uint8_t, 8>, 16> table{};
    for (std::size_t set = 0; set < 16; ++set)
        for (std::uint8_t lane = 0, next = 0; lane < 4; ++lane)
            if ((set >> lane & 1) != 0) {
                table[set][next++] = static_cast<std::uint8_t>(2 * lane);
                table[set][next++] = static_cast<std::uint8_t>(2 * lane + 1);
            }
    return table;
}();
#endif

// Room for a block of elements, and for a vector that is stored behind the last one.
template <class T>
using packed_block = std::array<T, flags_a_block + 8>;

// Packs those elements of a block whose flag is 1.
template <class T>
void pack(const T* elements, const flag_bytes& flags, packed_block<T>& to)
{
    T* next = to.data();
#ifdef __AVX2__
    if constexpr (std::is_trivially_copyable_v<T> && (sizeof(T) == 4 || sizeof(T) == 8)) {
        constexpr std::size_t lanes = 32 / sizeof(T);
        for (std::size_t i = 0; i < flags_a_block; i += 32) {
            const __m256i bytes = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(flags.data() + i));
            auto sets = static_cast<std::uint32_t>(_mm256_movemask_epi8(_mm256_slli_epi16(bytes, 7)));
            for (std::size_t j = 0; j < 32; j += lanes) {
                const std::uint32_t set = sets & ((1U << lanes) - 1);
                const auto& order = [&]() -> const std::array<std::uint8_t, 8>& {
                    if constexpr (lanes == 8)
                        return packed_lanes[set];
                    else
                        return packed_halves[set];
                }();
                const __m256i places =
                    _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(order.data())));
                const __m256i some = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(elements + i + j));
                _mm256_storeu_si256(reinterpret_cast<__m256i*>(next), _mm256_permutevar8x32_epi32(some, places));
                next += std::popcount(set);
                sets >>= lanes;
            }
        }
        return;
    }
#endif
    for (std::size_t i = 0; i < flags_a_block; ++i) {
        *next = elements[i];
        next += flags[i];
    }
}

// Appends what is packed to an output that has room for some of it.
template <class Out>
class packed_output {
public:
    packed_output(Out out, std::size_t room) : out_(out), room_(room) {}

    template <class T>
    void put(const T* elements, std::size_t at, std::size_t count) const
    {
        const std::size_t fit = std::min(count, room_ - std::min(room_, at));
        store_results(elements, out_ + static_cast<std::iter_difference_t<Out>>(at), fit);
    }

private:
    Out out_;
    std::size_t room_;
};

// Nowhere: what is not selected.
struct no_output {
    template <class T>
    void put(const T*, std::size_t, std::size_t) const
    {
    }
};

// Writes the elements of a piece: `selected` and `rejected` of them have been before, of all pieces.
template <class In, class Flags, class Selected, class Rejected>
void pack_piece(In in, const Flags& flags, std::size_t first, std::size_t end, std::size_t selected,
                std::size_t rejected, const Selected& selected_out, const Rejected& rejected_out)
{
    using element = std::iter_value_t<In>;
    constexpr bool keeps_rejected = !std::same_as<Rejected, no_output>;
    packed_block<element> packed;
    std::array<element, flags_a_block> buffer;
    flag_bytes chosen;
    for (std::size_t i = first; i < end; i += flags_a_block) {
        const std::size_t count = std::min(flags_a_block, end - i);
        const std::size_t found = read_flags(flags, i, count, chosen);
        if (found == 0 && !keeps_rejected)
            continue;
        const element* elements = buffer.data();
        const In from = in + static_cast<std::iter_difference_t<In>>(i);
        if (count == flags_a_block)
            elements = load_block<flags_a_block, element>(from, buffer.data());
        else
            for (std::size_t j = 0; j < count; ++j)
                buffer[j] = from[static_cast<std::iter_difference_t<In>>(j)];
        if (found == count) {
            selected_out.put(elements, selected, found);
        } else if (found != 0) {
            pack(elements, chosen, packed);
            selected_out.put(packed.data(), selected, found);
        }
        selected += found;
        if constexpr (keeps_rejected) {
            const std::size_t others = count - found;
            if (found == 0) {
                rejected_out.put(elements, rejected, others);
            } else if (others != 0) {
                for (std::uint8_t& flag : chosen) // those behind the last element are packed behind it
                    flag ^= 1U;
                pack(elements, chosen, packed);
                rejected_out.put(packed.data(), rejected, others);
            }
            rejected += others;
        }
    }
}

template <class Flags>
std::size_t count_flags(const Flags& flags, std::size_t first, std::size_t end)
{
    std::size_t sum = 0;
    flag_bytes some;
    for (std::size_t i = first; i < end; i += flags_a_block)
        sum += read_flags(flags, i, std::min(flags_a_block, end - i), some);
    return sum;
}

// Writes what is selected, and what is not, in one pass, and returns how many are.
template <class In, class Flags, class Selected, class Rejected>
std::size_t pack_all(const cpu& target, In in, const Flags& flags, std::size_t count, const Selected& selected_out,
                     const Rejected& rejected_out)
{
    const std::size_t pieces = (count + flags_a_piece - 1) / flags_a_piece;
    const auto end_of = [&](std::size_t k) { return std::min(count, (k + 1) * flags_a_piece); };
    const auto flags_of = [&](std::size_t k) { return count_flags(flags, k * flags_a_piece, end_of(k)); };
    grain_totals<std::size_t> totals(pieces);
    const auto work = [&](std::size_t) {
        std::size_t before = 0;
        std::size_t learned = 0;
        for (auto k = totals.take(); k; k = totals.take()) {
            totals.tell(*k, flags_of(*k));
            while (learned < *k)
                before += totals.learn(learned++, flags_of);
            const std::size_t first = *k * flags_a_piece;
            pack_piece(in, flags, first, end_of(*k), before, first - before, selected_out, rejected_out);
        }
    };
    if (pieces < 2)
        work(0);
    else
        for_each_index(target, static_cast<std::size_t>(thread_count(target)), work);
    std::size_t all = 0;
    for (std::size_t k = 0; k < pieces; ++k)
        all += totals[k];
    return all;
}

} // namespace upsweep::cpu_engine

namespace upsweep::detail {

template <>
struct engine<cpu, verb::select> {
    template <class In, class Flags, class Out, class Count>
    static void select(const cpu& target, In in, const Flags& flags, std::size_t count, Out out, std::size_t room,
                       Count* selected)
    {
        const std::size_t found = cpu_engine::pack_all(
            target, in, flags, count, cpu_engine::packed_output<Out>(out, room), cpu_engine::no_output{});
        if (found > room)
            refuse_selection("select", "selected", found, room);
        *selected = static_cast<Count>(found);
    }

    template <class In, class Flags, class Out, class Rejected, class Count>
    static void split(const cpu& target, In in, const Flags& flags, std::size_t count, Out selected_out,
                      std::size_t selected_room, Rejected rejected_out, std::size_t rejected_room, Count* selected)
    {
        const std::size_t found =
            cpu_engine::pack_all(target, in, flags, count, cpu_engine::packed_output<Out>(selected_out, selected_room),
                                 cpu_engine::packed_output<Rejected>(rejected_out, rejected_room));
        if (found > selected_room)
            refuse_selection("partition", "selected", found, selected_room);
        if (count - found > rejected_room)
            refuse_selection("partition", "not selected", count - found, rejected_room);
        *selected = static_cast<Count>(found);
    }

    template <class In, class Flags, class Out, class Count>
    static void partition(const cpu& target, In in, const Flags& flags, std::size_t count, Out out, Count* selected)
    {
        using cpu_engine::flags_a_piece;
        const std::size_t pieces = (count + flags_a_piece - 1) / flags_a_piece;
        const auto end_of = [&](std::size_t k) { return std::min(count, (k + 1) * flags_a_piece); };
        std::vector<std::size_t> before(pieces + 1); // how many are selected in the pieces before
        const auto for_each_piece = [&](auto work) {
            if (pieces < 2)
                for (std::size_t k = 0; k < pieces; ++k)
                    work(k);
            else
                cpu_engine::for_each_index(target, pieces, work);
        };
        for_each_piece(
            [&](std::size_t k) { before[k + 1] = cpu_engine::count_flags(flags, k * flags_a_piece, end_of(k)); });
        std::partial_sum(before.begin(), before.end(), before.begin());
        const std::size_t found = before.back();
        const cpu_engine::packed_output<Out> to(out, count);
        for_each_piece([&](std::size_t k) {
            const std::size_t first = k * flags_a_piece;
            cpu_engine::pack_piece(in, flags, first, end_of(k), before[k], found + first - before[k], to, to);
        });
        *selected = static_cast<Count>(found);
    }
};

template <>
struct engine<cpu, verb::adjacent_difference> {
    template <class Acc, class In, class Out, class F>
    static void differences(const cpu& target, In in, Out out, std::size_t count, const F& f)
    {
        using result = std::iter_value_t<Out>;
        constexpr std::size_t piece = std::size_t{1} << 16;
        constexpr std::size_t block = 512;
        const std::size_t pieces = (count + piece - 1) / piece;
        // In place, the element before a piece is overwritten by another thread.
        const auto before = std::make_unique<Acc[]>(pieces);
        for (std::size_t k = 1; k < pieces; ++k)
            before[k] = cpu_engine::load<Acc>(in, k * piece - 1);
        const bool streams = count * sizeof(result) >= cpu_engine::stream_threshold && !is_in_place(in, out);
        const auto work = [&](std::size_t k) {
            std::array<Acc, block + 1> elements; // behind the one before them
            std::array<Acc, block> results;
            elements[0] = before[k];
            const std::size_t end = std::min(count, (k + 1) * piece);
            for (std::size_t i = k * piece; i < end; i += block) {
                const std::size_t some = std::min(block, end - i);
                const In from = in + static_cast<std::iter_difference_t<In>>(i);
                const Out to = out + static_cast<std::iter_difference_t<Out>>(i);
                if (some == block) {
                    const Acc* const there = cpu_engine::load_block<block, Acc>(from, elements.data() + 1);
                    if (there != elements.data() + 1)
                        std::copy_n(there, block, elements.data() + 1);
                    for (std::size_t j = 0; j < block; ++j)
                        results[j] = as_result<Acc, plus>(f(elements[j + 1], elements[j]));
                } else {
                    for (std::size_t j = 0; j < some; ++j)
                        elements[j + 1] = cpu_engine::load<Acc>(from, j);
                    for (std::size_t j = 0; j < some; ++j)
                        results[j] = as_result<Acc, plus>(f(elements[j + 1], elements[j]));
                }
                if (i == 0)
                    results[0] = as_result<Acc, plus>(elements[1]);
                if (streams && some == block)
                    cpu_engine::stream_results<block>(results.data(), to);
                else
                    cpu_engine::store_results(results.data(), to, some);
                elements[0] = elements[some];
            }
            cpu_engine::stream_fence();
        };
        if (pieces < 2)
            for (std::size_t k = 0; k < pieces; ++k)
                work(k);
        else
            cpu_engine::for_each_index(target, pieces, work);
    }

private:
    template <class In, class Out>
    static bool is_in_place(In in, Out out)
    {
        if constexpr (is_in_memory<In> && is_in_memory<Out>)
            return same_elements(in, out);
        else
            return false;
    }
};

} // namespace upsweep::detail
