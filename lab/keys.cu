// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// How the kernels of keys.cuh are launched and checked.
#include "keys.cuh"

#include <algorithm>

#include "launch.cuh"
#include "scan_levels.cuh"

namespace lab {

namespace {

enum : unsigned { runs_of_64, runs_of_1, runs_of_mixed_lengths };

// Runs of keys, of which neighbours differ and others may be equal. Under the power law, one run in x is x elements long or longer.
std::vector<unsigned> runs_of_keys(const task& what)
{
    std::vector<unsigned> keys;
    keys.reserve(what.n);
    for (unsigned run = 0; keys.size() < what.n; ++run) {
        const double share = (scrambled(run + 1) + 1.0) / 4294967296.0;
        const std::size_t length = what.input == runs_of_64  ? 64
                                   : what.input == runs_of_1 ? 1
                                                             : static_cast<std::size_t>(1 / share);
        keys.insert(keys.end(), std::min(length, what.n - keys.size()), scrambled(run) % 1000 * 2 + run % 2);
    }
    return keys;
}

template <class T>
struct totals_of_runs {
    std::vector<unsigned> keys;
    std::vector<T> totals;
    bool operator==(const totals_of_runs&) const = default;
};

// What the kernels write: room for a result each element, and the number of runs.
template <class T>
struct results {
    explicit results(std::size_t n) : keys(n), totals(n), runs(1) {}
    totals_of_runs<T> read() const { return first(runs.read()[0]); }
    totals_of_runs<T> first(unsigned count) const
    {
        auto all_keys = keys.read();
        auto all_totals = totals.read();
        all_keys.resize(count);
        all_totals.resize(count);
        return {std::move(all_keys), std::move(all_totals)};
    }
    buffer<unsigned> keys;
    buffer<T> totals;
    buffer<unsigned> runs;
};

struct keys_by_one_thread {
    template <class T, class Op>
    totals_of_runs<T> operator()(const std::vector<unsigned>& keys, const std::vector<T>& values, unsigned, Op op) const
    {
        const buffer<unsigned> in(keys);
        const buffer<T> of_keys(values);
        const results<T> out(keys.size());
        launch(keys_serial<unsigned, T, Op>, 1, 1, 0, in.data(), of_keys.data(), out.keys.data(), out.totals.data(),
               out.runs.data(), static_cast<unsigned>(keys.size()), op);
        return out.read();
    }
};

struct keys_by_scan {
    template <class T, class Op>
    totals_of_runs<T> operator()(const std::vector<unsigned>& keys, const std::vector<T>& values, unsigned block,
                                 Op op) const
    {
        const auto n = static_cast<unsigned>(keys.size());
        const unsigned tiles = blocks_for(n, block);
        const buffer<unsigned> in(keys), numbers(n), open_runs(tiles);
        const buffer<T> of_keys(values), open_values(tiles);
        const results<T> out(n);
        launch(keys_head_flags<unsigned>, tiles, block, 0, in.data(), numbers.data(), n);
        scan_levels(numbers.data(), numbers.data(), n, block, plus<unsigned>());
        launch(keys_scatter<unsigned, T, Op>, tiles, block, 0, in.data(), of_keys.data(), numbers.data(),
               out.keys.data(), out.totals.data(), n, open_runs.data(), open_values.data(), op);
        launch(segments_fix_up<T, Op>, 1, block, 0, open_runs.data(), open_values.data(), tiles, out.totals.data(), op);
        return out.first(numbers.read().back());
    }
};

struct keys_in_one_pass {
    template <class T, class Op>
    totals_of_runs<T> operator()(const std::vector<unsigned>& keys, const std::vector<T>& values, unsigned block,
                                 Op op) const
    {
        const unsigned tiles = blocks_for(keys.size(), block);
        const buffer<unsigned> in(keys);
        const buffer<T> of_keys(values);
        const results<T> out(keys.size());
        const buffer<runs_of_stretch<T>> totals(tiles), prefixes(tiles);
        const auto tile_states = zeros<unsigned>(tiles), ticket = zeros<unsigned>(1);
        launch(keys_look_back<unsigned, T, Op>, tiles, block, (block + 2) * sizeof(unsigned), in.data(), of_keys.data(),
               out.keys.data(), out.totals.data(), out.runs.data(), static_cast<unsigned>(keys.size()), totals.data(),
               prefixes.data(), tile_states.data(), ticket.data(), op);
        return out.read();
    }
};

totals_of_runs<unsigned> fold_runs(const std::vector<unsigned>& keys, const std::vector<unsigned>& values)
{
    totals_of_runs<unsigned> out;
    for (std::size_t i = 0; i < keys.size(); ++i)
        if (i > 0 && keys[i] == keys[i - 1]) {
            out.totals.back() = composition()(out.totals.back(), values[i]);
        } else {
            out.keys.push_back(keys[i]);
            out.totals.push_back(values[i]);
        }
    return out;
}

template <class Runner>
rung keys_rung(const char* row, const char* name, const char* idea, Runner runner)
{
    rung made{row, name, idea, [runner](const task& what) {
                  const auto keys = runs_of_keys(what), values = affine_maps(what.n);
                  const auto answer = fold_runs(keys, values);
                  return repeat(what.repetitions, what.n, 2 * (what.n + answer.keys.size()) * sizeof(unsigned),
                                [&] { return runner(keys, values, what.block, counted<composition>()) == answer; });
              }};
    made.trace = traced([runner](const task& what, auto values_of, auto op) {
        runner(runs_of_keys(what), values_of(what.n), what.block, op);
    });
    return made;
}

} // namespace

ladder keys_ladder()
{
    return {
        "keys",
        "Keys: one value from each run of equal keys",
        {
            keys_rung("K1", "keys_serial", "one thread, from run to run", keys_by_one_thread()),
            keys_rung("K2", "keys_scatter", "scan of head flags, then scatter: keys and values read many times",
                      keys_by_scan()),
            keys_rung("K3", "keys_look_back", "decoupled look-back: one pass over keys and values", keys_in_one_pass()),
        },
        {{"runs-of-64", "runs of 64 elements"},
         {"runs-of-1", "no key is equal to the one before"},
         {"mixed", "most runs short, and a few long"}}};
}

} // namespace lab
