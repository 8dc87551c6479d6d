// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include <cuda_pipeline.h>

#include <upsweep/gpu/fold/line_start.cuh>
#include <upsweep/gpu/fold/look_back.cuh>
#include <upsweep/gpu/fold/vector_fold.cuh>
#include <upsweep/gpu/primitive/ptx.cuh>
#include <upsweep/gpu/primitive/warp.cuh>
#include <upsweep/gpu/shapes/column_folders.cuh>
#include <upsweep/gpu/shapes/column_states.cuh>
#include <upsweep/gpu/shapes/columns.cuh>
#include <upsweep/gpu/shapes/few.cuh>
#include <upsweep/gpu/shapes/line_places.cuh>
#include <upsweep/gpu/target/cuda.cuh>
#include <upsweep/gpu/target/launch.cuh>
#include <upsweep/lines.hpp>
#include <upsweep/view.hpp>

// Scans of up to some hundred lines side by side, whose rows follow one another in memory. A tile is an aligned block of whole rows, and so one piece of
// memory, which a block copies to shared memory in words of 16 bytes wherever its rows begin; and so it writes the results. Threads of which each
// has an element where rows are no multiples of sectors would ask for the sectors at the edges of rows twice, and write them in parts.
// A group of threads, one a line, has some rows below each other, and the groups of a block lie one below the other.
namespace upsweep::gpu {

template <class Acc, class T, class Out>
struct scan_panel_shape {
    static constexpr std::size_t widest = std::max(sizeof(T), sizeof(Out));
    static constexpr int rows = widest > 8 ? 16 : widest > 4 ? 32 : widest > 2 ? 64 : 128; // of a thread
    static constexpr int part = sizeof(Acc) > 4 || widest > 4 ? 8 : 16; // rows whose folds are in registers at once
    static constexpr int parts = rows / part;
    static constexpr unsigned most_threads = 256;
    static constexpr unsigned most_groups = 32;
    static constexpr int blocks = 3; // of a multiprocessor, at least
    static constexpr int blocks_with_folders = 4;
    static constexpr std::size_t sector = 32;     // of memory
    static constexpr std::size_t all_banks = 128; // bytes of shared memory that are read at once
};

// How the elements, or the results, of a tile lie in shared memory: in chunks that begin at the same place of a sector there as in memory. The rows of a group are a chunk.
struct panel_places {
    unsigned row_pitch;   // bytes
    unsigned chunk_bytes; // a multiple of a sector
};

struct scan_panel_cuts {
    memory_range memory;       // of the elements
    std::uint64_t length;      // of a line
    std::uint64_t line_groups; // the matrices whose lines lie side by side
    std::uint64_t tiles;       // of a line
    unsigned width;            // lines of a matrix
    unsigned groups;           // a power of two
    unsigned rows;             // of a tile
    panel_places in;
    panel_places out;
    unsigned chunk_pitch; // bytes from a chunk to the next in shared memory, of elements and results
    // The elements of a chunk begin so many bytes behind its results, which take their place part by part: the results of a part end before the elements of
    // the next part begin.
    unsigned in_begins;
    bool in_bulk = true; // whether blocks copy chunks in bulk, if there are folders and the GPU has bulk copies

