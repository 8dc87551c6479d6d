// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <string_view>
#include <type_traits>

#include <upsweep/engine.hpp>
#include <upsweep/gpu/fold/look_back.cuh>
#include <upsweep/gpu/primitive/warp.cuh>
#include <upsweep/gpu/source/array.cuh>
#include <upsweep/gpu/source/strided.cuh>
#include <upsweep/gpu/target/cuda.cuh>
#include <upsweep/gpu/target/launch.cuh>
#include <upsweep/op.hpp>
#include <upsweep/types.hpp>
#include <upsweep/verb/argmin.hpp>

// Where the least element is. Elements are compared as unsigned integers, their keys, which ascend in the order that is asked for: the
// least key with the lowest index is that of the first element that precedes all others.
namespace upsweep::gpu {

// --- keys ------------------------------------------------------------------------------------------------------------------------

template <class T>
using order_key_t = std::conditional_t<sizeof(T) <= 4, std::uint32_t, std::uint64_t>;

// Equal for elements that are equal in the order of Op; 0 for NaN, which precedes all else, and for no other floating-point number.
template <class Op, class T>
__device__ order_key_t<T> order_key(const T& element)
{
    using key = order_key_t<T>;
    constexpr key highest = key{1} << (8 * sizeof(key) - 1);
    key ascending = 0;
    if constexpr (sub_word_float<T>) {
        return order_key<Op>(static_cast<float>(element));
    } else if constexpr (std::floating_point<T>) {
        if (element != element)
            return 0;
        const key bits = std::bit_cast<key>(element);
        ascending = (bits & highest) != 0 ? ~bits : bits | highest;
    } else if constexpr (std::is_signed_v<T>) {
        ascending = static_cast<key>(static_cast<std::make_signed_t<key>>(element)) ^ highest;
    } else {
        ascending = static_cast<key>(element);
    }
    return std::same_as<Op, minimum> ? ascending : ~ascending;
}

// A key and where it is; at first, what every element precedes.
template <class Key, class Index = std::uint64_t>
struct placed_key {
    Key key = std::numeric_limits<Key>::max();
    Index index = std::numeric_limits<Index>::max();

