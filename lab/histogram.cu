// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// How the kernels of histogram.cuh are launched and checked.
#include "histogram.cuh"

#include "launch.cuh"

namespace lab {

namespace {

constexpr unsigned bins = 64;

// A quarter of the samples fall into one bin, because real data are rarely uniform.
std::vector<unsigned> samples(unsigned n)
{
    std::vector<unsigned> values(n);
    for (unsigned i = 0; i < n; ++i)
        values[i] = i % 4 == 0 ? 5 : scrambled(i);
    return values;
}

template <class S, class Bin>
std::vector<unsigned> serial_answer(const std::vector<S>& values, unsigned count, Bin bin)
{
    std::vector<unsigned> counts(count);
    for (S v : values)
        if (const unsigned b = bin(v); b != none)
            ++counts[b];
    return counts;
}

// Whether a kernel counts what the serial loop counts. `start` launches it, given the samples, the counts, the number of
// samples, the grid, the block and the bin function.
template <class S, class Bin, class Launch>
bool right(const std::vector<S>& values, unsigned count, const task& what, Bin bin, Launch start)
{
    const auto n = static_cast<unsigned>(values.size());
    const auto answer = serial_answer(values, count, bin);
    buffer<S> in(values);
    return repeat(what.repetitions, n, n * sizeof(S), [&] {
        const auto counts = zeros<unsigned>(count);
        start(in.data(), counts.data(), n, blocks_for(n, 8 * what.block), what.block, bin);
        return counts.read() == answer;
    });
}

using modulo = modulo_bins;

bool run_serial(const task& what)
{
    return right(samples(what.n), bins, what, modulo{bins},
                 [](auto in, auto counts, unsigned n, unsigned, unsigned, auto bin) {
                     launch(histogram_serial<unsigned, modulo>, 1, 1, 0, in, counts, n, bin);
                 });
}

bool run_global_atomics(const task& what)
{
    return right(samples(what.n), bins, what, modulo{bins},
                 [](auto in, auto counts, unsigned n, unsigned grid, unsigned block, auto bin) {
                     launch(histogram_global_atomics<unsigned, modulo>, grid, block, 0, in, counts, n, bin);
                 });
}

bool run_thread_tables(const task& what)
{
    return right(samples(what.n), bins, what, modulo{bins},
                 [](auto in, auto counts, unsigned n, unsigned grid, unsigned block, auto bin) {
                     const auto tables = zeros<unsigned>(std::size_t{grid} * block * bins);
                     launch(histogram_thread_tables<unsigned, modulo>, grid, block, 0, in, tables.data(), n, bin);
                     launch(histogram_fold_tables<unsigned>, bins, block, block * sizeof(unsigned), tables.data(),
                            counts, grid * block);
                 });
}

bool run_sorted(const task& what)
{
    return right(samples(what.n), bins, what, modulo{bins},
                 [](auto in, auto counts, unsigned n, unsigned, unsigned block, auto bin) {
                     launch(histogram_sorted<unsigned, modulo>, blocks_for(n, block), block, block * sizeof(unsigned),
                            in, counts, n, bin);
                 });
}

bool run_privatized(const task& what)
{
    return right(samples(what.n), bins, what, modulo{bins},
                 [](auto in, auto counts, unsigned n, unsigned grid, unsigned block, auto bin) {
                     launch(histogram_privatized<unsigned, modulo>, grid, block, bins * sizeof(unsigned), in, counts, n,
                            bins, bin);
                 });
}

bool run_blocked(const task& what)
{
    return right(samples(what.n), bins, what, modulo{bins},
                 [](auto in, auto counts, unsigned n, unsigned grid, unsigned block, auto bin) {
                     launch(histogram_blocked<unsigned, modulo>, grid, block, bins * sizeof(unsigned), in, counts, n,
                            bins, bin);
                 });
}

// A table of 64 Ki bins does not fit into shared memory; its first 1024 bins do.
bool run_partially_privatized(const task& what)
{
    constexpr unsigned many = 1u << 16;
    return right(samples(what.n), many, what, modulo{many},
                 [](auto in, auto counts, unsigned n, unsigned grid, unsigned block, auto bin) {
                     launch(histogram_partially_privatized<unsigned, modulo>, grid, block, 1024 * sizeof(unsigned), in,
                            counts, n, 0u, 1024u, bin);
                 });
}

bool run_text(const task& what)
{
    const std::string sentence = "the quick brown fox jumps over the lazy dog, twice; ";
    std::vector<unsigned char> text(what.n);
    for (unsigned i = 0; i < what.n; ++i)
        text[i] = static_cast<unsigned char>(sentence[i % sentence.size()]);
    return right(text, 7, what, letter_groups(),
                 [](auto in, auto counts, unsigned n, unsigned grid, unsigned block, auto bin) {
                     launch(histogram_privatized<unsigned char, letter_groups>, grid, block, 7 * sizeof(unsigned), in,
                            counts, n, 7u, bin);
                 });
}

// A bin function that the kernels were not written for: the number of ones among the bits of the sample.
struct ones {
    __host__ __device__ unsigned operator()(unsigned sample) const
    {
        unsigned count = 0;
        for (; sample != 0; sample &= sample - 1)
            ++count;
        return count;
    }
};

bool run_user_function(const task& what)
{
    return right(samples(what.n), 33, what, ones(),
                 [](auto in, auto counts, unsigned n, unsigned grid, unsigned block, auto bin) {
                     launch(histogram_privatized<unsigned, ones>, grid, block, 33 * sizeof(unsigned), in, counts, n,
                            33u, bin);
                 });
}

} // namespace

ladder histogram_ladder()
{
    return {
        "histogram",
        "Histogram: how many fall into each bin",
        {
            {"H1", "histogram_serial", "one thread", run_serial},
            {"H3", "histogram_global_atomics", "an atomic a sample, in global memory", run_global_atomics},
            {"H4", "histogram_thread_tables", "privatized for each thread, then a reduction of each bin",
             run_thread_tables},
            {"H5", "histogram_sorted", "sort, then reduce by key: an atomic a run", run_sorted},
            {"H6", "histogram_privatized", "privatized for each block, in shared memory", run_privatized},
            {"H7", "histogram_blocked", "each thread its own stretch: uncoalesced", run_blocked},
            {"H8", "histogram_partially_privatized", "65536 bins, some of them privatized", run_partially_privatized},
            {"H9", "histogram_privatized", "text into groups of four letters", run_text},
            {"H10", "histogram_privatized", "a bin function of the user", run_user_function},
        }};
}

} // namespace lab