    int threads() const { return static_cast<int>((groups * width + lanes - 1) / lanes * lanes); }
};

template <class Acc, class T, class Out, std::size_t Rank>
scan_panel_cuts cut_into_scan_panels(const detail::lines<const T, Out, Rank>& all)
{
    using shape = scan_panel_shape<Acc, T, Out>;
    const auto sectors = [](std::size_t bytes) { return (bytes + shape::sector - 1) / shape::sector * shape::sector; };
    scan_panel_cuts cuts{};
    cuts.memory = memory_range::of(all.in);
    cuts.length = all.length();
    cuts.width = static_cast<unsigned>(all.in.extent(Rank - 1));
    cuts.line_groups = all.count() / cuts.width;
    cuts.groups = std::clamp(std::bit_floor(shape::most_threads / cuts.width), 1U, shape::most_groups);
    cuts.rows = static_cast<unsigned>(shape::rows) * cuts.groups;
    cuts.tiles = (cuts.length + cuts.rows - 1) / cuts.rows;
    const auto places = [](std::size_t row_pitch) {
        return panel_places{static_cast<unsigned>(row_pitch), static_cast<unsigned>(shape::rows * row_pitch)};
    };
    cuts.in = places(static_cast<std::size_t>(all.in.stride(0)) * sizeof(T));
    cuts.out = places(cuts.width * sizeof(Out));
    cuts.in_begins = std::max(cuts.out.chunk_bytes, cuts.in.chunk_bytes) - cuts.in.chunk_bytes + shape::sector;
    // Groups whose threads are of one warp meet in few banks.
    std::size_t pitch = sectors(std::max(cuts.out.chunk_bytes, cuts.in_begins + cuts.in.chunk_bytes)) + shape::sector;
    const std::size_t of_row = sectors(cuts.width * sizeof(T));
    if (of_row < shape::all_banks)
        while (pitch % shape::all_banks != of_row)
            pitch += shape::sector;
    cuts.chunk_pitch = static_cast<unsigned>(pitch);
    return cuts;
}

template <bool HasFolders>
using slots_of_panels = std::conditional_t<HasFolders, folder_slots, column_slots>;

template <class Slots, class T, class Out, std::size_t Rank>
struct scan_panel_arguments {
    line_places<const T, Rank> in;
    line_places<Out, Rank> out;
    std::uint64_t count; // of lines
    scan_panel_cuts cuts;
    tile_state_memory memory;
    Slots slots; // column_slots or folder_slots
};

// Scans the tiles of a block. Which of the two ways to look back the kernel has is known when it is compiled, since both take too many registers.
template <bool HasFolders, class Acc, class T, class Out, std::size_t Rank, class Op>
class scan_panels {
    using shape = scan_panel_shape<Acc, T, Out>;
    static constexpr int rows = shape::rows;
    static constexpr int part = shape::part;
    static constexpr int parts = shape::parts;
    static constexpr unsigned word = sizeof(uint4);
    static constexpr unsigned sector = shape::sector;
    static constexpr unsigned folds_of_tile = HasFolders ? 2 : column_slots::group; // that are read, of each line

public:
    // What lies behind the chunks in shared memory, and before the totals.
    struct alignas(uint4) control {
        block_tickets::memory tickets;
        std::uint64_t loaded; // an mbarrier
    };

    static std::size_t shared_bytes(const scan_panel_cuts& cuts)
    {
        return cuts.groups * std::size_t{cuts.chunk_pitch} + sizeof(control) +
               (cuts.groups + folds_of_tile) * cuts.width * sizeof(Acc);
    }

    __device__ static control& control_of(const scan_panel_cuts& cuts, uint4* shared)
    {
        return *reinterpret_cast<control*>(shared + cuts.groups * cuts.chunk_pitch / word);
    }

    __device__ scan_panels(const scan_panel_arguments<slots_of_panels<HasFolders>, T, Out, Rank>& of, uint4* shared,
                           const Op& op)
        : of_(of), cuts_(of.cuts), shared_(shared), totals_(reinterpret_cast<Acc*>(&control_of(of.cuts, shared) + 1)),
          op_(op)
    {
        if (!in_bulk())
            return;
        if (threadIdx.x == 0) {
            mbarrier_init(loaded(), 1);
            mbarrier_init_fence();
        }
        __syncthreads();
    }

    __device__ void scan(std::uint64_t task, const line_start<Acc>& start)
    {
        place(task);
        copy();
        __syncthreads(); // all have copied, and have read the totals of the last tile
        if (!is_whole())
            fill_up();
        Acc totals[parts];
        fold_parts(totals);
        Acc after = op_.template identity<Acc>();
        const Acc before = fold_before_tile(after);
        const Acc first = fold_groups(before, group_, line_);
        if (group_ + 1 < cuts_.groups)
            after = fold_groups(before, group_ + 1, line_);
        scan_parts(totals, first, after, start);
        if (in_bulk())
            async_proxy_fence();
        __syncthreads();
        write();
    }

private:
    // Whether chunks are copied in bulk. Bulk copies reach memory by another way than loads do, so that looks at tile states do not wait behind the words of a tile.
    __device__ bool in_bulk() const { return HasFolders && cuts_.in_bulk && has_mbarriers(); }

