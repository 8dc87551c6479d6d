// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include <cuda_pipeline.h>

#include <upsweep/engine.hpp>
#include <upsweep/fold_order.hpp>
#include <upsweep/gpu/fold/look_back.cuh>
#include <upsweep/gpu/fold/ordered.cuh>
#include <upsweep/gpu/fold/scan_steps.cuh>
#include <upsweep/gpu/fold/small_scan.cuh>
#include <upsweep/gpu/fold/vector_fold.cuh>
#include <upsweep/gpu/primitive/vector.cuh>
#include <upsweep/gpu/source/array.cuh>
#include <upsweep/gpu/source/lane_piece.cuh>
#include <upsweep/gpu/source/reversed.cuh>
#include <upsweep/gpu/source/shifted.cuh>
#include <upsweep/gpu/source/strided.cuh>
#include <upsweep/gpu/target/cuda.cuh>
#include <upsweep/gpu/target/launch.cuh>
#include <upsweep/op.hpp>

// Scan in one pass and one kernel. A block takes tile after tile through a ring of stages in shared memory. Its warps
// have three roles, and meet at one barrier a tile; what happens in the step of a block's tile i is
//
//                       before the barrier                      after the barrier
//   16 scanning warps   fold the totals of tile i + ahead       scan tile i, begin to copy tile i + stages
//   publishing warp     take a ticket for tile i + stages       publish the total of tile i + ahead
//   a look-back warp    fold the tiles before tile i            prefetch states for its next tile
//
// so that the totals that tile i looks back at have been published for `ahead` steps when it needs them. Where there
// are several look-back warps they take turns, so that each has several steps for its tile; look_back.cuh says what it
// does. Where arrays are shifted there is no barrier: each warp waits for what it needs (scan_steps.cuh).
namespace upsweep::gpu {

// Shifts: whether whole warp tiles are read and written as shifted ones where arrays ask for that (shifted.cuh). That is a
// kernel of its own, because the registers that it takes would cost all others time.
template <class Source, class Out, int Rows, int Stages, int Ahead, int LookBackWarps, bool Shifts = false>
struct scan_shape {
    static constexpr bool may_shift_in =
        Shifts && may_be_shifted<vector_elements<larger_element<Source, Out>>, Rows, Source>;
    static constexpr bool may_shift_out =
        Shifts && may_be_shifted<vector_elements<larger_element<Source, Out>>, Rows, Out>;
    static constexpr bool is_reversed = false;
    static constexpr bool waits_apart = Shifts;           // its warps, which meet at a barrier in each step otherwise
    static constexpr int warps = 16;                      // that scan
    static constexpr int look_back_warps = LookBackWarps; // that fold the totals of other blocks
    static constexpr int threads = (warps + 1 + look_back_warps) * lanes;
    static constexpr int rows = Rows; // vectors of a lane in a warp tile, which is what a warp has of a tile
    static_assert(LookBackWarps <= Ahead,
                  "a look-back warp has passed the barrier after which its tile's totals are there");
    static constexpr int stages = Stages; // of the ring
    static constexpr int ahead = Ahead;   // tiles from a total to its scan
    static constexpr int elements = vector_elements<larger_element<Source, Out>>;
    static constexpr int row = elements * lanes;
    static constexpr int warp_tile = row * rows;
    static constexpr int tile = warp_tile * warps;
    static constexpr int vector_bytes = elements * static_cast<int>(larger_element<Source, Out>);
    static constexpr std::size_t shared_bytes = std::size_t{vector_bytes} * (tile / elements) * stages;
};

// The shape for many elements. Operators on 16 bytes are dear: the more elements a lane has, the fewer applications
// there are in the trees of warps. Folds of 16-bit integers take 4 % longer with the usual ring, unless they
// are shifted.
template <class Source, class Out, class Op, bool Shifts, class Usual = scan_shape<Source, Out, 4, 6, 4, 3, Shifts>>
using large_scan_shape = std::conditional_t<
    Usual::elements == 1, scan_shape<Source, Out, 8, 3, 2, 2, Shifts>,
    std::conditional_t<!Shifts && is_packed<Op, std::iter_value_t<Out>> && sizeof(std::iter_value_t<Out>) == 2,
                       scan_shape<Source, Out, 4, 5, 3, 3, Shifts>, Usual>>;

// Whether whole warp tiles of an array have to be accessed as shifted ones, and can be. Elements are read from the
// beginning of a word, results are written from the beginning of a line.
enum class shift { to_word, to_line };
template <class Shape, class Array>
UPSWEEP_HOST_DEVICE bool has_to_shift([[maybe_unused]] const Array& array, [[maybe_unused]] shift from)
{
    if constexpr (may_be_shifted<Shape::elements, Shape::rows, Array>) {
        const shifted_tile<Shape::elements, Shape::rows, Array> tile(array);
        return tile.is_possible() && (from == shift::to_line ? !tile.begins_at_line() : tile.has_head());
    } else {
        return false;
    }
}

// The shape for arrays that lie the other way round, x[::-1] for example, which are told by the place behind their first element. The memory of a warp tile is
// read and written as if it were one of an array that does not: it is turned on its way between the ring and registers. As a condition in the kernels of
// all arrays that would cost those of half floats and of bytes 3 to 10 % of their time.
template <class Usual>
struct reversed_shape : Usual {
    static constexpr bool is_reversed = true;
};

template <class Shape, scan_kind Kind, class Acc, class Source, class Out, class Op>
class scan_block {
    using element = std::iter_value_t<Source>;
    using result = std::iter_value_t<Out>;
    static constexpr int elements = Shape::elements;
    static constexpr int stages = Shape::stages;

