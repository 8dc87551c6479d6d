// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string_view>
#include <type_traits>

#include <cuda_pipeline.h>

#include <upsweep/engine.hpp>
#include <upsweep/gpu/primitive/ptx.cuh>
#include <upsweep/gpu/primitive/vector.cuh>
#include <upsweep/gpu/primitive/warp.cuh>
#include <upsweep/gpu/shapes/select_flags.cuh>
#include <upsweep/gpu/shapes/select_look_back.cuh>
#include <upsweep/gpu/shapes/select_output.cuh>
#include <upsweep/gpu/shapes/window.cuh>
#include <upsweep/gpu/source/strided.cuh>
#include <upsweep/gpu/target/cuda.cuh>
#include <upsweep/gpu/target/launch.cuh>
#include <upsweep/range.hpp>
#include <upsweep/types.hpp>
#include <upsweep/verb/select.hpp>

// Select, partition and run-length encoding, which selects the keys that differ from the one before, in one pass. The blocks take tiles by
// turns, each by way of a ring of tiles in shared memory:
//
//     step k of a block    with its tile
//     count                k + ahead      each thread finds the flags of its vectors; how many are selected is published
//     pack                 k              threads put their elements into shared memory, one behind the other
//     copy                 k + stages     asynchronously, to the place of tile k
//     store                k              threads copy what is packed, by whole lines of memory
//     look back            k + 1          one more warp adds up what all tiles between this block's last one and its next one have
//                                         published, while the others pack and store
//
// So what a block waits for from others has been published a step before, and memory is busy meanwhile.
namespace upsweep::gpu {

// What a tile is: `rows` vectors of each thread, 16 KiB of small elements.
template <class T>
struct select_shape {
    static constexpr int threads = sizeof(T) <= 16 ? 256 : 64; // that work
    static constexpr int warps = threads / lanes;
    static constexpr int block = threads + lanes; // with the warp that looks back
    static constexpr int blocks = 2;              // of a multiprocessor
    static constexpr int rows = sizeof(T) <= 16 ? 4 : 1;
    static constexpr int vector = vector_elements<sizeof(T)>;
    static constexpr int row = vector * lanes;
    static constexpr int tile = threads * rows * vector;
    static constexpr int line = sizeof(T) <= 64 ? static_cast<int>(128 / sizeof(T)) : 1; // elements of a line of memory
    static_assert(tile <= 32768, "numbers of elements of a tile have 16 bits");
    static_assert(sizeof(T) <= 256, "tiles lie in shared memory, which has no room for larger elements");
};

// How many tiles the ring has, and how far ahead they are counted.
struct select_ring {
    int stages;
    int ahead;
};

template <class In, class Flags, class Selected, class Rejected, class Lengths, class Count>
struct select_arguments {
    In in;
    Flags flags;
    std::uint64_t count;
    int lead;         // elements that the first tile lacks in front, so that the others begin with a vector
    bool has_vectors; // in memory, of which all but the first begin where a machine word does
    std::uint64_t tiles;
    Selected selected;
    Rejected rejected;
    Lengths lengths;
    Count* found;
    select_ring ring;
    tile_count_memory memory;
};

// The shared memory of a block.
template <class T, bool HasPlaces>
class select_memory {
    using shape = select_shape<T>;

public:
    // The bits of a thread's elements, and how many there are in each row of a warp, side by side in one word.
    static constexpr int count_bits = shape::row < 256 ? 8 : 16;
    using mask_t = std::conditional_t<(shape::rows * shape::vector <= 32), std::uint32_t, std::uint64_t>;
    using row_counts = std::conditional_t<(shape::rows * count_bits <= 32), std::uint32_t, std::uint64_t>;
    struct counted {
        mask_t masks[shape::threads];
        row_counts before[shape::threads]; // this thread's, of its warp
        row_counts rows[shape::warps];
        int of_warps[shape::warps];
        int last_of_warps[shape::warps]; // where the last selected element is in the tile, or -1
    };

