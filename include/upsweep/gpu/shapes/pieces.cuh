// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string_view>

#include <upsweep/gpu/fold/look_back.cuh>
#include <upsweep/gpu/fold/reduce.cuh>
#include <upsweep/gpu/primitive/divider.cuh>
#include <upsweep/gpu/primitive/vector.cuh>
#include <upsweep/gpu/primitive/warp.cuh>
#include <upsweep/gpu/shapes/line_places.cuh>
#include <upsweep/gpu/shapes/walked_lines.cuh>
#include <upsweep/gpu/shapes/warp_rows.cuh>
#include <upsweep/gpu/source/array.cuh>
#include <upsweep/gpu/target/cuda.cuh>
#include <upsweep/gpu/target/launch.cuh>
#include <upsweep/lines.hpp>
#include <upsweep/op.hpp>

// Reductions of long lines, rows or segments, whose elements lie one behind the other. A warp folds a *piece*, 4 KiB of a line, in registers, as
// plain reductions do, and waits for no other warp; totals of pieces go to memory, for the kernels behind:
//
//   fold_pieces_kernel       level 0: the total of each whole piece of each line
//   fold_groups_kernel       level k: the total of each whole group of 1024 totals of level k - 1, where a line may have so many
//   reduce_lines_kernel      a warp a line: its totals of the last level, those of each level before it that are in no whole group, and the
//                            elements behind the last piece
//
// which are the aligned blocks that the binary digits of the line's length cut it into, largest first.
namespace upsweep::gpu {

template <class Source>
struct piece_shape {
    static constexpr int threads = 256;
    static constexpr int blocks = 4; // of a multiprocessor: all four have 128 KiB on their way
    static constexpr int rows = 8;   // of vectors
    static constexpr bool reads_strided_bytes = false;
    static constexpr int elements = vector_elements<sizeof(std::iter_value_t<Source>)>;
    static constexpr int row = elements * lanes;
    static constexpr int piece = row * rows;
};

// --- lines ----------------------------------------------------------------------------------------------------------------------

// A line whose pieces have the slots from `base` on: lines with whole pieces share no slot.
template <class Source>
struct line_in_pieces {
    Source from;
    std::uint64_t length;
    std::uint64_t base;

    __device__ std::uint64_t pieces() const { return length / piece_shape<Source>::piece; }
    // How the piece from element number `first` on lies.
    __device__ tile_place place_of(std::uint64_t first, bool is_of_many) const
    {
        using shape = piece_shape<Source>;
        return tile_place::of<shape::elements>(is_aligned<shape::elements>(from), first, shape::piece, length,
                                               is_of_many);
    }
};

// The lines of a view, of which each element is followed by the next one.
template <class T, class Out, std::size_t Rank>
struct rows_in_pieces {
    using source = const T*;
    lines_on_device<T, Out, Rank> lines;
    divider pieces; // of a line

    std::uint64_t slots() const { return lines.count * pieces.divisor; }
    std::uint64_t most_pieces() const { return pieces.divisor; }
    UPSWEEP_HOST_DEVICE std::uint64_t count() const { return lines.count; }
    __device__ line_in_pieces<source> line(std::uint64_t number) const
    {
        return {lines.in.first_of(number), lines.length, number * pieces.divisor};
    }
    // The line that has a slot.
    __device__ line_in_pieces<source> owner(std::uint64_t slot) const { return line(pieces.quotient(slot)); }
    template <class Finish, class Acc>
    __device__ void finish(const Finish& as_result, std::uint64_t number, std::uint64_t, const Acc& fold) const
    {
        as_result(fold, *lines.out.first_of(number));
    }
};

// Segments between offsets. A piece with slot s has element (s + 1) * piece - 1, counted from the first one of all segments on.
template <class Source, class Offset, class Out, class Acc>
struct segments_in_pieces {
    using source = Source;
    Source in;
    const Offset* offsets;
    std::uint64_t segments;
    std::uint64_t elements; // of all segments, at most
    Out out;
    Acc nothing;            // the result of a segment without elements
    double segments_a_slot; // on average