    // Arrays that begin anywhere. Smaller words than vectors, which asynchronous copies could put where they belong, were
    // slower than shifting.
    template <class Array>
    using shifted = shifted_tile<elements, Shape::rows, Array>;
    using piece_of_lane = lane_piece<elements, Shape::rows, Source>;
    static constexpr bool may_shift_in = Shape::may_shift_in;
    static constexpr bool may_shift_out = Shape::may_shift_out;
    static_assert(stages - Shape::ahead >= 2 || !may_shift_in || elements == 1,
                  "edges are put into the ring a step after they were begun to load, before their tile's total");

public:
    struct shared_memory {
        raw_array<Acc, stages * Shape::warps> totals;    // of the warp tiles
        raw_array<Acc, stages*(Shape::warps + 1)> folds; // before them, and after the last one
        std::uint64_t tiles[stages + 2];
        typename look_back<Acc, Op>::memory stacks[Shape::look_back_warps];
    };

    __device__ scan_block(Source in, Out out, std::uint64_t count, const Op& op, const scan_start<Acc>& start,
                          bool keep_results, const scan_steps<Shape>& steps, shared_memory& shared, std::byte* ring)
        : in_(in), out_(out), count_(count), vectors_{op, start}, keep_results_(keep_results), steps_(steps),
          shared_(shared), ring_(ring), tiles_((count + Shape::tile - 1) / Shape::tile),
          in_aligned_(is_aligned<elements>(in)), out_aligned_(is_aligned<elements>(out))
    {
        const std::uint64_t end_in_tile = first_of_warp(0) + Shape::warp_tile;
        whole_tiles_ = count < end_in_tile ? 0 : (count - end_in_tile) / Shape::tile + 1;
        if constexpr (may_shift_in)
            in_shifted_ = has_to_shift<Shape>(in, shift::to_word);
        if constexpr (may_shift_out)
            out_shifted_ = has_to_shift<Shape>(out, shift::to_line);
        if constexpr (may_shift_in || may_shift_out)
            whole_tiles_ = keep(whole_tiles_); // takes 13 instructions, and is needed three times a tile
    }

    // The role of the scanning warps. A step is the total of one tile and the results of an earlier one.
    __device__ void scan_tiles()
    {
        for (int i = 0; i < stages - Shape::ahead; ++i)
            copy(i);
        for (int i = -Shape::ahead; goes_on(i); ++i) {
            __pipeline_wait_prior(stages - 1 - Shape::ahead);
            __syncwarp(); // others have copied what this lane reads
            total(i + Shape::ahead);
            steps_.wrote_total(i + Shape::ahead);
            if (i >= 0)
                scan(i);
            else
                steps_.meet(i);
            steps_.wait_for_number(i + stages);
            copy(i + stages);
        }
    }

    // The role of the publishing warp. Where no block gets more tiles than its ring has stages, tiles are statically
    // scheduled, and else dynamically, by tickets, after the first ones.
    __device__ void publish_tiles(const tile_state_memory& memory)
    {
        const bool dynamic = tiles_ > std::uint64_t{stages} * gridDim.x;
        const tile_states<Acc> states(memory, epoch(memory));
        for (int i = -Shape::ahead; goes_on(i); ++i) {
            if (i >= 0 && lane_id() == 0)
                shared_.tiles[(i + stages) % (stages + 2)] =
                    dynamic ? std::uint64_t{stages} * gridDim.x + take_ticket(memory.header, tiles_) : tiles_;
            steps_.wrote_number(i + stages);
            steps_.meet(i);
            steps_.wait_for_totals(i + Shape::ahead);
            if (tile_of(i + Shape::ahead) + 1 < tiles_)
                publish(i + Shape::ahead, states);
        }
    }