    __device__ bool is_whole() const { return rows_of_tile_ == cuts_.rows; }
    __device__ bool has_line() const { return group_ < cuts_.groups; }
    __device__ line_of_thread line() const
    {
        return {first_line_, has_line() ? static_cast<int>(line_) : 0, has_line(), static_cast<int>(group_),
                static_cast<int>(cuts_.groups)};
    }
    template <class Element>
    __device__ static unsigned place_in_sector(const Element* at)
    {
        return static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(at)) % sector;
    }

    // Finds out where a tile lies.
    __device__ void place(std::uint64_t task)
    {
        tile_ = task / cuts_.line_groups;
        matrix_ = task - tile_ * cuts_.line_groups;
        first_line_ = matrix_ * cuts_.width;
        const std::uint64_t left = cuts_.length - tile_ * cuts_.rows;
        rows_of_tile_ = left >= cuts_.rows ? cuts_.rows : static_cast<unsigned>(left);
        const auto first_row = static_cast<std::int64_t>(tile_ * cuts_.rows);
        in_ = reinterpret_cast<const std::byte*>(of_.in.first_of(first_line_) + first_row * of_.in.stride);
        out_ = reinterpret_cast<std::byte*>(of_.out.first_of(first_line_) + first_row * of_.out.stride);
    }

    // Calls f(byte, at, begin, end) for each word that this thread copies of a tile, which takes so many bytes and begins at byte `place` of its first sector. `byte`
    // is the distance of the word from the beginning of that sector in memory. `at` is its number in shared memory. `begin` and `end` are the distances
    // of the chunk to which it belongs.
    template <class F>
    __device__ void for_each_word(const panel_places& places, unsigned place, unsigned bytes, F f) const
    {
        const unsigned first = place / word;
        const unsigned words = (place + places.chunk_bytes + word - 1) / word - first; // of a chunk
        const unsigned reciprocal = ~0U / words + 1;                                   // times 2^32
        for (unsigned w = threadIdx.x;; w += blockDim.x) {
            const unsigned chunk = __umulhi(w, reciprocal);
            const unsigned begin = chunk * places.chunk_bytes;
            if (begin >= bytes)
                return;
            const unsigned k = w - chunk * words + first;
            f(begin + k * word, chunk * (cuts_.chunk_pitch / word) + k, place + begin,
              place + min(begin + places.chunk_bytes, bytes));
        }
    }

    // Copies the tile to shared memory, and waits for it.
    __device__ void copy()
    {
        const unsigned place = place_in_sector(in_);
        const std::byte* const from = in_ - place;
        const unsigned bytes = rows_of_tile_ * cuts_.in.row_pitch;
        uint4* const to = shared_ + cuts_.in_begins / word;
        const bool is_inside = is_whole() && cuts_.memory.has(from, in_ + bytes + sector);
        if (is_inside && in_bulk())
            return load_chunks(place);
        if (is_inside)
            for_each_word(cuts_.in, place, bytes, [&](unsigned byte, unsigned at, unsigned, unsigned) {
                copy_once_async(to + at, from + byte);
            });
        else
            for_each_word(cuts_.in, place, bytes, [&](unsigned byte, unsigned at, unsigned, unsigned end) {
                if (byte < end)
                    cuts_.memory.copy_word(to + at, from + byte);
            });
        __pipeline_commit();
        __pipeline_wait_prior(0);
    }