    // Of some elements.
    segments_in_pieces(const Source& from, const Offset* all_offsets, std::uint64_t count, std::uint64_t all_elements,
                       const Out& to, const Acc& of_nothing)
        : in(from), offsets(all_offsets), segments(count), elements(all_elements), out(to), nothing(of_nothing),
          segments_a_slot(static_cast<double>(count) * piece_shape<Source>::piece / static_cast<double>(all_elements))
    {
    }

    std::uint64_t slots() const { return elements / piece_shape<Source>::piece; }
    std::uint64_t most_pieces() const { return slots(); }
    UPSWEEP_HOST_DEVICE std::uint64_t count() const { return segments; }
    __device__ std::uint64_t begin(std::uint64_t segment) const { return static_cast<std::uint64_t>(offsets[segment]); }
    __device__ line_in_pieces<source> line(std::uint64_t number) const
    {
        return line(begin(number), begin(number + 1));
    }
    __device__ line_in_pieces<source> line(std::uint64_t first, std::uint64_t end) const
    {
        return {in + first, end - first, (first - begin(0)) / piece_shape<Source>::piece};
    }
    // Looks first where it would be if all segments had the same length.
    __device__ line_in_pieces<source> owner(std::uint64_t slot) const
    {
        const auto guess = static_cast<std::uint64_t>(static_cast<double>(slot) * segments_a_slot);
        const std::uint64_t near = (guess < lanes / 2 ? 0 : guess - lanes / 2) + static_cast<unsigned>(lane_id());
        const std::uint64_t mine = begin(near < segments ? near : segments);
        const std::uint64_t element = begin(0) + (slot + 1) * piece_shape<Source>::piece - 1;
        const int before = __popc(__ballot_sync(all_lanes, mine <= element ? 1 : 0));
        if (before != 0 && before != lanes)
            return line(shuffle(mine, before - 1), shuffle(mine, before));
        const std::uint64_t number =
            partition_point_of_warp(segments, [&](std::uint64_t k) { return begin(k + 1) <= element; });
        return number < segments ? line(number) : line_in_pieces<source>{in, 0, slot};
    }
    template <class Finish>
    __device__ void finish(const Finish& as_result, std::uint64_t number, std::uint64_t length, const Acc& fold) const
    {
        as_result(length != 0 ? fold : nothing, out[number]);
    }
};

// --- totals ---------------------------------------------------------------------------------------------------------------------

inline constexpr int log_group_pieces = 10;
inline constexpr int group_pieces = 1 << log_group_pieces;

// The totals of all pieces and groups. Piece j of a line lies at slot base + j. Group g of 1024^k pieces lies where its last piece does, divided
// by 1024^k: no two groups meet there, and those of a line are neighbours. Piece 1024^k p is always in the group at place p.
template <class Acc>
struct piece_totals {
    static constexpr int most_levels = 5; // 2^50 pieces
    Acc* levels[most_levels];
    std::uint64_t places[most_levels];
    int count = 0; // of levels

    piece_totals(const cuda& target, std::uint64_t slots, std::uint64_t most_pieces)
    {
        std::uint64_t all = 0;
        do {
            places[count] = (slots >> (count * log_group_pieces)) + 1;
            all += places[count++];
        } while (most_pieces >> (count * log_group_pieces) != 0);
        auto* next = static_cast<Acc*>(target.workspace().memory(workspace_purpose::large_totals, all * sizeof(Acc)));
        for (int k = 0; k < count; next += places[k++])
            levels[k] = next;
    }