    // The role of the look-back warps, which take turns.
    __device__ void look_back_from_tiles(const tile_state_memory& memory, int which)
    {
        look_back<Acc, Op> folds(tile_states<Acc>(memory, epoch(memory)), shared_.stacks[which], vectors_.start.before,
                                 vectors_.op);
        for (int i = which - Shape::ahead; goes_on(i); i += Shape::look_back_warps) {
            if (i >= 0) {
                fold(i, folds);
                // All tiles before the last one have been published, so that every block has read the epoch by now.
                if (tiles_ > 1 && tile_of(i) + 1 == tiles_ && lane_id() == 0)
                    store_relaxed(&memory.header->epoch, epoch(memory));
                steps_.wrote_folds(i);
            }
            steps_.meet(i);
            const int next = i + Shape::look_back_warps;
            steps_.wait_for_number(next);
            if (next >= 0 && tile_of(next) < tiles_) {
                steps_.wait_for_totals(next + 1);
                folds.prefetch(tile_of(next));
            }
        }
    }

private:
    // The number of this block's tile i. The first ones are statically scheduled, up to the number of stages.
    __device__ std::uint64_t tile_of(int i) const
    {
        return i < stages ? blockIdx.x + std::uint64_t{static_cast<unsigned>(i)} * gridDim.x
                          : shared_.tiles[i % (stages + 2)];
    }

    // The epoch of this kernel, if it has more than one tile.
    __device__ std::uint64_t epoch(const tile_state_memory& memory) const
    {
        return tiles_ > 1 ? load_relaxed(&memory.header->epoch) + 1 : 0;
    }

    // Whether there is a tile to scan in step i, or still one to come. A block has at least one.
    __device__ bool goes_on(int i) const { return i <= 0 || tile_of(i) < tiles_; }

    // Where this warp's part of a tile begins, in vectors, and where its vectors lie in the ring.
    __device__ static unsigned warp_tile_in_tile() { return threadIdx.x / lanes * (lanes * Shape::rows); }
    __device__ std::byte* place(int i, int slot) const
    {
        return ring_ + (i % stages * (Shape::tile / elements) + warp_tile_in_tile() + static_cast<unsigned>(slot)) *
                           Shape::vector_bytes;
    }
    __device__ static std::uint64_t first_in(std::uint64_t tile)
    {
        return tile * Shape::tile + (warp_tile_in_tile() + static_cast<unsigned>(lane_id())) * elements;
    }
    __device__ static std::uint64_t first_of_warp(std::uint64_t tile)
    {
        return tile * Shape::tile + warp_tile_in_tile() * elements;
    }
    // Where the memory of this warp's part of a tile begins.
    template <class Array>
    __device__ Array memory_of(Array array, std::uint64_t tile) const
    {
        if constexpr (Shape::is_reversed)
            return array - (first_of_warp(tile) + Shape::warp_tile);
        return array + first_of_warp(tile);
    }
    // The lane whose place in memory this lane's vectors have.
    __device__ int lane_in_memory() const { return Shape::is_reversed ? lanes - 1 - lane_id() : lane_id(); }
    // Where element j of vector `vector` in the memory of a warp tile stands among the elements of the array.
    __device__ static std::uint64_t number_of_turned(std::uint64_t first, int vector, int j)
    {
        return first + static_cast<unsigned>(Shape::warp_tile - 1 - vector * elements - j);
    }

    // Whether this warp's part of a tile is whole.
    __device__ bool is_whole(std::uint64_t tile) const { return tile < whole_tiles_; }

    // Begins to copy the elements of this warp into the ring. Beyond the end of the array the last element is repeated:
    // a result depends on no element behind it, and the operator gets only what is in the array.
    __device__ void copy(int i)
    {
        put_edges(i - 1);
        const std::uint64_t tile = tile_of(i);
        if (tile < tiles_) {
            if (is_in_pieces(tile))
                copy_piece(i, tile);
            else if (!is_whole(tile) || !(in_aligned_ || in_shifted_))
                copy_rest(i, tile);
            else if (keep_results_)
                copy_whole<true>(i, tile);
            else
                copy_whole<false>(i, tile);
        }
        __pipeline_commit();
    }

    // Whether the elements of this warp's part of a tile are copied by pieces, in which they lie in the ring then.
    __device__ bool is_in_pieces(std::uint64_t tile) const
    {
        if constexpr (piece_of_lane::exists)
            return is_whole(tile) && piece_of_lane(in_).is_possible(first_of_warp(tile), count_);
        else
            return false;
    }
    __device__ void copy_piece(int i, std::uint64_t tile) const
    {
        if constexpr (piece_of_lane::exists) {
            __syncwarp(); // other lanes have read what these pieces replace
            piece_of_lane(in_).copy(place(i, 0), memory_of(in_, tile));
        }
    }