    __device__ select_memory(void* first, const select_ring& ring) : first_(static_cast<std::byte*>(first)), ring_(ring)
    {
    }
    UPSWEEP_HOST_DEVICE static constexpr std::size_t bytes(const select_ring& ring)
    {
        return header_bytes + packed_bytes + place_bytes + static_cast<std::size_t>(ring.stages) * tile_bytes +
               static_cast<std::size_t>(ring.ahead + 1) * sizeof(counted);
    }

    __device__ std::uint64_t& before(unsigned k) const { return reinterpret_cast<std::uint64_t*>(first_)[k % 2]; }
    __device__ std::uint64_t& last_before(unsigned k) const
    {
        return reinterpret_cast<std::uint64_t*>(first_)[2 + k % 2];
    }
    __device__ T* packed() const { return reinterpret_cast<T*>(first_ + header_bytes); }
    // Of what is packed, in the tile.
    __device__ std::uint16_t* places() const
    {
        return reinterpret_cast<std::uint16_t*>(first_ + header_bytes + packed_bytes);
    }
    __device__ T* tile(int stage) const
    {
        return reinterpret_cast<T*>(first_ + header_bytes + packed_bytes + place_bytes +
                                    stage * static_cast<int>(tile_bytes));
    }
    __device__ counted& counts(int place) const { return reinterpret_cast<counted*>(tile(ring_.stages))[place]; }

private:
    static constexpr std::size_t header_bytes = 128; // the sums before two tiles, and the last elements before them
    static constexpr std::size_t tile_bytes = (shape::tile * sizeof(T) + 127) / 128 * 128;
    // Before what is selected, and before what is not, some places may lie idle.
    static constexpr std::size_t packed_bytes = ((shape::tile + 3 * shape::line) * sizeof(T) + 127) / 128 * 128;
    static constexpr std::size_t place_bytes = HasPlaces ? (shape::tile * sizeof(std::uint16_t) + 127) / 128 * 128 : 0;

    std::byte* first_;
    select_ring ring_;
};

template <class In, class Flags, class Selected, class Rejected, class Lengths, class Count>
class select_block {
    using element = std::iter_value_t<In>;
    using shape = select_shape<element>;
    using memory = select_memory<element, Lengths::exists>;
    using selection = tile_selection<shape, Lengths::exists>;
    using look_back_t = count_look_back<selection>;
    using mask_t = typename memory::mask_t;
    using row_counts = typename memory::row_counts;
    static constexpr int vector = shape::vector;
    static constexpr int rows = shape::rows;
    static constexpr bool writes = Selected::exists || Rejected::exists;
    using vector_t = lane_vector<element, vector>;

public:
    __device__ select_block(const select_arguments<In, Flags, Selected, Rejected, Lengths, Count>& of, void* shared)
        : of_(of), memory_(shared, of.ring), epoch_(load_relaxed(&of.memory.header->epoch) + 1),
          mine_(blockIdx.x < of.tiles ? (of.tiles - blockIdx.x - 1) / gridDim.x + 1 : 0)
    {
    }

    __device__ void run()
    {
        if (warp_id() == shape::warps)
            look_back();
        else
            work();
    }

    // --- where tiles and vectors lie ---

    __device__ std::uint64_t tile(std::uint64_t k) const { return blockIdx.x + k * gridDim.x; }
    // Where vector r of this thread lies in the tile.
    __device__ static int place_of(int r) { return (warp_id() * rows + r) * shape::row + lane_id() * vector; }

