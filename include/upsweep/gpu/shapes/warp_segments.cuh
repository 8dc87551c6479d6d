// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <iterator>
#include <string_view>
#include <type_traits>

#include <upsweep/gpu/fold/vector_fold.cuh>
#include <upsweep/gpu/primitive/vector.cuh>
#include <upsweep/gpu/primitive/warp.cuh>
#include <upsweep/gpu/shapes/pieces.cuh>
#include <upsweep/gpu/shapes/walked_lines.cuh>
#include <upsweep/gpu/shapes/warp_rows.cuh>
#include <upsweep/gpu/source/array.cuh>
#include <upsweep/gpu/target/cuda.cuh>
#include <upsweep/gpu/target/launch.cuh>
#include <upsweep/op.hpp>

// Scans of segments that are long enough to have a warp each, which waits for no other. Segments are cut into *parts* of 64 KiB, counted from
// their heads on. A warp scans some parts, one after the other, as rows are scanned (warp_rows.cuh). Of segments that have more than one part, the
// totals of pieces are folded before that (pieces.cuh), which reads those segments twice.
namespace upsweep::gpu {

template <class T, class Out>
struct segment_part_shape {
    static constexpr int elements = warp_row_elements<T, Out>; // of a vector
    static constexpr int rows = long_warp_rows::rows;          // of vectors
    static constexpr int row = elements * lanes;
    static constexpr int block = row * rows; // elements of a step
    static constexpr std::uint64_t part = std::uint64_t{block} << 5;
    static constexpr int levels = 6; // of blocks of a part, and of all of them
    static constexpr int pieces = static_cast<int>(part / piece_shape<const T*>::piece); // of a part
    static_assert(part % piece_shape<const T*>::piece == 0);
};

// A part, by numbers of elements.
struct segment_part {
    std::uint64_t first = 0;
    std::uint64_t length = 0;
    std::uint64_t head = 0; // of its segment

    __device__ bool is_first() const { return first == head; }
};

// Segments of which those of one part have no pieces: nobody needs their totals.
template <class T, class Out, class Offset>
struct segments_in_parts : segments_in_pieces<const T*, Offset, Out*, char> {
    using in_pieces = segments_in_pieces<const T*, Offset, Out*, char>;
    using shape = segment_part_shape<T, Out>;

    segments_in_parts(const T* in, const Offset* offsets, std::uint64_t segments, std::uint64_t elements, Out* out)
        : in_pieces(in, offsets, segments, elements, out, char{})
    {
    }

    __device__ line_in_pieces<const T*> owner(std::uint64_t slot) const
    {
        line_in_pieces<const T*> line = in_pieces::owner(slot);
        if (line.length <= shape::part)
            line.length = 0;
        return line;
    }

    // The fold before a part that is not the first one of its segment, and, if it is whole, in `after` that up to its end, which is no fold of the
    // two: the binary digits carry there. In a loop, the fold of pieces is compiled once.
    template <class Acc, class Op>
    __device__ Acc fold_before(const segment_part& part, const piece_totals<Acc>& totals, Acc& after,
                               const Op& op) const
    {
        const std::uint64_t base = in_pieces::line(part.head, part.head).base;
        const std::uint64_t number = (part.first - part.head) / shape::part;
        Acc fold = op.template identity<Acc>();
#pragma unroll 1
        for (unsigned ends = part.length == shape::part ? 2 : 1; ends-- > 0;) {
            after = fold;
            fold = fold_pieces_before(totals, base, (number + ends) * shape::pieces, op);
        }
        return fold;
    }
};

// The parts that fall to a warp, in their order. A segment costs what a block of elements does, whatever it has of one, so that work is elements and
// blocks in the order of segments; a warp has those parts that begin between two places there, which lie no further apart than a part is long. Its
// lanes have the offsets of a segment each.
template <class Offset>
class parts_of_warp {
public:
    __device__ parts_of_warp(const Offset* offsets, std::uint64_t segments, std::uint64_t part, unsigned block,
                             std::uint64_t first, std::uint64_t end)
        : offsets_(offsets), segments_(segments), part_(part), block_(block), end_(end)
    {
        const std::uint64_t segment =
            partition_point_of_warp(segments, [&](std::uint64_t k) { return work_before(k, begin(k)) < first; });
        load(segment);
        if (segment == 0)
            return;
        const std::uint64_t head = begin(segment - 1);
        const std::uint64_t length = begin(segment) - head;
        const std::uint64_t work = work_before(segment - 1, head);
        const std::uint64_t entered = (first - work + part - 1) / part * part;
        if (entered < length && work + entered < end)
            entered_ = {head + entered, shorter(length - entered), head};
    }