    template <bool Once>
    __device__ void copy_whole(int i, std::uint64_t tile)
    {
        if (in_shifted_) {
            copy_shifted<Once>(i, memory_of(in_, tile));
        } else {
            const Source from = memory_of(in_, tile) + lane_id() * elements;
#pragma unroll
            for (int r = 0; r < Shape::rows; ++r)
                copy_vector<Once>(place(i, striped<Shape::rows>(r)), from + r * Shape::row);
        }
    }

    // The end of the array, or an array that has no words.
    __device__ void copy_rest(int i, std::uint64_t tile) const
    {
        if constexpr (Shape::is_reversed)
            return copy_rest_of_reversed(i, first_of_warp(tile));
        std::uint64_t from = first_in(tile);
#pragma unroll 1
        for (int r = 0; r < Shape::rows; ++r, from += Shape::row)
            if (in_aligned_ && from + elements <= count_)
                copy_vector<false>(place(i, striped<Shape::rows>(r)), in_ + from);
            else
                copy_elements(place(i, striped<Shape::rows>(r)), from);
    }
    __device__ void copy_rest_of_reversed(int i, std::uint64_t first) const
    {
#pragma unroll 1
        for (int r = 0; r < Shape::rows; ++r) {
            typename lane_vector<element, elements>::elements all;
#pragma unroll
            for (int j = 0; j < elements; ++j) {
                const std::uint64_t number = number_of_turned(first, r * lanes + lane_id(), j);
                const std::uint64_t there = number < count_ ? number : count_ - 1;
                all.element[j] = *(in_ - 1 - there);
            }
            *reinterpret_cast<lane_vector<element, elements>*>(place(i, striped<Shape::rows>(r))) =
                lane_vector<element, elements>::of(all);
        }
    }

    // The words of a shifted tile are copied as other vectors are. Its edges come by way of a register, which the next call
    // of copy puts into the ring: they have arrived by then.
    template <bool Once>
    __device__ void copy_shifted(int i, const Source& from)
    {
        if constexpr (may_shift_in) {
            const shifted<Source> tile(in_);
            __syncwarp(); // other lanes have read what these words replace
            std::byte* const to = place(i, 0);
            tile.for_each_word(from, 0, [&](int, int place_of_word, const Source& at) {
                copy_vector<Once>(to + place_of_word * Shape::vector_bytes, at);
            });
            tile.for_each_edge([&](int, int at) { edge_ = from[at]; });
            edge_is_waiting_ = true;
        }
    }
    __device__ void put_edges(int i)
    {
        if constexpr (may_shift_in) {
            if (!edge_is_waiting_)
                return;
            std::byte* const last = place(i, swizzled<Shape::rows>(Shape::rows * lanes - 1));
            shifted<Source>(in_).for_each_edge([&](int j, int) { reinterpret_cast<element*>(last)[j] = edge_; });
            edge_is_waiting_ = false;
        }
    }

    // Begins to copy the vector at `from`, which exists. What is copied once the second-level cache need not keep.
    template <bool Once>
    __device__ static void copy_vector(std::byte* to, const Source& from)
    {
        constexpr std::size_t bytes = elements * sizeof(element);
        if constexpr (!may_have_words<elements, Source> || bytes < 4)
            *reinterpret_cast<lane_vector<element, elements>*>(to) = gather_vector<elements>(from);
        else if constexpr (Once && bytes == 16)
            copy_once_async(to, address_of(from));
        else if constexpr (Shape::waits_apart && bytes == 16)
            copy_line_async(to, address_of(from));
        else
            __pipeline_memcpy_async(to, address_of(from), bytes);
    }

    __device__ void copy_elements(std::byte* to, std::uint64_t from) const
    {
        auto& vector = *reinterpret_cast<lane_vector<element, elements>*>(to);
        if constexpr (has_words<elements, const element*> && detail::is_builtin<Op>) {
            const std::uint64_t left = from < count_ ? count_ - from : 0; // zero does for what is not there
            vector = gather_vector<elements>(in_ + from, left < elements ? static_cast<int>(left) : elements);
        } else {
            vector = gather_within<elements>(in_, count_, from);
        }
    }

    template <class T = element>
    __device__ lane_vector<T, elements> load(int i, int slot) const
    {
        lane_vector<T, elements> vector;
        vector.memory = *reinterpret_cast<const decltype(vector.memory)*>(place(i, slot));
        return vector;
    }

