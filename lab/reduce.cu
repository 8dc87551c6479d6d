// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// How the kernels of reduce.cuh are launched, level by level, and checked.
#include "reduce.cuh"

#include <cmath>

#include "launch.cuh"

namespace lab {

namespace {

template <class T>
std::vector<T> padded(std::vector<T> values, std::size_t to, T with)
{
    values.resize((values.size() + to - 1) / to * to, with);
    return values;
}

// A function that launches one level of the fold: n words of `in` become one word of `out` for each block.
template <class T, class Op>
using level = void (*)(const T* in, T* out, unsigned n, unsigned block, unsigned grid, Op op);

// Launches level after level until one word is left. Inputs and partial results are padded with the identity to whole
// tiles, for the kernels that expect it.
template <class T, class Op>
T fold_by_levels(const std::vector<T>& values, unsigned block, unsigned tile, level<T, Op> one, Op op)
{
    buffer<T> in(padded(values, tile, op.identity()));
    for (unsigned n = static_cast<unsigned>(values.size());;) {
        const unsigned grid = blocks_for(n, tile);
        buffer<T> out((grid + tile - 1) / tile * tile, op.identity());
        one(in.data(), out.data(), n, block, grid, op);
        if (grid == 1)
            return out.read()[0];
        n = grid;
        in = std::move(out);
    }
}

template <class T, class Op>
T run_serial(const std::vector<T>& values, const task&, Op op)
{
    buffer<T> in(values), out(1);
    launch(reduce_serial<T, Op>, 1, 1, 0, in.data(), out.data(), static_cast<unsigned>(values.size()), op);
    return out.read()[0];
}

template <class T, class Op>
T run_one_thread(const std::vector<T>& values, const task& what, Op op)
{
    return fold_by_levels<T, Op>(
        values, what.block, what.block,
        [](const T* in, T* out, unsigned n, unsigned block, unsigned grid, Op o) {
            launch(reduce_one_thread<T, Op>, grid, block, 0, in, out, n, o);
        },
        op);
}

// R3: the partial results of the tree in global memory lie at the heads of the tiles, and the host folds them.
template <class T, class Op>
T run_global_tree(const std::vector<T>& values, const task& what, Op op)
{
    buffer<T> data(padded(values, what.block, op.identity()));
    launch(reduce_global_tree<T, Op>, blocks_for(values.size(), what.block), what.block, 0, data.data(), op);
    const auto folded = data.read();
    T total = folded[0];
    for (std::size_t i = what.block; i < folded.size(); i += what.block)
        total = op(total, folded[i]);
    return total;
}

#define LAB_WHOLE_TILES(name, kernel)                                                                                  \
    template <class T, class Op>                                                                                       \
    T name(const std::vector<T>& values, const task& what, Op op)                                                      \
    {                                                                                                                  \
        return fold_by_levels<T, Op>(                                                                                  \
            values, what.block, what.block,                                                                            \
            [](const T* in, T* out, unsigned, unsigned block, unsigned grid, Op o) {                                   \
                launch(kernel<T, Op>, grid, block, block * sizeof(T), in, out, o);                                     \
            },                                                                                                         \
            op);                                                                                                       \
    }
LAB_WHOLE_TILES(run_shared_tree, reduce_shared_tree)
LAB_WHOLE_TILES(run_strided, reduce_interleaved_strided)
LAB_WHOLE_TILES(run_modulo, reduce_interleaved_modulo)
#undef LAB_WHOLE_TILES

#define LAB_ANY_LENGTH(name, kernel, tiles)                                                                            \
    template <class T, class Op>                                                                                       \
    T name(const std::vector<T>& values, const task& what, Op op)                                                      \
    {                                                                                                                  \
        return fold_by_levels<T, Op>(                                                                                  \
            values, what.block, (tiles)*what.block,                                                                    \
            [](const T* in, T* out, unsigned n, unsigned block, unsigned grid, Op o) {                                 \
                launch(kernel<T, Op>, grid, block, block * sizeof(T), in, out, n, o);                                  \
            },                                                                                                         \
            op);                                                                                                       \
    }
LAB_ANY_LENGTH(run_sequential, reduce_sequential, 1)
LAB_ANY_LENGTH(run_first_add, reduce_first_add, 2)
LAB_ANY_LENGTH(run_unrolled_last_warp, reduce_unrolled_last_warp, 2)
LAB_ANY_LENGTH(run_shuffle, reduce_shuffle, 8)
#undef LAB_ANY_LENGTH

// The block size becomes a template argument. Sizes other than these are rounded down to one of them.
template <class F>
void with_block(unsigned block, F f)
{
    if (block >= 1024)
        f(std::integral_constant<unsigned, 1024>());
    else if (block >= 512)
        f(std::integral_constant<unsigned, 512>());
    else if (block >= 256)
        f(std::integral_constant<unsigned, 256>());
    else if (block >= 128)
        f(std::integral_constant<unsigned, 128>());
    else
        f(std::integral_constant<unsigned, 64>());
}

template <class T, class Op>
T run_fully_unrolled(const std::vector<T>& values, const task& what, Op op)
{
    T total{};
    with_block(what.block, [&](auto size) {
        constexpr unsigned block = decltype(size)::value;
        total = fold_by_levels<T, Op>(
            values, block, 2 * block,
            [](const T* in, T* out, unsigned n, unsigned, unsigned grid, Op o) {
                launch(reduce_fully_unrolled<block, T, Op>, grid, block, 0, in, out, n, o);
            },
            op);
    });
    return total;
}

template <class T, class Op>
T run_many_per_thread(const std::vector<T>& values, const task& what, Op op)
{
    T total{};
    with_block(what.block, [&](auto size) {
        constexpr unsigned block = decltype(size)::value;
        total = fold_by_levels<T, Op>(
            values, block, 8 * block,
            [](const T* in, T* out, unsigned n, unsigned, unsigned grid, Op o) {
                launch(reduce_many_per_thread<block, T, Op>, grid, block, 0, in, out, n, o);
            },
            op);
    });
    return total;
}

template <class T, class Op>
T run_last_block(const std::vector<T>& values, const task& what, Op op)
{
    const unsigned grid = blocks_for(values.size(), 8 * what.block);
    buffer<T> in(values), out(grid + 1);
    const auto ticket = zeros<unsigned>(1);
    launch(reduce_last_block<T, Op>, grid, what.block, 0, in.data(), out.data(), ticket.data(),
           static_cast<unsigned>(values.size()), op);
    return out.read()[grid];
}

template <class T, class Op>
T serial_answer(const std::vector<T>& values, Op op)
{
    T total = op.identity();
    for (T v : values)
        total = op(total, v);
    return total;
}

// R14. The same kernel folds under every operator.
bool every_operator(const task& what)
{
    std::vector<unsigned> values(what.n);
    for (unsigned i = 0; i < what.n; ++i)
        values[i] = scrambled(i) | 1; // odd, so that the product says something
    auto right = [&](auto op) { return run_shuffle<unsigned>(values, what, op) == serial_answer(values, op); };
    return repeat(what.repetitions, values.size(), 9 * values.size() * sizeof(unsigned), [&] {
        return right(plus<unsigned>()) && right(multiplies<unsigned>()) && right(minimum<unsigned>()) &&
               right(maximum<unsigned>()) && right(bit_and<unsigned>()) && right(bit_or<unsigned>()) &&
               right(bit_xor<unsigned>()) && right(logical_and<unsigned>()) && right(logical_or<unsigned>());
    });
}

double log2_of(double n) { return std::log2(n); }
double linear(double n) { return n - 1; }

// The runners of a row: for numbers, and for elements that remember the inputs they were folded from.
#define LAB_TRACE(runner) traced([](const task& what, auto values_of, auto op) { runner(values_of(what.n), what, op); })
#define LAB_RUNG(row, name, idea, runner, steps)                                                                       \
    rung                                                                                                               \
    {                                                                                                                  \
        row, #name, idea,                                                                                              \
            [](const task& what) {                                                                                     \
                const auto values = small_numbers(what.n);                                                             \
                const int answer = serial_answer(values, plus<int>());                                                 \
                return repeat(what.repetitions, what.n, what.n * sizeof(int),                                          \
                              [&] { return runner<int>(values, what, counted<plus<int>>()) == answer; });              \
            },                                                                                                         \
            LAB_TRACE(runner), {steps, linear},                                                                        \
        {                                                                                                              \
        }                                                                                                              \
    }

} // namespace

ladder reduce_ladder()
{
    return {"reduce",
            "Reduce: one value from many",
            {
                LAB_RUNG("R1", reduce_serial, "one thread, one element after the other", run_serial, linear),
                LAB_RUNG("R2", reduce_one_thread, "one thread of each block; the others idle", run_one_thread, nullptr),
                LAB_RUNG("R3", reduce_global_tree, "a tree in global memory: log n steps, 3n words", run_global_tree,
                         log2_of),
                LAB_RUNG("R4", reduce_shared_tree, "the tree in shared memory: n + 1 words", run_shared_tree, log2_of),
                LAB_RUNG("R5", reduce_interleaved_strided, "neighbours first, strided index: bank conflicts",
                         run_strided, log2_of),
                LAB_RUNG("R6", reduce_interleaved_modulo, "neighbours first, modulo: lanes idle in every warp",
                         run_modulo, log2_of),
                LAB_RUNG("R7", reduce_sequential, "halves: neither conflicts nor divergence", run_sequential, log2_of),
                LAB_RUNG("R8", reduce_first_add, "first add during the load: half the blocks", run_first_add, log2_of),
                LAB_RUNG("R9", reduce_unrolled_last_warp, "the last warp needs no block barrier",
                         run_unrolled_last_warp, log2_of),
                LAB_RUNG("R10", reduce_fully_unrolled, "the block size is a template argument", run_fully_unrolled,
                         log2_of),
                LAB_RUNG("R11", reduce_many_per_thread, "several elements a thread before the tree",
                         run_many_per_thread, nullptr),
                LAB_RUNG("R12", reduce_shuffle, "warp shuffles: one barrier", run_shuffle, nullptr),
                LAB_RUNG("R13", reduce_last_block, "the last block folds the partial results: one launch",
                         run_last_block, nullptr),
                {"R14", "reduce_shuffle", "every operator with its identity", every_operator, {}, {}, {}},
            }};
}

} // namespace lab
