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

// Histogram with more bins than shared memory has room for. The bins are cut into partitions of which each fits. In a kernel
// for each chunk of the samples, every block first splits tiles of them by partition; then the blocks share out the lists of
// each partition, whatever their lengths, and count them in shared memory. Chunks are small enough for the lists to stay in the
// L2 cache, and the memory that they take does not depend on the number of samples.
namespace upsweep::gpu {

struct partition_shape {
    static constexpr int threads = 1024;
    static constexpr int warps = threads / lanes;
    static constexpr int samples = 16; // of a thread in a tile
    static constexpr int tile = threads * samples;
    static constexpr unsigned tiles_of_block = 4; // in a chunk
    static constexpr slot most_cursors = 8192;    // of a block, while it splits a tile
    static constexpr unsigned shift = 14;         // a slot's partition is slot >> shift
    static constexpr slot bins = 1U << shift;     // of a partition
    static constexpr slot most_partitions = 1024; // that there is room for
    static constexpr std::size_t most_bins = std::size_t{most_partitions} * bins - detail::outside_slots;
    static constexpr std::uint32_t samples_worth = 4096; // as long as a partition takes, whatever is in it
};

// How the slots are cut up, and where the lists are.
struct partition_plan {
    slot partitions;
    slot slots;
    unsigned copies; // of each cursor, a power of two
    unsigned tiles;  // of a chunk