    __device__ Acc* place(int level, std::uint64_t base, std::uint64_t group) const
    {
        const int shift = level * log_group_pieces;
        return levels[level] + ((base + (std::uint64_t{1} << shift) - 1) >> shift) + group;
    }
};

// The totals from the first one on, as a lane holds those of a group of look_back.cuh; beyond `count` they are the identity.
template <class Acc, class Op>
__device__ void load_group(const Acc* first, int count, Acc (&totals)[group_rows], const Op& op)
{
#pragma unroll
    for (int r = 0; r < group_rows; ++r) {
        const int i = r * lanes + lane_id();
        totals[r] = op.template identity<Acc>();
        if (i < count)
            totals[r] = first[i];
    }
}

// before (+) the fold of `count` totals, fewer than 1024.
template <class Acc, class Op>
__device__ Acc fold_totals(Acc before, const Acc* first, int count, const Op& op)
{
    constexpr int most = group_pieces / group_tiles;
    const int whole = count / group_tiles;
    if (whole != 0) {
        Acc of_groups[most];
        Acc before_groups[most];
#pragma unroll
        for (int g = 0; g < most; ++g) {
            Acc group[group_rows];
            load_group(first + g * group_tiles, g < whole ? group_tiles : 0, group, op);
            of_groups[g] = warp_total(group, op);
        }
        lane_folds<most>(before, of_groups, before_groups, op);
        before = fold_number(before_groups, whole);
    }
    Acc group[group_rows];
    Acc unused;
    load_group(first + whole * group_tiles, count % group_tiles, group, op);
    return fold_in_group(before, group, count % group_tiles, unused, op);
}

// The fold of so many pieces of a line, the first ones.
template <class Acc, class Op>
__device__ Acc fold_pieces_before(const piece_totals<Acc>& totals, std::uint64_t base, std::uint64_t pieces,
                                  const Op& op)
{
    Acc fold = op.template identity<Acc>();
    for (int k = totals.count - 1; k >= 0; --k) {
        const std::uint64_t groups = pieces >> (k * log_group_pieces);
        const auto left = static_cast<int>(groups % group_pieces);
        if (left != 0)
            fold = fold_totals(fold, totals.place(k, base, groups - static_cast<unsigned>(left)), left, op);
    }
    return fold;
}

// before (+) the fold of the first `count` of these rows, fewer than all, of which a lane has a total each. The blocks that the binary digits of their
// number tell are folded alone.
template <int Rows, class Acc, class Op>
__device__ Acc fold_rows(const Acc& before, const Acc* totals, int count, const Op& op)
{
    constexpr int half = Rows / 2;
    if constexpr (half == 0) {
        return before;
    } else if (count < half) {
        return fold_rows<half>(before, totals, count, op);
    } else {
        Acc of_half[half];
#pragma unroll
        for (int r = 0; r < half; ++r)
            of_half[r] = totals[r];
        return fold_rows<half>(op(before, warp_total(of_half, op)), totals + half, count - half, op);
    }
}

// before (+) the fold of `count` elements, fewer than a piece. Every lane of the warp gets it.
template <class Acc, class Source, class Op>
__device__ Acc fold_after_pieces(Acc before, Source from, int count, const Op& op)
{
    using shape = piece_shape<Source>;
    constexpr int elements = shape::elements;
    using vector = lane_vector<std::iter_value_t<Source>, elements>;
    const int rows = count / shape::row; // of vectors, whole ones
    const int left = count % shape::row - lane_id() * elements;
    const bool aligned = is_aligned<elements>(from);
    const Source mine = from + lane_id() * elements;
    vector loaded[shape::rows];
#pragma unroll
    for (int r = 0; r < shape::rows; ++r)
        if (r < rows)
            loaded[r] =
                aligned ? load_vector<elements>(mine + r * shape::row) : gather_vector<elements>(mine + r * shape::row);
    const vector last = gather_vector<elements>(mine + rows * shape::row, left);

    Acc totals[shape::rows];
#pragma unroll
    for (int r = 0; r < shape::rows; ++r)
        if (r < rows)
            totals[r] = convert<Acc>(vector_total<Acc>(loaded[r], op));
    before = fold_rows<shape::rows>(before, totals, rows, op);
    Acc values[elements];
#pragma unroll
    for (int j = 0; j < elements; ++j) {
        values[j] = op.template identity<Acc>();
        replace_if(j < left, values[j], convert<Acc>(last[j]));
    }
    const warp_tree<Acc> tree(lane_total<elements>(values, op), op);
    const Acc fold = fold_first<elements>(tree.fold_before(before, op), values, count % elements, op);
    return shuffle(fold, count % shape::row / elements);
}

// --- kernels ------------------------------------------------------------------------------------------------------------------

// Of very many lines, a warp folds those that have few pieces in one go, and lists the others, for the kernels behind.
inline constexpr int log_few_pieces = 4;
inline constexpr std::uint64_t few_pieces = std::uint64_t{1} << log_few_pieces;

struct listed_lines {
    unsigned long long* count = nullptr; // null where the kernels behind take all lines
    std::uint64_t* numbers = nullptr;

