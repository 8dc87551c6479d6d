// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <iterator>

#include <upsweep/gpu/fold/vector_fold.cuh>
#include <upsweep/gpu/primitive/vector.cuh>
#include <upsweep/gpu/primitive/warp.cuh>
#include <upsweep/gpu/shapes/few.cuh>
#include <upsweep/gpu/shapes/window.cuh>

// What a warp does with the segments that lie in its window: a lane folds a chunk, 8 or 16 elements of a segment. A lane then folds the
// chunks of a segment; those of more than 31 chunks are folded by 8 or 16 first.
namespace upsweep::gpu {

// Elements of a window: a power of two, at most 2048, of 4 KiB.
template <class Source>
inline constexpr int window_capacity = sizeof(std::iter_value_t<Source>) <= 4
                                           ? 1024
                                           : static_cast<int>(std::bit_floor(4096 / sizeof(std::iter_value_t<Source>)));

// Where a lane has a segment, or part of one, of the window.
struct placed_segment {
    int first; // place in the window
    int length;
};

// Folds up to 32 segments of a window at a time, of which each lane has one. Chunks of 16 elements take fewer steps; a scan, which
// has their folds in registers, too, takes those of 8.
template <int Chunk, class Acc, class Source, class Op>
class window_fold {
    static constexpr int capacity = window_capacity<Source>;
    static constexpr int chunk = Chunk;
    static constexpr int most_groups = capacity / (chunk * chunk) > 0 ? capacity / (chunk * chunk) : 1; // of a segment
    static constexpr int most_chunks = capacity / chunk + lanes + 1; // with one more for each segment

public:
    struct memory {
        window_memory<std::iter_value_t<Source>, capacity> elements;
        raw_array<Acc, most_chunks> chunks; // their totals, or the folds before them
        raw_array<Acc, lanes> groups;       // totals of as many chunks of the segment at hand
        int ends[2][8 * lanes];             // of the segments of the window, and of the next one
    };

    __device__ window_fold(memory& shared, const Op& op) : shared_(shared), op_(op) {}

    template <class Meanwhile>
    __device__ void fill(const Source& from, int first, int count, Meanwhile meanwhile)
    {
        fill_window(shared_.elements, from, first, count, meanwhile);
    }

    // before (+) the fold of this lane's segment. `alone` says that the first lane has the only one.
    __device__ Acc fold(const placed_segment& mine, Acc before, bool alone)
    {
        int first = mine.first; // of the elements behind the last whole chunk
        int left = mine.length;
        if (__any_sync(all_lanes, mine.length >= 2 * few ? 1 : 0) != 0) {
            total_of_chunks(mine, 2 * few, 0, alone);
            const int count = mine.length < 2 * few ? 0 : mine.length / chunk;
            int first_chunk = first_chunk_; // of the chunks behind the last whole group
            int chunks_left = count;
            for (unsigned large = __ballot_sync(all_lanes, count >= few ? 1 : 0); large != 0; large &= large - 1) {
                const int lane = __ffs(static_cast<int>(large)) - 1;
                const int whole = shuffle(count, lane) / chunk;
                total_of_groups(shuffle(first_chunk_, lane), whole);
                if (lane_id() == lane) {
                    before = fold_few<Acc, most_groups>(before, groups(), 0, whole, op_);
                    first_chunk += whole * chunk;
                    chunks_left = count % chunk;
                }
            }
            before = fold_few(before, chunks(), first_chunk, chunks_left, op_);
            first += count * chunk;
            left -= count * chunk;
        }
        if ((left & few) != 0) {
            // Two halves by one copy of the code, of which more does not fit into the cache for instructions.
            Acc total{};
#pragma unroll 1
            for (int h = 0; h < 2; ++h, first += few / 2) {
                const auto half = static_cast<Acc>(block_total<few / 2>(elements(), first, op_));
                total = h == 0 ? half : op_(total, half);
            }
            before = op_(before, total);
        }
        return fold_few(before, elements(), first, left, op_);
    }

