// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include <upsweep/gpu/histogram/channels.cuh>
#include <upsweep/gpu/histogram/count.cuh>
#include <upsweep/gpu/histogram/quick_finder.cuh>
#include <upsweep/gpu/histogram/rows.cuh>
#include <upsweep/gpu/histogram/table.cuh>
#include <upsweep/gpu/primitive/divider.cuh>
#include <upsweep/gpu/primitive/vector.cuh>
#include <upsweep/gpu/primitive/warp.cuh>
#include <upsweep/gpu/shapes/line_places.cuh>
#include <upsweep/gpu/source/strided.cuh>
#include <upsweep/gpu/target/cuda.cuh>
#include <upsweep/gpu/target/launch.cuh>
#include <upsweep/lines.hpp>
#include <upsweep/verb/axis_histogram.hpp>

// A histogram of each line of a view along an axis. Rows of a matrix go to rows.cuh, and a few columns that lie side by
// side, as the channels of an image do, to channels.cuh. The kernel here counts all others, wherever they lie.
//
// A *team*, a warp or a whole block, takes a group of neighbouring lines and counts it in a privatized table. The lanes
// of a warp stand side by side at the lines, and where these are fewer than lanes, above one another at several samples
// of a line:
//
//                 8 lines, one a lane              16 lines, 4 a lane (a vector)
//     row 0       lanes  0  1  2  3  4  5  6  7    lane  0 0 0 0  1 1 1 1  2 2 2 2  3 3 3 3
//     row 1       lanes  8  9 10 11 12 13 14 15    lane  4 4 4 4  5 5 5 5  6 6 6 6  7 7 7 7
//
// A bin has a counter for each lane, or at least for each line, in the order of the banks: where lanes have counters of
// their own, an increment never waits for another one of its warp.
namespace upsweep::gpu {

struct lines_shape {
    static constexpr int threads = 1024;
    static constexpr int rows = 4;                   // vectors that a lane reads at once
    static constexpr std::uint64_t short_line = 256; // up to so many steps of a warp, a line is counted by one
    static constexpr std::uint64_t channels = 16;    // up to so many columns of a matrix are channels
    static constexpr std::uint64_t least_warps = 8;  // of a multiprocessor that are worth a table each
    // How many lines a lane takes at most, of which it reads a vector: more would need larger tables.
    template <class T>
    static constexpr int vector = vector_elements<sizeof(T)> < 4 ? vector_elements<sizeof(T)> : 4;
};

// How the lines are cut into groups, and the samples of the groups into the shares of the teams. A group has several
// *items* where its bins are counted in several parts; the samples of all items stand one after the other.
struct line_plan {
    std::uint64_t lines;
    std::uint64_t length;
    std::uint64_t steps; // of an item that shares are cut by: as many as samples in a line, and at least one
    std::uint64_t items;
    bin_index all_bins; // bins of a line, with the out-of-range bins
    bin_index part;     // bins that a team has at a time
    bin_index parts;    // how many parts the bins of a line are cut into
    unsigned wide;      // lanes side by side
    unsigned copies;    // lanes that have counters of their own: a multiple of `wide`
    unsigned lines_of_group;
    int team;             // threads of a team
    bool cuts_items;      // whether a share may end within an item
    bool bins_are_nearer; // in the result, than lines

    // Of a table: whole banks, so that what lies behind it is aligned.
    std::uint32_t words() const { return (part * (lines_of_group / wide) * copies + lanes - 1) / lanes * lanes; }
    UPSWEEP_HOST_DEVICE std::uint64_t begin_of_share(std::uint64_t team_number, std::uint64_t teams) const
    {
        const std::uint64_t all = cuts_items ? items * steps : items;
        const std::uint64_t begin = all / teams * team_number + all % teams * team_number / teams;
        return cuts_items ? begin : begin * steps;
    }
};

// Where the histogram of a line goes, whose counters may lie apart.
template <class Counter>
struct line_result {
    Counter* counts;
    std::int64_t stride;
    unsigned long long* beside; // of the bins
    bin_index bins;

