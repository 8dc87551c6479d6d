// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// How the kernels of segments.cuh are launched and checked.
#include "segments.cuh"

#include <algorithm>

#include "launch.cuh"

namespace lab {

namespace {

enum : unsigned { power_law, giant, tiny };

unsigned short_length(unsigned i) { return scrambled(i) % 4; }

// The share of segments with x elements and more is 4 / (x + 4).
unsigned power_law_length(unsigned i)
{
    return static_cast<unsigned>(std::min(4 / ((scrambled(i + 1) + 1.0) / 4294967296.0), 4e9)) - 4;
}

// Where the segments begin, and where the last one ends. It is empty.
std::vector<unsigned> segment_offsets(const task& what)
{
    std::vector<unsigned> offsets;
    unsigned end = 0;
    for (unsigned i = 0; end < what.n; ++i) {
        offsets.push_back(end);
        unsigned length = what.input == power_law ? power_law_length(i) : short_length(i);
        if (what.input == giant && end >= what.n / 16 && end < what.n - what.n / 16)
            length = what.n - what.n / 16 - end;
        end += std::min(length, what.n - end);
    }
    offsets.insert(offsets.end(), 2, end);
    return offsets;
}

// What is folded: elements, and where the segments begin, with the end of the last one behind.
template <class T>
struct segmented_array {
    const std::vector<T>& values;
    const std::vector<unsigned>& offsets;
    unsigned segments() const { return static_cast<unsigned>(offsets.size() - 1); }
    unsigned n() const { return static_cast<unsigned>(values.size()); }
};

struct segments_of_threads {
    template <class T, class Op>
    std::vector<T> operator()(const segmented_array<T>& what, unsigned block, Op op) const
    {
        const buffer<T> in(what.values), out(what.segments());
        const buffer<unsigned> offsets(what.offsets);
        launch(segments_by_threads<T, Op>, blocks_for(what.segments(), block), block, 0, in.data(), offsets.data(),
               out.data(), what.segments(), op);
        return out.read();
    }
};

struct segments_of_warps {
    template <class T, class Op>
    std::vector<T> operator()(const segmented_array<T>& what, unsigned block, Op op) const
    {
        const buffer<T> in(what.values), out(what.segments());
        const buffer<unsigned> offsets(what.offsets);
        launch(segments_by_warps<T, Op>, blocks_for(what.segments(), block / 32), block, 0, in.data(), offsets.data(),
               out.data(), what.segments(), op);
        return out.read();
    }
};

struct segments_of_blocks {
    template <class T, class Op>
    std::vector<T> operator()(const segmented_array<T>& what, unsigned block, Op op) const
    {
        const buffer<T> in(what.values), out(what.segments());
        const buffer<unsigned> offsets(what.offsets);
        launch(segments_by_blocks<T, Op>, what.segments(), block, 0, in.data(), offsets.data(), out.data(), op);
        return out.read();
    }
};

struct segments_of_elements {
    template <class T, class Op>
    std::vector<T> operator()(const segmented_array<T>& what, unsigned block, Op op) const
    {
        const unsigned tiles = blocks_for(what.n(), block);
        const buffer<T> in(what.values), out(what.segments()), open_values(tiles);
        const buffer<unsigned> offsets(what.offsets), open_segments(tiles);
        launch(segments_fill_empty<T, Op>, blocks_for(what.segments(), block), block, 0, offsets.data(), out.data(),
               what.segments(), op);
        launch(segments_by_elements<T, Op>, tiles, block, 0, in.data(), what.n(), offsets.data(), out.data(),
               what.segments(), open_segments.data(), open_values.data(), op);
        launch(segments_fix_up<T, Op>, 1, block, 0, open_segments.data(), open_values.data(), tiles, out.data(), op);
        return out.read();
    }
};

struct segments_of_equal_shares {
    template <class T, class Op>
    std::vector<T> operator()(const segmented_array<T>& what, unsigned block, Op op) const
    {
        const unsigned tile = items_per_thread * block, tiles = blocks_for(what.n() + what.segments(), tile);
        const buffer<T> in(what.values), out(what.segments()), open_values(tiles);
        const buffer<unsigned> offsets(what.offsets), open_segments(tiles);
        launch(segments_load_balanced<T, Op>, tiles, block, tile * std::max(sizeof(T), sizeof(unsigned)), in.data(),
               what.n(), offsets.data(), out.data(), what.segments(), open_segments.data(), open_values.data(), op);
        launch(segments_fix_up<T, Op>, 1, block, 0, open_segments.data(), open_values.data(), tiles, out.data(), op);
        return out.read();
    }
};

std::vector<unsigned> fold_segments(const segmented_array<unsigned>& what)
{
    std::vector<unsigned> out;
    out.reserve(what.segments());
    for (unsigned s = 0; s < what.segments(); ++s) {
        unsigned total = composition::identity();
        for (unsigned i = what.offsets[s]; i < what.offsets[s + 1]; ++i)
            total = composition()(total, what.values[i]);
        out.push_back(total);
    }
    return out;
}

template <class Runner>
rung segments_rung(const char* row, const char* name, const char* idea, Runner runner)
{
    rung made{row, name, idea, [runner](const task& what) {
                  const auto offsets = segment_offsets(what);
                  const auto values = affine_maps(what.n);
                  const segmented_array<unsigned> array{values, offsets};
                  const auto answer = fold_segments(array);
                  return repeat(what.repetitions, what.n, (what.n + 2 * offsets.size()) * sizeof(unsigned),
                                [&] { return runner(array, what.block, counted<composition>()) == answer; });
              }};
    made.trace = traced([runner](const task& what, auto values_of, auto op) {
        const auto values = values_of(what.n);
        const auto offsets = segment_offsets(what);
        runner(segmented_array<typename decltype(values)::value_type>{values, offsets}, what.block, op);
    });
    return made;
}

} // namespace

ladder segments_ladder()
{
    return {"segments",
            "Segments: one value from each of many stretches",
            {
                segments_rung("G1", "segments_by_threads", "one thread a segment: as slow as the longest one",
                              segments_of_threads()),
                segments_rung("G2", "segments_by_warps", "one warp a segment: lanes idle in short ones",
                              segments_of_warps()),
                segments_rung("G3", "segments_by_blocks", "one block a segment: good for long ones alone",
                              segments_of_blocks()),
                segments_rung("G4", "segments_by_elements", "one element a thread, which looks its segment up",
                              segments_of_elements()),
                segments_rung("G5", "segments_load_balanced", "merge path: equal shares of elements plus segments",
                              segments_of_equal_shares()),
            },
            {{"power-law", "many short segments, and a few long ones"},
             {"giant", "seven eighths of all elements in one segment, and short ones around it"},
             {"tiny", "no element to three in each segment"}}};
}

} // namespace lab
