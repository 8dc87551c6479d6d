// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>

#include <upsweep/gpu/histogram/bin_finders.cuh>
#include <upsweep/gpu/histogram/counters.cuh>
#include <upsweep/gpu/source/reader.cuh>
#include <upsweep/gpu/target/cuda.cuh>
#include <upsweep/gpu/target/launch.cuh>

// Histogram with more bins than shared memory has room for. The bins are cut into partitions of which each fits. The
// samples are taken chunk by chunk, and a chunk takes two kernels: the first splits its tiles by partition, and in
// the second the blocks share out the lists of each partition, whatever their lengths, and count them in shared
// memory. The memory that the lists take does not depend on the number of samples.
namespace upsweep::gpu {

struct partition_shape {
    // The kernel that splits.
    static constexpr int threads = 512;
    static constexpr int warps = threads / lanes;
    static constexpr int registers = 40; // of a thread, so that three blocks share a multiprocessor
    static constexpr int samples = 16;   // of a thread in a tile
    static constexpr int tile = threads * samples;
    static constexpr bin_index most_cursors = 4096;                    // of a block
    static constexpr int cursor_rounds = most_cursors / (4 * threads); // a thread has four at a time
    static constexpr bin_index most_partitions = most_cursors / 4 - 1;
    static_assert(cursor_rounds * warps == lanes);

    // The kernel that counts.
    static constexpr int count_threads = 1024;
    static constexpr int count_warps = count_threads / lanes;
    static constexpr unsigned tiles_of_thread = 8;
    static constexpr int vectors_at_once = 2; // of a lane
    static_assert(most_partitions < count_threads);
    // As many vectors take as long to count as a block needs for a partition beside its vectors.
    static constexpr std::uint32_t worth_of_partition = 14000;

    static constexpr unsigned tiles_of_processor = 24; // in a chunk
    static constexpr unsigned most_shift = 15;         // a partition has at most 2^15 counters: entries are 16 bits
    static constexpr std::size_t most_bins = std::size_t{1} << 24;
};

// Entries are written and read by vectors.
inline constexpr unsigned entries_of_vector = sizeof(uint4) / sizeof(std::uint16_t);

// How the bins are cut up, and where the lists are.
struct partition_plan {
    bin_index all_bins;
    bin_index partitions;
    unsigned shift;        // a bin's partition is bin >> shift
    unsigned copies;       // of each cursor, a power of two
    unsigned tiles;        // of a chunk
    unsigned tile_vectors; // that there is room for

    uint4* entries;        // of each tile: the lower 16 bits of its bins, by partition
    std::uint16_t* starts; // of each partition, and of one beyond: where its lists begin in the tiles, in vectors
    std::uint32_t* sizes;  // vectors of each partition, in this chunk and in the next