    // Whether all elements of tile k exist.
    __device__ bool is_whole(std::uint64_t k) const
    {
        return tile(k) + 1 < of_.tiles && (of_.lead == 0 || tile(k) != 0);
    }
    // Calls f(r, number of the first element, which of them exist: from `begin` to before `end`) for this thread's vectors of tile k, if
    // there is one.
    template <class F>
    __device__ void for_each_vector(std::uint64_t k, F f) const
    {
        const auto lead = static_cast<unsigned>(of_.lead);
        const std::uint64_t mine = tile(k) * shape::tile + static_cast<unsigned>(place_of(0)); // with the lead
        if (is_whole(k)) {
#pragma unroll
            for (int r = 0; r < rows; ++r)
                f(r, mine - lead + static_cast<unsigned>(r * shape::row), 0, vector);
        } else if (k < mine_) {
            const std::uint64_t all = of_.count + lead;
#pragma unroll
            for (int r = 0; r < rows; ++r) {
                const std::uint64_t at = mine + static_cast<unsigned>(r * shape::row);
                const std::uint64_t left = at < all ? all - at : 0;
                f(r, at - lead, at < lead ? static_cast<int>(lead - at) : 0,
                  left < vector ? static_cast<int>(left) : vector);
            }
        }
    }
    __device__ const In& in() const { return of_.in; }
    __device__ std::uint64_t count() const { return of_.count; }
    __device__ const Flags& flags() const { return of_.flags; }

private:
    // What has been packed of a tile.
    struct packed_parts {
        int first_selected; // places in shared memory
        int first_rejected;
        int selected; // numbers
        int rejected;
        std::uint64_t selected_at; // places in the outputs
        std::uint64_t rejected_at;
        std::uint64_t begin; // the number of the first element
    };

    // All warps meet in each step; those that work meet once more.
    __device__ static void meet() { named_barrier(1, shape::block); }
    __device__ static void meet_to_work() { named_barrier(2, shape::threads); }

    __device__ void look_back()
    {
        look_back_t counts(of_.memory, epoch_);
        std::uint64_t last = 0; // the number of the last selected element before, with the lead
        for (std::uint64_t k = 0; k < mine_; ++k) {
            [[maybe_unused]] const std::uint64_t first = tile(k) < gridDim.x ? 0 : tile(k) - gridDim.x;
            [[maybe_unused]] unsigned latest =
                0; // the same, counted from the one before tile `first` on: 0 where there is none
            const std::uint64_t sum = counts.sum_before(tile(k), [&](std::uint64_t before, const selection& there) {
                if constexpr (Lengths::exists)
                    if (there.count() != 0) // later ones come later
                        latest = static_cast<unsigned>(before - first) * shape::tile + there.last() + 1;
            });
            if constexpr (Lengths::exists) {
#pragma unroll
                for (int step = 1; step < lanes; step *= 2) {
                    const unsigned other = shuffle_xor(latest, step);
                    latest = other > latest ? other : latest;
                }
                last = latest != 0 ? first * shape::tile + (latest - 1) : last;
            }
            if (lane_id() == 0) {
                memory_.before(static_cast<unsigned>(k)) = sum;
                memory_.last_before(static_cast<unsigned>(k)) = last - static_cast<unsigned>(of_.lead);
            }
            __syncwarp();
            meet();
        }
        if (lane_id() == 0)
            end_tile_counts(of_.memory, epoch_);
    }

    __device__ void work()
    {
        const int stages = of_.ring.stages;
        const int ahead = of_.ring.ahead;
        flags_.load(*this, 0);
        for (int k = 0; k < stages; ++k)
            fill(static_cast<unsigned>(k), k);
        for (int k = 0; k < ahead; ++k) {
            wait(stages - 1 - k);
            count(static_cast<unsigned>(k), k, k);
            meet_to_work();
            publish(static_cast<unsigned>(k), k);
        }
        int stage = 0;             // of tile k
        int counted_stage = ahead; // of tile k + ahead
        int place = 0;             // of the counts of tile k
        for (std::uint64_t k = 0; k < mine_; ++k) {
            const int counted_place = place == 0 ? ahead : place - 1; // of tile k + ahead, among ahead + 1
            wait(stages - 1 - ahead);
            count(k + static_cast<unsigned>(ahead), counted_stage, counted_place);
            meet(); // what is packed has been stored, too
            publish(k + static_cast<unsigned>(ahead), counted_place);
            const packed_parts parts = pack(k, stage, place);
            fill(k + static_cast<unsigned>(stages), stage);
            meet_to_work();
            store(k, parts);
            stage = stage + 1 == stages ? 0 : stage + 1;
            counted_stage = counted_stage + 1 == stages ? 0 : counted_stage + 1;
            place = place == ahead ? 0 : place + 1;
        }
    }