    // Puts the total of a bin. Only one thread has it.
    __device__ void put(bin_index k, std::uint64_t total) const
    {
        if (k < bins)
            counts[static_cast<std::int64_t>(k) * stride] = static_cast<Counter>(total);
        else
            beside[k - bins] = total;
    }
    // Adds to the counter of a bin to which other threads add, too.
    __device__ void add(bin_index k, std::uint64_t total) const
    {
        using word = std::conditional_t<sizeof(Counter) == 8, unsigned long long, unsigned>;
        if (k < bins)
            atomicAdd(reinterpret_cast<word*>(counts + static_cast<std::int64_t>(k) * stride),
                      static_cast<word>(total));
        else
            atomicAdd(beside + (k - bins), static_cast<unsigned long long>(total));
    }
};

template <class Counter, std::size_t Rank>
struct line_results {
    line_places<Counter, Rank> counts;
    line_places<outside, Rank> out_of_range;
    bin_index bins;

    __device__ line_result<Counter> of_line(std::uint64_t line) const
    {
        return {counts.first_of(line), counts.stride,
                reinterpret_cast<unsigned long long*>(out_of_range.first_of(line)), bins};
    }
};

// The threads that count a group of lines together.
struct line_team {
    unsigned threads;
    unsigned thread; // of the team
    std::uint64_t number;
    std::uint64_t teams;

    __device__ explicit line_team(int size)
        : threads(static_cast<unsigned>(size)), thread(threadIdx.x % threads),
          number(blockIdx.x + std::uint64_t{threadIdx.x / threads} * gridDim.x),
          teams(std::uint64_t{gridDim.x} * (blockDim.x / threads))
    {
    }
    __device__ void sync() const
    {
        if (threads == lanes)
            __syncwarp();
        else
            __syncthreads();
    }
};

// What a team counts in one go: samples [begin, end) of the lines of an item, so many that no counter wraps.
struct line_stretch {
    static constexpr std::uint64_t most = std::uint64_t{1} << 31;

    std::uint64_t first_line;
    bin_index first_bin; // of the part of the bins
    std::uint64_t begin;
    std::uint64_t end;
    bool is_first; // of an item of which no other team has samples: its counters are put, others are added to