    // Loads this lane's vectors of tile i, in the blocked arrangement.
    __device__ void load_values(int i, std::uint64_t tile, lane_vector<element, elements> (&values)[Shape::rows]) const
    {
        load_from_memory_of_tile(i, tile, values);
        if constexpr (Shape::is_reversed)
            turn(values);
    }
    __device__ void load_from_memory_of_tile(int i, std::uint64_t tile,
                                             lane_vector<element, elements> (&values)[Shape::rows]) const
    {
        const int lane = lane_in_memory();
        if constexpr (piece_of_lane::exists)
            if (is_in_pieces(tile))
                return piece_of_lane(in_).load(place(i, 0), lane, values);
#pragma unroll
        for (int r = 0; r < Shape::rows; ++r)
            values[r] = load(i, blocked<Shape::rows>(r, lane));
    }

    // The same for a shifted tile, which it leaves in the ring as if it had been none.
    __device__ void shift_values(int i, lane_vector<element, elements> (&values)[Shape::rows])
    {
        if constexpr (may_shift_in) {
            const int lane = lane_in_memory();
            lane_vector<element, elements> words[Shape::rows + 1];
            words[0] = load(i, blocked<Shape::rows>(Shape::rows - 1, (lane + lanes - 1) % lanes));
#pragma unroll
            for (int r = 0; r < Shape::rows; ++r)
                words[r + 1] = load(i, blocked<Shape::rows>(r, lane));
            shifted<Source>(in_).to_pieces(words, values);
            __syncwarp();
            put(i, values);
            if constexpr (Shape::is_reversed)
                turn(values);
        }
    }

    // Puts this lane's vectors, in the blocked arrangement and as they lie in memory, into the ring.
    template <class T>
    __device__ void put(int i, const lane_vector<T, elements> (&vectors)[Shape::rows]) const
    {
        const int lane = lane_in_memory();
#pragma unroll
        for (int r = 0; r < Shape::rows; ++r)
            *reinterpret_cast<lane_vector<T, elements>*>(place(i, blocked<Shape::rows>(r, lane))) = vectors[r];
    }

    // Puts the total of this warp's part of tile i where the other roles find it.
    __device__ void total(int i)
    {
        const std::uint64_t tile = tile_of(i);
        if (tile >= tiles_)
            return;
        lane_vector<element, elements> values[Shape::rows];
        if (in_shifted_ && is_whole(tile))
            shift_values(i, values);
        else
            load_values(i, tile, values);
        Acc totals[Shape::rows];
#pragma unroll
        for (int r = 0; r < Shape::rows; ++r)
            totals[r] = vectors_.total(values[r]);
        Acc of_lane[1] = {lane_total<Shape::rows>(totals, vectors_.op)};
        const Acc of_warp_tile = warp_total(of_lane, vectors_.op);
        if (lane_id() == 0)
            shared_.totals[i % stages * Shape::warps + static_cast<int>(threadIdx.x) / lanes] = of_warp_tile;
    }

    __device__ auto tree_of_warp_tiles(int i)
    {
        constexpr int levels = std::countr_zero(static_cast<unsigned>(Shape::warps));
        return warp_tree<Acc, levels>(shared_.totals[i % stages * Shape::warps + lane_id() % Shape::warps],
                                      vectors_.op);
    }

    __device__ void publish(int i, const tile_states<Acc>& states)
    {
        const Acc of_tile = tree_of_warp_tiles(i).total;
        if (lane_id() == 0)
            states.publish(tile_of(i), of_tile);
    }

    // Looks back from tile i for the folds before and after each of its warp tiles.
    __device__ void fold(int i, look_back<Acc, Op>& folds)
    {
        const auto tree = tree_of_warp_tiles(i);
        Acc after;
        const Acc before = folds.fold(tile_of(i), tree.total, after);
        const int first = i % stages * (Shape::warps + 1);
        if (lane_id() < Shape::warps)
            shared_.folds[first + lane_id()] = tree.fold_before(before, vectors_.op);
        if (lane_id() == 0)
            shared_.folds[first + Shape::warps] = after;
    }