    // The lanes of a warp call this together.
    __device__ void append(std::uint64_t number) const
    {
        if (lane_id() == 0)
            numbers[atomicAdd(count, 1ULL)] = number;
    }
    __device__ bool has_none() const { return count != nullptr && *count == 0; }
    __device__ bool has(std::uint64_t pieces) const { return count == nullptr || pieces > few_pieces; }
    __device__ std::uint64_t count_of(std::uint64_t all) const { return count != nullptr ? *count : all; }
    __device__ std::uint64_t number(std::uint64_t i) const { return count != nullptr ? numbers[i] : i; }
};

template <class Acc, class Lines, class Op>
__global__ void __launch_bounds__(piece_shape<typename Lines::source>::threads,
                                  piece_shape<typename Lines::source>::blocks)
    fold_pieces_kernel(const __grid_constant__ Lines lines, std::uint64_t slots, listed_lines listed, bool of_many,
                       Op op, Acc* totals)
{
    using shape = piece_shape<typename Lines::source>;
    if (listed.has_none())
        return;
    const std::uint64_t warps = std::uint64_t{gridDim.x} * (shape::threads / lanes);
    for (std::uint64_t slot = warp_in_grid(); slot < slots; slot += warps) {
        const auto line = lines.owner(slot);
        if (slot - line.base >= line.pieces() || !listed.has(line.pieces()))
            continue;
        const std::uint64_t first = (slot - line.base) * shape::piece;
        const Acc total = warp_tile_total<shape, Acc>(line.from + first, line.place_of(first, of_many), op);
        if (lane_id() == 0)
            totals[slot] = total;
    }
}

template <class Acc, class Lines, class Op>
__global__ void __launch_bounds__(piece_shape<typename Lines::source>::threads)
    fold_groups_kernel(const __grid_constant__ Lines lines, std::uint64_t slots,
                       const __grid_constant__ piece_totals<Acc> totals, int level, Op op)
{
    const std::uint64_t place = warp_in_grid();
    const int shift = level * log_group_pieces;
    if (place << shift >= slots)
        return;
    const auto line = lines.owner(place << shift);
    Acc* const to = totals.levels[level] + place;
    const auto group = static_cast<std::uint64_t>(to - totals.place(level, line.base, 0));
    if ((group + 1) << shift > line.pieces())
        return;
    constexpr int most = group_pieces / group_tiles;
    const Acc* const first = totals.place(level - 1, line.base, group * group_pieces);
    Acc groups[most][group_rows];
    Acc of_groups[most];
#pragma unroll
    for (int g = 0; g < most; ++g)
        load_group(first + g * group_tiles, group_tiles, groups[g], op);
#pragma unroll
    for (int g = 0; g < most; ++g)
        of_groups[g] = warp_total(groups[g], op);
    if (lane_id() == 0)
        *to = lane_total<most>(of_groups, op);
}

template <class Acc, class Lines, class Op, class Finish>
__global__ void __launch_bounds__(piece_shape<typename Lines::source>::threads)
    reduce_lines_kernel(const __grid_constant__ Lines lines, const __grid_constant__ piece_totals<Acc> totals,
                        listed_lines listed, Op op, Finish finish)
{
    const std::uint64_t i = warp_in_grid();
    if (i >= listed.count_of(lines.count()))
        return;
    const std::uint64_t number = listed.number(i);
    const auto line = lines.line(number);
    const std::uint64_t pieces = line.pieces();
    Acc fold = fold_pieces_before(totals, line.base, pieces, op);
    const std::uint64_t first = pieces * piece_shape<typename Lines::source>::piece;
    if (first != line.length)
        fold = fold_after_pieces(fold, line.from + first, static_cast<int>(line.length - first), op);
    if (lane_id() == 0)
        lines.finish(finish, number, line.length, fold);
}

// The same of lines with few pieces; others are listed. The more warps a multiprocessor has the better, up to where they have too few registers.
template <class Acc, class Lines, class Op, class Finish>
__global__ void __launch_bounds__(piece_shape<typename Lines::source>::threads, sizeof(Acc) <= 4 ? 4 : 3)
    reduce_lines_of_few_pieces_kernel(const __grid_constant__ Lines lines, listed_lines others, Op op, Finish finish)
{
    using shape = piece_shape<typename Lines::source>;
    const std::uint64_t number = warp_in_grid();
    if (number >= lines.count())
        return;
    const auto line = lines.line(number);
    if (line.pieces() > few_pieces)
        return others.append(number);
    const auto pieces = static_cast<unsigned>(line.pieces());
    walked_blocks<false, Acc, Op, log_few_pieces + 1> walked(op);
    std::uint64_t first = 0;
#pragma unroll 1
    for (unsigned j = 0; j < pieces; ++j, first += shape::piece)
        walked.push(warp_tile_total<shape, Acc>(line.from + first, line.place_of(first, true), op), j);
    Acc fold = walked.fold(pieces);
    const auto left = static_cast<int>(line.length % shape::piece);
    if (left != 0)
        fold = fold_after_pieces(fold, line.from + first, left, op);
    if (lane_id() == 0)
        lines.finish(finish, number, line.length, fold);
}

// The totals of the pieces and groups of lines of so many elements in all. Resident blocks that take pieces by turns would take 3 to 5 % longer; where
// lines are listed there may be nothing to do.
template <class Acc, class Lines, class Op>
piece_totals<Acc> fold_in_pieces(const cuda& target, std::string_view call, const Lines& lines, std::uint64_t elements,
                                 const Op& op, const listed_lines& listed = {})
{
    using shape = piece_shape<typename Lines::source>;
    constexpr auto kernel = fold_pieces_kernel<Acc, Lines, Op>;
    const auto grid = [](std::uint64_t warps) { return grid_of_warps(warps, shape::threads); };
    const std::uint64_t slots = lines.slots();
    const piece_totals<Acc> totals(target, slots, lines.most_pieces());
    if (slots != 0)
        launch(target, call, kernel,
               listed.count != nullptr
                   ? grid_shape{resident_blocks<kernel>(target, shape::threads, 0), shape::threads, 0}
                   : grid(slots),
               lines, slots, listed, elements > many_bytes / sizeof(std::iter_value_t<typename Lines::source>), op,
               totals.levels[0]);
    for (int level = 1; level < totals.count; ++level)
        launch(target, call, fold_groups_kernel<Acc, Lines, Op>, grid(totals.places[level]), lines, slots, totals,
               level, op);
    return totals;
}

// Reduces such lines.
template <class Acc, class Lines, class Op, class Finish>
void reduce_in_pieces(const cuda& target, std::string_view call, const Lines& lines, std::uint64_t elements,
                      const Op& op, const Finish& finish)
{
    const piece_totals<Acc> totals = fold_in_pieces<Acc>(target, call, lines, elements, op);
    launch(target, call, reduce_lines_kernel<Acc, Lines, Op, Finish>,
           grid_of_warps(lines.count(), piece_shape<typename Lines::source>::threads), lines, totals, listed_lines{},
           op, finish);
}

// The same of very many lines of different lengths: nobody has to find out to which line a piece belongs but where lines have many pieces.
template <class Acc, class Lines, class Op, class Finish>
void reduce_in_few_pieces(const cuda& target, std::string_view call, const Lines& lines, std::uint64_t elements,
                          const Op& op, const Finish& finish)
{
    using shape = piece_shape<typename Lines::source>;
    const std::uint64_t most = lines.slots() / few_pieces; // that can be listed
    auto* const memory = static_cast<std::uint64_t*>(
        target.workspace().memory(workspace_purpose::lists, (most + 1) * sizeof(std::uint64_t)));
    const listed_lines others{reinterpret_cast<unsigned long long*>(memory), memory + 1};
    check(call, cudaMemsetAsync(others.count, 0, sizeof(*others.count), target.stream()));
    launch(target, call, reduce_lines_of_few_pieces_kernel<Acc, Lines, Op, Finish>,
           grid_of_warps(lines.count(), shape::threads), lines, others, op, finish);
    if (most == 0)
        return;
    const piece_totals<Acc> totals = fold_in_pieces<Acc>(target, call, lines, elements, op, others);
    launch(target, call, reduce_lines_kernel<Acc, Lines, Op, Finish>, grid_of_warps(most, shape::threads), lines,
           totals, others, op, finish);
}

// --- which lines --------------------------------------------------------------------------------------------------------------

// Whether few elements of rows lie behind their last pieces. Of not so many elements the ring of tiled_lines.cuh, one kernel, is faster; it does not
// take narrow ones.
template <class T, class Out, std::size_t Rank>
bool are_long_rows(const detail::lines<const T, Out, Rank>& all)
{
    constexpr std::uint64_t many = std::uint64_t{32} << 20;
    constexpr std::uint64_t least = 4 * piece_shape<const T*>::piece;
    return all.in.stride(0) == 1 && all.length() >= least &&
           (sizeof(T) < 4 || all.length() * all.count() * sizeof(T) > many);
}

template <class Acc, class T, class Out, std::size_t Rank, class Op, class Finish>
void reduce_long_rows(const cuda& target, std::string_view call, const detail::lines<const T, Out, Rank>& all,
                      const Op& op, const Finish& finish)
{
    const rows_in_pieces<T, Out, Rank> rows{
        {line_places<const T, Rank>(all.in), line_places<Out, Rank>(all.out), all.length(), all.count()},
        divider(all.length() / piece_shape<const T*>::piece)};
    reduce_in_pieces<Acc>(target, call, rows, all.length() * all.count(), op, finish);
}

// Whether segments have so many elements on average that a warp each is not too much for them. Of few elements, warps are less busy.
template <class Source>
bool are_long_segments(std::uint64_t segments, std::uint64_t elements)
{
    constexpr std::uint64_t few_elements = std::uint64_t{1} << 21;
    constexpr std::uint64_t half = piece_shape<Source>::piece / 2;
    constexpr std::uint64_t least = half < 448 ? half : 448;
    return elements / (elements > few_elements ? least : least / 4) >= segments;
}

// Whether there are so many segments of so many elements that all warps are busy with segments of their own, which mostly have few pieces.
template <class Source>
bool are_in_few_pieces(std::uint64_t segments, std::uint64_t elements)
{
    constexpr std::uint64_t many_elements = std::uint64_t{64} << 20;
    constexpr std::uint64_t many = 16384;
    return elements >= many_elements && segments >= many &&
           elements / segments <= piece_shape<Source>::piece * few_pieces / 2;
}

// Writes finish(fold) of each segment, of so many elements in all at most. There are some of both.
template <class Acc, class Source, class Offset, class Out, class Op, class Finish>
void reduce_long_segments(const cuda& target, std::string_view call, const Source& in, std::uint64_t elements,
                          const Offset* offsets, std::uint64_t segments, const Out& out, const Op& op,
                          const Finish& finish)
{
    const segments_in_pieces<Source, Offset, Out, Acc> lines(in, offsets, segments, elements, out,
                                                             fold_of_nothing<Acc>(op));
    if (are_in_few_pieces<Source>(segments, elements))
        reduce_in_few_pieces<Acc>(target, call, lines, elements, op, finish);
    else
        reduce_in_pieces<Acc>(target, call, lines, elements, op, finish);
}

} // namespace upsweep::gpu
