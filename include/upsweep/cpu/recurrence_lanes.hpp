// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <vector>

#include <upsweep/cpu/affine_lanes.hpp>
#include <upsweep/cpu/lanes.hpp>
#include <upsweep/cpu/line_bundle.hpp>
#include <upsweep/cpu/reduce.hpp>
#include <upsweep/cpu/vector.hpp>

// Which lanes a recurrence is scanned in: they are lines where there are many of them, and else consecutive aligned blocks of one line.
// Those are folded first, so that the state before each is known, and scanned from the cache.
//
//     many lines                          one line, two of its blocks a lane each
//     lane  0    1    2    3              lane  0        1
//          a00  a01  a02  a03   row 0          a0       a4
//          a10  a11  a12  a13   row 1          a1       a5
namespace upsweep::cpu_engine {

// Scans the lines of a bundle in lockstep.
template <class Recurrence>
class lines_as_lanes {
    using accumulator = typename Recurrence::accumulator;

public:
    using bundle = typename Recurrence::bundle;

    lines_as_lanes(const typename Recurrence::call& of, const bundle& lines)
        : lines_(lines), recurrence_(of, lines_), scan_(width(lines.count), lines.length + rows_at_once),
          memory_(4 * rows_at_once * lanes())
    {
    }
    lines_as_lanes(const lines_as_lanes&) = delete;
    lines_as_lanes& operator=(const lines_as_lanes&) = delete;
    ~lines_as_lanes() = default;

    // Goes on with other lines.
    void take(const bundle& lines)
    {
        lines_ = lines;
        if (width(lines.count) == lanes())
            return;
        scan_ = affine_lanes<accumulator>(width(lines.count), lines.length + rows_at_once);
        memory_.assign(4 * rows_at_once * lanes(), {});
    }

    std::size_t lanes() const { return scan_.lanes(); }
    // The states before the lines.
    const accumulator* first_states()
    {
        accumulator* const states = part(3);
        recurrence_.first_states(states);
        return states;
    }

    // The totals of 2^level elements of each line, of eight or more.
    void fold(std::size_t first, int level, const affine_row<accumulator>& totals)
    {
        scan_.begin(nullptr);
        for (std::size_t row = first; row < first + (std::size_t{1} << level); row += rows_at_once)
            scan_.fold(recurrence_.coefficients(row, lanes(), part(0)), recurrence_.inputs(row, lanes(), part(1)));
        std::copy_n(scan_.stack().maps_a(level), lanes(), totals.a());
        std::copy_n(scan_.stack().maps_b(level), lanes(), totals.b());
    }

    // Writes what becomes of the states before `first` in `count` rows. `end`: the states after them, where they are known.
    void scan(std::size_t first, std::size_t count, const accumulator* before, const accumulator* end)
    {
        scan_.begin(before);
        for (std::size_t row = first; row < first + count; row += rows_at_once) {
            const std::size_t rows = std::min(rows_at_once, first + count - row);
            const auto a = recurrence_.coefficients(row, lanes(), part(0));
            const auto b = recurrence_.inputs(row, lanes(), part(1));
            accumulator* const states = part(2);
            scan_.scan(a, b, states, row + rows == first + count && rows == rows_at_once ? end : nullptr);
            recurrence_.write(row, rows, lanes(), states);
        }
    }

private:
    static constexpr std::size_t at_once = affine_stack<accumulator>::at_once;
    static std::size_t width(std::size_t lines) { return (lines + at_once - 1) / at_once * at_once; }
    accumulator* part(std::size_t k) { return memory_.data() + k * rows_at_once * lanes(); }

    bundle lines_;
    Recurrence recurrence_;
    affine_lanes<accumulator> scan_;
    std::vector<accumulator> memory_; // eight rows of coefficients, of inputs and of states; first states
};

// Scans one line, a chunk of it at a time: up to 16 aligned blocks, which are lanes.
template <class Recurrence>
class blocks_as_lanes {
    using accumulator = typename Recurrence::accumulator;
    static constexpr std::size_t lanes_of_chunk = 16;
    static constexpr std::size_t block = 1024 / sizeof(accumulator);
    static constexpr int level_of_block = level_of<block>;
    static constexpr std::size_t small_block = 16;

public:
    using bundle = typename Recurrence::bundle;