    // From a place of a share on.
    __device__ line_stretch(const line_plan& plan, std::uint64_t from, std::uint64_t end_of_share)
    {
        const std::uint64_t item = from / plan.steps;
        const std::uint64_t begin_of_item = item * plan.steps;
        begin = from - begin_of_item;
        end = end_of_share - begin_of_item < plan.steps ? end_of_share - begin_of_item : plan.steps;
        is_first = begin == 0 && end == plan.steps;
        if (end - begin > most)
            end = begin + most;
        const std::uint64_t group = item / plan.parts;
        first_line = group * plan.lines_of_group;
        first_bin = static_cast<bin_index>(item - group * plan.parts) * plan.part;
    }
    __device__ bin_index bins(const line_plan& plan) const
    {
        return plan.all_bins - first_bin < plan.part ? plan.all_bins - first_bin : plan.part;
    }
    __device__ unsigned lines(const line_plan& plan) const
    {
        const std::uint64_t left = plan.lines - first_line;
        return left < plan.lines_of_group ? static_cast<unsigned>(left) : plan.lines_of_group;
    }
};

// Counts a stretch of the lines, of which each lane has Count neighbours: column j of the counters of a bin is that of
// the lane's line j.
template <class Shape, int Count, class T, std::size_t Rank, class Function>
__device__ void count_lines(const line_places<const T, Rank>& in, const Function& bin_of, std::uint32_t* table,
                            const line_plan& plan, const line_stretch& stretch, const line_team& team)
{
    const std::uint64_t line = stretch.first_line + team.thread % plan.wide * Count;
    const std::uint64_t row = stretch.begin + team.thread / plan.wide;
    const std::uint64_t end = stretch.end < plan.length ? stretch.end : plan.length;
    if (line >= plan.lines || row >= end)
        return;
    const std::uint32_t step = team.threads / plan.wide;
    auto left = static_cast<std::uint32_t>((end - row + step - 1) / step); // rows of this thread
    const std::int64_t stride = static_cast<std::int64_t>(step) * in.stride;
    const T* from = in.first_of(line) + static_cast<std::int64_t>(row) * in.stride;
    const std::uint32_t counters = plan.copies * Count;
    const shared_address mine = shared_address_of(table + static_cast<unsigned>(lane_id()) % plan.copies);
    const auto load = [](const T* at) { return Count > 1 ? load_vector<Count>(at) : gather_vector<Count>(at); };
    const auto count = [&](const lane_vector<T, Count>& samples) {
        std::uint32_t column = 0;
        for_each_bin(bin_of, samples, [&](bin_index bin) {
            const bin_index k = bin - stretch.first_bin;
            if (k < plan.part)
                increment_shared(mine, k * counters + column);
            column += plan.copies;
        });
    };
    lane_vector<T, Count> vectors[Shape::rows];
    for (; left >= Shape::rows; left -= Shape::rows, from += Shape::rows * stride) {
#pragma unroll
        for (int r = 0; r < Shape::rows; ++r)
            vectors[r] = load(from + r * stride);
#pragma unroll
        for (int r = 0; r < Shape::rows; ++r)
            count(vectors[r]);
    }
#pragma unroll
    for (int r = 0; r < Shape::rows - 1; ++r)
        if (static_cast<std::uint32_t>(r) < left)
            vectors[r] = load(from + r * stride);
#pragma unroll
    for (int r = 0; r < Shape::rows - 1; ++r)
        if (static_cast<std::uint32_t>(r) < left)
            count(vectors[r]);
}

// Takes the counters of a stretch over into the result. Neighbouring threads have neighbouring lines, or neighbouring
// bins where these are nearer in the result.
template <int Count, class Counter, std::size_t Rank>
__device__ void merge_lines(const std::uint32_t* table, const line_plan& plan, const line_stretch& stretch,
                            const line_team& team, const line_results<Counter, Rank>& result)
{
    const unsigned lines = stretch.lines(plan);
    const bin_index bins = stretch.bins(plan);
    const unsigned side_by_side = plan.bins_are_nearer ? 1U : plan.lines_of_group; // powers of two, both
    const unsigned columns = side_by_side < team.threads ? side_by_side : team.threads;
    for (unsigned line = team.thread % columns; line < lines; line += columns) {
        const auto to = result.of_line(stretch.first_line + line);
        const std::uint32_t* const column = table + line % Count * plan.copies + line / Count;
        for (bin_index k = team.thread / columns; k < bins; k += team.threads / columns) {
            std::uint32_t total = 0;
            for (unsigned copy = 0; copy < plan.copies; copy += plan.wide)
                total += column[k * Count * plan.copies + copy];
            if (stretch.is_first)
                to.put(stretch.first_bin + k, total);
            else if (total != 0)
                to.add(stretch.first_bin + k, total);
        }
    }
}

template <class Shape, int Count, class T, std::size_t Rank, class Finder, class Counter>
__global__ void __launch_bounds__(Shape::threads, 1)
    lines_kernel(line_places<const T, Rank> in, Finder finder, line_plan plan, std::uint32_t table_words,
                 line_results<Counter, Rank> result)
{
    extern __shared__ __align__(16) std::uint32_t shared_words[];
    const line_team team(plan.team);
    const unsigned tables = blockDim.x / team.threads * table_words;
    clear_words(shared_words, tables);
    std::uint32_t* const table = shared_words + threadIdx.x / team.threads * table_words;
    const auto count = [&](const auto& bin_of) {
        const std::uint64_t end = plan.begin_of_share(team.number + 1, team.teams);
        for (std::uint64_t from = plan.begin_of_share(team.number, team.teams); from < end;) {
            const line_stretch stretch(plan, from, end);
            count_lines<Shape, Count>(in, bin_of, table, plan, stretch, team);
            team.sync();
            merge_lines<Count>(table, plan, stretch, team, result);
            team.sync();
            for (std::uint32_t i = team.thread; i < table_words; i += team.threads)
                table[i] = 0;
            team.sync();
            from += stretch.end - stretch.begin;
        }
    };
    with_bins_of_samples<T>(shared_words + tables, finder, count);
}

// Clears the counters to which several teams add: those of an item within which the share of a team begins. The first of
// these teams does so.
template <class Counter, std::size_t Rank>
__global__ void clear_cut_lines_kernel(line_plan plan, std::uint64_t teams, line_results<Counter, Rank> result)
{
    for (std::uint64_t number = blockIdx.x; number < teams; number += gridDim.x) {
        const std::uint64_t begin = plan.begin_of_share(number, teams);
        const std::uint64_t item = begin / plan.steps * plan.steps;
        if (begin == item || (number != 0 && plan.begin_of_share(number - 1, teams) > item))
            continue;
        const line_stretch stretch(plan, item, item + plan.steps);
        const unsigned lines = stretch.lines(plan);
        for (std::uint32_t i = threadIdx.x; i < lines * stretch.bins(plan); i += blockDim.x)
            result.of_line(stretch.first_line + i % lines).put(stretch.first_bin + i / lines, 0);
    }
}

// Copies counters that lie line by line to where they belong.
template <class Counter, std::size_t Rank>
__global__ void put_lines_kernel(const Counter* counts, const outside* out_of_range, std::uint64_t lines,
                                 line_results<Counter, Rank> result)
{
    const std::uint64_t all_bins = result.bins + detail::out_of_range_bins;
    for (std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < lines * all_bins;
         i += std::uint64_t{gridDim.x} * blockDim.x) {
        const std::uint64_t line = i / all_bins;
        const auto k = static_cast<bin_index>(i - line * all_bins);
        const auto* const beside = reinterpret_cast<const std::uint64_t*>(out_of_range + line);
        result.of_line(line).put(k, k < result.bins ? counts[line * result.bins + k] : beside[k - result.bins]);
    }
}

// --- which kernel counts ---------------------------------------------------------------------------------------------

template <class T, class Counter, std::size_t Rank>
class line_counting {
    using shape = lines_shape;
    using all_lines = detail::counted_lines<T, Counter, Rank>;
    static constexpr int vector = shape::vector<T>;

public:
    line_counting(const cuda& target, const all_lines& all) : target_(target), all_(all) {}