    // The words of all chunks of a tile that begins at byte `place` of its first sector.
    __device__ void load_chunks(unsigned place)
    {
        const unsigned first = place / word * word;
        const unsigned bytes = end_of_words(place + cuts_.in.chunk_bytes) - first; // of a chunk
        if (threadIdx.x < lanes) {
            const unsigned chunk = threadIdx.x;
            if (chunk == 0)
                mbarrier_expect(loaded(), cuts_.groups * bytes);
            __syncwarp(); // bytes are announced before they come
            if (chunk < cuts_.groups)
                bulk_load(chunk_at(chunk) + cuts_.in_begins + first, in_ - place % word + chunk * cuts_.in.chunk_bytes,
                          bytes, loaded());
        }
        mbarrier_wait(loaded(), loads_ % 2);
        ++loads_;
    }
    // In shared memory, which saves the registers that some kernels have not.
    __device__ std::uint64_t epoch() const { return control_of(cuts_, shared_).tickets.epoch; }
    // The mbarrier at which bulk loads count.
    __device__ std::uint64_t* loaded() const { return &control_of(cuts_, shared_).loaded; }
    __device__ static unsigned end_of_words(unsigned byte) { return (byte + word - 1) / word * word; }
    __device__ std::byte* chunk_at(unsigned chunk) const
    {
        return reinterpret_cast<std::byte*>(shared_) + chunk * cuts_.chunk_pitch;
    }

    // The place of an element of this thread's line in shared memory.
    __device__ T* element(unsigned group, unsigned r) const
    {
        return reinterpret_cast<T*>(chunk_at(group) + cuts_.in_begins + place_in_sector(in_) +
                                    line_ * static_cast<unsigned>(sizeof(T)) + r * cuts_.in.row_pitch);
    }
    // In place of the rows of this thread that do not exist, the first one of the tile stands once more: what is folded of them is not used, but operators see
    // no elements that there are not.
    __device__ void fill_up() const
    {
        if (!has_line())
            return;
        const unsigned before = group_ * rows;
        for (unsigned r = rows_of_tile_ > before ? rows_of_tile_ - before : 0; r < rows; ++r)
            *element(group_, r) = *element(0, 0);
    }

    // A part of the rows of this thread.
    template <class Element>
    __device__ void load(Element (&values)[part], int p) const
    {
        const T* const first = element(group_, static_cast<unsigned>(p * part));
#pragma unroll
        for (int r = 0; r < part; ++r)
            values[r] = convert<Element>(*reinterpret_cast<const T*>(reinterpret_cast<const std::byte*>(first) +
                                                                     static_cast<unsigned>(r) * cuts_.in.row_pitch));
    }

    // The totals of the parts of this thread, and those of the groups, which all threads have afterwards.
    __device__ void fold_parts(Acc (&totals)[parts])
    {
        if (has_line()) {
#pragma unroll
            for (int p = 0; p < parts; ++p) {
                element_of_few_t<Op, Acc, T> values[part];
                load(values, p);
                totals[p] = convert<Acc>(lane_total<part>(values, op_));
            }
            totals_[threadIdx.x] = lane_total<parts>(totals, op_);
        }
        __syncthreads();
    }
    // before (+) the totals of the first groups of a line.
    __device__ Acc fold_groups(const Acc& before, unsigned count, unsigned line) const
    {
        const auto of_group = [this, line](int g) { return totals_[static_cast<unsigned>(g) * cuts_.width + line]; };
        if (!has_line())
            return before;
        return fold_few<Acc, static_cast<int>(shape::most_groups)>(before, of_group, 0, static_cast<int>(count), op_);
    }

    // The fold of the tiles before this one, and in `after` that up to its end, if it is whole.
    __device__ Acc fold_before_tile(Acc& after)
    {
        const Acc nothing = op_.template identity<Acc>();
        Acc* const shared = totals_ + cuts_.groups * cuts_.width;
        const auto width = static_cast<int>(cuts_.width);
        if constexpr (HasFolders) {
            const folded_tiles<Acc, Op> tiles(of_.memory, epoch(), of_.slots, {shared, width}, op_);
            const auto total_of = [&](int line) {
                return fold_groups(nothing, cuts_.groups, static_cast<unsigned>(line));
            };
            return tiles.publish_and_fold(line(), matrix_, tile_, is_whole(), total_of, after);
        } else {
            column_states<Acc, Op> states(of_.memory, epoch(), of_.slots, of_.count, {shared, width}, op_);
            const Acc total = fold_groups(nothing, cuts_.groups, line_);
            return states.publish_and_fold(line(), tile_, is_whole(), total, after);
        }
    }