    __device__ static void wait(int groups)
    {
        if (groups >= 2)
            __pipeline_wait_prior(2);
        else if (groups == 1)
            __pipeline_wait_prior(1);
        else
            __pipeline_wait_prior(0);
    }

    // Copies this thread's vectors of tile k, asynchronously where they are whole.
    __device__ void fill(std::uint64_t k, int stage) const
    {
        element* const to = memory_.tile(stage);
        for_each_vector(k, [&](int r, std::uint64_t first, int begin, int end) {
            auto* const place = reinterpret_cast<vector_t*>(to + place_of(r));
            if (begin == 0 && end == vector) {
                const In from = of_.in + first;
                if constexpr (may_have_words<vector, In> && sizeof(vector_t) == 16)
                    if (of_.has_vectors || is_aligned<vector>(from))
                        return copy_once_async(place, address_of(from));
                *place = gather_vector<vector>(from);
            } else {
                typename vector_t::elements all{};
#pragma unroll
                for (int j = 0; j < vector; ++j)
                    if (j >= begin && j < end)
                        all.element[j] = of_.in[first + static_cast<unsigned>(j)];
                *place = vector_t::of(all);
            }
        });
        __pipeline_commit();
    }

    // Finds the flags of this thread's elements of tile k, and how many are selected before them in its warp.
    __device__ void count(std::uint64_t k, int stage, int place)
    {
        if (k >= mine_)
            return;
        const element* const from = memory_.tile(stage);
        mask_t mask = 0;
        row_counts counts = 0;
        int last = -1;
        if constexpr (Lengths::exists)
            __syncwarp(); // the flags of heads look at what other lanes have copied
        for_each_vector(k, [&](int r, std::uint64_t, int begin, int end) {
            const unsigned of_vector = flags_.of(of_.flags, r, from + place_of(r), begin, end);
            mask |= static_cast<mask_t>(of_vector) << (r * vector);
            counts |= static_cast<row_counts>(__popc(of_vector)) << (r * memory::count_bits);
            if (Lengths::exists && of_vector != 0)
                last = place_of(r) + 31 - __clz(static_cast<int>(of_vector));
        });
        row_counts sum = counts;
#pragma unroll
        for (int step = 1; step < lanes; step *= 2) {
            const row_counts before = __shfl_up_sync(all_lanes, sum, static_cast<unsigned>(step));
            sum += lane_id() >= step ? before : 0;
        }
        auto& to = memory_.counts(place);
        to.masks[threadIdx.x] = mask;
        to.before[threadIdx.x] = sum - counts;
        if constexpr (Lengths::exists) { // the last lane with a selected element in the last row that has one
            int latest = -1;
#pragma unroll
            for (int r = 0; r < rows; ++r)
                if (const unsigned have = __ballot_sync(
                        all_lanes, static_cast<unsigned>(mask >> (r * vector)) % (1U << vector) != 0 ? 1 : 0);
                    have != 0)
                    latest = 31 - __clz(static_cast<int>(have));
            if (latest >= 0)
                last = shuffle(last, latest);
        }
        if (lane_id() == lanes - 1) {
            to.rows[warp_id()] = sum;
            to.of_warps[warp_id()] = sum_of_rows(sum);
            to.last_of_warps[warp_id()] = last;
        }
        flags_.load(*this, k + 1);
    }
    __device__ static int of_row(row_counts counts, int r)
    {
        return static_cast<int>(counts >> (r * memory::count_bits) & ((1U << memory::count_bits) - 1));
    }
    __device__ static int sum_of_rows(row_counts counts)
    {
        int sum = 0;
#pragma unroll
        for (int r = 0; r < rows; ++r)
            sum += of_row(counts, r);
        return sum;
    }