    // Writes the results of this warp's part of tile i. The barrier of step i is in the middle.
    __device__ void scan(int i)
    {
        const std::uint64_t tile = tile_of(i);
        lane_vector<element, elements> values[Shape::rows];
        load_values(i, tile, values);
        if constexpr (piece_of_lane::exists)
            __syncwarp(); // other lanes have read the pieces that results replace
        Acc totals[Shape::rows];
#pragma unroll
        for (int r = 0; r < Shape::rows; ++r)
            totals[r] = vectors_.total(values[r]);
        const warp_tree<Acc> tree(lane_total<Shape::rows>(totals, vectors_.op), vectors_.op);
        steps_.meet(i);
        steps_.wait_for_folds(i);

        const int place_of_fold = i % stages * (Shape::warps + 1) + static_cast<int>(threadIdx.x) / lanes;
        const Acc before_lane = tree.fold_before(shared_.folds[place_of_fold], vectors_.op);
        Acc folds[Shape::rows + 1]; // before each vector, and after the last
        lane_folds<Shape::rows>(before_lane, totals, folds, vectors_.op);
        folds[Shape::rows] = shuffle_down(before_lane);
        replace_if(lane_id() == lanes - 1, folds[Shape::rows], Acc(shared_.folds[place_of_fold + 1]));

        const bool is_first = first_in(tile) == 0;
        lane_vector<result, elements> results[Shape::rows];
        Acc nan{};
#pragma unroll
        for (int r = 0; r < Shape::rows; ++r)
            results[r] = vectors_.results(values[r], folds[r], folds[r + 1], is_first && r == 0, nan);
        name_nan<Op>(nan, results);
        store(i, tile, results);
    }

    // Writes the results of this warp's part of a tile, by way of the ring.
    __device__ void store(int i, std::uint64_t tile, lane_vector<result, elements> (&results)[Shape::rows])
    {
        const bool whole = is_whole(tile);
        if constexpr (Shape::is_reversed)
            turn(results);
        if constexpr (may_shift_out)
            if (whole && out_shifted_)
                return store_words(i, memory_of(out_, tile), results);
        put(i, results);
        __syncwarp();
#pragma unroll
        for (int r = 0; r < Shape::rows; ++r)
            results[r] = load<result>(i, striped<Shape::rows>(r));
        if constexpr (may_have_words<elements, Out>)
            if (whole && out_aligned_)
                return store_vectors(memory_of(out_, tile) + lane_id() * elements, results);
        if constexpr (Shape::is_reversed)
            store_rest_of_reversed(first_of_warp(tile), results);
        else
            store_rest(first_in(tile), results);
    }

    __device__ void store_words(int i, const Out& to, lane_vector<result, elements> (&vectors)[Shape::rows])
    {
        const shifted<Out> tile(out_);
        tile.to_words(vectors, Shape::is_reversed ? (lane_id() + lanes - 1) % lanes : (lane_id() + 1) % lanes);
        put(i, vectors);
        __syncwarp();
        const std::byte* const results = place(i, 0);
        tile.for_each_word(to, tile.words_to_line(), [&](int, int place_of_word, Out at) {
            store_vector<elements>(at, *reinterpret_cast<const lane_vector<result, elements>*>(
                                           results + place_of_word * Shape::vector_bytes));
        });
        const auto* const last = reinterpret_cast<const result*>(
            results + swizzled<Shape::rows>(Shape::rows * lanes - 1) * Shape::vector_bytes);
        tile.for_each_edge([&](int j, int at) { to[at] = last[j]; });
        __syncwarp(); // before the next elements replace these results
    }

    __device__ void store_vectors(const Out& to, const lane_vector<result, elements> (&results)[Shape::rows]) const
    {
#pragma unroll
        for (int r = 0; r < Shape::rows; ++r)
            store_vector<elements>(address_of(to + r * Shape::row), results[r]);
    }

    // The end of the array, or an array that has no words.
    __device__ void store_rest(std::uint64_t to, const lane_vector<result, elements> (&results)[Shape::rows]) const
    {
#pragma unroll
        for (int r = 0; r < Shape::rows; ++r, to += Shape::row) {
            if constexpr (may_have_words<elements, Out>) {
                if (out_aligned_ && to + elements <= count_) {
                    store_vector<elements>(address_of(out_ + to), results[r]);
                    continue;
                }
            }
            scatter_within<elements>(out_, count_, to, results[r]);
        }
    }

    __device__ void store_rest_of_reversed(std::uint64_t first,
                                           const lane_vector<result, elements> (&results)[Shape::rows]) const
    {
#pragma unroll
        for (int r = 0; r < Shape::rows; ++r) {
#pragma unroll
            for (int j = 0; j < elements; ++j) {
                const std::uint64_t number = number_of_turned(first, r * lanes + lane_id(), j);
                if (number < count_)
                    *(out_ - 1 - number) = results[r][j];
            }
        }
    }