    // Calls put(place in the window, fold before the element, fold with it, whether it is the first of its segment) for the elements of
    // all segments, or put.chunk for a chunk of them, where the folds begin with this lane's `before`. `after` points to the fold up to
    // the end of the only segment, where that is a whole piece of a larger one.
    template <class Put>
    __device__ void scan(const placed_segment& mine, const Acc& before, const Acc* after, bool alone, const Put& put)
    {
        if (__any_sync(all_lanes, mine.length >= few ? 1 : 0) == 0) {
            scan_few<Acc>(before, elements(), put_from(put, mine.first), mine.first, mine.length, op_);
            return;
        }
        total_of_chunks(mine, 1, 1, alone);
        const int count = mine.length / chunk;
        // First the chunks of all segments that have few of them, then those of each of the others, so many a lane.
        unsigned large = __ballot_sync(all_lanes, count >= few ? 1 : 0);
        Acc before_chunks = before;
        int first = first_chunk_;
        int chunks_of_lane = count < few ? count : 0;
        bool is_end = count < few && mine.length != 0;
        for (;;) {
            const Acc end = scan_few(before_chunks, chunks(), put_before(), first, chunks_of_lane, op_);
            if (is_end)
                shared_.chunks[first + chunks_of_lane] = end;
            if (large == 0)
                break;
            const int lane = __ffs(static_cast<int>(large)) - 1;
            large &= large - 1;
            const int chunks_of_large = shuffle(count, lane);
            const int whole = chunks_of_large / chunk;
            first = shuffle(first_chunk_, lane);
            total_of_groups(first, whole);
            before_chunks = shuffle(before, lane);
            is_end = lane_id() == whole;
            chunks_of_lane = 0;
            if (lane_id() <= whole) {
                before_chunks = fold_few<Acc, most_groups>(before_chunks, groups(), 0, lane_id(), op_);
                chunks_of_lane = lane_id() < whole ? chunk : chunks_of_large % chunk;
            }
            first += lane_id() * chunk;
        }
        __syncwarp();
        if (after != nullptr && lane_id() == 0)
            shared_.chunks[count] = *after;
        __syncwarp();
        for (int c = lane_id(); c - lane_id() < chunks_; c += lanes) {
            const int owner = alone ? 0 : owner_of(c);
            const placed_segment segment = of_lane(mine, owner);
            const int begin = (c - shuffle(first_chunk_, owner)) * chunk;
            const int left = segment.length - begin;
            const bool aligned = are_aligned(segment.first);
            if (c >= chunks_ || left <= 0)
                continue;
            const int first_of_chunk = segment.first + begin;
            const int end_of_segment = segment.first + segment.length;
            Acc values[chunk];
            Acc folds[chunk + 1];
            if (left >= chunk)
                load_whole(first_of_chunk, aligned, values);
            else
                load(first_of_chunk, end_of_segment, values);
            lane_folds<chunk>(static_cast<Acc>(shared_.chunks[c]), values, folds, op_);
            // The fold up to the end of a whole chunk is the one before the next chunk: the binary digits carry there.
            folds[chunk] = shared_.chunks[left >= chunk ? c + 1 : c];
            put.chunk(first_of_chunk, end_of_segment, aligned, begin == 0, folds);
        }
    }

    // A window that is full has the same number of elements for each lane, one behind the other: what follows is for such a piece.
    static constexpr int each = capacity / lanes;
    static constexpr int part = each < 8 ? each : 8; // elements that are in registers at once
    static constexpr int parts = each / part;

    struct piece {
        Acc totals[parts]; // of this lane
        warp_tree<Acc> tree;
    };
    __device__ piece fold_piece(int first)
    {
        piece folded;
        const bool aligned = are_aligned(first);
#pragma unroll
        for (int p = 0; p < parts; ++p) {
            Acc values[part];
            load_whole(first + lane_id() * each + p * part, aligned, values);
            folded.totals[p] = lane_total<part>(values, op_);
        }
        folded.tree = warp_tree<Acc>(lane_total<parts>(folded.totals, op_), op_);
        return folded;
    }
    template <class Put>
    __device__ void scan_piece(int first, const piece& folded, const Acc& before, const Acc& after, const Put& put)
    {
        const bool aligned = are_aligned(first);
        Acc before_parts[parts + 1];
        const Acc mine = folded.tree.fold_before(before, op_);
        lane_folds<parts>(mine, folded.totals, before_parts, op_);
        before_parts[parts] = shuffle_down(mine);
        replace_if(lane_id() == lanes - 1, before_parts[parts], after);
#pragma unroll
        for (int p = 0; p < parts; ++p) {
            const int at = first + lane_id() * each + p * part;
            Acc values[part];
            Acc folds[part + 1];
            load_whole(at, aligned, values);
            lane_folds<part>(before_parts[p], values, folds, op_);
            folds[part] = before_parts[p + 1];
            put.chunk(at, first + capacity, aligned, at == first, folds);
        }
    }

private:
    // The elements of the window, as what one lane folds alone. Those of a group lie side by side, and those of the next one a vector behind.
    struct elements_of_window {
        using window = window_memory<std::iter_value_t<Source>, capacity>;
        static constexpr int reach = window::group;
        window* memory;