    __device__ void publish(std::uint64_t k, int place) const
    {
        if (k >= mine_ || threadIdx.x != 0)
            return;
        const auto& counts = memory_.counts(place);
        int sum = 0;
        int last = 0;
#pragma unroll
        for (int w = 0; w < shape::warps; ++w) {
            sum += counts.of_warps[w];
            if (Lengths::exists && counts.last_of_warps[w] >= 0)
                last = counts.last_of_warps[w];
        }
        look_back_t::publish(of_.memory, epoch_, tile(k), selection::of(sum, last));
    }

    // Packs this thread's elements of tile k.
    __device__ packed_parts pack(std::uint64_t k, int stage, int place) const
    {
        const auto& counts = memory_.counts(place);
        packed_parts parts{};
        int to = 0; // where the next selected element of this warp goes
#pragma unroll
        for (int w = 0; w < shape::warps; ++w) {
            const int of_warp = counts.of_warps[w];
            to += w < warp_id() ? of_warp : 0;
            parts.selected += of_warp;
        }
        const int lead = tile(k) == 0 ? of_.lead : 0;
        const std::uint64_t begin = tile(k) == 0 ? 0 : tile(k) * shape::tile - static_cast<unsigned>(of_.lead);
        const std::uint64_t left = of_.count - begin;
        const int elements =
            left < static_cast<unsigned>(shape::tile - lead) ? static_cast<int>(left) : shape::tile - lead;
        parts.begin = begin;
        parts.rejected = elements - parts.selected;
        parts.selected_at = memory_.before(static_cast<unsigned>(k));
        if constexpr (Selected::exists)
            parts.first_selected = of_.selected.template place_in_line<shape, element>(parts.selected_at);
        if constexpr (Rejected::exists) {
            parts.rejected_at = (of_.rejected.behind != nullptr ? *of_.rejected.behind : 0) + begin - parts.selected_at;
            parts.first_rejected = of_.rejected.template place_in_line<shape, element>(parts.rejected_at);
            if constexpr (Selected::exists)
                parts.first_rejected +=
                    (parts.first_selected + parts.selected + shape::line - 1) / shape::line * shape::line;
        }
        if constexpr (writes) {
            const mask_t mask = counts.masks[threadIdx.x];
            const row_counts before = counts.before[threadIdx.x];
            const row_counts of_warp = counts.rows[warp_id()];
            const element* const from = memory_.tile(stage);
            element* const packed = memory_.packed();
#pragma unroll
            for (int r = 0; r < rows; ++r) {
                const auto mine = static_cast<unsigned>(mask >> (r * vector));
                const int number = to + of_row(before, r);
                const int selected = of_row(of_warp, r);
                to += selected;
                if constexpr (Lengths::exists)
                    if (selected <= lanes) { // as in most rows, where runs are long
                        pack_few(from + place_of(r), mine, selected, number, place_of(r) - lead, parts, packed);
                        continue;
                    }
                const vector_t values = *reinterpret_cast<const vector_t*>(from + place_of(r));
                pack_vector(values, mine, number, place_of(r) - lead, elements, parts, packed, memory_.places());
            }
        }
        return parts;
    }

    // The same of a vector in a row of which so few elements are selected.
    __device__ void pack_few(const element* from, unsigned mask, int selected, int before, int index,
                             const packed_parts& parts, element* packed) const
    {
        if (selected == 0)
            return;
        for (unsigned left = mask & ((1U << vector) - 1); left != 0; left &= left - 1, ++before) {
            const int j = __ffs(static_cast<int>(left)) - 1;
            packed[parts.first_selected + before] = from[j];
            memory_.places()[before] = static_cast<std::uint16_t>(index + j);
        }
    }

    // Element `index` of the tile is the first one of the vector; `before` elements are selected before it.
    __device__ static void pack_vector(const vector_t& values, unsigned mask, int before, int index, int elements,
                                       const packed_parts& parts, element* packed, std::uint16_t* places)
    {
        places += before;
        element* to = packed + (parts.first_selected + before);
        element* to_rejected = packed + (parts.first_rejected + index - before);
#pragma unroll
        for (int j = 0; j < vector; ++j) {
            if ((mask >> j & 1) != 0) {
                if constexpr (Selected::exists)
                    *to++ = values[j];
                if constexpr (Lengths::exists)
                    *places++ = static_cast<std::uint16_t>(index + j);
            } else if constexpr (Rejected::exists) {
                if (index + j >= 0 && index + j < elements)
                    *to_rejected = values[j];
                ++to_rejected;
            }
        }
    }