    Source in_;
    Out out_;
    std::uint64_t count_;
    vector_scan<elements, Kind, Acc, Source, Out, Op> vectors_;
    bool keep_results_; // in the second-level cache, and not the elements
    scan_steps<Shape> steps_;
    shared_memory& shared_;
    std::byte* ring_;
    std::uint64_t tiles_;
    std::uint64_t whole_tiles_; // of which this warp has a whole warp tile
    bool in_aligned_;
    bool in_shifted_ = false; // whether whole warp tiles are read as shifted ones
    bool out_aligned_;
    bool out_shifted_ = false;     // whether whole warp tiles are written as shifted ones
    bool edge_is_waiting_ = false; // for its place in the ring
    element edge_;
};

template <class Shape, scan_kind Kind, class Acc, class Source, class Out, class Op>
__global__ void __launch_bounds__(Shape::threads, 1)
    scan_kernel(Source in, Out out, std::uint64_t count, Op op, scan_start<Acc> start, bool keep_results,
                tile_state_memory memory)
{
    using block = scan_block<Shape, Kind, Acc, Source, Out, Op>;
    // Bulk copies fill lines of 128 bytes: where the ring begins within one, a scan of f64 takes an eighth longer.
    extern __shared__ __align__(128) uint4 ring[];
    __shared__ typename block::shared_memory shared;
    __shared__ typename scan_steps<Shape>::memory barriers;
    const scan_steps<Shape> steps(barriers);
    block self(in, out, count, op, start, keep_results, steps, shared, reinterpret_cast<std::byte*>(ring));
    const int warp = static_cast<int>(threadIdx.x) / lanes;
    if (warp < Shape::warps)
        self.scan_tiles();
    else if (warp == Shape::warps)
        self.publish_tiles(memory);
    else
        self.look_back_from_tiles(memory, warp - Shape::warps - 1);
}

// Scans elements of which each tile has a block of its own, if the GPU holds as many blocks at once.
template <scan_kind Kind, class Acc, class Source, class Out, class Op>
bool launch_scan_of_few(const cuda& target, Source in, Out out, std::uint64_t count, const Op& op,
                        const scan_start<Acc>& start)
{
    using few = small_scan_shape<Source, Out, 2>;
    using some = small_scan_shape<Source, Out, 4>;
    const auto scans_few = [&]<class Shape, bool Aligned>(Shape, std::bool_constant<Aligned>) {
        constexpr auto kernel = small_scan_kernel<Shape, Aligned, Kind, Acc, Source, Out, Op>;
        const unsigned resident = resident_blocks<kernel>(target, Shape::threads, 0);
        const std::uint64_t most = resident < most_tiles_to_look_back ? resident : most_tiles_to_look_back;
        if (count > Shape::tile * most)
            return false;
        const auto tiles = static_cast<unsigned>((count + Shape::tile - 1) / Shape::tile);
        launch(target, "scan", kernel, tiles, Shape::threads, 0, in, out, static_cast<unsigned>(count), op, start,
               tile_states_of(target, tiles, sizeof(Acc)));
        return true;
    };
    constexpr bool may_shift =
        may_be_shifted<few::elements, few::rows, Source> || may_be_shifted<few::elements, few::rows, Out>;
    if constexpr (may_shift)
        if (is_aligned<few::elements>(in) && is_aligned<few::elements>(out) && scans_few(few{}, std::true_type{}))
            return true;
    if (scans_few(few{}, std::false_type{}))
        return true;
    if constexpr (some::rows != few::rows && sizeof(Acc) <= sizeof(std::uint64_t)) // with larger ones registers run out
        return scans_few(some{}, std::false_type{});
    return false;
}

// Launches the kernel that scans `count` elements best.
template <bool Reversed, scan_kind Kind, class Acc, class Source, class Out, class Op>
void launch_scan(const cuda& target, Source in, Out out, std::uint64_t count, const Op& op,
                 const scan_start<Acc>& start)
{
    if constexpr (!Reversed)
        if (launch_scan_of_few<Kind>(target, in, out, count, op, start))
            return;
    const bool keep_results = count * sizeof(std::iter_value_t<Out>) <= target.workspace().cache_bytes();
    const auto with = [&]<class Usual>(Usual) {
        using shape = std::conditional_t<Reversed, reversed_shape<Usual>, Usual>;
        constexpr auto kernel = scan_kernel<shape, Kind, Acc, Source, Out, Op>;
        const std::uint64_t tiles = (count + shape::tile - 1) / shape::tile;
        const std::uint64_t blocks = resident_blocks<kernel>(target, shape::threads, shape::shared_bytes);
        launch(target, "scan", kernel, static_cast<unsigned>(tiles < blocks ? tiles : blocks), shape::threads,
               shape::shared_bytes, in, out, count, op, start, keep_results,
               tile_states_of(target, tiles, sizeof(Acc)));
    };
    using large = large_scan_shape<Source, Out, Op, false>;
    using large_shifting = large_scan_shape<Source, Out, Op, true>;
    using small = scan_shape<Source, Out, 1, 3, 1, 1>;
    // Large tiles once there are 2 MiB of them, which keep the GPU busy.
    constexpr std::uint64_t many = (std::uint64_t{2} << 20) / large::vector_bytes * large::elements;
    constexpr std::size_t large_bytes = std::max(large::shared_bytes, large_shifting::shared_bytes);
    if (count < many || large_bytes + 4096 > target.workspace().shared_bytes()) {
        with(small{});
        return;
    }
    constexpr bool may_shift = large_shifting::may_shift_in || large_shifting::may_shift_out;
    // That warps meet in each step (scan_steps.cuh) costs more than it gains where few bytes are read for many that are written. Arrays that lie
    // the other way round, which are rarer, have one kernel, whether they are shifted or not.
    constexpr bool widens = sizeof(std::iter_value_t<Source>) < sizeof(std::iter_value_t<Out>);
    if constexpr (may_shift && (widens || Reversed)) {
        with(large_shifting{});
    } else {
        if constexpr (may_shift)
            if (has_to_shift<large>(in, shift::to_word) || has_to_shift<large>(out, shift::to_line)) {
                with(large_shifting{});
                return;
            }
        with(large{});
    }
}

// Writes the results of `count` elements in order of the stream. Elements are read once. A piece of a larger array
// comes with `before`, the fold of the elements before it: their number is a multiple of a power of two that exceeds
// `count`. Pointers to elements and results that lie the other way round are those to what is behind the first of them.
template <scan_kind Kind, class Acc, bool Reversed = false, class Source, class Out, class Op>
void scan(const cuda& target, Source in, Out out, std::uint64_t count, const Op& op, const Acc* init = nullptr,
          const Acc* before = nullptr)
{
    if (count == 0)
        return;
    using element = std::iter_value_t<Out>;
    const Acc first = init != nullptr ? *init : fold_of_nothing<Acc>(op);
    const Acc fold = before != nullptr ? *before : op.template identity<Acc>();
    const auto with = [&]<class Wide>(const auto& wide_op, Wide) {
        const scan_start<Wide> start{static_cast<Wide>(fold), static_cast<Wide>(first), init != nullptr,
                                     before != nullptr};
        launch_scan<Reversed, Kind, Wide>(target, in, out, count, wide_op, start);
    };
    // Narrow elements are folded in words.
    constexpr bool is_narrow = sizeof(element) <= 2 && std::is_same_v<std::iter_value_t<Source>, element>;
    if constexpr (folds_ordered_doubles<Op, Source, Out>) {
        const auto place = [](double number) { return static_cast<std::int64_t>(ordered_double(number)); };
        launch_scan<Reversed, Kind, std::int64_t>(
            target, reinterpret_cast<const ordered_double*>(in), reinterpret_cast<ordered_double*>(out), count, op,
            scan_start<std::int64_t>{place(fold), place(first), init != nullptr, before != nullptr});
    } else if constexpr (is_narrow && detail::is_logical<Op> && has_words<elements_of<Source>, Source> &&
                         has_words<elements_of<Source>, Out>) {
        with(on_truths<Op>{}, unsigned{});
    } else if constexpr (is_narrow && std::is_same_v<element, Acc> && std::is_integral_v<Acc> &&
                         detail::is_builtin<Op> && !std::is_same_v<Acc, bool>) {
        with(op, word_accumulator_t<Op, Acc>{});
    } else {
        with(op, fold);
    }
}

} // namespace upsweep::gpu