    blocks_as_lanes(const typename Recurrence::call& of, const bundle& line)
        : lines_(line), recurrence_(of, lines_), line_(at_once, line.length), blocks_(lanes_of_chunk, block),
          part_(lanes_of_chunk << level_for(line.length)), memory_(5 * part_)
    {
    }
    blocks_as_lanes(const blocks_as_lanes&) = delete;
    blocks_as_lanes& operator=(const blocks_as_lanes&) = delete;
    ~blocks_as_lanes() = default;

    // Goes on with another line of the same length.
    void take(const bundle& line) { lines_ = line; }

    std::size_t lanes() const { return at_once; } // of which one is the line
    const accumulator* first_states()
    {
        recurrence_.first_states(first_states_.data());
        return first_states_.data();
    }

    void fold(std::size_t first, int level, const affine_row<accumulator>& totals)
    {
        line_.begin(nullptr);
        for (std::size_t done = 0; done < std::size_t{1} << level; done += chunk) {
            read_chunk(first + done, level_of_block, lanes_of_chunk);
            fold_blocks(level_of_block, first + done + chunk);
            for (std::size_t k = 0; k < lanes_of_chunk; ++k)
                push_block(k, level_of_block);
        }
        std::copy_n(line_.maps_a(level), at_once, totals.a());
        std::copy_n(line_.maps_b(level), at_once, totals.b());
    }

    void scan(std::size_t first, std::size_t count, const accumulator* before, const accumulator* end)
    {
        line_.begin(before);
        for (const std::size_t stop = first + count; first < stop;) {
            const std::size_t left = stop - first;
            const int level = level_for(left);
            const std::size_t blocks = std::min(lanes_of_chunk, left >> level);
            if (blocks == 0) {
                scan_last(first, left);
                return;
            }
            const bool is_last = blocks << level == left;
            scan_chunk(first, level, blocks, is_last ? end : nullptr);
            first += blocks << level;
        }
    }

    // Elements of the pieces that threads share are whole chunks.
    static constexpr std::size_t chunk = lanes_of_chunk * block;

private:
    static constexpr std::size_t at_once = affine_stack<accumulator>::at_once;
    // Blocks that so many elements make as many of as there are lanes, if they can.
    static int level_for(std::size_t elements)
    {
        if (elements < small_block)
            return level_of_tile;
        const std::size_t size = std::bit_floor(std::max<std::size_t>(elements / lanes_of_chunk, 1));
        return std::countr_zero(std::clamp(size, small_block, block));
    }
    accumulator* part(std::size_t k) { return memory_.data() + k * part_; }

    lane_rows<accumulator> rows(std::size_t part_number, std::size_t row)
    {
        return {part(part_number) + row * lanes_of_chunk, lanes_of_chunk};
    }

    // Brings blocks of 2^level elements side by side.
    void read_chunk(std::size_t first, int level, std::size_t blocks)
    {
        const std::size_t elements = std::size_t{1} << level;
        const accumulator* const a = recurrence_.line_coefficients(first, blocks << level, part(0));
        const accumulator* const b = recurrence_.line_inputs(first, blocks << level, part(1));
        for (std::size_t row = 0; row < elements; row += rows_at_once) {
            transpose(a + row, static_cast<std::ptrdiff_t>(elements), blocks, part(2) + row * lanes_of_chunk,
                      lanes_of_chunk);
            transpose(b + row, static_cast<std::ptrdiff_t>(elements), blocks, part(3) + row * lanes_of_chunk,
                      lanes_of_chunk);
        }
    }
    // Meanwhile the elements from `next` on, which make the next chunk, come from memory.
    void fold_blocks(int level, std::size_t next)
    {
        constexpr std::size_t elements_of_tile = rows_at_once * lanes_of_chunk;
        blocks_.begin(nullptr);
        for (std::size_t row = 0; row < std::size_t{1} << level; row += rows_at_once, next += elements_of_tile) {
            recurrence_.prefetch_line(next, elements_of_tile);
            blocks_.fold(rows(2, row), rows(3, row));
        }
        std::copy_n(blocks_.stack().maps_a(level), lanes_of_chunk, totals_a_.begin());
        std::copy_n(blocks_.stack().maps_b(level), lanes_of_chunk, totals_b_.begin());
    }
    void push_block(std::size_t k, int level)
    {
        std::array<accumulator, at_once> a;
        std::array<accumulator, at_once> b;
        a.fill(totals_a_[k]);
        b.fill(totals_b_[k]);
        line_.push(a.data(), b.data(), level);
    }