    // The results of a part of the rows are written when all threads have read the elements of that part, of which they take the place.
    __device__ void scan_parts(const Acc (&totals)[parts], const Acc& before, const Acc& after,
                               const line_start<Acc>& start)
    {
        std::byte* const to = chunk_at(group_) + place_in_sector(out_) + line_ * static_cast<unsigned>(sizeof(Out));
        const bool is_first = group_ == 0 && tile_ == 0;
        Acc before_parts[parts + 1];
        folds_around(before, totals, after, before_parts, op_);
#pragma unroll
        for (int p = 0; p < parts; ++p) {
            Acc values[part];
            Acc folds[part + 1];
            if (has_line()) {
                load(values, p);
                folds_around(before_parts[p], values, before_parts[p + 1], folds, op_);
                start.put_init(folds, op_);
            }
            __syncthreads();
            if (has_line()) {
#pragma unroll
                for (int r = 0; r < part; ++r) {
                    const bool starts = p == 0 && r == 0 && is_first;
                    *reinterpret_cast<Out*>(to + static_cast<unsigned>(p * part + r) * cuts_.out.row_pitch) =
                        as_result<Out, Op>(start.first_or(folds[r], folds[r + 1], starts));
                }
            }
        }
    }

    // Words at the edges of chunks are written in part.
    __device__ void write() const
    {
        const unsigned place = place_in_sector(out_);
        std::byte* const to = out_ - place;
        if (in_bulk())
            return store_chunks(place, to);
        for_each_word(cuts_.out, place, rows_of_tile_ * cuts_.out.row_pitch,
                      [&](unsigned byte, unsigned at, unsigned begin, unsigned end) {
                          if (byte >= begin && byte + word <= end)
                              *reinterpret_cast<uint4*>(to + byte) = shared_[at];
                          else
                              write_part(shared_ + at, to, byte, begin, end);
                      });
    }
    __device__ void store_chunks(unsigned place, std::byte* to) const
    {
        const unsigned bytes = rows_of_tile_ * cuts_.out.row_pitch;
        const auto is_there = [&](unsigned chunk) {
            return chunk < cuts_.groups && chunk * cuts_.out.chunk_bytes < bytes;
        };
        const auto end_of = [&](unsigned chunk) {
            return place + min(cuts_.out.chunk_bytes, bytes - chunk * cuts_.out.chunk_bytes);
        };
        // A thread has the whole words of a chunk.
        const bool has_words = is_there(threadIdx.x);
        if (has_words) {
            const unsigned first = end_of_words(place);
            if (const unsigned last = end_of(threadIdx.x) / word * word; first < last)
                bulk_store(to + threadIdx.x * cuts_.out.chunk_bytes + first, chunk_at(threadIdx.x) + first,
                           last - first);
            bulk_commit();
        }
        // Two threads write the words that belong to the chunk in part, its first and its last one; where these are the same word, the first thread does. There are
        // at least two threads for each chunk, since there are at least two lines.
        if (const unsigned chunk = threadIdx.x / 2; is_there(chunk)) {
            const bool at_end = threadIdx.x % 2 != 0;
            const unsigned begin = chunk * cuts_.out.chunk_bytes;
            const unsigned end = end_of(chunk);
            const unsigned at = at_end ? end : place;
            const unsigned edge = at / word * word;
            if (edge != at && (!at_end || edge >= place))
                write_part(shared_ + (chunk * cuts_.chunk_pitch + edge) / word, to, begin + edge, begin + place,
                           begin + end);
        }
        if (has_words)
            bulk_wait_read<0>();
    }
    __device__ static void write_part(const uint4* from, std::byte* to, unsigned byte, unsigned begin, unsigned end)
    {
        using unit = std::conditional_t<alignof(Out) % 4 == 0, std::uint32_t,
                                        std::conditional_t<alignof(Out) == 2, std::uint16_t, std::uint8_t>>;
#pragma unroll 1
        for (unsigned k = 0; k < word / sizeof(unit); ++k, byte += sizeof(unit))
            if (byte >= begin && byte < end)
                *reinterpret_cast<unit*>(to + byte) = reinterpret_cast<const unit*>(from)[k];
    }