    template <class Bins>
    void count(const Bins& bins) const
    {
        const bool lie_in_rows = lie_as_rows() && are_counters_dense();
        if (!lie_in_rows && lie_as_channels() && (is_byte<T> || !lines_are_vectors()))
            return count_channels(bins);
        with_quick_finder<T>(target_, bins, [&](const auto& finder) {
            if (lie_in_rows)
                gpu::histogram_rows(target_, as_rows(), finder,
                                    results_of_parts<Counter>{{all_.counts.data(), all_.out_of_range.data(),
                                                               static_cast<bin_index>(all_.bins()), false}});
            else
                count_groups(finder);
        });
    }

private:
    template <class Finder>
    void count_groups(const Finder& finder) const
    {
        const std::size_t words =
            ((table_bytes(target_) - finder.shared_bytes()) / sizeof(std::uint32_t) - bins_of_values<T>::words) /
            lanes * lanes;
        if constexpr (vector > 1 && are_word<vector, T>)
            if (lines_are_vectors() && fits(vector, words) && !are_narrow(vector))
                return launch_lines<vector>(finder, words);
        launch_lines<1>(finder, words);
    }

    bin_index all_bins() const { return static_cast<bin_index>(all_.bins() + detail::out_of_range_bins); }

    // Dimension `Rank - 1` has the neighbours; those before it have one index where all lines are equally far apart.
    bool are_in_one_dimension() const { return all_.in.extent(Rank - 1) == all_.count(); }
    std::ptrdiff_t from_line_to_line() const { return all_.in.stride(Rank - 1); }
    bool lie_as_rows() const
    {
        return are_in_one_dimension() && all_.length() != 0 && (all_.in.stride(0) == 1 || all_.length() == 1);
    }
    matrix<T> as_rows() const
    {
        return {all_.in.data(), all_.count(), all_.length(), static_cast<std::size_t>(from_line_to_line()) * sizeof(T)};
    }
    bool lie_as_channels() const
    {
        return are_in_one_dimension() && all_.length() > 1 && all_.count() <= shape::channels &&
               from_line_to_line() == 1 && all_.in.stride(0) >= static_cast<std::ptrdiff_t>(all_.count()) &&
               reinterpret_cast<std::uintptr_t>(all_.in.data()) % alignof(T) == 0 &&
               all_.count() * all_bins() * sizeof(std::uint32_t) <= table_bytes(target_) / 2;
    }
    matrix<T> as_channels() const
    {
        return {all_.in.data(), all_.length(), all_.count(), static_cast<std::size_t>(all_.in.stride(0)) * sizeof(T)};
    }
    bool are_counters_dense() const
    {
        const auto bins = static_cast<std::ptrdiff_t>(all_.bins());
        return (bins == 1 || all_.counts.stride(0) == 1) &&
               (all_.count() == 1 || (all_.counts.stride(Rank - 1) == bins && all_.out_of_range.stride(Rank - 1) == 1));
    }

