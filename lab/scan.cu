// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// How the kernels of scan.cuh are launched and checked.
#include "scan.cuh"

#include <algorithm>
#include <cmath>

#include "launch.cuh"
#include "scan_levels.cuh"

namespace lab {

namespace {

template <class T, class Op>
std::vector<T> serial_answer(const std::vector<T>& values, Op op, bool exclusive)
{
    std::vector<T> out;
    out.reserve(values.size());
    T total = op.identity();
    for (T v : values) {
        if (exclusive)
            out.push_back(total);
        total = op(total, v);
        if (!exclusive)
            out.push_back(total);
    }
    return out;
}

template <class T, class Op>
std::vector<T> run_serial(const std::vector<T>& values, const task&, Op op)
{
    buffer<T> in(values), out(values.size());
    launch(scan_serial<T, Op>, 1, 1, 0, in.data(), out.data(), static_cast<unsigned>(values.size()), op);
    return out.read();
}

template <class T, class Op>
std::vector<T> run_serial_exclusive(const std::vector<T>& values, const task&, Op op)
{
    buffer<T> in(values), out(values.size());
    launch(scan_serial_exclusive<T, Op>, 1, 1, 0, in.data(), out.data(), static_cast<unsigned>(values.size()), op);
    return out.read();
}

template <class T, class Op>
std::vector<T> run_by_reductions(const std::vector<T>& values, const task& what, Op op)
{
    buffer<T> in(values), out(values.size());
    launch(scan_by_reductions<T, Op>, blocks_for(values.size(), what.block), what.block, 0, in.data(), out.data(),
           static_cast<unsigned>(values.size()), op);
    return out.read();
}

template <class T, class Op>
std::vector<T> run_hillis_steele(const std::vector<T>& values, const task&, Op op)
{
    const auto n = static_cast<unsigned>(values.size());
    buffer<T> in(values), out(n);
    launch(scan_hillis_steele<T, Op>, 1, n, 2 * n * sizeof(T), in.data(), out.data(), op);
    return out.read();
}

template <class T, class Op>
std::vector<T> run_blelloch(const std::vector<T>& values, const task&, Op op)
{
    const auto n = static_cast<unsigned>(values.size());
    buffer<T> in(values), out(n);
    launch(scan_blelloch<T, Op>, 1, n / 2, n * sizeof(T), in.data(), out.data(), op);
    return out.read();
}

template <class T, class Op>
std::vector<T> run_power_of_two(const std::vector<T>& values, const task&, Op op)
{
    const auto n = static_cast<unsigned>(values.size());
    buffer<T> in(values), out(n);
    launch(scan_power_of_two<T, Op>, 1, n / 2, n * sizeof(T), in.data(), out.data(), op);
    return out.read();
}

template <class T, class Op>
std::vector<T> run_blocks(const std::vector<T>& values, const task& what, Op op)
{
    buffer<T> in(values), out(values.size());
    scan_levels(in.data(), out.data(), static_cast<unsigned>(values.size()), what.block, op);
    return out.read();
}

template <class T, class Op>
std::vector<T> run_look_back(const std::vector<T>& values, const task& what, Op op)
{
    const unsigned tiles = blocks_for(values.size(), what.block);
    buffer<T> in(values), out(values.size()), totals(tiles), prefixes(tiles);
    const auto tile_states = zeros<unsigned>(tiles), ticket = zeros<unsigned>(1);
    launch(scan_look_back<T, Op>, tiles, what.block, 0, in.data(), out.data(), totals.data(), prefixes.data(),
           tile_states.data(), ticket.data(), static_cast<unsigned>(values.size()), op);
    return out.read();
}

// S9. Builds the table and asks it for the sums of small, large and empty rectangles.
bool table_is_right(const std::vector<int>& values, unsigned rows, unsigned columns, const task& what)
{
    buffer<int> in(values), table(values.size());
    const counted<plus<int>> op;
    launch(scan_rows<int, counted<plus<int>>>, rows, what.block, 0, in.data(), table.data(), columns, op);
    launch(scan_columns<int, counted<plus<int>>>, blocks_for(columns, what.block), what.block, 0, table.data(), rows,
           columns, op);
    const std::vector<rectangle> asked{
        {0, 0, rows, columns}, {0, 0, 1, 1}, {rows / 2, 1, rows, columns / 2}, {1, 0, 2, columns}, {1, 1, 1, 1}};
    buffer<rectangle> queries(asked);
    buffer<int> sums(asked.size());
    launch(sum_rectangles<int>, 1, 32, 0, table.data(), columns, queries.data(), sums.data(),
           static_cast<unsigned>(asked.size()));
    const auto got = sums.read();
    for (std::size_t q = 0; q < asked.size(); ++q) {
        int expected = 0;
        for (unsigned y = asked[q].top; y < asked[q].bottom; ++y)
            for (unsigned x = asked[q].left; x < asked[q].right; ++x)
                expected += values[y * columns + x];
        if (got[q] != expected)
            return false;
    }
    return true;
}

// The table has about n words, in rows that are longer than a block.
bool run_two_dimensions(const task& what)
{
    const auto side = static_cast<unsigned>(std::sqrt(static_cast<double>(what.n))) + 1;
    const unsigned columns = std::max(side, what.block + what.block / 2), rows = std::max(2u, what.n / columns + 1);
    const auto values = small_numbers(rows * columns);
    return repeat(what.repetitions, values.size(), 2 * values.size() * sizeof(int),
                  [&] { return table_is_right(values, rows, columns, what); });
}

double linear(double n) { return n - 1; }
double log2_of(double n) { return std::log2(n); }

// A kernel of one block is given no more elements than the block can hold.
task one_block(task what, unsigned words_per_thread)
{
    const unsigned most = what.block * words_per_thread;
    unsigned n = 2;
    while (2 * n <= what.n && 2 * n <= most)
        n *= 2;
    return {n, what.block};
}

#define LAB_TRACE(runner, fit)                                                                                         \
    traced([](const task& what, auto values_of, auto op) { runner(values_of((fit).n), fit, op); })
#define LAB_RUNG(row, name, idea, runner, fit, exclusive, ...)                                                         \
    rung                                                                                                               \
    {                                                                                                                  \
        row, #name, idea,                                                                                              \
            [](const task& what) {                                                                                     \
                const auto values = small_numbers((fit).n);                                                            \
                const auto answer = serial_answer(values, plus<int>(), exclusive);                                     \
                return repeat(what.repetitions, values.size(), 2 * values.size() * sizeof(int),                        \
                              [&] { return runner<int>(values, fit, counted<plus<int>>()) == answer; });               \
            },                                                                                                         \
            LAB_TRACE(runner, fit), {__VA_ARGS__},                                                                     \
        {                                                                                                              \
        }                                                                                                              \
    }

} // namespace

ladder scan_ladder()
{
    return {"scan",
            "Scan: every prefix of an array",
            {
                LAB_RUNG("S1", scan_serial, "one thread; every step needs the one before", run_serial, what, false,
                         linear, linear),
                LAB_RUNG(
                    "S1", scan_serial_exclusive, "the same, shifted by one", run_serial_exclusive, what, true,
                    [](double n) { return n; }, [](double n) { return n; }),
                LAB_RUNG("S2", scan_by_reductions, "n independent reductions: n(n-1)/2 applications", run_by_reductions,
                         what, false, linear, [](double n) { return n * (n - 1) / 2; }),
                LAB_RUNG("S3", scan_hillis_steele, "reach doubles each step: few steps, more work", run_hillis_steele,
                         one_block(what, 1), false, log2_of, [](double n) { return n * std::log2(n) - n + 1; }),
                LAB_RUNG(
                    "S4", scan_blelloch, "up-sweep and down-sweep: twice the steps, linear work", run_blelloch,
                    one_block(what, 2), true, [](double n) { return 2 * std::log2(n); },
                    [](double n) { return 2 * (n - 1); }),
                LAB_RUNG("S5", scan_power_of_two, "up-sweep, then the binary digits of each index", run_power_of_two,
                         one_block(what, 2), false, nullptr, nullptr),
                LAB_RUNG("S6", scan_tiles, "tiles, their totals, and back: any length, read twice", run_blocks, what,
                         false, nullptr, nullptr),
                LAB_RUNG("S7", scan_look_back, "decoupled look-back: one pass over the tiles", run_look_back, what,
                         false, nullptr, nullptr),
                {"S9",
                 "scan_rows",
                 "two dimensions: rows, columns, and rectangles by four reads",
                 run_two_dimensions,
                 {},
                 {},
                 {}},
            }};
}

} // namespace lab