    const scan_panel_arguments<slots_of_panels<HasFolders>, T, Out, Rank>& of_;
    const scan_panel_cuts& cuts_;
    uint4* shared_;
    Acc* totals_; // [group][line]
    Op op_;
    unsigned group_ = threadIdx.x / of_.cuts.width;
    unsigned line_ = threadIdx.x - group_ * of_.cuts.width;
    std::uint64_t tile_ = 0; // among those of its lines
    std::uint64_t matrix_ = 0;
    std::uint64_t first_line_ = 0;
    unsigned rows_of_tile_ = 0;
    const std::byte* in_ = nullptr; // where the tile begins
    std::byte* out_ = nullptr;
    unsigned loads_ = 0; // in bulk so far, which are the phases of the mbarrier
};

template <bool HasFolders, class Acc, class T, class Out, std::size_t Rank, class Op>
__global__ void __launch_bounds__(scan_panel_shape<Acc, T, Out>::most_threads,
                                  (HasFolders ? scan_panel_shape<Acc, T, Out>::blocks_with_folders
                                              : scan_panel_shape<Acc, T, Out>::blocks))
    scan_panels_kernel(const __grid_constant__ scan_panel_arguments<slots_of_panels<HasFolders>, T, Out, Rank> of,
                       Op op, line_start<Acc> start)
{
    using panels = scan_panels<HasFolders, Acc, T, Out, Rank, Op>;
    extern __shared__ __align__(16) uint4 dynamic[]; // which begins with a sector: there is no other shared memory
    unsigned folders = 0;
    if constexpr (HasFolders)
        folders = of.slots.blocks;
    block_tickets tickets(of.memory, panels::control_of(of.cuts, dynamic).tickets, of.cuts.line_groups * of.cuts.tiles,
                          folders);
    if constexpr (HasFolders) {
        if (blockIdx.x < folders) {
            const unsigned pack = blockIdx.x * (blockDim.x / lanes) + static_cast<unsigned>(warp_id());
            if (pack < of.slots.packs)
                fold_tiles_of_pack<Acc>(of.memory, tickets.epoch(), of.slots, pack, op);
            return;
        }
    }
    panels self(of, dynamic, op);
    tickets.for_each([&](std::uint64_t task) { self.scan(task, start); });
}

// Whether a thread has whole sectors of a line. Elements of 9, 11, 13 and 15 bytes are none of these.
template <class Acc, class T, class Out>
inline constexpr bool
    may_be_scan_panels = sizeof(T) <= sizeof(uint4) && sizeof(Out) <= sizeof(uint4) && sizeof(Acc) <= sizeof(uint4) &&
                         scan_panel_shape<Acc, T, Out>::rows * sizeof(T) % scan_panel_shape<Acc, T, Out>::sector == 0 &&
                         scan_panel_shape<Acc, T, Out>::rows * sizeof(Out) % scan_panel_shape<Acc, T, Out>::sector == 0;

// Whether each matrix of lines side by side begins at a multiple of 16 bytes.
template <class T, std::size_t Rank>
bool begin_with_words(const view<T, Rank>& lines)
{
    bool all = reinterpret_cast<std::uintptr_t>(lines.data()) % sizeof(uint4) == 0;
    for (std::size_t k = 1; k + 1 < Rank; ++k)
        all = all && (lines.extent(k) == 1 ||
                      lines.stride(k) * static_cast<std::ptrdiff_t>(sizeof(T)) % static_cast<int>(sizeof(uint4)) == 0);
    return all;
}