namespace upsweep::detail {

template <>
struct engine<cuda, verb::scan> {
    template <scan_kind Kind, class Acc, class In, class Out, class Op>
    static void scan(const cuda& target, In in, Out out, std::size_t count, const Op& op, const Acc* init)
    {
        const gpu::current_device current(target.device());
        if constexpr (is_view_iterator<In> && is_view_iterator<Out>)
            if (gpu::lies_reversed(in.elements()) && gpu::lies_reversed(out.elements()))
                return scan_reversed<Kind, Acc>(target, in.elements().data(), out.elements().data(), count, op, init);
        gpu::with_sources(in, out, [&](const auto& from, const auto& to) {
            gpu::check_place(target, "scan", from, count);
            gpu::check_place(target, "scan", to, count);
            gpu::scan<Kind, Acc>(target, from, to, count, op, init);
        });
    }

    // Of elements and results of which the first ones are given, and each of the others lies before the previous one.
    template <scan_kind Kind, class Acc, class T, class Result, class Op>
    static void scan_reversed(const cuda& target, const T* in, Result* out, std::size_t count, const Op& op,
                              const Acc* init)
    {
        const gpu::current_device current(target.device());
        const auto last = static_cast<std::ptrdiff_t>(count) - 1;
        gpu::check_place(target, "scan", in - last, count);
        gpu::check_place(target, "scan", out - last, count);
        gpu::scan<Kind, Acc, true>(target, in + 1, out + 1, count, op, init);
    }
};

} // namespace upsweep::detail