    // By way of counters that lie channel by channel.
    template <class Bins>
    void count_channels(const Bins& bins) const
    {
        if (are_counters_dense())
            return gpu::histogram_channels(target_, as_channels(), all_.count(), bins, all_.counts.data(),
                                           all_.out_of_range.data(), false);
        const std::size_t beside = all_.count() * sizeof(outside);
        auto* const memory = static_cast<std::byte*>(target_.workspace().memory(
            workspace_purpose::channels, beside + all_.count() * all_.bins() * sizeof(Counter)));
        auto* const counts = reinterpret_cast<Counter*>(memory + beside);
        auto* const out_of_range = reinterpret_cast<outside*>(memory);
        gpu::histogram_channels(target_, as_channels(), all_.count(), bins, counts, out_of_range, false);
        launch(target_, "histogram", put_lines_kernel<Counter, Rank>,
               grid_shape{some_blocks(target_, all_.count() * all_.bins() / 256 + 1), 256, 0}, counts, out_of_range,
               all_.count(), results());
    }

    line_results<Counter, Rank> results() const
    {
        return {line_places<Counter, Rank>(all_.counts), line_places<outside, Rank>(all_.out_of_range),
                static_cast<bin_index>(all_.bins())};
    }

    bool lie_side_by_side() const { return all_.in.extent(Rank - 1) > 1 && from_line_to_line() < all_.in.stride(0); }
    // Whether neighbouring lines are vectors of their samples, aligned ones in every row.
    bool lines_are_vectors() const
    {
        std::uint64_t places = reinterpret_cast<std::uintptr_t>(all_.in.data()) / sizeof(T) | all_.in.extent(Rank - 1) |
                               static_cast<std::uint64_t>(all_.in.stride(0));
        for (std::size_t k = 1; k + 1 < Rank; ++k)
            if (all_.in.extent(k) > 1)
                places |= static_cast<std::uint64_t>(all_.in.stride(k));
        return are_word<vector, T> && lie_side_by_side() && from_line_to_line() == 1 && places % vector == 0 &&
               reinterpret_cast<std::uintptr_t>(all_.in.data()) % sizeof(T) == 0;
    }
    // Whether there is room for counters of as many lanes as stand side by side.
    bool fits(int count, std::size_t words) const
    {
        return std::uint64_t{all_bins()} * lanes_side_by_side(count) * static_cast<unsigned>(count) <= words;
    }
    unsigned lanes_side_by_side(int count) const
    {
        const auto most = static_cast<std::uint64_t>(lanes);
        if (lie_side_by_side())
            return static_cast<unsigned>(
                std::bit_ceil(std::min(most, std::uint64_t{all_.in.extent(Rank - 1)} / static_cast<unsigned>(count))));
        const std::uint64_t above = std::bit_ceil(std::clamp<std::uint64_t>(all_.length(), 1, most));
        return static_cast<unsigned>(std::min(most / above, std::bit_ceil(std::uint64_t{all_.count()})));
    }

    // Whether groups of so many lines a lane are too few for all multiprocessors, while their counters, to which several
    // would have to add, outweigh the samples that each would have.
    bool are_narrow(int count) const
    {
        const auto processors = static_cast<std::uint64_t>(target_.workspace().multiprocessors());
        const std::uint64_t lines = std::uint64_t{lanes_side_by_side(count)} * static_cast<unsigned>(count);
        const std::uint64_t samples = all_.count() * all_.length();
        return all_.count() * 5 < processors * 4 * lines && samples / processors < 4 * lines * all_bins();
    }
    // How many lanes stand side by side: fewer where groups are narrow, but as many as read a sector of memory together.
    unsigned lanes_of_group(int count) const
    {
        unsigned wide = lanes_side_by_side(count);
        if (!are_narrow(count))
            return wide;
        const auto processors = static_cast<std::uint64_t>(target_.workspace().multiprocessors());
        const unsigned least = sizeof(T) < 32 ? std::bit_ceil(32 / static_cast<unsigned>(sizeof(T))) : 1;
        while (wide > least && wide > 1 && all_.count() < processors * wide)
            wide /= 2;
        return wide;
    }