// Whether lines can be scanned so: rows follow one another, with small gaps at most between those of elements, at least two threads have a line, which share its
// states, and a line has several tiles. Where results take the place of elements in memory, a word of 16 bytes must not belong to two chunks: one would be read while
// the other is written.
template <class Acc, class T, class Out, std::size_t Rank>
bool can_be_scan_panels(const cuda& target, const detail::lines<const T, Out, Rank>& all, const scan_panel_cuts& cuts)
{
    const auto lines = static_cast<std::ptrdiff_t>(all.in.extent(Rank - 1));
    if (2 * all.in.extent(Rank - 1) > scan_panel_shape<Acc, T, Out>::most_threads || all.in.stride(Rank - 1) != 1 ||
        all.out.stride(Rank - 1) != 1 || all.out.stride(0) != lines || all.in.stride(0) < lines ||
        all.in.stride(0) > lines + lines / 4)
        return false;
    return cuts.tiles > 1 &&
           scan_panels<false, Acc, T, Out, Rank, plus>::shared_bytes(cuts) <= target.workspace().shared_bytes() &&
           (static_cast<const void*>(all.in.data()) != static_cast<const void*>(all.out.data()) ||
            (begin_with_words(all.in) && begin_with_words(all.out)));
}

// Few lines have large tiles, of which an array has few.
inline constexpr std::size_t least_of_few_lines = std::size_t{1} << 26; // elements

// Whether they are scanned faster so than by lanes that have a line each. Those read and write whole sectors of rows that are multiples of them, and their warps are full
// where lines are nearly a power of two; but narrow elements are too few bytes each.
template <class Acc, class T, class Out>
bool are_faster_in_panels(std::size_t lines, std::size_t elements)
{
    constexpr std::size_t least_elements = std::size_t{3} << 21;
    constexpr std::size_t few_lines = 4;
    constexpr std::size_t some_lines = 16;
    constexpr std::size_t many_lines = 64;
    constexpr std::size_t longest_row = 384;
    if (lines <= few_lines && elements < least_of_few_lines)
        return false;
    if (sizeof(T) < sizeof(unsigned))
        return lines > sizeof(T);
    const std::size_t row = lines * sizeof(Out);
    const bool fill_warps =
        std::has_single_bit(lines) ? lines > few_lines : lines > some_lines && 8 * lines >= 7 * std::bit_ceil(lines);
    return sizeof(Out) <= sizeof(T) && lines > 2 && elements >= least_elements && !fill_warps && row <= longest_row &&
           (row % scan_panel_shape<Acc, T, Out>::sector != 0 || lines <= many_lines);
}
// The same where there are folders, which fold up to some dozens of packs fast enough, and take some time to begin. Of elements that are not narrow, threads that have a
// line each are faster where lines are a power of two, or many, whose rows are whole sectors.
template <class Acc, class T, class Out>
bool are_faster_with_folders(std::size_t lines, std::size_t matrices, std::size_t elements)
{
    constexpr std::size_t least_bytes = std::size_t{3} << 23;
    constexpr std::size_t least_lines = 4;
    constexpr std::size_t some_lines = sizeof(Acc) > 4 ? 56 : 80;
    constexpr std::size_t most_packs = sizeof(Acc) > 4 ? 84 : 64;
    constexpr std::size_t sector = scan_panel_shape<Acc, T, Out>::sector;
    constexpr std::size_t size = line_pack<Acc>::size;
    const std::size_t least_elements = lines == least_lines ? least_of_few_lines : least_bytes / sizeof(T);
    const std::size_t packs = (lines + size - 1) / size * matrices;
    if (lines < least_lines || packs > most_packs || elements < least_elements)
        return false;
    if (sizeof(T) < sizeof(unsigned))
        return true;
    const std::size_t row = lines * sizeof(Out);
    const bool are_whole = std::has_single_bit(lines) ? row > sector : lines > some_lines && row % sector == 0;
    return sizeof(Out) <= sizeof(T) && !are_whole;
}

// Whether chunks are copied faster in bulk. Such a copy takes a microsecond more to come, which is much where there are few tiles, or small ones.
inline bool are_faster_in_bulk(const scan_panel_cuts& cuts, std::size_t bytes)
{
    constexpr std::size_t least_bytes = std::size_t{1} << 26;
    constexpr std::size_t least_bytes_of_tile = std::size_t{3} << 13;
    return bytes >= least_bytes && std::size_t{cuts.groups} * cuts.in.chunk_bytes >= least_bytes_of_tile;
}

// How lines are scanned by panels, if they are.
enum class panel_look_back { no_panels, by_tree, by_folders };
struct scan_panel_choice {
    panel_look_back look_back;
    scan_panel_cuts cuts;
};

