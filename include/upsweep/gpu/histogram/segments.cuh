// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <string_view>
#include <type_traits>

#include <upsweep/gpu/histogram/count.cuh>
#include <upsweep/gpu/histogram/merge.cuh>
#include <upsweep/gpu/histogram/quick_finder.cuh>
#include <upsweep/gpu/histogram/rows.cuh>
#include <upsweep/gpu/histogram/table.cuh>
#include <upsweep/gpu/primitive/warp.cuh>
#include <upsweep/gpu/source/array.cuh>
#include <upsweep/gpu/source/matrix_words.cuh>
#include <upsweep/gpu/source/strided.cuh>
#include <upsweep/gpu/target/cuda.cuh>
#include <upsweep/gpu/target/launch.cuh>
#include <upsweep/verb/segmented_histogram.hpp>

// A histogram of each segment of an array. The work is cut into equal shares, one for each team, a warp or a block: that
// of a segment is the number of its samples and of its counters, whatever the lengths are (merge path: Green, McColl and
// Bader 2012). A team takes as many of its segments at a time as have few samples together and counters that fit into
// its table, and puts their counters. Where a share ends within a segment, the teams on both sides add to its counters:
//
//     work    | samples of 0 | counters | samples of 1 | counters | 2 is empty: counters | samples of 3 ...
//     share   | team 0               | team 1               | team 2               | team 3
//
// Here teams 1 and 2 share the samples of segment 1, and team 0 has all of segment 0, whose counters only are cut.
namespace upsweep::gpu {

struct segments_shape {
    static constexpr int threads = 1024;
    static constexpr int warps = threads / lanes;
    static constexpr int vectors = 2;                  // vectors that a lane reads at once
    static constexpr bin_index segments = 128;         // that a team has at once, at most
    static constexpr std::uint32_t few_samples = 2048; // of several segments that a team has at once
    static constexpr std::uint64_t least_work = 512;   // that is worth a team
    static constexpr std::size_t end_words = segments; // of shared memory: where these segments end
};

struct segment_plan {
    bin_index all_bins;  // bins of a segment, with the out-of-range bins
    bin_index part;      // counters that a team has of a segment at a time
    bin_index parts;     // how many parts the bins of a segment are cut into
    bin_index at_once;   // segments that a team has at a time, at most
    std::uint32_t words; // of a table
    int team;            // threads of a team
};

// A place in the array, where shares meet.
struct segment_place {
    std::uint64_t segment;
    std::uint64_t sample;
    bool is_within; // whether samples of the segment are on both sides

    __device__ std::uint64_t end() const { return segment + (is_within ? 1 : 0); } // of the segments before the place
};

template <class Offset>
struct segment_shares {
    const Offset* offsets;
    std::uint64_t segments;
    std::uint64_t weight; // work of a segment beside that of its samples

    __device__ std::uint64_t first(std::uint64_t segment) const { return static_cast<std::uint64_t>(offsets[segment]); }
    __device__ std::uint64_t work_before(std::uint64_t segment) const
    {
        return first(segment) - first(0) + segment * weight;
    }
    __device__ std::uint64_t work_before_share(std::uint64_t share, std::uint64_t shares) const
    {
        const std::uint64_t all = work_before(segments);
        return all / shares * share + all % shares * share / shares;
    }

    // Where a share begins. The lanes of a warp call this together.
    __device__ segment_place begin_of(std::uint64_t share, std::uint64_t shares) const
    {
        const std::uint64_t work = work_before_share(share, shares);
        const std::uint64_t segment =
            partition_point_of_warp(segments, [&](std::uint64_t k) { return work_before(k + 1) <= work; });
        if (segment == segments)
            return {segments, first(segments), false};
        const std::uint64_t done = work - work_before(segment);
        const std::uint64_t begin = first(segment);
        const std::uint64_t end = first(segment + 1);
        if (done == 0)
            return {segment, begin, false};
        if (done >= end - begin) // the share before has all samples
            return {segment + 1, end, false};
        return {segment, begin + done, true};
    }
};

// Samples by words of as many as a vector has, which are aligned where they lie in memory one behind the other.
template <class Source>
struct sample_words {
    using sample = std::iter_value_t<Source>;
    using words = matrix_words<sample>;
    static constexpr int elements = words::elements;