        __device__ Acc operator()(int i) const { return convert<Acc>((*memory)[i]); }
        __device__ auto from(int first) const
        {
            const std::iter_value_t<Source>* const near = &(*memory)[first];
            const int left = reach - static_cast<int>(static_cast<unsigned>(first) % reach); // in the group
            return [near, left](int j) { return convert<Acc>((j < left ? near : near + window::vector)[j]); };
        }
    };
    __device__ elements_of_window elements() { return {&shared_.elements}; }
    __device__ auto chunks()
    {
        return [this](int i) { return shared_.chunks[i]; };
    }
    __device__ auto groups()
    {
        return [this](int i) { return shared_.groups[i]; };
    }
    template <class Put>
    __device__ static auto put_from(const Put& put, int first)
    {
        return [&put, first](int i, const Acc& before, const Acc& with) { put(i, before, with, i == first); };
    }
    // Whether the segments of all lanes begin with a vector.
    __device__ static bool are_aligned(int first)
    {
        constexpr int vector = window_memory<std::iter_value_t<Source>, capacity>::vector;
        return __all_sync(all_lanes, first % vector == 0 ? 1 : 0) != 0;
    }
    // The values of a whole chunk.
    template <int Count>
    __device__ void load_whole(int first, bool aligned, Acc (&values)[Count])
    {
        std::iter_value_t<Source> elements[Count];
        shared_.elements.load(first, first + Count, aligned, elements);
#pragma unroll
        for (int j = 0; j < Count; ++j)
            values[j] = convert<Acc>(elements[j]);
    }
    // Those of the last one. Behind the end of the segment they are the identity, which changes no fold that is used.
    __device__ void load(int first, int end, Acc (&values)[chunk])
    {
#pragma unroll
        for (int j = 0; j < chunk; ++j) {
            values[j] = op_.template identity<Acc>();
            if (first + j < end)
                values[j] = convert<Acc>(shared_.elements[first + j]);
        }
    }
    // Puts the fold before a chunk into the place of its total.
    __device__ auto put_before()
    {
        return [this](int i, const Acc& before, const Acc&) { shared_.chunks[i] = before; };
    }

    __device__ static placed_segment of_lane(const placed_segment& mine, int lane)
    {
        return {shuffle(mine.first, lane), shuffle(mine.length, lane)};
    }

    // The lane whose segment has chunk c: the first one whose chunks end behind it.
    __device__ int owner_of(int c) const { return lane_before_end(end_of_chunks_, c); }

    // Numbers the chunks of all segments of at least so many elements, and `more` of each, and folds the whole ones.
    __device__ void total_of_chunks(const placed_segment& mine, int least, int more, bool alone)
    {
        const int count = mine.length < least ? 0 : mine.length / chunk + more;
        end_of_chunks_ = count;
        if (!alone) {
#pragma unroll
            for (int step = 1; step < lanes; step *= 2) {
                const int before = __shfl_up_sync(all_lanes, end_of_chunks_, static_cast<unsigned>(step));
                end_of_chunks_ += lane_id() >= step ? before : 0;
            }
        }
        first_chunk_ = end_of_chunks_ - count;
        chunks_ = shuffle(end_of_chunks_, alone ? 0 : lanes - 1);
        __syncwarp(); // others have read what is replaced
        for (int c = lane_id(); c - lane_id() < chunks_; c += lanes) {
            const int owner = alone ? 0 : owner_of(c);
            const placed_segment segment = of_lane(mine, owner);
            const int first = (c - shuffle(first_chunk_, owner)) * chunk;
            const bool aligned = are_aligned(segment.first);
            if (c < chunks_ && first + chunk <= segment.length) {
                Acc values[chunk];
                load_whole(segment.first + first, aligned, values);
                shared_.chunks[c] = lane_total<chunk>(values, op_);
            }
        }
        __syncwarp();
    }

    // Folds that many chunks a lane, of a segment that has so many, for all to read.
    __device__ void total_of_groups(int first_chunk, int groups_of_segment)
    {
        __syncwarp();
        if (lane_id() < groups_of_segment)
            shared_.groups[lane_id()] = block_total<chunk>(chunks(), first_chunk + lane_id() * chunk, op_);
        __syncwarp();
    }

    memory& shared_;
    Op op_;
    int end_of_chunks_ = 0; // those of the lanes up to this one
    int first_chunk_ = 0;   // of this lane's segment
    int chunks_ = 0;
};

} // namespace upsweep::gpu