template <class Acc>
inline constexpr bool may_have_folders = sizeof(Acc) <= sizeof(std::uint64_t);

template <class Acc>
folder_slots folders_of(const scan_panel_cuts& cuts)
{
    constexpr unsigned size = line_pack<Acc>::size;
    return {cuts.length / cuts.rows, cuts.line_groups, (cuts.width + size - 1) / size,
            static_cast<unsigned>(cuts.threads() / lanes), cuts.in_bulk};
}

// Whether folders are about an eighth of the blocks for which a device has shared memory, at most.
template <class Acc, class T, class Out, std::size_t Rank>
bool are_few_folders(const cuda& target, const scan_panel_cuts& cuts)
{
    const std::size_t of_block = scan_panels<true, Acc, T, Out, Rank, plus>::shared_bytes(cuts);
    const std::size_t each = target.workspace().shared_bytes() / of_block; // of a multiprocessor
    return 8 * folders_of<Acc>(cuts).blocks <= each * static_cast<unsigned>(target.workspace().multiprocessors());
}

template <class Acc, class T, class Out, std::size_t Rank>
scan_panel_choice choose_scan_panels(const cuda& target, const detail::lines<const T, Out, Rank>& all)
{
    const std::size_t lines = all.in.extent(Rank - 1);
    const std::size_t elements = all.in.size();
    const bool by_tree = are_faster_in_panels<Acc, T, Out>(lines, elements);
    bool by_folders = false;
    if constexpr (may_have_folders<Acc>)
        by_folders = are_faster_with_folders<Acc, T, Out>(lines, all.count() / lines, elements);
    if (!by_tree && !by_folders)
        return {panel_look_back::no_panels, {}};
    scan_panel_cuts cuts = cut_into_scan_panels<Acc>(all);
    cuts.in_bulk = are_faster_in_bulk(cuts, elements * sizeof(T));
    if (!can_be_scan_panels<Acc>(target, all, cuts))
        return {panel_look_back::no_panels, {}};
    if constexpr (may_have_folders<Acc>)
        if (by_folders && are_few_folders<Acc, T, Out, Rank>(target, cuts))
            return {panel_look_back::by_folders, cuts};
    return {by_tree ? panel_look_back::by_tree : panel_look_back::no_panels, cuts};
}

template <bool HasFolders, class Acc, class T, class Out, std::size_t Rank, class Op>
void scan_by_panels(const cuda& target, std::string_view call, const detail::lines<const T, Out, Rank>& all,
                    const scan_panel_cuts& cuts, const Op& op, const line_start<Acc>& start)
{
    constexpr auto kernel = scan_panels_kernel<HasFolders, Acc, T, Out, Rank, Op>;
    const std::size_t shared_bytes = scan_panels<HasFolders, Acc, T, Out, Rank, Op>::shared_bytes(cuts);
    allow_shared_bytes<kernel>(target);
    const std::uint64_t blocks = blocks_that_fit(target, handle_of<kernel>(target), cuts.threads(), shared_bytes);
    std::uint64_t wanted = cuts.line_groups * cuts.tiles;
    const auto scan = [&](const auto& slots, std::uint64_t states) {
        const scan_panel_arguments<slots_of_panels<HasFolders>, T, Out, Rank> of{
            line_places<const T, Rank>(all.in),
            line_places<Out, Rank>(all.out),
            all.count(),
            cuts,
            tile_states_of(target, states, sizeof(Acc)),
            slots};
        launch(target, call, kernel, static_cast<unsigned>(std::min(wanted, blocks)), cuts.threads(), shared_bytes, of,
               op, start);
    };
    if constexpr (HasFolders) {
        const folder_slots folders = folders_of<Acc>(cuts);
        if (folders.blocks >= blocks) // none would scan
            return scan_by_panels<false>(target, call, all, cuts, op, start);
        wanted += folders.blocks;
        scan(folders, folders.count());
    } else {
        const column_slots slots(cuts.tiles);
        scan(slots, slots.count * all.count());
    }
}

} // namespace upsweep::gpu