    Source in;
    std::uint64_t count;

    __device__ explicit sample_words(const Source& source, std::uint64_t samples) : in(source), count(samples) {}

    __device__ static std::uint64_t word_of(std::uint64_t i) { return i / elements; }
    __device__ static std::uint64_t first_of(std::uint64_t word) { return word * elements; }
    // The samples [begin, end) of a word.
    __device__ row_vector<sample> load(std::uint64_t word, std::uint64_t begin, std::uint64_t end) const
    {
        const std::uint64_t first = first_of(word);
        row_vector<sample> result{};
        result.begin = begin > first ? static_cast<int>(begin - first) : 0;
        result.end = end - first < elements ? static_cast<int>(end - first) : elements;
        result.gather(in, first);
        return result;
    }
};
template <class T>
struct sample_words<T*> {
    using sample = std::remove_const_t<T>;
    static constexpr int elements = row_vector<sample>::elements;

    const sample* in;
    std::int64_t before = 0; // elements of the first word that come before the array
    bool is_aligned = false;
    std::uint64_t count;

    __device__ explicit sample_words(const sample* source, std::uint64_t samples) : in(source), count(samples)
    {
        if constexpr (has_words<elements, const sample*>) {
            const std::uintptr_t misplaced = reinterpret_cast<std::uintptr_t>(in) % (elements * sizeof(sample));
            is_aligned = misplaced % sizeof(sample) == 0;
            before = is_aligned ? static_cast<std::int64_t>(misplaced / sizeof(sample)) : 0;
        }
    }

    __device__ std::uint64_t word_of(std::uint64_t i) const
    {
        return (i + static_cast<std::uint64_t>(before)) / elements;
    }
    __device__ std::int64_t first_of(std::uint64_t word) const
    {
        return static_cast<std::int64_t>(word * elements) - before;
    }
    __device__ row_vector<sample> load(std::uint64_t word, std::uint64_t begin, std::uint64_t end) const
    {
        const std::int64_t first = first_of(word);
        row_vector<sample> result{};
        result.begin =
            static_cast<std::int64_t>(begin) > first ? static_cast<int>(static_cast<std::int64_t>(begin) - first) : 0;
        const std::int64_t left = static_cast<std::int64_t>(end) - first;
        result.end = left < elements ? static_cast<int>(left) : elements;
        if (is_aligned && first >= 0 && first + elements <= static_cast<std::int64_t>(count)) {
            result.vector = load_vector<elements>(in + first);
        } else {
            result.gather(in, first);
        }
        return result;
    }
};

// The threads that count segments together, and their shared memory.
struct segment_team {
    unsigned threads;
    unsigned thread; // of the team
    std::uint64_t number;
    std::uint64_t teams;
    std::uint32_t* ends; // of the segments that the team has at the time, in samples from the first one of these
    swizzled_table table;

    __device__ segment_team(const segment_plan& plan, std::uint32_t* shared)
        : threads(static_cast<unsigned>(plan.team)), thread(threadIdx.x % threads),
          number(blockIdx.x + std::uint64_t{threadIdx.x / threads} * gridDim.x),
          teams(std::uint64_t{gridDim.x} * (blockDim.x / threads)),
          ends(shared + threadIdx.x / threads * segments_shape::end_words), table{shared +
                                                                                  blockDim.x / threads *
                                                                                      segments_shape::end_words +
                                                                                  threadIdx.x / threads * plan.words}
    {
    }
    __device__ void sync() const
    {
        if (threads == lanes)
            __syncwarp();
        else
            __syncthreads();
    }

