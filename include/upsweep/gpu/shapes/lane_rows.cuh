// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <type_traits>

#include <cuda_pipeline.h>

#include <upsweep/gpu/fold/vector_fold.cuh>
#include <upsweep/gpu/primitive/ptx.cuh>
#include <upsweep/gpu/primitive/vector.cuh>
#include <upsweep/gpu/primitive/warp.cuh>
#include <upsweep/gpu/shapes/block_counter.cuh>
#include <upsweep/gpu/shapes/few.cuh>
#include <upsweep/gpu/shapes/line_places.cuh>
#include <upsweep/gpu/shapes/warp_rows.cuh>
#include <upsweep/gpu/source/array.cuh>
#include <upsweep/gpu/source/shifted.cuh>
#include <upsweep/gpu/target/cuda.cuh>
#include <upsweep/gpu/target/launch.cuh>
#include <upsweep/lines.hpp>
#include <upsweep/op.hpp>

// Rows of which there are very many: each lane walks along one of its own, and no lane needs to know what another has. A lane that read its row from
// memory would read words that lie far from its neighbours', so a warp copies 128 bytes of each of its 32 rows at a time into shared memory, where
// every row has a ring of its own. It copies whole words of memory, wherever rows begin, and lanes shift them into place. What shares a word with elements
// of a row is read and not used; it may lie between rows, but neither before the first element of all nor behind the last:
//
//     row 0   |..aa|aaaa|aaaa|a...|        the dots are elements of other rows, or none
//     row 1   |.bbb|bbbb|bbbb|....|
//
// A warp waits for no other, and while it folds a stage, the next ones are on their way.
namespace upsweep::gpu {

struct lane_row_shape {
    static constexpr int threads = 64;
    static constexpr int blocks = 6; // of a multiprocessor, at least
    static constexpr int warps = threads / lanes;
    static constexpr int word = sizeof(uint4);
    static constexpr int stage = 8; // words of a row
    static constexpr int slots = 4; // stages in a ring: the last one, this one, and two on their way
    static constexpr int ring = stage * slots;
    static constexpr int pitch = ring + 1; // words from a ring to the next: neighbours' words lie in other banks
};

template <class T, class Out, std::size_t Rank>
struct lane_rows {
    lines_on_device<T, Out, Rank> lines;
    bool are_words;      // whether rows begin with whole words
    memory_range memory; // of all rows
};

// The stages of a warp's rows.
template <class T, class Out, std::size_t Rank>
class lane_row_steps {
    using shape = lane_row_shape;
    static constexpr int rows_at_once = lanes / shape::stage;
    static constexpr int turns = lanes / rows_at_once;

public:
    static constexpr int elements = vector_elements<sizeof(T)>;
    using vector = lane_vector<T, elements>;

    struct step {
        std::uint64_t line; // the first one
        unsigned stage;     // number of the stage in it
    };

    __device__ lane_row_steps(const lane_rows<T, Out, Rank>& of, uint4* rings)
        : of_(of), rings_(rings), bytes_(static_cast<unsigned>(of.lines.length * sizeof(T)))
    {
        const unsigned words = (bytes_ + shape::word - 1) / shape::word + (of.are_words ? 0 : 1);
        last_ = (words - 1) / shape::stage;
        // So that nothing is read that has never been written.
        for (int k = lane_id(); k < lanes * shape::pitch; k += lanes)
            rings_[k] = uint4{};
        __syncwarp();
    }

    __device__ bool is_last(const step& now) const { return now.stage == last_; }
    // How many words, from the first of a row on, there are when a stage is there.
    __device__ unsigned words_before(const step& now) const { return now.stage * shape::stage; }
    __device__ unsigned words_after(const step& now) const { return (now.stage + 1) * shape::stage; }

    // Calls take(step) for each step when its stage is there, while the next ones are on their way. The lanes of a warp call this together.
    template <class Take>
    __device__ void for_each(Take take)
    {
        constexpr unsigned on_their_way = shape::slots - 2;
        step now{warp_in_grid() * lanes, 0};
        step ahead = now;
        for (unsigned turn = 0; now.line < of_.lines.count; ++turn) {
            __pipeline_wait_prior(on_their_way - 1);
            __syncwarp(); // all lanes have copied this stage, and have read the one before the last
            copy(turn % shape::slots, ahead);
            if (turn < on_their_way)
                continue;
            if (now.stage == 0) {
                shift_ = reinterpret_cast<std::uintptr_t>(row_of_lane(now)) % shape::word;
                first_word_ = (turn - on_their_way) * shape::stage;
            }
            take(now);
            advance(now);
        }
    }

    // The vectors of this lane's row that begin in word `word` of it.
    template <int Vectors>
    __device__ void read(unsigned word, vector (&to)[Vectors]) const
    {
        constexpr int numbers = shape::word / 4;
        unsigned raw[(Vectors + 1) * numbers];
#pragma unroll
        for (int v = 0; v < Vectors + 1; ++v)
            if (v < Vectors || !of_.are_words)
                std::memcpy(raw + v * numbers, &my_ring()[(first_word_ + word + v) % shape::ring], shape::word);
        if (!of_.are_words)
            shift_out_of_lane<numbers, sizeof(T)>(raw, shift_);
#pragma unroll
        for (int v = 0; v < Vectors; ++v)
            std::memcpy(static_cast<void*>(&to[v].memory), raw + v * numbers, shape::word);
    }