    // The next one, or one without elements.
    __device__ segment_part next()
    {
        if (entered_.length != 0) {
            const segment_part found = entered_;
            entered_.length = 0;
            return found;
        }
        while (left_ == 0) {
            if (are_last_)
                return {};
            load(number_ + lanes);
        }
        const int lane = __ffs(static_cast<int>(left_)) - 1;
        left_ &= left_ - 1;
        const std::uint64_t first = shuffle(begin_, lane);
        return {first, shorter(shuffle(length_, lane)), first};
    }

private:
    __device__ std::uint64_t begin(std::uint64_t segment) const
    {
        return static_cast<std::uint64_t>(offsets_[segment < segments_ ? segment : segments_]);
    }
    // The work before segment k, which begins there: of the segments before it.
    __device__ std::uint64_t work_before(std::uint64_t k, std::uint64_t begin_of_segment) const
    {
        return begin_of_segment - first_ + k * block_;
    }
    __device__ std::uint64_t shorter(std::uint64_t length) const { return length < part_ ? length : part_; }

    __device__ void load(std::uint64_t number)
    {
        number_ = number;
        begin_ = begin(number + static_cast<unsigned>(lane_id()));
        std::uint64_t next = shuffle_down(begin_);
        if (lane_id() == lanes - 1)
            next = begin(number + lanes);
        length_ = next - begin_;
        const bool is_here = work_before(number + static_cast<unsigned>(lane_id()), begin_) < end_;
        left_ = __ballot_sync(all_lanes, is_here && length_ != 0 ? 1 : 0);
        are_last_ = __all_sync(all_lanes, is_here ? 1 : 0) == 0 || number + lanes >= segments_;
    }

