// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>

#include <upsweep/gpu/cuda.cuh>
#include <upsweep/gpu/primitive/counters.cuh>
#include <upsweep/gpu/primitive/samples.cuh>
#include <upsweep/gpu/primitive/slots.cuh>

// Histogram with more bins than shared memory has room for. The bins are cut into partitions of which each fits. The samples are
// taken chunk by chunk, and a chunk takes two kernels: the first splits its tiles by partition, and in the second the blocks share
// out the lists of each partition, whatever their lengths, and count them in shared memory. Chunks are small enough for the lists
// to stay in the L2 cache, and the memory that they take does not depend on the number of samples.
namespace upsweep::gpu {

struct partition_shape {
    static constexpr int threads = 1024;
    static constexpr int warps = threads / lanes;
    static constexpr int samples = 8; // of a thread in a tile
    static constexpr int tile = threads * samples;
    static constexpr int splitting = 2;                // blocks of a processor, so that one reads while another sorts
    static constexpr unsigned tiles_of_processor = 24; // in a chunk
    static constexpr slot most_cursors = 8192;         // of a block, while it splits a tile
    static constexpr unsigned most_shift = 15;         // a partition has at most 2^15 counters: entries are 16 bits
    static constexpr slot most_partitions = 1024;      // that there is room for
    static constexpr std::size_t most_slots = std::size_t{1} << 24;
    // As many samples take as long to count as a partition and a list do, whatever is in them.
    static constexpr std::uint32_t worth_of_partition = 8192;
    static constexpr std::uint32_t worth_of_list = 256;
    static constexpr std::uint32_t long_list = 256; // what is longer is cut
    static constexpr int lists = 4;                 // that a warp reads at once
};

// How the slots are cut up, and where the lists are.
struct partition_plan {
    slot slots;
    slot partitions;
    unsigned shift;  // a slot's partition is slot >> shift
    unsigned copies; // of each cursor, a power of two
    unsigned tiles;  // of a chunk

    std::uint16_t* entries; // of each tile: the lower bits of its slots, by partition
    std::uint32_t* ends;    // of each tile: where the lists of partitions 0, 1, ... end
    std::uint32_t* sizes;   // samples of each partition, in this chunk and in the next