    // Element number i of this lane's row.
    __device__ T element(unsigned i) const
    {
        const unsigned byte = first_word_ * shape::word + shift_ + i * unsigned{sizeof(T)};
        return *reinterpret_cast<const T*>(reinterpret_cast<const std::byte*>(my_ring()) +
                                           byte % (shape::ring * shape::word));
    }

private:
    __device__ const uint4* my_ring() const { return rings_ + lane_id() * shape::pitch; }
    // In place of rows that there are not, lanes have the last one once more.
    __device__ const std::byte* row_of_lane(const step& at) const
    {
        const std::uint64_t line = min(at.line + static_cast<unsigned>(lane_id()), of_.lines.count - 1);
        return reinterpret_cast<const std::byte*>(of_.lines.in.first_of(line));
    }
    __device__ void advance(step& at) const
    {
        if (is_last(at))
            at = {at.line + std::uint64_t{gridDim.x} * (shape::warps * lanes), 0};
        else
            ++at.stage;
    }

    // Begins to copy a stage, and goes to the next one. Lanes next to one another have words next to one another, and each of them one of every
    // fourth row.
    __device__ void copy(unsigned slot, step& ahead)
    {
        if (ahead.line < of_.lines.count) {
            if (ahead.stage == 0) {
                row_ahead_ = row_of_lane(ahead);
                const bool is_at_edge = !of_.memory.has(first_word_of(row_ahead_), row_ahead_ + bytes_ + shape::word);
                has_edge_ = __any_sync(all_lanes, is_at_edge ? 1 : 0) != 0;
#pragma unroll
                for (int k = 0; k < turns; ++k)
                    from_[k] = first_word_of(row_of_turn(k)) + word_of_lane() * shape::word;
            }
            uint4* const to = rings_ + lane_id() / shape::stage * shape::pitch + static_cast<int>(slot) * shape::stage +
                              word_of_lane();
            if (has_edge_ || is_last(ahead)) {
                copy_existing(to, ahead);
            } else {
#pragma unroll
                for (int k = 0; k < turns; ++k) {
                    copy_once_async(to + k * rows_at_once * shape::pitch, from_[k]);
                    from_[k] += shape::stage * shape::word;
                }
            }
            advance(ahead);
        }
        __pipeline_commit();
    }
    __device__ static int word_of_lane() { return lane_id() % shape::stage; }
    __device__ const std::byte* row_of_turn(int k) const
    {
        return shuffle(row_ahead_, k * rows_at_once + lane_id() / shape::stage);
    }
    __device__ static const std::byte* first_word_of(const std::byte* row)
    {
        return row - reinterpret_cast<std::uintptr_t>(row) % shape::word;
    }
    // Copies a stage that some rows do not fill.
    __device__ void copy_existing(uint4* to, const step& ahead) const
    {
        const std::uintptr_t distance = (words_before(ahead) + static_cast<unsigned>(word_of_lane())) * shape::word;
#pragma unroll 1
        for (int k = 0; k < turns; ++k, to += rows_at_once * shape::pitch) {
            const std::byte* const row = row_of_turn(k);
            const std::byte* const at = first_word_of(row) + distance;
            if (at >= row + bytes_)
                continue;
            of_.memory.copy_word(to, at);
        }
    }

