// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Launches the faulty kernels on inputs that bring their faults out.
#include "exhibits.cuh"

#include "histogram.cuh"
#include "launch.cuh"

namespace lab {

namespace {

bool sums_to(const buffer<int>& out, int expected) { return out.read()[0] == expected; }

bool racing_histogram(const task& what)
{
    std::vector<unsigned> values(what.n);
    for (unsigned i = 0; i < what.n; ++i)
        values[i] = i;
    buffer<unsigned> in(values), counts(16, 0u);
    launch(faulty_racing_histogram<unsigned, modulo_bins>, blocks_for(what.n, what.block), what.block, 0, in.data(),
           counts.data(), what.n, modulo_bins{16});
    unsigned total = 0;
    for (unsigned c : counts.read())
        total += c;
    return total == what.n;
}

bool barrier_across_blocks(const task&)
{
    const unsigned n = 256;
    buffer<int> data(n, 1);
    launch(faulty_barrier_across_blocks<int>, 4, 64, 0, data.data(), n);
    const auto got = data.read();
    for (unsigned i = 0; i < n; ++i)
        if (got[i] != static_cast<int>(i + 1))
            return false;
    return true;
}

bool no_barrier_after_load(const task&)
{
    buffer<int> in(256, 1), out(1, 0);
    launch(faulty_no_barrier_after_load<int>, 1, 256, 256 * sizeof(int), in.data(), out.data());
    return sums_to(out, 256);
}

bool uninitialised_tail(const task&)
{
    buffer<int> in(200, 1), out(1, 0);
    launch(faulty_uninitialised_tail<int>, 1, 256, 256 * sizeof(int), in.data(), out.data(), 200u);
    return sums_to(out, 200);
}

bool divergent_barrier(const task&)
{
    buffer<int> in(256, 1), out(1, 0);
    launch(faulty_divergent_barrier<int>, 1, 256, 256 * sizeof(int), in.data(), out.data());
    return sums_to(out, 2);
}

bool warp_in_step(const task&)
{
    buffer<int> in(64, 1), out(1, 0);
    launch(faulty_warp_in_step<int>, 1, 32, 64 * sizeof(int), in.data(), out.data());
    return sums_to(out, 64);
}

bool one_too_many(const task&)
{
    buffer<int> in(64, 1), out(1, 0);
    launch(faulty_one_too_many<int>, 1, 1, 0, in.data(), out.data(), 64u);
    return sums_to(out, 64);
}

bool no_fence(const task&)
{
    buffer<int> in(8, 1), partial(8), out(1, 0);
    buffer<unsigned> ticket(1, 0u);
    launch(faulty_no_fence<int>, 8, 32, 0, in.data(), partial.data(), ticket.data(), out.data());
    return sums_to(out, 8);
}

rung exhibit(std::string row, std::string name, std::string idea, bool (*run)(const task&), std::string fault)
{
    return {std::move(row), std::move(name), std::move(idea), run, {}, {}, std::move(fault)};
}

} // namespace

ladder exhibits()
{
    return {
        "exhibits",
        "Kernels with one fault each",
        {
            exhibit("H2", "faulty_racing_histogram", "reads, adds, writes: counts are lost", racing_histogram, "race"),
            exhibit("X1", "faulty_barrier_across_blocks", "a barrier that is expected to span blocks",
                    barrier_across_blocks, "race"),
            exhibit("X2", "faulty_no_barrier_after_load", "no barrier between load and tree", no_barrier_after_load,
                    "race"),
            exhibit("X3", "faulty_uninitialised_tail", "the tail of the last tile is never filled", uninitialised_tail,
                    "uninitialised read"),
            exhibit("X4", "faulty_divergent_barrier", "a barrier inside a branch", divergent_barrier,
                    "barrier divergence"),
            exhibit("X5", "faulty_warp_in_step", "the lanes of a warp taken to run in step", warp_in_step, "race"),
            exhibit("X6", "faulty_one_too_many", "one element past the end", one_too_many, "out of bounds"),
            exhibit("X7", "faulty_no_fence", "a result and its flag without a fence between them", no_fence, "race"),
        }};
}

} // namespace lab