    __host__ __device__ bin_index bins() const { return bin_index{1} << shift; }
    __device__ std::uint32_t* sizes_of(std::uint64_t chunk) const { return sizes + chunk % 2 * partitions; }
};

// The sum of the numbers of the lanes up to this one.
template <class T>
__device__ T inclusive_sum(T number)
{
#pragma unroll
    for (int distance = 1; distance < lanes; distance *= 2) {
        const T other = __shfl_up_sync(all_lanes, number, distance);
        number += lane_id() >= distance ? other : 0;
    }
    return number;
}

// The sum of the numbers of the threads before this one, and of all. By all threads of a block; a barrier must follow
// before the next.
__device__ inline std::uint64_t exclusive_sum(std::uint64_t number, std::uint64_t* warp_sums, std::uint64_t& total)
{
    const std::uint64_t inclusive = inclusive_sum(number);
    if (lane_id() == lanes - 1)
        warp_sums[warp_id()] = inclusive;
    __syncthreads();
    const std::uint64_t of_warp = lane_id() < static_cast<int>(blockDim.x) / lanes ? warp_sums[lane_id()] : 0;
    const std::uint64_t to_warp = inclusive_sum(of_warp);
    total = __shfl_sync(all_lanes, to_warp, lanes - 1);
    return inclusive - number + __shfl_sync(all_lanes, to_warp - of_warp, warp_id());
}

// Where the entry that comes at some byte of the sorted ones is kept. Lanes write runs of entries that begin in the
// same bank, where the samples are alike: vectors are swizzled.
__device__ inline std::uint32_t place_of_entry(std::uint32_t byte) { return byte ^ (byte >> 6 & 0x70); }

// Splits a tile of the samples by partition, a block each. A list begins at a vector and is filled up to one, with
// entries that stand for no bin of the partition: the lowest of its upper bits is another.
template <class Shape, class It, class Finder>
__global__ void __maxnreg__(Shape::registers)
    split_kernel(It in, std::uint64_t count, std::uint64_t chunk, Finder finder, partition_plan plan)
{
    using sample = std::iter_value_t<It>;
    constexpr int elements = sample_shape<It, 1>::elements;
    constexpr int row = elements * Shape::threads;
    constexpr int rows = Shape::samples / elements;
    constexpr int rows_at_once = std::min(rows, 4);
    extern __shared__ __align__(128) uint4 shared_vectors[];
    __shared__ std::uint32_t warp_vectors[Shape::cursor_rounds * Shape::warps];
    __shared__ std::uint16_t starts[Shape::most_partitions + 1]; // of the lists, in vectors
    uint4* const cursors = shared_vectors;
    const unsigned lists = plan.partitions + 1; // what lies beyond the end of a tile goes to one behind the others
    const unsigned cursor_vectors = (lists * plan.copies + 4 * lanes - 1) / (4 * lanes) * lanes;
    const shared_window window(shared_vectors);
    const std::uint32_t sorted = window.first() + cursor_vectors * sizeof(uint4);

    const std::uint64_t first = (chunk * plan.tiles + blockIdx.x) * Shape::tile;
    const auto end = static_cast<unsigned>(count - first < Shape::tile ? count - first : Shape::tile);
    const bool whole = end == Shape::tile && is_aligned<elements>(in + first);
    lane_vector<sample, elements> vectors[rows_at_once];
    const auto read = [&](int from) {
        const unsigned mine = from * row + threadIdx.x * elements;
        const It begin = in + first + mine;
#pragma unroll
        for (int r = 0; r < rows_at_once; ++r)
            if (whole)
                vectors[r] = load_vector<elements>(begin + r * row);
            else
                vectors[r] = gather_within<elements>(in + first, end, mine + r * row);
    };
    read(0);
#pragma unroll 1
    for (unsigned v = threadIdx.x; v < cursor_vectors; v += Shape::threads)
        cursors[v] = uint4{};
    if (threadIdx.x < Shape::cursor_rounds * Shape::warps)
        warp_vectors[threadIdx.x] = 0;
    const auto bin_of = finder.of_block(shared_vectors);
    __syncthreads();

    // A lane's cursors are its own while there are copies enough: no two lanes of a warp then wait for one another.
    // What is kept of a sample are the lower bits of its bin, in the upper half, and where its cursor is.
    const unsigned copy = static_cast<unsigned>(lane_id()) & (plan.copies - 1);
    const std::uint32_t first_cursor = window.first() + copy * sizeof(std::uint32_t);
    const std::uint32_t list_cursors = plan.copies * sizeof(std::uint32_t);
    std::uint32_t kept[Shape::samples];
#pragma unroll
    for (int from = 0; from < rows; from += rows_at_once) {
        if (from != 0)
            read(from);
#pragma unroll
        for (int r = 0; r < rows_at_once; ++r) {
            bin_index all_bins[elements];
            find_bins(bin_of, vectors[r], all_bins);
            if (!whole)
#pragma unroll
                for (int j = 0; j < elements; ++j)
                    if ((from + r) * row + threadIdx.x * elements + j >= end)
                        all_bins[j] = plan.partitions << plan.shift;
#pragma unroll
            for (int j = 0; j < elements; ++j) {
                const std::uint32_t cursor = (all_bins[j] >> plan.shift) * list_cursors + first_cursor;
                window.increment(cursor);
                kept[(from + r) * elements + j] = __byte_perm(cursor, all_bins[j], 0x5410);
            }
        }
    }
    __syncthreads();

    // Cursors become the places of their first entries. A thread has four copies, its neighbours have the others of a
    // list; the last of them knows how many vectors that is.
    const int threads_of_list = static_cast<int>(plan.copies) / 4;
    const int place = lane_id() & (threads_of_list - 1);
    const bool is_last = place == threads_of_list - 1;
    std::uint32_t before[Shape::cursor_rounds];
    std::uint32_t vectors_before[Shape::cursor_rounds];
    std::uint32_t list_vectors[Shape::cursor_rounds];
    const auto is_used = [&](int r) {
        return static_cast<unsigned>((r * Shape::warps + warp_id()) * lanes) < cursor_vectors;
    };
#pragma unroll
    for (int r = 0; r < Shape::cursor_rounds; ++r)
        if (is_used(r)) {
            const uint4 counts = cursors[r * Shape::threads + threadIdx.x];
            const std::uint32_t sum = counts.x + counts.y + counts.z + counts.w;
            std::uint32_t inclusive = sum;
#pragma unroll
            for (int distance = 1; distance < lanes / 4; distance *= 2) {
                const std::uint32_t other = __shfl_up_sync(all_lanes, inclusive, distance);
                inclusive += place >= distance ? other : 0;
            }
            before[r] = inclusive - sum;
            list_vectors[r] = is_last ? (inclusive + entries_of_vector - 1) / entries_of_vector : 0;
            const std::uint32_t to_here = inclusive_sum(list_vectors[r]);
            vectors_before[r] = to_here - list_vectors[r];
            if (lane_id() == lanes - 1)
                warp_vectors[r * Shape::warps + warp_id()] = to_here;
        }
    __syncthreads();
    if (is_used(0)) {
        const std::uint32_t of_warp = warp_vectors[lane_id()];
        const std::uint32_t before_warp = inclusive_sum(of_warp) - of_warp;
#pragma unroll
        for (int r = 0; r < Shape::cursor_rounds; ++r)
            if (is_used(r)) {
                const std::uint32_t start =
                    vectors_before[r] + __shfl_sync(all_lanes, before_warp, r * Shape::warps + warp_id());
                uint4& cursor = cursors[r * Shape::threads + threadIdx.x];
                const uint4 counts = cursor;
                const std::uint32_t x = sorted + start * sizeof(uint4) + before[r] * sizeof(std::uint16_t);
                const std::uint32_t y = x + counts.x * sizeof(std::uint16_t);
                const std::uint32_t z = y + counts.y * sizeof(std::uint16_t);
                cursor = {x, y, z, z + counts.z * static_cast<std::uint32_t>(sizeof(std::uint16_t))};
                const bin_index list = (r * Shape::threads + threadIdx.x) / static_cast<unsigned>(threads_of_list);
                if (!is_last || list > plan.partitions)
                    continue;
                starts[list] = static_cast<std::uint16_t>(start);
                const std::uint32_t none = ((list & 1) ^ 1) * (plan.bins() * 0x10001U);
                if (const std::uint32_t length = list_vectors[r]; length != 0 && list != plan.partitions)
                    window.store(place_of_entry(sorted + (start + length - 1) * sizeof(uint4)),
                                 uint4{none, none, none, none});
            }
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < Shape::samples; ++i)
        window.store(place_of_entry(window.fetch_add(kept[i] & 0xffffU, sizeof(std::uint16_t))),
                     static_cast<std::uint16_t>(kept[i] >> 16));
    __syncthreads();
    uint4* const to = plan.entries + std::size_t{blockIdx.x} * plan.tile_vectors;
    const unsigned used = starts[plan.partitions];
#pragma unroll 1
    for (unsigned v = threadIdx.x; v < used; v += Shape::threads)
        to[v] = window.load(place_of_entry(sorted + v * sizeof(uint4)));
#pragma unroll 1
    for (bin_index p = threadIdx.x; p < lists; p += Shape::threads) {
        const std::uint32_t start = starts[p];
        plan.starts[std::size_t{p} * plan.tiles + blockIdx.x] = static_cast<std::uint16_t>(start);
        const std::uint32_t length = p < plan.partitions ? starts[p + 1] - start : 0;
        if (length != 0)
            atomicAdd(plan.sizes_of(chunk) + p, length);
    }
}

// Counts the entries of a vector, of which `mask` keeps the bits that count, and `odd` is what those of the partition
// have in the uppermost one. Two of them are swizzled over the banks at once, as scattered_table::place does with
// one.
__device__ inline void count_entries(const uint4& entries, std::uint32_t odd, std::uint32_t mask,
                                     std::uint32_t* counters)
{
    for (const std::uint32_t both : {entries.x, entries.y, entries.z, entries.w}) {
        const std::uint32_t pair = (both ^ odd) & mask;
        const std::uint32_t places = swizzled_table::places(pair);
        atomicAdd(counters + (places & 0xffffU), 1U);
        atomicAdd(counters + (places >> 16), 1U);
    }
}

// The last of some ascending numbers that is not above the given one, as the first of them is not.
__device__ inline unsigned last_at_or_below(const std::uint32_t* numbers, unsigned count, std::uint32_t number)
{
    unsigned last = 0;
#pragma unroll 1
    for (unsigned step = std::bit_floor(count); step != 0; step /= 2)
        if (last + step < count && numbers[last + step] <= number)
            last += step;
    return last;
}

// Counts a chunk whose lists are given, each block its share. Each partition is a stretch: first what a block needs
// for it beside its vectors, then these, one list after the other. The blocks take equal parts of all stretches, and
// their warps equal parts of the vectors.
template <class Shape>
__global__ void __launch_bounds__(Shape::count_threads, 1)
    count_lists_kernel(unsigned tiles, std::uint64_t chunk, partition_plan plan, counter_memory memory)
{
    extern __shared__ __align__(128) uint4 shared_vectors[];
    __shared__ std::uint64_t warp_sums[Shape::count_warps];
    __shared__ std::uint32_t starts[Shape::most_partitions + 1]; // of each partition's stretch
    std::uint32_t* const counters = reinterpret_cast<std::uint32_t*>(shared_vectors);
    // Of the lists of a partition that are not empty: the vectors before each, and where it is, less these. Entries
    // that stand for no bin are counted behind the counters.
    constexpr unsigned reach = 2 * lanes;
    std::uint32_t* const begins = counters + plan.bins() + lanes;
    std::uint32_t* const places = begins + tiles + reach;

    const std::uint32_t* const sizes = plan.sizes_of(chunk);
    std::uint64_t total = 0;
    {
        const bin_index p = threadIdx.x;
        const std::uint32_t size = p < plan.partitions ? sizes[p] : 0;
        const std::uint64_t start =
            exclusive_sum(std::uint64_t{size != 0 ? size + Shape::worth_of_partition : 0}, warp_sums, total);
        if (p <= Shape::most_partitions)
            starts[p] = static_cast<std::uint32_t>(start);
        if (blockIdx.x == 0 && p < plan.partitions)
            plan.sizes_of(chunk + 1)[p] = 0;
    }
#pragma unroll 4
    for (unsigned v = threadIdx.x; v < (plan.bins() + lanes) / 4; v += Shape::count_threads)
        shared_vectors[v] = uint4{};
    __syncthreads();
    const auto share = static_cast<std::uint32_t>(total) / gridDim.x + 1;
    const std::uint32_t from = share * blockIdx.x;
    const std::uint32_t to = from + share;

    for (bin_index p = last_at_or_below(starts, plan.partitions, from); p < plan.partitions && starts[p] < to; ++p) {
        const std::uint32_t first = starts[p] + Shape::worth_of_partition;
        const std::uint32_t last = starts[p + 1];
        const std::uint32_t begin = std::max(from, first) - first;
        const std::uint32_t end = std::min(to, last) - first;
        if (starts[p] == last || to <= first || begin >= end)
            continue;

        // A thread has some tiles. Vectors are added up in the lower half of a word, lists that are not empty in the
        // upper one.
        const std::uint16_t* const list_starts = plan.starts + std::size_t{p} * plan.tiles;
        std::uint32_t lists[Shape::tiles_of_thread]; // where one begins, and its vectors
#pragma unroll
        for (unsigned k = 0; k < Shape::tiles_of_thread; ++k) {
            const unsigned tile = k * Shape::count_threads + threadIdx.x;
            lists[k] = 0;
            if (tile < tiles) {
                const std::uint32_t start = __ldcg(list_starts + tile);
                lists[k] = (__ldcg(list_starts + plan.tiles + tile) - start) << 16 | start;
            }
        }
        std::uint64_t sum = 0;
#pragma unroll
        for (const std::uint32_t list : lists)
            sum += list >> 16 != 0 ? (std::uint64_t{1} << 32) + (list >> 16) : 0;
        std::uint64_t of_all = 0;
        const std::uint64_t before = exclusive_sum(sum, warp_sums, of_all);
        auto index = static_cast<unsigned>(before >> 32);
        auto place = static_cast<std::uint32_t>(before);
#pragma unroll
        for (unsigned k = 0; k < Shape::tiles_of_thread; ++k)
            if (lists[k] >> 16 != 0) {
                begins[index] = place;
                places[index] =
                    (k * Shape::count_threads + threadIdx.x) * plan.tile_vectors + (lists[k] & 0xffffU) - place;
                place += lists[k] >> 16;
                ++index;
            }
        const auto list_count = static_cast<unsigned>(of_all >> 32);
        if (threadIdx.x < reach)
            begins[list_count + threadIdx.x] = ~0U;
        __syncthreads();

        // None of the lists is empty: the vector 32 after a lane's last one is in one of the next 32 lists, mostly in
        // one of the next three.
        const auto warp = static_cast<unsigned>(warp_id());
        std::uint32_t at = begin + (end - begin) * warp / Shape::count_warps;
        const std::uint32_t warp_end = begin + (end - begin) * (warp + 1) / Shape::count_warps;
        unsigned list = last_at_or_below(begins, list_count, at);
        const auto read = [&](std::uint32_t v, uint4(&entries)[Shape::vectors_at_once]) {
#pragma unroll
            for (int q = 0; q < Shape::vectors_at_once; ++q, v += lanes) {
                if (v >= warp_end)
                    break;
                if (begins[list + 4] <= v)
#pragma unroll
                    for (unsigned step = lanes; step != 2; step /= 2)
                        list += begins[list + step] <= v ? step : 0;
                list += begins[list + 2] <= v ? 2 : 0;
                list += begins[list + 1] <= v ? 1 : 0;
                entries[q] = __ldcg(plan.entries + (places[list] + v));
            }
        };
        const std::uint32_t odd = (p & 1) * (plan.bins() * 0x10001U);
        const std::uint32_t mask = (2 * plan.bins() - 1) * 0x10001U;
        constexpr unsigned step = Shape::vectors_at_once * lanes;
        at += static_cast<unsigned>(lane_id());
        uint4 entries[Shape::vectors_at_once];
        read(at, entries);
        for (; at < warp_end; at += step) {
            uint4 next[Shape::vectors_at_once];
            read(at + step, next);
#pragma unroll
            for (int q = 0; q < Shape::vectors_at_once; ++q) {
                if (at + q * lanes < warp_end)
                    count_entries(entries[q], odd, mask, counters);
                entries[q] = next[q];
            }
        }
        __syncthreads();

        // Blocks begin at different counters. Those of a row, as many as there are threads, are swizzled among one
        // another.
        const unsigned counter_rows = plan.bins() / Shape::count_threads;
        const bin_index scattered = threadIdx.x ^ warp;
#pragma unroll 8
        for (unsigned r = 0; r < counter_rows; ++r) {
            const unsigned turned = (r + blockIdx.x) & (counter_rows - 1);
            std::uint32_t& counter = counters[turned * Shape::count_threads + (scattered ^ (turned & (lanes - 1)))];
            const std::uint32_t counted = counter;
            counter = 0;
            if (counted != 0)
                memory.add((p << plan.shift) + turned * Shape::count_threads + threadIdx.x, counted);
        }
        __syncthreads();
    }
}

template <class Counter>
__global__ void take_kernel(histogram_result<Counter> result, bin_index all_bins, counter_memory memory)
{
    result.take(memory, all_bins, blockIdx.x, gridDim.x);
}

// The shared memory of a block that counts partitions of 2^shift counters, for a chunk of so many tiles.
inline std::size_t partition_bytes(unsigned shift, unsigned tiles)
{
    return ((std::size_t{1} << shift) + 5 * lanes + 2 * std::size_t{tiles}) * sizeof(std::uint32_t);
}

// A chunk has no more tiles.
inline unsigned most_tiles(const cuda& target)
{
    using shape = partition_shape;
    return std::min(shape::tiles_of_processor * static_cast<unsigned>(target.workspace().multiprocessors()),
                    shape::tiles_of_thread * shape::count_threads);
}

inline unsigned partition_shift(const cuda& target)
{
    constexpr std::size_t variables = 8192; // at least what the kernel has beside them
    unsigned shift = partition_shape::most_shift;
    while (partition_bytes(shift, most_tiles(target)) + variables > table_bytes(target))
        --shift;
    return shift;
}

// How many bins a GPU counts, whatever the number of samples.
inline std::size_t most_bins(const cuda& target)
{
    const std::size_t all_bins = std::size_t{partition_shape::most_partitions} << partition_shift(target);
    return std::min(partition_shape::most_bins, all_bins) - detail::out_of_range_bins;
}

inline void check_most_bins(const cuda& target, std::size_t bins)
{
    if (const std::size_t most = most_bins(target); bins > most)
        throw error(error_kind::invalid_argument, "histogram",
                    std::to_string(bins) + " bins are more than a GPU counts at once, " + std::to_string(most),
                    "ask for fewer bins, or use the target cpu");
}

template <class It, class Finder, class Counter>
void partitioned_histogram(const cuda& target, It in, std::uint64_t count, const Finder& finder,
                           const histogram_result<Counter>& result)
{
    using shape = partition_shape;
    constexpr auto split = split_kernel<shape, It, Finder>;
    constexpr auto count_lists = count_lists_kernel<shape>;
    const auto multiprocessors = static_cast<unsigned>(target.workspace().multiprocessors());
    const std::uint64_t tiles = (count + shape::tile - 1) / shape::tile;
    partition_plan plan{};
    check_most_bins(target, finder.bins);
    plan.tiles = static_cast<unsigned>(std::min<std::uint64_t>(most_tiles(target), tiles));
    plan.all_bins = static_cast<bin_index>(finder.bins + detail::out_of_range_bins);
    plan.shift = partition_shift(target);
    plan.partitions = (plan.all_bins - 1) / plan.bins() + 1;
    plan.copies = std::min<unsigned>(lanes, std::bit_floor(shape::most_cursors / (plan.partitions + 1)));
    plan.tile_vectors = shape::tile / entries_of_vector + plan.partitions;
    const std::size_t split_bytes = ((plan.partitions + 1) * plan.copies + 4 * lanes) * sizeof(std::uint32_t) +
                                    (plan.tile_vectors + 8) * sizeof(uint4);

    const std::size_t entry_bytes = std::size_t{plan.tiles} * plan.tile_vectors * sizeof(uint4);
    const std::size_t size_bytes = 2 * plan.partitions * sizeof(std::uint32_t);
    const std::size_t start_bytes = std::size_t{plan.tiles} * (plan.partitions + 1) * sizeof(std::uint16_t);
    auto* const lists = static_cast<std::byte*>(
        target.workspace().memory(workspace_purpose::lists, entry_bytes + size_bytes + start_bytes));
    plan.entries = reinterpret_cast<uint4*>(lists);
    plan.sizes = reinterpret_cast<std::uint32_t*>(lists + entry_bytes);
    plan.starts = reinterpret_cast<std::uint16_t*>(lists + entry_bytes + size_bytes);
    const counter_memory memory = counters_of(target, plan.all_bins);

    allow_shared_bytes<split>(target);
    allow_shared_bytes<count_lists>(target);
    check("histogram", cudaMemsetAsync(plan.sizes, 0, size_bytes, target.stream()));
    for (std::uint64_t chunk = 0; chunk * plan.tiles < tiles; ++chunk) {
        const auto here = static_cast<unsigned>(std::min<std::uint64_t>(plan.tiles, tiles - chunk * plan.tiles));
        launch(target, "histogram", split,
               grid_shape{.blocks = here, .threads = shape::threads, .shared_bytes = split_bytes}, in, count, chunk,
               finder, plan);
        launch(target, "histogram", count_lists,
               grid_shape{.blocks = std::min(multiprocessors, here),
                          .threads = shape::count_threads,
                          .shared_bytes = partition_bytes(plan.shift, plan.tiles)},
               here, chunk, plan, memory);
    }
    launch(target, "histogram", take_kernel<Counter>,
           grid_shape{.blocks = multiprocessors, .threads = shape::count_threads, .shared_bytes = 0}, result,
           plan.all_bins, memory);
}

} // namespace upsweep::gpu