    __device__ void take(Key other, Index at)
    {
        if (other < key || (other == key && at < index)) {
            key = other;
            index = at;
        }
    }
    __device__ void take(const placed_key& other) { take(other.key, other.index); }
};

// Of a group of neighbouring lanes, a power of two, for each of them.
template <class Key, class Index>
__device__ placed_key<Key, Index> least_of_lanes(placed_key<Key, Index> mine, int group = lanes)
{
    for (int k = 1; k < group; k *= 2)
        mine.take(shuffle_xor(mine, k));
    return mine;
}

inline constexpr int argument_rows = 8; // vectors of a lane that are on their way at once

// The least of the elements that a lane has taken, and `bound`, the least key that any lane of its warp had when one of them last had a lower
// one: elements that are not below it are not looked at twice.
template <class Key, class Index>
struct warp_search {
    placed_key<Key, Index> least;
    Key bound = std::numeric_limits<Key>::max();
    bool has_any = false;
};

// Takes Rows vectors of each lane, of which this lane's first one begins at element `first`. They stand
// behind all that the warp has taken, but for some that it may have taken already.
template <class Op, int Rows, class In, class Index>
__device__ void take_vectors(warp_search<order_key_t<std::iter_value_t<In>>, Index>& search, const In& in, Index first,
                             bool aligned)
{
    using element = std::iter_value_t<In>;
    constexpr int elements = elements_of<In>;
    constexpr int row = elements * lanes;
    lane_vector<element, elements> vectors[Rows];
#pragma unroll
    for (int r = 0; r < Rows; ++r) {
        const In from = in + (first + static_cast<unsigned>(r * row));
        vectors[r] = aligned ? load_vector<elements>(from) : gather_vector<elements>(from);
    }
    using compared = std::conditional_t<sub_word_float<element>, float, element>;
    compared least = static_cast<compared>(vectors[0][0]);
#pragma unroll
    for (int i = 1; i < Rows * elements; ++i)
        least = Op{}(least, static_cast<compared>(vectors[i / elements][i % elements]));
    const auto key = order_key<Op>(least);
    const bool is_lower = key < search.bound || !search.has_any;
    if (__any_sync(all_lanes, is_lower ? 1 : 0) == 0)
        return;
    const auto take = [&](const lane_vector<element, elements>& vector, int r) {
#pragma unroll
        for (int j = 0; j < elements; ++j)
            search.least.take(order_key<Op>(vector[j]), first + static_cast<unsigned>(r * row + j));
    };
    if constexpr (sizeof(element) >= sizeof(std::uint32_t)) {
        if (is_lower)
#pragma unroll
            for (int r = 0; r < Rows; ++r)
                take(vectors[r], r);
    } else if (is_lower) {
        // So many elements a lane take fewer registers where they are loaded once more.
#pragma unroll 1
        for (int r = 0; r < Rows; ++r) {
            const In from = in + (first + static_cast<unsigned>(r * row));
            take(aligned ? load_vector<elements>(from) : gather_vector<elements>(from), r);
        }
    }
    search.has_any = true;
    search.bound = search.least.key;
#pragma unroll
    for (int k = 1; k < lanes; k *= 2) {
        const auto other = shuffle_xor(search.bound, k);
        search.bound = other < search.bound ? other : search.bound;
    }
}

// --- of an array -----------------------------------------------------------------------------------------------------------------

inline constexpr int argument_threads = 256;

// Where blocks leave what they find. The ticket is zero between kernels.
template <class Key>
struct argument_memory {
    tile_state_header* header;
    placed_key<Key>* of_blocks;
};

// Of all threads of a block, for the first one.
template <class Key>
__device__ placed_key<Key> least_of_block(placed_key<Key> mine, placed_key<Key>* of_warps)
{
    mine = least_of_lanes(mine);
    if (lane_id() == 0)
        of_warps[warp_id()] = mine;
    __syncthreads();
    if (threadIdx.x == 0)
        for (int w = 1; w < argument_threads / lanes; ++w)
            mine.take(of_warps[w]);
    return mine;
}

// Every thread finds the least of its elements, every block that of its threads, and the last block to end that of all blocks.
template <class Op, class In, class Index>
__global__ void __launch_bounds__(argument_threads)
    argument_kernel(In in, std::uint64_t count, argument_memory<order_key_t<std::iter_value_t<In>>> memory,
                    Index* result)
{
    using key = order_key_t<std::iter_value_t<In>>;
    constexpr int elements = elements_of<In>;
    using tiles_t = warp_tiles<elements, argument_rows>;
    __shared__ raw_array<placed_key<key>, argument_threads / lanes> of_warps;
    __shared__ bool is_last;
    const tiles_t tiles(in, count);
    const bool aligned = is_aligned<elements>(in + tiles.before);
    warp_search<key, std::uint64_t> search;
    tiles.for_each(blockIdx.x, gridDim.x,
                   [&](std::uint64_t first) { take_vectors<Op, argument_rows>(search, in, first, aligned); });
    placed_key<key> least = search.least;
    if (blockIdx.x + 1 == gridDim.x)
        tiles.for_each_of_rest([&](std::uint64_t i) { least.take(order_key<Op>(gather_vector<1>(in + i)[0]), i); });
    least = least_of_block(least, &of_warps[0]);
    if (threadIdx.x == 0) {
        memory.of_blocks[blockIdx.x] = least;
        fence();
        is_last = take_ticket(memory.header, gridDim.x) == gridDim.x - 1;
    }
    __syncthreads();
    if (!is_last)
        return;
    fence();
    least = {};
    for (unsigned block = threadIdx.x; block < gridDim.x; block += argument_threads)
        least.take(memory.of_blocks[block]);
    least = least_of_block(least, &of_warps[0]);
    if (threadIdx.x == 0)
        *result = static_cast<Index>(least.index);
}

template <class Op, class In, class Index>
void find_argument(const cuda& target, std::string_view call, const In& in, std::uint64_t count, Index* result)
{
    using key = order_key_t<std::iter_value_t<In>>;
    constexpr auto kernel = argument_kernel<Op, In, Index>;
    constexpr std::size_t header_bytes = 256;
    constexpr std::uint64_t elements_a_block = std::uint64_t{argument_threads} * argument_rows * elements_of<In>;
    const std::uint64_t most = resident_blocks<kernel>(target, argument_threads, 0);
    const std::uint64_t useful = (count + elements_a_block - 1) / elements_a_block;
    const auto blocks = static_cast<unsigned>(useful < most ? useful : most);
    auto* const first = static_cast<std::byte*>(target.workspace().memory(
        workspace_purpose::arguments, header_bytes + most * sizeof(placed_key<std::uint64_t>)));
    launch(target, call, kernel, grid_shape{blocks, argument_threads, 0}, in, count,
           argument_memory<key>{reinterpret_cast<tile_state_header*>(first),
                                reinterpret_cast<placed_key<key>*>(first + header_bytes)},
           result);
}

} // namespace upsweep::gpu

namespace upsweep::detail {

template <>
struct engine<cuda, verb::argument> {
    template <class Op, class In, class Index>
    static void find(const cuda& target, In in, std::size_t count, Index* result)
    {
        const gpu::current_device current(target.device());
        gpu::check_pointer(target, argument_call<Op>, result);
        gpu::with_source(in, [&](const auto& from) {
            gpu::check_place(target, argument_call<Op>, from, count);
            gpu::find_argument<Op>(target, argument_call<Op>, from, count, result);
        });
    }
};

} // namespace upsweep::detail