    void scan_chunk(std::size_t first, int level, std::size_t blocks, const accumulator* end)
    {
        read_chunk(first, level, blocks);
        fold_blocks(level, first + (blocks << level));
        std::array<accumulator, lanes_of_chunk> before{};
        std::array<accumulator, lanes_of_chunk> after{};
        for (std::size_t k = 0; k < blocks; ++k) {
            before[k] = line_.states()[0];
            push_block(k, level);
            after[k] = line_.states()[0];
        }
        if (end != nullptr)
            after[blocks - 1] = *end;
        const std::size_t elements = std::size_t{1} << level;
        blocks_.begin(before.data());
        std::array<accumulator, rows_at_once * lanes_of_chunk> states;
        for (std::size_t row = 0; row < elements; row += rows_at_once) {
            blocks_.scan(rows(2, row), rows(3, row), states.data(),
                         row + rows_at_once == elements ? after.data() : nullptr);
            for (std::size_t k = 0; k < blocks; k += square<accumulator>::side)
                put_back(states.data() + k, part(4) + (k << level) + row, elements);
        }
        recurrence_.write_line(first, blocks << level, part(4));
    }
    // Eight states of some neighbouring lanes, to where they lie one behind the other. Lanes beyond the blocks have room, too.
    static void put_back(const accumulator* states, accumulator* to, std::size_t elements)
    {
        constexpr std::size_t side = square<accumulator>::side;
        for (std::size_t r = 0; r < rows_at_once; r += side)
            square<accumulator>::transpose(states + r * lanes_of_chunk, lanes_of_chunk, to + r,
                                           static_cast<std::ptrdiff_t>(elements));
    }

    // Fewer than eight elements at the end of the line.
    void scan_last(std::size_t first, std::size_t count)
    {
        std::array<accumulator, rows_at_once * at_once> a{};
        std::array<accumulator, rows_at_once * at_once> b{};
        std::array<accumulator, rows_at_once * at_once> states;
        const accumulator* const coefficients = recurrence_.line_coefficients(first, count, part(0));
        const accumulator* const inputs = recurrence_.line_inputs(first, count, part(1));
        for (std::size_t i = 0; i < count; ++i) {
            a[i * at_once] = coefficients[i];
            b[i * at_once] = inputs[i];
        }
        last_.begin(line_.states());
        last_.scan({a.data(), at_once}, {b.data(), at_once}, states.data(), nullptr);
        for (std::size_t i = 0; i < count; ++i)
            part(4)[i] = states[i * at_once];
        recurrence_.write_line(first, count, part(4));
    }

    bundle lines_; // one
    Recurrence recurrence_;
    affine_stack<accumulator> line_;   // of which all lanes are the line
    affine_lanes<accumulator> blocks_; // of a chunk
    affine_lanes<accumulator> last_{at_once, rows_at_once};
    std::array<accumulator, lanes_of_chunk> totals_a_{};
    std::array<accumulator, lanes_of_chunk> totals_b_{};
    std::array<accumulator, at_once> first_states_{};
    // Coefficients and inputs as accumulators, the same side by side, and states, a chunk of each.
    std::size_t part_;
    std::vector<accumulator> memory_;
};

} // namespace upsweep::cpu_engine