    std::uint16_t* entries; // of each tile: the lower bits of its slots, by partition
    std::uint32_t* ends;    // of each tile: where the lists of partitions 0, 1, ... end
    std::uint32_t* sizes;   // samples of each partition
};

// before[k] becomes the sum of the numbers before k, for `count` numbers, a multiple of the threads of the block. Returns
// their sum. By all threads.
__device__ inline std::uint32_t exclusive_sums(std::uint32_t* numbers, unsigned count, std::uint32_t* warp_sums)
{
    const unsigned each = count / blockDim.x;
    std::uint32_t* const mine = numbers + threadIdx.x * each;
    std::uint32_t sum = 0;
    for (unsigned k = 0; k < each; ++k)
        sum += mine[k];
    std::uint32_t inclusive = sum;
    for (int distance = 1; distance < lanes; distance *= 2) {
        const std::uint32_t other = __shfl_up_sync(all_lanes, inclusive, distance);
        inclusive += lane_id() >= distance ? other : 0;
    }
    const unsigned warp = threadIdx.x / lanes;
    if (lane_id() == lanes - 1)
        warp_sums[warp] = inclusive;
    __syncthreads();
    std::uint32_t before = inclusive - sum;
    std::uint32_t total = 0;
    for (unsigned w = 0; w < blockDim.x / lanes; ++w) {
        before += w < warp ? warp_sums[w] : 0;
        total += warp_sums[w];
    }
    for (unsigned k = 0; k < each; ++k) {
        const std::uint32_t number = mine[k];
        mine[k] = before;
        before += number;
    }
    __syncthreads();
    return total;
}

// Splits a tile of the samples by partition. By all threads of a block.
template <class Shape, class It, class SlotOf>
__device__ void split_tile(It in, unsigned tile, std::uint64_t count, const SlotOf& slot_of, const partition_plan& plan,
                           std::uint32_t* shared)
{
    const std::uint64_t first = std::uint64_t{tile} * Shape::tile;
    std::uint32_t* const ends = plan.ends + std::size_t{tile} * plan.partitions;
    using sample = std::iter_value_t<It>;
    constexpr int elements = sample_shape<It, 1>::elements;
    constexpr int row = elements * Shape::threads;
    constexpr slot nowhere = ~slot{0};
    std::uint32_t* const cursors = shared;
    std::uint32_t* const warp_sums = cursors + Shape::most_cursors;
    auto* const sorted = reinterpret_cast<std::uint16_t*>(warp_sums + Shape::warps);

    const unsigned used = std::max<unsigned>(plan.partitions * plan.copies, Shape::threads);
    const unsigned padded = (used + Shape::threads - 1) / Shape::threads * Shape::threads;
    clear_words(cursors, padded);
    __syncthreads();

    // A lane's cursors are its own while there are copies enough: no two lanes of a warp then wait for one another.
    slot slots[Shape::samples];
    std::uint32_t ranks[Shape::samples];
    const std::uint64_t end = count - first < Shape::tile ? count - first : Shape::tile;
    const unsigned copy = static_cast<unsigned>(lane_id()) & (plan.copies - 1);
    const bool whole = end == Shape::tile && is_aligned<elements>(in + first);
#pragma unroll
    for (int r = 0; r < Shape::samples / elements; ++r) {
        const auto offset = static_cast<std::uint64_t>(r * row) + threadIdx.x * elements;
        lane_vector<sample, elements> vector;
        if (whole)
            vector = load_vector<elements>(in + (first + offset));
        else
            vector = gather_vector<elements>(in + (first + offset), offset < end ? static_cast<int>(end - offset) : 0);
#pragma unroll
        for (int j = 0; j < elements; ++j)
            slots[r * elements + j] = offset + j < end ? slot_of(vector[j]) : nowhere;
    }
#pragma unroll
    for (int i = 0; i < Shape::samples; ++i)
        ranks[i] = slots[i] != nowhere ? atomicAdd(cursors + (slots[i] >> Shape::shift) * plan.copies + copy, 1U) : 0;
    __syncthreads();

    exclusive_sums(cursors, padded, warp_sums);
#pragma unroll
    for (int i = 0; i < Shape::samples; ++i)
        if (slots[i] != nowhere)
            sorted[cursors[(slots[i] >> Shape::shift) * plan.copies + copy] + ranks[i]] =
                static_cast<std::uint16_t>(slots[i] & (Shape::bins - 1));
    if (threadIdx.x < 8 && end + threadIdx.x < Shape::tile) // what is copied along with the last entries
        sorted[end + threadIdx.x] = 0;
    for (slot p = threadIdx.x; p < plan.partitions; p += Shape::threads) {
        const std::uint32_t begin = cursors[p * plan.copies];
        const std::uint32_t beyond =
            p + 1 < plan.partitions ? cursors[(p + 1) * plan.copies] : static_cast<std::uint32_t>(end);
        ends[p] = beyond;
        if (beyond != begin)
            atomicAdd(plan.sizes + p, beyond - begin);
    }
    __syncthreads();
    const auto* const from = reinterpret_cast<const uint4*>(sorted);
    auto* const to = reinterpret_cast<uint4*>(plan.entries + first);
    for (unsigned i = threadIdx.x; i * 8 < end; i += Shape::threads)
        to[i] = from[i];
    __syncthreads();
}

// Counts the entries [begin, end) of a tile, as many as there are lanes at a time. By one warp; `entries` is aligned.
__device__ inline void count_entries(const std::uint16_t* entries, std::uint32_t begin, std::uint32_t end,
                                     const scattered_table& table)
{
    constexpr std::uint32_t each = 8;
    for (std::uint32_t at = begin / each * each + static_cast<std::uint32_t>(lane_id()) * each; at < end;
         at += each * lanes) {
        const uint4 words = __ldcg(reinterpret_cast<const uint4*>(entries + at));
        const std::uint32_t pairs[4] = {words.x, words.y, words.z, words.w};
#pragma unroll
        for (std::uint32_t j = 0; j < each; ++j)
            if (at + j - begin < end - begin)
                table.increment(pairs[j / 2] >> (j % 2 * 16) & 0xffffU);
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

// Counts this block's share of the chunk whose lists are given. Each partition is a stretch as long as its samples take to be
// counted, the blocks take equal parts of them all; of a partition that is cut, a block takes as large a part of the tiles,
// which are picked with a stride, lest the samples be in the tiles of others. By all threads of a block.
template <class Shape>
__device__ void count_lists(const partition_plan& plan, unsigned tiles, std::uint32_t* shared,
                            const counter_memory& memory)
{
    std::uint32_t* const starts = shared; // of each partition's stretch
    std::uint32_t* const warp_sums = starts + Shape::most_partitions;
    const scattered_table table{warp_sums + Shape::warps};
    const unsigned warp = threadIdx.x / lanes;
    unsigned stride = tiles * 5 / 8 | 1;
    while (common_divisor(stride, tiles) != 1)
        stride += 2;

    for (unsigned p = threadIdx.x; p < Shape::most_partitions; p += Shape::threads) {
        const std::uint32_t samples = p < plan.partitions ? __ldcg(plan.sizes + p) : 0;
        starts[p] = samples != 0 ? samples + Shape::samples_worth : 0;
    }
    clear_words(table.counters, Shape::bins);
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
        unsigned ways = 1; // the pieces that a list is cut into, so that there is one for each warp
        while (ways < Shape::warps && few * ways < 4 * Shape::warps)
            ways *= 2;
        for (unsigned i = warp; i < few * ways; i += Shape::warps) {
            const unsigned tile = static_cast<unsigned>(std::uint64_t{first_tile + i / ways} * stride % tiles);
            const std::uint32_t* const end_of = plan.ends + std::size_t{tile} * plan.partitions;
            const std::uint32_t begin = p != 0 ? __ldcg(end_of + p - 1) : 0;
            const std::uint32_t length = __ldcg(end_of + p) - begin;
            count_entries(plan.entries + std::size_t{tile} * Shape::tile, begin + length * (i % ways) / ways,
                          begin + length * (i % ways + 1) / ways, table);
        }
        __syncthreads();
        for (slot k = threadIdx.x; k < Shape::bins; k += Shape::threads) {
            const slot word = (k + blockIdx.x * Shape::threads) & (Shape::bins - 1);
            if (const std::uint32_t counted = table.total(word); counted != 0) {
                memory.add((p << Shape::shift) + word, counted);
                table.counters[scattered_table::place(word)] = 0;
            }
        }
        __syncthreads();
    }
}

template <class Shape, class It, class Slots, class Counter>
__global__ void __launch_bounds__(Shape::threads, 1)
    partitioned_histogram_kernel(It in, std::uint64_t count, Slots rule, partition_plan plan,
                                 histogram_result<Counter> result, counter_memory memory)
{
    extern __shared__ std::uint32_t shared_words[];
    const auto slot_of = rule.of_block(shared_words);

    for (slot p = blockIdx.x * Shape::threads + threadIdx.x; p < plan.partitions; p += gridDim.x * Shape::threads)
        plan.sizes[p] = 0;
    memory.wait_for_all(gridDim.x);

    const auto tiles = static_cast<unsigned>((count + Shape::tile - 1) / Shape::tile);
    for (unsigned tile = blockIdx.x; tile < tiles; tile += gridDim.x)
        split_tile<Shape>(in, tile, count, slot_of, plan, shared_words);
    memory.wait_for_all(gridDim.x);
    if (tiles != 0)
        count_lists<Shape>(plan, tiles, shared_words, memory);
    memory.wait_for_all(gridDim.x);
    result.take(memory, plan.slots, blockIdx.x, gridDim.x);
}

template <class It, class Slots, class Counter>
void partitioned_histogram(const cuda& target, It in, std::uint64_t count, const Slots& rule,
                           const histogram_result<Counter>& result)
{
    using shape = partition_shape;
    constexpr auto kernel = partitioned_histogram_kernel<shape, It, Slots, Counter>;
    const auto slots = static_cast<slot>(rule.bins + detail::outside_slots);
    if (rule.bins > shape::most_bins)
        throw error(error_kind::invalid_argument, "histogram",
                    std::to_string(rule.bins) + " bins are more than a GPU counts at once, " +
                        std::to_string(shape::most_bins),
                    "ask for fewer bins, or use the target cpu");
    partition_plan plan{};
    plan.slots = slots;
    plan.partitions = (slots - 1) / shape::bins + 1;
    plan.copies = std::min<unsigned>(lanes, std::bit_floor(shape::most_cursors / plan.partitions));

    const std::size_t split_bytes =
        (shape::most_cursors + shape::warps) * sizeof(std::uint32_t) + shape::tile * sizeof(std::uint16_t);
    const std::size_t count_bytes = (shape::most_partitions + shape::warps + shape::bins) * sizeof(std::uint32_t);
    const std::size_t shared_bytes = std::max(split_bytes, count_bytes);
    allow_shared_bytes<kernel>(target);
    const auto blocks = static_cast<unsigned>(target.workspace().processors());
    plan.tiles = static_cast<unsigned>(std::min<std::uint64_t>(
        shape::tiles_of_block * blocks, std::max<std::uint64_t>((count + shape::tile - 1) / shape::tile, 1)));
    const std::size_t entry_bytes = std::size_t{plan.tiles} * shape::tile * sizeof(std::uint16_t);
    const std::size_t end_bytes = std::size_t{plan.tiles} * plan.partitions * sizeof(std::uint32_t);
    auto* const lists = static_cast<std::byte*>(
        target.workspace().lists(entry_bytes + end_bytes + plan.partitions * sizeof(std::uint32_t)));
    plan.entries = reinterpret_cast<std::uint16_t*>(lists);
    plan.ends = reinterpret_cast<std::uint32_t*>(lists + entry_bytes);
    plan.sizes = reinterpret_cast<std::uint32_t*>(lists + entry_bytes + end_bytes);
    // A chunk a kernel: with more of them in one, an H200 has stopped at an illegal instruction, and why is not known.
    histogram_result<Counter> onto = result;
    const std::uint64_t chunk = std::uint64_t{plan.tiles} * shape::tile;
    for (std::uint64_t first = 0; first == 0 || first < count; first += chunk, onto.accumulates = true)
        launch(target, "histogram", kernel,
               grid_shape{.blocks = std::min(blocks, plan.tiles),
                          .threads = shape::threads,
                          .shared_bytes = shared_bytes,
                          .together = true},
               in + first, std::min(chunk, count - first), rule, plan, onto, target.workspace().counters(slots));
}

} // namespace upsweep::gpu