    // The plan for tables of at most so many words.
    line_plan plan_of(int count, std::size_t words) const
    {
        const auto each = static_cast<unsigned>(count);
        line_plan plan{};
        plan.lines = all_.count();
        plan.length = all_.length();
        plan.steps = std::max<std::uint64_t>(plan.length, 1);
        plan.all_bins = all_bins();
        plan.parts = static_cast<bin_index>((plan.all_bins - 1) / words + 1);
        plan.part = (plan.all_bins - 1) / plan.parts + 1;
        const std::uint64_t most_copies = std::bit_floor(words / (std::size_t{plan.part} * each));
        plan.copies = static_cast<unsigned>(std::min<std::uint64_t>(most_copies, lanes));
        plan.wide = std::min(lanes_of_group(count), plan.copies);
        plan.lines_of_group = plan.wide * each;
        plan.items = (plan.lines + plan.lines_of_group - 1) / plan.lines_of_group * plan.parts;
        plan.bins_are_nearer = all_.counts.stride(0) == 1 && all_.bins() > 1;
        return plan;
    }

    template <int Count, class Finder>
    void launch_lines(const Finder& finder, std::size_t words) const
    {
        line_plan plan = plan_of(Count, words);
        const auto processors = static_cast<std::uint64_t>(target_.workspace().multiprocessors());
        const std::uint64_t tables = std::min<std::uint64_t>(words / plan.words(), shape::threads / lanes);
        const std::uint64_t steps_of_warp = plan.steps / (lanes / plan.wide);
        std::uint64_t teams_a_block = 1;
        plan.team = shape::threads;
        if (steps_of_warp <= shape::short_line && tables >= shape::least_warps &&
            plan.items >= processors * shape::least_warps) {
            plan.team = lanes;
            teams_a_block = tables;
        }
        const std::uint64_t most = processors * teams_a_block;
        const std::uint64_t turns = (plan.items + most - 1) / most;
        // Shares of whole items, if these are many, or at least keep four fifths of the teams busy.
        plan.cuts_items = plan.team != lanes && plan.items * 5 < turns * most * 4;
        const std::uint64_t least_steps = shape::threads / plan.wide * shape::rows;
        const std::uint64_t useful =
            plan.cuts_items ? std::max(plan.items, plan.items * plan.steps / least_steps) : plan.items;
        const std::uint64_t blocks = std::min(processors, (useful + teams_a_block - 1) / teams_a_block);
        plan.cuts_items = plan.cuts_items && plan.items % blocks != 0;
        if (plan.cuts_items)
            launch(target_, "histogram", clear_cut_lines_kernel<Counter, Rank>,
                   grid_shape{static_cast<unsigned>(blocks), 512, 0}, plan, blocks, results());
        const std::size_t shared = teams_a_block * plan.words() + bins_of_values<T>::words;
        launch<lines_kernel<shape, Count, T, Rank, Finder, Counter>>(
            target_, "histogram",
            grid_shape{.blocks = static_cast<unsigned>(blocks),
                       .threads = plan.team == lanes ? static_cast<int>(teams_a_block) * lanes : shape::threads,
                       .shared_bytes = shared * sizeof(std::uint32_t) + finder.shared_bytes()},
            line_places<const T, Rank>(all_.in), finder, plan, plan.words(), results());
    }

    const cuda& target_;
    const all_lines& all_;
};

} // namespace upsweep::gpu

namespace upsweep::detail {

template <>
struct engine<cuda, verb::histogram_lines> {
    template <class T, class Counter, std::size_t Rank, class Bins>
    static void count(const cuda& target, const counted_lines<T, Counter, Rank>& all, const Bins& bins)
    {
        constexpr std::string_view call = "histogram";
        const gpu::current_device current(target.device());
        gpu::check_place(target, call, gpu::strided_source(all.in.begin().elements()), all.in.size());
        gpu::check_place(target, call, gpu::strided_source(all.counts.begin().elements()), all.counts.size());
        gpu::check_place(target, call, all.out_of_range.data(), all.out_of_range.size());
        gpu::line_counting<T, Counter, Rank>(target, all).count(bins);
    }
};

} // namespace upsweep::detail