    const Offset* offsets_;
    std::uint64_t segments_;
    std::uint64_t part_;
    unsigned block_;
    std::uint64_t end_;
    std::uint64_t first_ = begin(0);
    segment_part entered_;     // of the segment that begins before, if there is one
    std::uint64_t number_ = 0; // of the segment of the first lane
    std::uint64_t begin_ = 0;  // of this lane's segment
    std::uint64_t length_ = 0;
    unsigned left_ = 0; // the lanes whose parts have not been asked for
    bool are_last_ = true;
};

template <class Acc, class T, class Out, class Offset, class Op, class Start>
__global__ void __launch_bounds__(long_warp_rows::threads, long_warp_rows::blocks)
    scan_parts_kernel(const __grid_constant__ segments_in_parts<T, Out, Offset> of, std::uint64_t work,
                      const __grid_constant__ piece_totals<Acc> totals, Op op, Start start)
{
    using shape = segment_part_shape<T, Out>;
    constexpr int elements = shape::elements;
    constexpr int rows = shape::rows;
    const std::uint64_t first = warp_in_grid() * work;
    parts_of_warp<Offset> parts(of.offsets, of.segments, shape::part, shape::block, first, first + work);

    lane_vector<T, elements> loaded[rows];
    // How many elements a part has from a block on, up to those of a block.
    const auto count_of = [](const segment_part& part, unsigned block) {
        const std::uint64_t left = part.length - std::uint64_t{block} * shape::block;
        return left < shape::block ? static_cast<int>(left) : shape::block;
    };
    const auto load = [&](const segment_part& part, unsigned block) {
        const int count = part.length != 0 ? count_of(part, block) : 0;
        const T* const from = of.in + part.first + std::uint64_t{block} * shape::block + lane_id() * elements;
        const bool aligned = is_aligned<elements>(from);
#pragma unroll
        for (int r = 0; r < rows; ++r) {
            const int left = count - r * shape::row - lane_id() * elements;
            if (r * shape::row >= count)
                continue;
            if (aligned && left >= elements)
                loaded[r] = load_vector<elements>(from + r * shape::row);
            else
                loaded[r] = gather_vector<elements>(from + r * shape::row, left);
        }
    };

    segment_part now = parts.next();
    unsigned block = 0;
    load(now, block);
    walked_blocks<true, Acc, Op, shape::levels> walked(op);
    Acc after = op.template identity<Acc>(); // the fold after a whole part that is not the first one
    while (now.length != 0) {
        const int count = count_of(now, block);
        Acc values[rows][elements];
#pragma unroll
        for (int r = 0; r < rows; ++r)
#pragma unroll
            for (int j = 0; j < elements; ++j) {
                values[r][j] = op.template identity<Acc>();
                if (r * shape::row + lane_id() * elements + j < count)
                    values[r][j] = convert<Acc>(loaded[r][j]);
            }
        const bool is_last = std::uint64_t{block + 1} * shape::block >= now.length;
        const segment_part next = is_last ? parts.next() : now;
        const unsigned next_block = is_last ? 0 : block + 1;
        load(next, next_block);

        if (block == 0)
            walked = walked_blocks<true, Acc, Op, shape::levels>(
                op, now.is_first() ? op.template identity<Acc>() : of.fold_before(now, totals, after, op));
        scanned_rows<rows, elements, Acc> scanned(values, walked.fold(block), op);
        scanned.push(walked, block, count == shape::block);
        replace_if(!now.is_first() && (block + 1) * shape::block == shape::part, scanned.before[rows], after);
        const bool begins = block == 0 && now.is_first() && lane_id() == 0;
        Out* const to = of.out + now.first + std::uint64_t{block} * shape::block + lane_id() * elements;
        const bool are_words = is_aligned<elements>(to);
#pragma unroll
        for (int r = 0; r < rows; ++r) {
            if (r * shape::row >= count)
                continue;
            Acc folds[elements + 1];
            scanned.folds_of_row(r, values[r], folds, op);
            store_results<elements>(to + r * shape::row, count - r * shape::row - lane_id() * elements, are_words,
                                    begins && r == 0, folds, start, op);
        }
        now = next;
        block = next_block;
    }
}

// --- which segments -------------------------------------------------------------------------------------------------------------

// Whether warps can scan segments. Narrow elements are loaded one by one where segments begin anywhere.
template <class Source, class Out>
inline constexpr bool may_be_scanned_by_warps = std::is_pointer_v<Source>&& std::is_pointer_v<Out> &&
                                                sizeof(std::iter_value_t<Source>) >= 4 &&
                                                sizeof(std::iter_value_t<Out>) >= 4;

// Whether they have so many elements on average that a warp each is not too much, but not so many that most of them have several parts, and whether
// there are so many of them that all warps are busy, or none is busy for long.
template <class T>
bool are_segments_for_warps(std::uint64_t segments, std::uint64_t elements)
{
    constexpr std::uint64_t least_bytes = 768;
    constexpr std::uint64_t most_bytes = 48 << 10;
    constexpr std::uint64_t many = 8192;
    constexpr std::uint64_t some = 512;
    constexpr std::uint64_t few_bytes = 12 << 10;
    const std::uint64_t bytes = elements / segments * sizeof(T);
    return bytes >= least_bytes && bytes <= most_bytes &&
           (segments >= many || (segments >= some && bytes <= few_bytes));
}

template <class Acc, class T, class Offset, class Out, class Op, class Start>
void scan_segments_by_warps(const cuda& target, std::string_view call, const T* in, std::uint64_t elements,
                            const Offset* offsets, std::uint64_t segments, Out* out, const Op& op, const Start& start)
{
    using shape = segment_part_shape<T, Out>;
    constexpr auto kernel = scan_parts_kernel<Acc, T, Out, Offset, Op, Start>;
    constexpr int threads = long_warp_rows::threads;
    constexpr unsigned tasks_of_warp = 4; // where there is so much work: some tasks take longer than others
    const std::uint64_t tasks = tasks_of_warp * (threads / lanes) * resident_blocks<kernel>(target, threads, 0);
    const std::uint64_t all = elements + segments * shape::block;
    constexpr std::uint64_t least_work = 4 * shape::block; // to look for it takes a while, too
    std::uint64_t work = shape::part;
    while (work > least_work && all / work < tasks)
        work /= 2;
    const segments_in_parts<T, Out, Offset> parts(in, offsets, segments, elements, out);
    const piece_totals<Acc> totals = elements > shape::part ? fold_in_pieces<Acc>(target, call, parts, elements, op)
                                                            : piece_totals<Acc>(target, 0, 0);
    launch(target, call, kernel, grid_of_warps(all / work + 1, threads), parts, work, totals, op, start);
}

} // namespace upsweep::gpu