    // Returns the number of the first segment, of so many at hand, that ends behind a sample.
    __device__ std::uint32_t segment_of(std::uint32_t sample, std::uint32_t segments) const
    {
        std::uint32_t low = 0;
        while (segments > 0) {
            const std::uint32_t half = segments / 2;
            const bool is_before = ends[low + half] <= sample;
            low = is_before ? low + half + 1 : low;
            segments = is_before ? segments - half - 1 : half;
        }
        return low;
    }
};

// Calls take(number of the first element of a word, word) for the words of the samples [begin, end) that fall to a thread.
template <class Shape, class Source, class Take>
__device__ void for_each_word(const sample_words<Source>& in, const segment_team& team, std::uint64_t begin,
                              std::uint64_t end, Take take)
{
    if (begin >= end)
        return;
    const std::uint64_t end_of_words = in.word_of(end - 1) + 1;
    for (std::uint64_t word = in.word_of(begin) + team.thread; word < end_of_words;
         word += Shape::vectors * team.threads) {
        row_vector<typename sample_words<Source>::sample> vectors[Shape::vectors];
#pragma unroll
        for (int r = 0; r < Shape::vectors; ++r) {
            vectors[r].begin = vectors[r].end = 0;
            if (word + r * team.threads < end_of_words)
                vectors[r] = in.load(word + r * team.threads, begin, end);
        }
#pragma unroll
        for (int r = 0; r < Shape::vectors; ++r)
            if (vectors[r].begin != vectors[r].end)
                take(in.first_of(word + r * team.threads), vectors[r]);
    }
}

// Counts the samples [begin, end) of so many segments, whose ends the team has, in its table.
template <class Shape, class Source, class Function>
__device__ void count_segments(const sample_words<Source>& in, const Function& bin_of, const segment_team& team,
                               std::uint64_t begin, std::uint64_t end, std::uint32_t segments, bin_index first_bin,
                               bin_index part)
{
    using vector = row_vector<typename sample_words<Source>::sample>;
    const auto count = [&](std::uint32_t segment, bin_index bin) {
        if (bin - first_bin < part)
            team.table.increment(segment * part + (bin - first_bin));
    };
    if (segments == 1)
        return for_each_word<Shape>(in, team, begin, end, [&](auto, const vector& word) {
            if (word.end - word.begin == vector::elements)
                for_each_bin(bin_of, word.vector, [&](bin_index bin) { count(0, bin); });
            else
                word.for_each([&](const auto& x) { count(0, bin_of(x)); });
        });
    for_each_word<Shape>(in, team, begin, end, [&](auto first, const vector& word) {
        auto sample = static_cast<std::uint32_t>(static_cast<std::uint64_t>(first + word.begin) - begin);
        std::uint32_t segment = team.segment_of(sample, segments);
        std::uint32_t end_of_segment = team.ends[segment];
        word.for_each([&](const auto& x) {
            while (sample >= end_of_segment)
                end_of_segment = team.ends[++segment];
            ++sample;
            count(segment, bin_of(x));
        });
    });
}

// Takes so many counters of each of some segments over into the result, from number `first_bin` of these on: where the
// team has all samples of a segment (of those in [whole, end_of_whole)) it puts them, where others have some of them,
// too, it adds them.
template <class Counter>
__device__ void merge_bins(const segment_team& team, std::uint64_t first, std::uint32_t segments, std::uint64_t whole,
                           std::uint64_t end_of_whole, bin_index first_of_part, bin_index first_bin, bin_index bins,
                           bin_index part, const results_of_parts<Counter>& result)
{
    using cursor = row_cursor<std::uint32_t>;
    const cursor step = cursor::of(team.threads, bins);
    for (cursor at = cursor::of(team.thread, bins); at.row < segments; at.advance(step, bins)) {
        const bin_index k = first_bin + at.word;
        const std::uint32_t total = team.table.total(at.row * part + (k - first_of_part));
        const std::uint64_t segment = first + at.row;
        if (segment >= whole && segment < end_of_whole)
            result[segment].put(k, total);
        else if (total != 0)
            result[segment].add(k, total);
    }
}

// Counts the segments from one place to another.
template <class Shape, class Source, class Offset, class Function, class Counter>
__device__ void count_share(const sample_words<Source>& in, const Function& bin_of, const segment_team& team,
                            const segment_shares<Offset>& shares, const segment_plan& plan, const segment_place& begin,
                            const segment_place& end, bin_index first_bin, const results_of_parts<Counter>& result)
{
    const bin_index bins = plan.all_bins - first_bin < plan.part ? plan.all_bins - first_bin : plan.part;
    const std::uint64_t whole = begin.end(); // the first segment of which no sample is another team's
    std::uint64_t sample = begin.sample;
    for (std::uint64_t segment = begin.segment; segment < end.end();) {
        const std::uint64_t left = end.end() - segment;
        const std::uint32_t most = left < plan.at_once ? static_cast<std::uint32_t>(left) : plan.at_once;
        const auto end_of = [&](std::uint64_t k) { return k < end.segment ? shares.first(k + 1) : end.sample; };
        for (std::uint32_t i = team.thread; i < most; i += team.threads) {
            const std::uint64_t samples = end_of(segment + i) - sample;
            team.ends[i] = static_cast<std::uint32_t>(samples <= Shape::few_samples ? samples : ~0U);
        }
        team.sync();
        const std::uint32_t few = team.segment_of(Shape::few_samples, most);
        const std::uint32_t segments = few != 0 ? few : 1;
        const std::uint64_t end_of_samples = few != 0 ? sample + team.ends[few - 1] : end_of(segment);
        count_segments<Shape>(in, bin_of, team, sample, end_of_samples, segments, first_bin, plan.part);
        team.sync();
        const bin_index counters = result.first.bins; // without the out-of-range bins, which go elsewhere
        const bin_index end_of_part = first_bin + bins;
        const bin_index middle = end_of_part < counters ? end_of_part : first_bin < counters ? counters : first_bin;
        if (first_bin < middle)
            merge_bins(team, segment, segments, whole, end.segment, first_bin, first_bin, middle - first_bin, plan.part,
                       result);
        if (middle < end_of_part)
            merge_bins(team, segment, segments, whole, end.segment, first_bin, middle, end_of_part - middle, plan.part,
                       result);
        team.sync();
        for (std::uint32_t i = team.thread; i < swizzled_table::words(segments * plan.part); i += team.threads)
            team.table.counters[i] = 0;
        team.sync();
        segment += segments;
        sample = end_of_samples;
    }
}

template <class Shape, class Source, class Offset, class Finder, class Counter>
__global__ void __launch_bounds__(Shape::threads, 1)
    segments_kernel(Source source, std::uint64_t count, segment_shares<Offset> shares, Finder finder, segment_plan plan,
                    results_of_parts<Counter> result)
{
    using sample = std::iter_value_t<Source>;
    extern __shared__ __align__(16) std::uint32_t shared_words[];
    const segment_team team(plan, shared_words);
    const std::size_t words = blockDim.x / team.threads * (Shape::end_words + plan.words);
    clear_words(shared_words, words);

    const sample_words<Source> in(source, count);
    const segment_place begin = shares.begin_of(team.number, team.teams);
    const segment_place end = shares.begin_of(team.number + 1, team.teams);
    const auto count_parts = [&](const auto& bin_of) {
        for (bin_index part = 0; part < plan.parts; ++part)
            count_share<Shape>(in, bin_of, team, shares, plan, begin, end, part * plan.part, result);
    };
    with_bins_of_samples<sample>(shared_words + words, finder, count_parts);
}

// Clears the counters to which several teams add: those of a segment within whose samples the share of a team begins. The
// first of these teams does so, each of which is a warp here.
template <class Offset, class Counter>
__global__ void clear_cut_segments_kernel(segment_shares<Offset> shares, std::uint64_t teams, bin_index all_bins,
                                          results_of_parts<Counter> result)
{
    const std::uint64_t number = std::uint64_t{blockIdx.x} * (blockDim.x / lanes) + threadIdx.x / lanes;
    if (number == 0 || number >= teams)
        return;
    const segment_place begin = shares.begin_of(number, teams);
    if (!begin.is_within || shares.work_before_share(number - 1, teams) > shares.work_before(begin.segment))
        return;
    for (auto k = static_cast<bin_index>(lane_id()); k < all_bins; k += lanes)
        result[begin.segment].put(k, 0);
}

template <class Source, class Offset, class Finder, class Counter>
void histogram_segments(const cuda& target, const Source& in, std::uint64_t count, std::span<const Offset> offsets,
                        const Finder& finder, const results_of_parts<Counter>& result)
{
    using shape = segments_shape;
    using sample = std::iter_value_t<Source>;
    const std::uint64_t segments = offsets.size() - 1;
    segment_plan plan{};
    plan.all_bins = static_cast<bin_index>(finder.bins + detail::out_of_range_bins);
    const std::size_t available =
        (table_bytes(target) - finder.shared_bytes()) / sizeof(std::uint32_t) - bins_of_values<sample>::words;
    const std::size_t share = available / shape::warps;
    const std::size_t of_warp = share > shape::end_words ? (share - shape::end_words) / lanes * lanes : 0;
    const std::size_t of_block = (available - shape::end_words) / lanes * lanes;
    const bool by_warps = plan.all_bins <= of_warp;
    const std::size_t most = by_warps ? of_warp : of_block;
    plan.team = by_warps ? lanes : shape::threads;
    plan.parts = static_cast<bin_index>((plan.all_bins - 1) / most + 1);
    plan.part = (plan.all_bins - 1) / plan.parts + 1;
    plan.at_once = std::min(static_cast<bin_index>(most / plan.part), shape::segments);
    plan.words = static_cast<std::uint32_t>(swizzled_table::words(std::size_t{plan.at_once} * plan.part));

    const segment_shares<Offset> shares{offsets.data(), segments, plan.all_bins};
    const std::uint64_t useful = (count + segments * plan.all_bins) / shape::least_work + 1;
    const auto processors = static_cast<std::uint64_t>(target.workspace().multiprocessors());
    const std::uint64_t blocks = std::min(useful, processors);
    const std::uint64_t teams_of_block =
        by_warps ? std::min<std::uint64_t>((useful + blocks - 1) / blocks, shape::warps) : 1;
    const std::uint64_t teams = blocks * teams_of_block;
    if (teams > 1)
        launch(target, "segmented_histogram", clear_cut_segments_kernel<Offset, Counter>,
               grid_shape{static_cast<unsigned>((teams + 3) / 4), 4 * lanes, 0}, shares, teams, plan.all_bins, result);
    const std::size_t words = teams_of_block * (shape::end_words + plan.words) + bins_of_values<sample>::words;
    launch<segments_kernel<shape, Source, Offset, Finder, Counter>>(
        target, "segmented_histogram",
        grid_shape{.blocks = static_cast<unsigned>(blocks),
                   .threads = static_cast<int>(teams_of_block) * plan.team,
                   .shared_bytes = words * sizeof(std::uint32_t) + finder.shared_bytes()},
        in, count, shares, finder, plan, result);
}

} // namespace upsweep::gpu

namespace upsweep::detail {

template <>
struct engine<cuda, verb::histogram_segments> {
    template <class In, class Offset, class Bins, class Counter>
    static void count(const cuda& target, In in, std::size_t count, std::span<const Offset> offsets, const Bins& bins,
                      std::span<Counter> counts, std::span<outside> out_of_range)
    {
        constexpr std::string_view call = "segmented_histogram";
        const gpu::current_device current(target.device());
        gpu::check_place(target, call, offsets.data(), offsets.size());
        gpu::check_place(target, call, counts.data(), counts.size());
        gpu::check_place(target, call, out_of_range.data(), out_of_range.size());
        const gpu::results_of_parts<Counter> result{
            {counts.data(), out_of_range.data(), static_cast<bin_index>(bin_count(bins)), false}};
        gpu::with_source(in, [&](const auto& source) {
            gpu::check_place(target, call, source, count);
            gpu::with_quick_finder<std::iter_value_t<In>>(target, bins, [&](const auto& finder) {
                gpu::histogram_segments(target, source, count, offsets, finder, result);
            });
        });
    }
};

} // namespace upsweep::detail