    __device__ void store(std::uint64_t k, const packed_parts& parts) const
    {
        if constexpr (Selected::exists)
            of_.selected.template store<shape>(memory_.packed(), parts.first_selected, parts.selected,
                                               parts.selected_at);
        if constexpr (Rejected::exists)
            of_.rejected.template store<shape>(memory_.packed(), parts.first_rejected, parts.rejected,
                                               parts.rejected_at);
        const std::uint64_t last_before = memory_.last_before(static_cast<unsigned>(k));
        if constexpr (Lengths::exists)
            of_.lengths.template store<shape>(memory_.places(), parts.selected, parts.begin, last_before,
                                              parts.selected_at);
        if (tile(k) + 1 == of_.tiles && threadIdx.x == 0) {
            const std::uint64_t all = parts.selected_at + static_cast<unsigned>(parts.selected);
            *of_.found = static_cast<Count>(all);
            if constexpr (Lengths::exists)
                of_.lengths.store_last(all, of_.count - (parts.selected != 0
                                                             ? parts.begin + memory_.places()[parts.selected - 1]
                                                             : last_before));
        }
    }

    const select_arguments<In, Flags, Selected, Rejected, Lengths, Count>& of_;
    memory memory_;
    std::uint64_t epoch_;
    std::uint64_t mine_; // how many tiles this block has
    thread_flags<shape, Flags> flags_;
};

template <class In, class Flags, class Selected, class Rejected, class Lengths, class Count>
__global__ void __launch_bounds__(select_shape<std::iter_value_t<In>>::block,
                                  select_shape<std::iter_value_t<In>>::blocks)
    select_kernel(const __grid_constant__ select_arguments<In, Flags, Selected, Rejected, Lengths, Count> of)
{
    extern __shared__ __align__(16) uint4 dynamic[];
    select_block<In, Flags, Selected, Rejected, Lengths, Count>(of, dynamic).run();
}

// The largest ring with which two blocks share a multiprocessor of 228 KiB, on GPUs whose blocks can have so much shared memory.
template <class Memory>
select_ring ring_for(const cuda& target)
{
    constexpr select_ring rings[]{{5, 3}, {4, 2}, {3, 2}};
    constexpr select_ring small{2, 1};
    constexpr std::size_t half = 113 * 1024; // beside what the system takes
    for (const select_ring& ring : rings)
        if (Memory::bytes(ring) <= half && Memory::bytes(ring) <= target.workspace().shared_bytes())
            return ring;
    return small;
}

// Writes the elements that are selected, and those that are not, and the number of the former to *found. There is an element.
template <class In, class Flags, class Selected, class Rejected, class Count, class Lengths = no_run_lengths>
void select(const cuda& target, std::string_view call, const In& in, const Flags& flags, std::uint64_t count,
            const Selected& selected, const Rejected& rejected, Count* found, const Lengths& lengths = {})
{
    using element = std::iter_value_t<In>;
    using shape = select_shape<element>;
    using memory = select_memory<element, Lengths::exists>;
    constexpr auto kernel = select_kernel<In, Flags, Selected, Rejected, Lengths, Count>;
    const select_ring ring = ring_for<memory>(target);
    const std::size_t shared_bytes = memory::bytes(ring);
    int lead = 0;
    bool has_vectors = false;
    if constexpr (has_words<shape::vector, In>) {
        lead = static_cast<int>(reinterpret_cast<std::uintptr_t>(in) / sizeof(*in) % shape::vector);
        has_vectors = reinterpret_cast<std::uintptr_t>(in) % sizeof(*in) == 0;
    }
    const std::uint64_t tiles = (count + static_cast<unsigned>(lead) + shape::tile - 1) / shape::tile;
    const std::uint64_t blocks = resident_blocks<kernel>(target, shape::block, shared_bytes);
    launch(target, call, kernel, static_cast<unsigned>(tiles < blocks ? tiles : blocks), shape::block, shared_bytes,
           select_arguments<In, Flags, Selected, Rejected, Lengths, Count>{
               in, flags, count, lead, has_vectors, tiles, selected, rejected, lengths, found, ring,
               tile_counts_of(target, tile_selection<shape, Lengths::exists>::purpose, tiles)});
}

// What the kernel takes in the place of flags.
template <class Flags>
auto flags_source(const cuda& target, std::string_view call, const Flags& flags, std::size_t count)
{
    const auto source = source_of(flags);
    check_place(target, call, source, count);
    return source;
}
template <class In, class Predicate>
auto flags_source(const cuda&, std::string_view, const detail::predicate_flags<In, Predicate>& flags, std::size_t)
{
    return computed_flags<Predicate>{flags.predicate};
}

} // namespace upsweep::gpu