    const lane_rows<T, Out, Rank>& of_;
    uint4* rings_;
    unsigned bytes_;                       // of a row
    unsigned last_;                        // number of the last stage of a row
    const std::byte* row_ahead_ = nullptr; // the row of this lane of which words are copied
    bool has_edge_ = false;                // whether whole words of these rows may lie beyond the memory of all rows
    const std::byte* from_[turns];         // the words of this lane in the next stage, but of rows with an edge
    unsigned shift_ = 0;                   // bytes before this lane's row in its first word
    unsigned first_word_ = 0;              // number of that word among those that there have been in the ring
};

template <class Acc, class T, class Out, std::size_t Rank, class Op, class Finish>
__global__ void __launch_bounds__(lane_row_shape::threads, lane_row_shape::blocks)
    reduce_lane_rows_kernel(const __grid_constant__ lane_rows<T, Out, Rank> of, Op op, Finish finish)
{
    using row_steps = lane_row_steps<T, Out, Rank>;
    constexpr unsigned rows = block_walk_rows<T>;
    constexpr unsigned vectors = rows / row_steps::elements; // of a block
    using partial = decltype(vector_total<Acc>(typename row_steps::vector{}, op));
    using total = decltype(lane_total<vectors>(static_cast<const partial*>(nullptr), op));
    using rest_element = rest_element_t<Op, Acc, walked_element_t<Op, Acc, T>>;
    using counter = counter_of_blocks<Op, Acc, total, block_walk_levels>;
    __shared__ raw_array<uint4, lane_row_shape::warps * lanes * lane_row_shape::pitch> rings;
    row_steps steps(of, &rings[warp_id() * lanes * lane_row_shape::pitch]);
    const unsigned whole = static_cast<unsigned>(of.lines.length) / rows;
    const unsigned words_behind = of.are_words ? 0 : 1; // a block that is shifted may end in one word more
    counter walked(op);
    unsigned block = 0;
    steps.for_each([&](const typename row_steps::step& now) {
        const unsigned end = min(whole, (steps.words_after(now) - words_behind) / vectors);
#pragma unroll 1
        for (; block < end; ++block) {
            typename row_steps::vector loaded[vectors];
            steps.read(block * vectors, loaded);
            partial totals[vectors];
#pragma unroll
            for (unsigned v = 0; v < vectors; ++v)
                totals[v] = vector_total<Acc>(loaded[v], op);
            walked.push(lane_total<vectors>(totals, op), block, op);
        }
        if (!steps.is_last(now))
            return;
        const auto rest = [&](int i) {
            return convert<rest_element>(steps.element(whole * rows + static_cast<unsigned>(i)));
        };
        const Acc fold = fold_few<Acc, rows / 2>(walked.fold_after(op.template identity<Acc>(), whole, op), rest, 0,
                                                 static_cast<int>(of.lines.length % rows), op);
        const std::uint64_t line = now.line + static_cast<unsigned>(lane_id());
        if (line < of.lines.count)
            finish(fold, *of.lines.out.first_of(line));
        walked = counter(op);
        block = 0;
    });
}

// Whether elements can be read in this way at all.
template <class T>
inline constexpr bool may_be_lane_rows = has_words<vector_elements<sizeof(T)>, const T*> && alignof(T) == sizeof(T) &&
                                         sizeof(T) <= 8;

// Whether lanes can walk along these lines, and there are so many that lanes are busy: the longer they are, the longer all wait for the last ones.
template <class T, class Out, std::size_t Rank>
bool are_many_lane_rows(const detail::lines<const T, Out, Rank>& all)
{
    constexpr std::uint64_t many = 8192;
    constexpr std::uint64_t many_of_a_byte = 32;
    constexpr std::uint64_t longest = std::uint64_t{block_walk_rows<T>} << block_walk_levels;
    return all.in.stride(0) == 1 && all.length() < longest &&
           all.count() >= std::max(many, many_of_a_byte * all.length() * sizeof(T));
}

// Whether lanes reduce them faster than others do. Lines that fill the steps of a warp are left to warps, but for those of 64 bits whose order is not
// free. Shorter ones of wide elements without gaps between them are faster as segments, and short ones of narrow elements in panels.
template <class Op, class Acc, class T, class Out, std::size_t Rank>
bool are_lane_rows(const detail::lines<const T, Out, Rank>& all, bool fill_warps)
{
    constexpr std::uint64_t least_narrow_bytes = 80;
    constexpr std::uint64_t least_bytes = 1280;
    constexpr std::uint64_t least_apart = 8;
    constexpr std::uint64_t long_row = 448;
    if (!are_many_lane_rows(all))
        return false;
    if (fill_warps)
        return sizeof(T) == 8 && !is_any_order<Op, Acc> && all.length() < long_row && !are_whole_warp_rows(all);
    const std::uint64_t bytes = all.length() * sizeof(T);
    if (sizeof(T) < 4)
        return bytes >= least_narrow_bytes;
    return bytes >= least_bytes || (all.length() >= least_apart && !lie_without_gaps(all.in));
}

// The same of operators that fold blocks as something else than their accumulators (block_lines.cuh).
template <class T, class Out, std::size_t Rank>
bool are_lane_rows_of_blocks(const detail::lines<const T, Out, Rank>& all)
{
    constexpr std::uint64_t least = 48;
    constexpr std::uint64_t long_row_bytes = 4096;
    return are_many_lane_rows(all) && all.length() >= least &&
           (all.length() * sizeof(T) < long_row_bytes || !are_lines_of_words(all));
}

template <class Acc, class T, class Out, std::size_t Rank, class Op, class Finish>
void reduce_lane_rows(const cuda& target, std::string_view call, const detail::lines<const T, Out, Rank>& all,
                      const Op& op, const Finish& finish)
{
    using shape = lane_row_shape;
    constexpr auto kernel = reduce_lane_rows_kernel<Acc, T, Out, Rank, Op, Finish>;
    const lane_rows<T, Out, Rank> rows{
        {line_places<const T, Rank>(all.in), line_places<Out, Rank>(all.out), all.length(), all.count()},
        are_lines_of_words(all),
        memory_range::of(all.in)};
    constexpr std::uint64_t lines = shape::warps * lanes;
    const std::uint64_t blocks =
        std::min<std::uint64_t>((all.count() + lines - 1) / lines, resident_blocks<kernel>(target, shape::threads, 0));
    launch(target, call, kernel, grid_shape{static_cast<unsigned>(blocks), shape::threads, 0}, rows, op, finish);
}

} // namespace upsweep::gpu