    __host__ __device__ slot bins() const { return slot{1} << shift; }
    __device__ slot lower_bits(slot k) const { return k & (bins() - 1); }
    __device__ std::uint32_t* sizes_of(std::uint64_t chunk) const { return sizes + chunk % 2 * partitions; }
};

// The sum of the numbers of the lanes up to this one.
__device__ inline std::uint32_t inclusive_sum(std::uint32_t number)
{
#pragma unroll
    for (int distance = 1; distance < lanes; distance *= 2) {
        const std::uint32_t other = __shfl_up_sync(all_lanes, number, distance);
        number += lane_id() >= distance ? other : 0;
    }
    return number;
}

// before[k] becomes the sum of the numbers before k, for `count` numbers, a multiple of the threads of the block. Returns
// their sum. By all threads.
__device__ inline std::uint32_t exclusive_sums(std::uint32_t* numbers, unsigned count, std::uint32_t* warp_sums)
{
    const unsigned each = count / blockDim.x;
    std::uint32_t* const mine = numbers + threadIdx.x * each;
    std::uint32_t sum = 0;
#pragma unroll 1 // there are one or two
    for (unsigned k = 0; k < each; ++k)
        sum += mine[k];
    const std::uint32_t inclusive = inclusive_sum(sum);
    const unsigned warp = threadIdx.x / lanes;
    if (lane_id() == lanes - 1)
        warp_sums[warp] = inclusive;
    __syncthreads();
    const auto lane = static_cast<unsigned>(lane_id());
    const std::uint32_t of_warp = lane < blockDim.x / lanes ? warp_sums[lane] : 0;
    const std::uint32_t to_warp = inclusive_sum(of_warp);
    std::uint32_t before = inclusive - sum + __shfl_sync(all_lanes, to_warp - of_warp, static_cast<int>(warp));
    const std::uint32_t total = __shfl_sync(all_lanes, to_warp, lanes - 1);
#pragma unroll 1
    for (unsigned k = 0; k < each; ++k) {
        const std::uint32_t number = mine[k];
        mine[k] = before;
        before += number;
    }
    __syncthreads();
    return total;
}

// Splits a tile of the samples by partition, a block each.
template <class Shape, class It, class Slots>
__global__ void __launch_bounds__(Shape::threads, Shape::splitting)
    split_kernel(It in, std::uint64_t count, std::uint64_t chunk, Slots rule, partition_plan plan)
{
    using sample = std::iter_value_t<It>;
    constexpr int elements = sample_shape<It, 1>::elements;
    constexpr int row = elements * Shape::threads;
    extern __shared__ std::uint32_t shared_words[];
    std::uint32_t* const cursors = shared_words;
    std::uint32_t* const warp_sums = cursors + Shape::most_cursors;
    auto* const sorted = reinterpret_cast<std::uint16_t*>(warp_sums + Shape::warps);
    // Lanes write runs of entries that are as far apart as a bank is wide, where the samples are alike: the words are scattered.
    constexpr unsigned run = Shape::tile / 2 / lanes;
    const auto place_of_word = [](unsigned word) { return word ^ (word / run & (lanes - 1)); };
    const auto place_of_entry = [](unsigned entry) { return entry ^ (entry / run & 2 * (lanes - 1)); };

    const std::uint64_t first = (chunk * plan.tiles + blockIdx.x) * Shape::tile;
    const auto end = static_cast<unsigned>(count - first < Shape::tile ? count - first : Shape::tile);
    const bool whole = end == Shape::tile && is_aligned<elements>(in + first);
    lane_vector<sample, elements> vectors[Shape::samples / elements];
#pragma unroll
    for (int r = 0; r < Shape::samples / elements; ++r) {
        const unsigned offset = r * row + threadIdx.x * elements;
        if (whole)
            vectors[r] = load_vector<elements>(in + (first + offset));
        else
            vectors[r] =
                gather_vector<elements>(in + (first + offset), offset < end ? static_cast<int>(end - offset) : 0);
    }
    const auto slot_of = rule.of_block(shared_words);
    const unsigned used = (plan.partitions + 1) * plan.copies;
    const unsigned padded = (used + Shape::threads - 1) / Shape::threads * Shape::threads;
    clear_words(cursors, padded);
    __syncthreads();

    // What lies beyond the end of a tile goes to a partition behind the others. A lane's cursors are its own while there are copies enough: no two lanes of a warp then wait for one another.
    slot slots[Shape::samples];
    std::uint32_t ranks[Shape::samples];
    const unsigned copy = static_cast<unsigned>(lane_id()) & (plan.copies - 1);
#pragma unroll
    for (int i = 0; i < Shape::samples; ++i) {
        const unsigned offset = i / elements * row + threadIdx.x * elements + i % elements;
        slots[i] = offset < end ? slot_of(vectors[i / elements][i % elements]) : plan.partitions << plan.shift;
    }
#pragma unroll
    for (int i = 0; i < Shape::samples; ++i)
        ranks[i] = atomicAdd(cursors + (slots[i] >> plan.shift) * plan.copies + copy, 1U);
    __syncthreads();

    exclusive_sums(cursors, padded, warp_sums);
#pragma unroll
    for (int i = 0; i < Shape::samples; ++i)
        sorted[place_of_entry(cursors[(slots[i] >> plan.shift) * plan.copies + copy] + ranks[i])] =
            static_cast<std::uint16_t>(plan.lower_bits(slots[i]));
    std::uint32_t* const ends = plan.ends + std::size_t{blockIdx.x} * plan.partitions;
    std::uint32_t* const sizes = plan.sizes_of(chunk);
    for (slot p = threadIdx.x; p < plan.partitions; p += Shape::threads) {
        const std::uint32_t begin = cursors[p * plan.copies];
        const std::uint32_t beyond = cursors[(p + 1) * plan.copies];
        ends[p] = beyond;
        if (beyond != begin)
            atomicAdd(sizes + p, beyond - begin);
    }
    __syncthreads();
    const auto* const from = reinterpret_cast<const std::uint32_t*>(sorted);
    auto* const to = reinterpret_cast<std::uint32_t*>(plan.entries + std::size_t{blockIdx.x} * Shape::tile);
    for (unsigned word = threadIdx.x; word < (end + 7) / 8 * 4; word += Shape::threads)
        to[word] = from[place_of_word(word)];
}

// Counts pieces of lists, [begin, end) of the entries each, as many at once as there are, and as many entries of each as the
// lanes of a warp read at a time. By one warp.
template <int Count>
__device__ inline void count_entries(const std::uint16_t* entries, const std::uint32_t (&begin)[Count],
                                     const std::uint32_t (&end)[Count], const scattered_table& table)
{
    constexpr std::uint32_t each = 8;
    std::uint32_t longest = 0;
#pragma unroll
    for (int q = 0; q < Count; ++q)
        longest = std::max(longest, begin[q] < end[q] ? end[q] - begin[q] / each * each : 0);
    for (std::uint32_t done = 0; done < longest; done += each * lanes) {
        uint4 words[Count];
        const std::uint32_t mine = done + static_cast<std::uint32_t>(lane_id()) * each;
#pragma unroll
        for (int q = 0; q < Count; ++q)
            if (const std::uint32_t at = begin[q] / each * each + mine; at < end[q])
                words[q] = __ldcg(reinterpret_cast<const uint4*>(entries + at));
#pragma unroll
        for (int q = 0; q < Count; ++q) {
            const std::uint32_t at = begin[q] / each * each + mine;
            if (at >= end[q])
                continue;
            const std::uint32_t pairs[4] = {words[q].x, words[q].y, words[q].z, words[q].w};
#pragma unroll
            for (std::uint32_t j = 0; j < each; ++j)
                if (at + j - begin[q] < end[q] - begin[q])
                    table.increment(pairs[j / 2] >> (j % 2 * 16) & 0xffffU);
        }
    }
}

// The greatest one, by Euclid. Of std::gcd nvcc 13.0 makes code for a GPU that is wrong: it has builtins of the host's compiler.
__device__ inline unsigned common_divisor(unsigned a, unsigned b)
{
    while (b != 0) {
        const unsigned rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

// Counts a chunk whose lists are given, each block its share. Each partition is a stretch as long as its samples take to be
// counted, the blocks take equal parts of them all; of a partition that is cut, a block takes as large a part of the tiles,
// which are picked with a stride, lest the samples be in the tiles of others.
template <class Shape>
__global__ void __launch_bounds__(Shape::threads, 1)
    count_lists_kernel(unsigned tiles, std::uint64_t chunk, partition_plan plan, counter_memory memory)
{
    extern __shared__ std::uint32_t shared_words[];
    std::uint32_t* const starts = shared_words; // of each partition's stretch
    std::uint32_t* const warp_sums = starts + Shape::most_partitions;
    const scattered_table table{warp_sums + Shape::warps};
    const unsigned warp = threadIdx.x / lanes;
    unsigned stride = tiles * 5 / 8 | 1;
    while (common_divisor(stride, tiles) != 1)
        stride += 2;

    const std::uint32_t* const sizes = plan.sizes_of(chunk);
    const std::uint32_t worth = Shape::worth_of_partition + Shape::worth_of_list * tiles;
    for (unsigned p = threadIdx.x; p < Shape::most_partitions; p += Shape::threads) {
        const std::uint32_t samples = p < plan.partitions ? sizes[p] : 0;
        starts[p] = samples != 0 ? samples + worth : 0;
        if (blockIdx.x == 0 && p < plan.partitions)
            plan.sizes_of(chunk + 1)[p] = 0;
    }
    clear_words(table.counters, plan.bins());
    __syncthreads();
    const std::uint32_t total = exclusive_sums(starts, Shape::most_partitions, warp_sums);
    const auto from = static_cast<std::uint32_t>(std::uint64_t{total} * blockIdx.x / gridDim.x);
    const auto to = static_cast<std::uint32_t>(std::uint64_t{total} * (blockIdx.x + 1) / gridDim.x);

    for (slot p = 0; p < plan.partitions; ++p) {
        const std::uint32_t start = starts[p];
        const std::uint32_t size = (p + 1 < plan.partitions ? starts[p + 1] : total) - start;
        if (size == 0 || start + size <= from || start >= to)
            continue;
        const auto tile_at = [&](std::uint32_t part) {
            return static_cast<unsigned>(std::uint64_t{part} * tiles / size);
        };
        const unsigned first_tile = from > start ? tile_at(from - start) : 0;
        const unsigned last_tile = to < start + size ? tile_at(to - start) : tiles;
        const unsigned few = last_tile - first_tile;
        if (few == 0)
            continue;
        unsigned ways =
            1; // the pieces that a list is cut into, so that there are some for each warp, none of them long
        while (ways < Shape::warps &&
               (few * ways < Shape::lists * Shape::warps || size - worth > Shape::long_list * ways * tiles))
            ways *= 2;
        // The lanes find out where the next pieces of their warp are, one each.
        for (unsigned at = warp; at < few * ways; at += Shape::warps * lanes) {
            const unsigned piece = at + static_cast<unsigned>(lane_id()) * Shape::warps;
            std::uint32_t begin = 0;
            std::uint32_t end = 0;
            if (piece < few * ways) {
                const auto tile = static_cast<unsigned>(std::uint64_t{first_tile + piece / ways} * stride % tiles);
                const std::uint32_t* const end_of = plan.ends + std::size_t{tile} * plan.partitions;
                const std::uint32_t list = p != 0 ? __ldcg(end_of + p - 1) : 0;
                const std::uint32_t length = __ldcg(end_of + p) - list;
                begin = tile * Shape::tile + list + length * (piece % ways) / ways;
                end = tile * Shape::tile + list + length * (piece % ways + 1) / ways;
            }
            for (int next = 0; next < lanes && at + static_cast<unsigned>(next) * Shape::warps < few * ways;
                 next += Shape::lists) {
                std::uint32_t begins[Shape::lists];
                std::uint32_t ends[Shape::lists];
#pragma unroll
                for (int q = 0; q < Shape::lists; ++q) {
                    begins[q] = __shfl_sync(all_lanes, begin, next + q);
                    ends[q] = __shfl_sync(all_lanes, end, next + q);
                }
                count_entries(plan.entries, begins, ends, table);
            }
        }
        __syncthreads();
        for (slot k = threadIdx.x; k < plan.bins(); k += Shape::threads) {
            const slot word = plan.lower_bits(k + blockIdx.x * Shape::threads);
            if (const std::uint32_t counted = table.total(word); counted != 0) {
                memory.add((p << plan.shift) + word, counted);
                table.counters[scattered_table::place(word)] = 0;
            }
        }
        __syncthreads();
    }
}

template <class Counter>
__global__ void take_kernel(histogram_result<Counter> result, slot slots, counter_memory memory)
{
    result.take(memory, slots, blockIdx.x, gridDim.x);
}

template <class It, class Slots, class Counter>
void partitioned_histogram(const cuda& target, It in, std::uint64_t count, const Slots& rule,
                           const histogram_result<Counter>& result)
{
    using shape = partition_shape;
    constexpr auto split = split_kernel<shape, It, Slots>;
    constexpr auto count_lists = count_lists_kernel<shape>;
    const std::size_t split_bytes =
        (shape::most_cursors + shape::warps) * sizeof(std::uint32_t) + shape::tile * sizeof(std::uint16_t);
    const auto count_bytes = [](unsigned shift) {
        return (shape::most_partitions + shape::warps + (std::size_t{1} << shift)) * sizeof(std::uint32_t);
    };
    partition_plan plan{};
    plan.slots = static_cast<slot>(rule.bins + detail::outside_slots);
    plan.shift = shape::most_shift;
    while (count_bytes(plan.shift) > table_bytes(target))
        --plan.shift;
    const std::size_t most_slots = std::min(shape::most_slots, std::size_t{shape::most_partitions} << plan.shift);
    if (plan.slots > most_slots)
        throw error(error_kind::invalid_argument, "histogram",
                    std::to_string(rule.bins) + " bins are more than a GPU counts at once, " +
                        std::to_string(most_slots - detail::outside_slots),
                    "ask for fewer bins, or use the target cpu");
    plan.partitions = (plan.slots - 1) / plan.bins() + 1;
    plan.copies = std::min<unsigned>(lanes, std::bit_floor(shape::most_cursors / (plan.partitions + 1)));

    const auto processors = static_cast<unsigned>(target.workspace().processors());
    const std::uint64_t tiles = (count + shape::tile - 1) / shape::tile;
    plan.tiles = static_cast<unsigned>(std::min<std::uint64_t>(shape::tiles_of_processor * processors, tiles));
    const std::size_t entry_bytes = std::size_t{plan.tiles} * shape::tile * sizeof(std::uint16_t);
    const std::size_t end_bytes = std::size_t{plan.tiles} * plan.partitions * sizeof(std::uint32_t);
    const std::size_t size_bytes = 2 * plan.partitions * sizeof(std::uint32_t);
    auto* const lists = static_cast<std::byte*>(target.workspace().lists(entry_bytes + end_bytes + size_bytes));
    plan.entries = reinterpret_cast<std::uint16_t*>(lists);
    plan.ends = reinterpret_cast<std::uint32_t*>(lists + entry_bytes);
    plan.sizes = reinterpret_cast<std::uint32_t*>(lists + entry_bytes + end_bytes);
    const counter_memory memory = target.workspace().counters(plan.slots);

    allow_shared_bytes<split>(target);
    allow_shared_bytes<count_lists>(target);
    check("histogram", cudaMemsetAsync(plan.sizes, 0, size_bytes, target.stream()));
    for (std::uint64_t chunk = 0; chunk * plan.tiles < tiles; ++chunk) {
        const auto here = static_cast<unsigned>(std::min<std::uint64_t>(plan.tiles, tiles - chunk * plan.tiles));
        launch(target, "histogram", split,
               grid_shape{.blocks = here, .threads = shape::threads, .shared_bytes = split_bytes}, in, count, chunk,
               rule, plan);
        launch(target, "histogram", count_lists,
               grid_shape{.blocks = std::min(processors, here),
                          .threads = shape::threads,
                          .shared_bytes = count_bytes(plan.shift)},
               here, chunk, plan, memory);
    }
    launch(target, "histogram", take_kernel<Counter>,
           grid_shape{.blocks = processors, .threads = shape::threads, .shared_bytes = 0}, result, plan.slots, memory);
}

} // namespace upsweep::gpu