namespace upsweep::detail {

// The calls do not wait for the GPU, so that they cannot refuse what only the GPU finds: of more elements than there is room for, those are
// written for which there is, and the caller sees how many there are.
template <>
struct engine<cuda, verb::select> {
    template <class In, class Flags, class Out, class Count>
    static void select(const cuda& target, In in, const Flags& flags, std::size_t count, Out out, std::size_t room,
                       Count* selected)
    {
        with_places(target, "select", in, flags, count, out, room, selected,
                    [&](const auto& from, const auto& flags_in, const auto& to) {
                        gpu::select(target, "select", from, flags_in, count, to, gpu::no_selection_output{}, selected);
                    });
    }

    template <class In, class Flags, class Out, class Rejected, class Count>
    static void split(const cuda& target, In in, const Flags& flags, std::size_t count, Out selected_out,
                      std::size_t selected_room, Rejected rejected_out, std::size_t rejected_room, Count* selected)
    {
        const auto rejected = gpu::source_of(rejected_out);
        const gpu::selection_output<std::remove_const_t<decltype(rejected)>> rest{rejected, rejected_room};
        with_places(target, "partition", in, flags, count, selected_out, selected_room, selected,
                    [&](const auto& from, const auto& flags_in, const auto& to) {
                        gpu::check_place(target, "partition", rejected, rejected_room);
                        gpu::select(target, "partition", from, flags_in, count, to, rest, selected);
                    });
    }

    // The flags are counted first, since they tell where the elements go that are not selected.
    template <class In, class Flags, class Out, class Count>
    static void partition(const cuda& target, In in, const Flags& flags, std::size_t count, Out out, Count* selected)
    {
        with_places(target, "partition", in, flags, count, out, count, selected,
                    [&](const auto& from, const auto& flags_in, const auto& to) {
                        auto* const found = static_cast<std::uint64_t*>(
                            target.workspace().memory(gpu::workspace_purpose::offsets, sizeof(std::uint64_t)));
                        gpu::select(target, "partition", from, flags_in, count, gpu::no_selection_output{},
                                    gpu::no_selection_output{}, found);
                        auto rest = to;
                        rest.behind = found;
                        gpu::select(target, "partition", from, flags_in, count, to, rest, selected);
                    });
    }

private:
    template <class In, class Flags, class Out, class Count, class F>
    static void with_places(const cuda& target, std::string_view call, In in, const Flags& flags, std::size_t count,
                            Out out, std::size_t room, Count* selected, F f)
    {
        const gpu::current_device current(target.device());
        gpu::check_pointer(target, call, selected);
        if (count == 0)
            return gpu::check(call, cudaMemsetAsync(selected, 0, sizeof(Count), target.stream()));
        const auto flags_in = gpu::flags_source(target, call, flags, count);
        gpu::with_sources(in, out, [&](const auto& from, const auto& to) {
            gpu::check_place(target, call, from, count);
            gpu::check_place(target, call, to, room);
            f(from, flags_in, gpu::selection_output<std::remove_cvref_t<decltype(to)>>{to, room});
        });
    }
};

} // namespace upsweep::detail
