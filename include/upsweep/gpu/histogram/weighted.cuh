// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <ranges>
#include <span>
#include <type_traits>

#include <upsweep/bins.hpp>
#include <upsweep/exact_sum.hpp>
#include <upsweep/gpu/histogram/bin_finders.cuh>
#include <upsweep/gpu/histogram/counters.cuh>
#include <upsweep/gpu/primitive/warp.cuh>
#include <upsweep/gpu/source/reader.cuh>
#include <upsweep/gpu/target/cuda.cuh>
#include <upsweep/gpu/target/launch.cuh>
#include <upsweep/range.hpp>
#include <upsweep/verb/weighted_histogram.hpp>
#include <upsweep/weights.hpp>

// Weighted histogram in one kernel and one pass. A block turns weights into fixed-point numbers and adds them up in
// shared memory, by a scale that it takes from some of the weights; what the scale does not suit goes straight to the
// sums of the grid, which are exact for every number (exact_sum.hpp). Integers add up without an error in any order, so
// nothing of this shows in a result.
namespace upsweep::gpu {

struct weighted_shape {
    static constexpr int threads = 1024;
    static constexpr bin_index most_for_one_block = 512; // totals that the last block hands over alone
    static constexpr int many_lanes = 8;                 // with one bin among them make it worth a register
    static constexpr std::uint64_t most_samples = detail::most_summands / 2;

    template <class Sample, class Weight>
    static constexpr int elements = vector_elements<std::max(sizeof(Sample), sizeof(Weight))>;
    template <class Sample, class Weight>
    static constexpr int rows = 2;
};

// --- the sums of the grid --------------------------------------------------------------------------------------------

// Word w of the sum of bin k is number w * bins + k. All zero between kernels.
template <class Sum>
struct grid_sums {
    static constexpr int words = detail::sum_format<Sum>::words;

    std::uint64_t* memory;
    bin_index all_bins;

    struct sum {
        unsigned long long* first;
        bin_index stride;

        __device__ unsigned long long* word(int i) const { return first + static_cast<std::size_t>(i) * stride; }
        __device__ void add(int i, std::int64_t value) const
        {
            if (value != 0)
                atomicAdd(word(i), static_cast<unsigned long long>(value));
        }
        __device__ void mark(std::uint64_t given) const
        {
            atomicOr(word(words - 1), static_cast<unsigned long long>(given));
        }
        __device__ std::int64_t operator()(int i) const
        {
            return static_cast<std::int64_t>(load_relaxed(reinterpret_cast<const std::uint64_t*>(word(i))));
        }
    };
    __device__ sum operator[](bin_index k) const
    {
        return {reinterpret_cast<unsigned long long*>(memory) + k, all_bins};
    }
};

// --- fixed-point numbers of a block ----------------------------------------------------------------------------------

// whole * 2^32 + fraction, of which the fraction is never negative.
struct fixed_point {
    std::uint64_t whole;
    std::uint32_t fraction;
};

// Which fixed-point numbers stand for floats: such that the largest weights have about `usual` bits before the point.
// The sum of all weights of a block that are within the limit has at most 64 bits before the point.
template <class F>
struct fixed_point_scale {
    using format = detail::float_format<F>;
    static constexpr bool has_fraction = true;
    static constexpr int usual = 38; // so that few floats reach below the point
    // The lowest position of which the factor is a number.
    static constexpr int least_position = std::same_as<F, float> ? 0 : 64;

    int position; // of the lowest bit of a fraction, as exact_sum.hpp counts them
    F factor;
    F limit;
    std::uint32_t window; // of the upper bits of numbers that are whole by their exponents

    // For weights whose largest exponent field is `exponent`; `limit_bits` is the number of bits before the point that
    // are within the limit.
    __device__ fixed_point_scale(int exponent, int limit_bits)
    {
        const int top = (exponent > 0 ? exponent - 1 : 0) + format::fraction_bits + 1;
        const int bits = usual < limit_bits - 2 ? usual : limit_bits - 2;
        position = top - bits - 32;
        position = position > least_position ? position : least_position;
        factor = power_of_two(format::lowest - 32 - position);
        limit = power_of_two(limit_bits);
        window = limit > all_whole ? upper_bits(limit) - upper_bits(all_whole) : 0;
    }

    __device__ F scaled(F x) const { return x * factor; }

    // Whether a scaled number is known by its exponent to have no fraction, as nearly all are, and to be within the limit.
    __device__ bool is_whole(F scaled) const { return upper_bits(scaled) - upper_bits(all_whole) < window; }
    __device__ static std::uint64_t whole(F scaled)
    {
        return static_cast<std::uint64_t>(static_cast<long long>(scaled));
    }

    // Whether x is such a number at all; `scaled` is its product.
    __device__ bool convert(F x, F scaled, fixed_point& number) const
    {
        if (!(std::abs(scaled) < limit))
            return false;
        const auto before = static_cast<long long>(scaled);
        const F after = (scaled - static_cast<F>(before)) * F(4294967296);
        const auto parts = static_cast<long long>(after);
        number = {static_cast<std::uint64_t>(before + (parts >> 32)), static_cast<std::uint32_t>(parts)};
        return static_cast<F>(parts) == after && (scaled != 0) == (x != 0); // the product may be too small for a float
    }

    template <class Sum>
    __device__ void add_to(const Sum& sum, const fixed_point& number) const
    {
        detail::add_fixed_point(static_cast<std::int64_t>(number.whole), number.fraction, position, sum);
    }

private:
    static constexpr F all_whole = static_cast<F>(std::uint64_t{1} << format::fraction_bits); // from it on

    // The upper 31 bits after the sign, whose order is that of magnitudes.
    __device__ static std::uint32_t upper_bits(F x)
    {
        if constexpr (sizeof(F) == 4)
            return std::bit_cast<std::uint32_t>(x) << 1;
        else
            return static_cast<std::uint32_t>(std::bit_cast<std::uint64_t>(x) >> 32) << 1;
    }
    __device__ static F power_of_two(int exponent)
    {
        using bits = typename format::bits;
        return std::bit_cast<F>(static_cast<bits>(exponent + format::special_exponent / 2) << format::fraction_bits);
    }
};

// Integers are what they are.
template <std::integral I>
struct fixed_point_scale<I> {
    static constexpr bool has_fraction = false;

    __device__ fixed_point_scale(int, int) {}
    __device__ I scaled(I x) const { return x; }
    __device__ bool is_whole(I) const { return true; }
    __device__ static std::uint64_t whole(I x) { return static_cast<std::uint64_t>(x); }
    __device__ bool convert(I, I, fixed_point&) const { return true; }
    template <class Sum>
    __device__ void add_to(const Sum& sum, const fixed_point& number) const
    {
        sum.add(0, static_cast<std::int64_t>(number.whole));
    }
};

// The scale for a block's share of weights, by as many of them all as there are threads. By all threads of a block.
template <class Sum, class It>
__device__ fixed_point_scale<Sum> choose_scale(It weights, std::uint64_t count, int limit_bits)
{
    if constexpr (std::integral<Sum>) {
        return {0, 0};
    } else {
        __shared__ int highest;
        if (threadIdx.x == 0)
            highest = 0;
        __syncthreads();
        const std::uint64_t samples = std::uint64_t{gridDim.x} * blockDim.x;
        const std::uint64_t stride = count > samples ? count / samples : 1;
        const std::uint64_t i = (std::uint64_t{threadIdx.x} * gridDim.x + blockIdx.x) * stride;
        int exponent[1] = {0};
        if (i < count)
            exponent[0] = detail::exponent_field(convert<Sum>(weights[i]));
        if (exponent[0] == detail::float_format<Sum>::special_exponent)
            exponent[0] = 0;
        const int of_warp = warp_total(exponent, maximum{});
        if (lane_id() == 0)
            atomicMax(&highest, of_warp);
        __syncthreads();
        return {highest, limit_bits};
    }
}

// --- tables of a block -----------------------------------------------------------------------------------------------

// How a table is laid out in shared memory: copies of it side by side, 2^copy_bits of them.
struct table_shape {
    bin_index all_bins;
    unsigned copy_bits;

    // A word for each lane comes last, for what is to be skipped.
    UPSWEEP_HOST_DEVICE std::size_t words() const { return (swizzled_table::words(all_bins) << copy_bits) + lanes; }
};

// Fixed-point sums in shared memory. Each lane has a copy of the table or shares one with few others. A copy has the
// lower 32 bits before the point, the upper ones and, after as many words each, the fractions, which few floats have.
template <class Scale, class Sum, bool LanesShare>
struct shared_sums {
    static constexpr std::size_t limbs = Scale::has_fraction ? 3 : 2;
    static constexpr bool lanes_share = LanesShare;

    std::uint32_t* words;
    unsigned copies;
    unsigned limb; // words apart
    shared_address address;

    __device__ shared_sums(std::uint32_t* shared, const table_shape& of, const Scale&, const grid_sums<Sum>&)
        : words(shared), copies(1U << of.copy_bits), limb(static_cast<unsigned>(of.words())),
          address(shared_address_of(shared + (static_cast<unsigned>(lane_id()) & (copies - 1))))
    {
    }

    // Where a bin is. Without a copy for each lane, bins are swizzled over the banks, as in a table of counters.
    __device__ std::uint32_t place(bin_index k) const
    {
        return LanesShare ? swizzled_table::place(k) * copies : k * lanes;
    }

    // The place of what is skipped: the last word of the lane's bank, counted from where its copy begins.
    __device__ std::uint32_t nowhere() const
    {
        const auto lane = static_cast<unsigned>(lane_id());
        return limb - lanes + (lane & ~(copies - 1));
    }

    // Adds numbers to the bins for which `skip` is false. All lower halves first, so that one need not wait for
    // another. What is skipped goes to words that nobody reads: a branch for each addition would cost more.
    template <int Count>
    __device__ void add(const bin_index (&k)[Count], const std::uint64_t (&wholes)[Count],
                        const bool (&skip)[Count]) const
    {
        std::uint32_t at[Count];
        std::uint32_t upper[Count];
#pragma unroll
        for (int j = 0; j < Count; ++j) {
            at[j] = LanesShare && skip[j] ? nowhere() : place(k[j]);
            const std::uint32_t before = fetch_add_shared(address, at[j], static_cast<std::uint32_t>(wholes[j]));
            upper[j] = static_cast<std::uint32_t>((wholes[j] + before) >> 32);
        }
#pragma unroll
        for (int j = 0; j < Count; ++j)
            if (Scale::has_fraction || upper[j] != 0) // which floats mostly have
                add_shared(address, at[j] + limb, upper[j]);
    }

    // Adds a fraction and returns the carry.
    __device__ std::uint32_t add_fraction(bin_index k, std::uint32_t fraction) const
    {
        return fetch_add_shared(address, place(k) + 2 * limb, fraction) + fraction < fraction ? 1 : 0;
    }

    __device__ fixed_point total(bin_index k) const
    {
        const std::uint32_t* const low = words + place(k);
        std::uint64_t whole = 0;
        std::uint64_t fraction = 0;
        for (unsigned c = 0; c < copies; ++c) {
            const unsigned i = (c + threadIdx.x) % copies; // neighbouring threads read from neighbouring banks
            whole += std::uint64_t{low[limb + i]} << 32 | low[i];
            if constexpr (Scale::has_fraction)
                fraction += low[2 * limb + i];
        }
        return {whole + (fraction >> 32), static_cast<std::uint32_t>(fraction)};
    }
};

template <class Scale, class Sum>
using sums_of_lanes = shared_sums<Scale, Sum, false>;
template <class Scale, class Sum>
using sums_of_block = shared_sums<Scale, Sum, true>;

// No table: everything goes to the sums of the grid.
template <class Scale, class Sum>
struct no_sums {
    static constexpr std::size_t limbs = 0;
    static constexpr bool lanes_share = true;

    Scale scale;
    grid_sums<Sum> sums;

    __device__ no_sums(std::uint32_t*, const table_shape&, const Scale& by, const grid_sums<Sum>& of)
        : scale(by), sums(of)
    {
    }

    template <int Count>
    __device__ void add(const bin_index (&k)[Count], const std::uint64_t (&wholes)[Count],
                        const bool (&skip)[Count]) const
    {
#pragma unroll
        for (int j = 0; j < Count; ++j)
            if (!skip[j])
                scale.add_to(sums[k[j]], {wholes[j], 0});
    }

    __device__ std::uint32_t add_fraction(bin_index k, std::uint32_t fraction) const
    {
        scale.add_to(sums[k], {0, fraction});
        return 0;
    }
};

// Bins that many lanes of a warp ask for at once, which would wait for one another: each lane keeps sums of its own of
// them.
class hot_bins {
public:
    // Whether the number has been added to such a sum.
    __device__ bool add(bin_index k, std::uint64_t whole)
    {
        bool found = false;
#pragma unroll
        for (int i = 0; i < count; ++i) {
            if (k == bins_[i])
                whole_[i] += whole;
            found |= k == bins_[i];
        }
        return found;
    }
    __device__ bool add_fraction(bin_index k, std::uint32_t fraction)
    {
        bool found = false;
#pragma unroll
        for (int i = 0; i < count; ++i) {
            if (k == bins_[i]) {
                fraction_[i] += fraction;
                whole_[i] += fraction_[i] < fraction ? 1 : 0;
            }
            found |= k == bins_[i];
        }
        return found;
    }

    // Looks at the bin that one lane asks for now; if many do, it takes the place of the one that has been hot for
    // longest, unless that is still asked for.
    template <class Table>
    __device__ void consider(bin_index k, int lane, int many, const Table& table)
    {
        const bin_index candidate = __shfl_sync(all_lanes, k, lane);
        if (__popc(__ballot_sync(all_lanes, k == candidate)) < many)
            return;
        bool known = false;
#pragma unroll
        for (int i = 0; i < count; ++i)
            known |= candidate == bins_[i];
        if (known || __popc(__ballot_sync(all_lanes, k == bins_[count - 1])) >= many / 2)
            return;
        flush(count - 1, table);
#pragma unroll
        for (int i = count - 1; i > 0; --i) {
            bins_[i] = bins_[i - 1];
            whole_[i] = whole_[i - 1];
            fraction_[i] = fraction_[i - 1];
        }
        bins_[0] = candidate;
        whole_[0] = 0;
        fraction_[0] = 0;
    }

    template <class Table>
    __device__ void flush(const Table& table) const
    {
#pragma unroll
        for (int i = 0; i < count; ++i)
            flush(i, table);
    }

private:
    static constexpr int count = 2;
    static constexpr bin_index none = ~bin_index{0};

    template <class Table>
    __device__ void flush(int i, const Table& table) const
    {
        if (bins_[i] == none)
            return;
        std::uint64_t wholes[1] = {whole_[i]};
        std::uint64_t fractions[1] = {fraction_[i]};
        std::uint64_t whole[1] = {warp_total(wholes, plus{})};
        const bool has_fraction = __any_sync(all_lanes, fraction_[i] != 0) != 0;
        const std::uint64_t fraction = has_fraction ? warp_total(fractions, plus{}) : 0;
        if (lane_id() == 0) {
            if (has_fraction)
                whole[0] += (fraction >> 32) + table.add_fraction(bins_[i], static_cast<std::uint32_t>(fraction));
            const bin_index k[1] = {bins_[i]};
            const bool skip[1] = {false};
            table.add(k, whole, skip);
        }
    }

    bin_index bins_[count] = {none, none};
    std::uint64_t whole_[count] = {};
    std::uint32_t fraction_[count] = {}; // carried
};

// --- the kernel ------------------------------------------------------------------------------------------------------

// Where the sums go: one a bin, and those of the weights beside all bins.
template <class Sum>
struct weighted_result {
    Sum* sums;
    weight_outside<Sum>* out_of_range;
    bin_index bins;
    bool accumulates;
    bool last; // of the pieces of a long array

    // Takes the sums out of the memory, which is left as zeros, or only carries their digits. By `blocks` blocks, of
    // which each takes some.
    __device__ void take(const grid_sums<Sum>& memory, unsigned block, unsigned blocks) const
    {
        for (bin_index k = block * blockDim.x + threadIdx.x; k < memory.all_bins; k += blocks * blockDim.x) {
            const auto sum = memory[k];
            const auto set = [&](int i, std::int64_t value) { *sum.word(i) = static_cast<unsigned long long>(value); };
            if (last) {
                Sum& to = at(k);
                if (accumulates)
                    detail::add_exactly(to, sum);
                to = detail::rounded_sum<Sum>(sum);
                for (int i = 0; i < grid_sums<Sum>::words; ++i)
                    if (sum(i) != 0)
                        set(i, 0);
            } else if constexpr (std::floating_point<Sum>) {
                detail::carry_digits<Sum>(sum, set);
            }
        }
    }

private:
    __device__ Sum& at(bin_index k) const
    {
        return k < bins        ? sums[k]
               : k == bins     ? out_of_range->below
               : k == bins + 1 ? out_of_range->above
                               : out_of_range->nan;
    }
};

// Where a bin finder has its table: in the shared memory of a block, or where that is full of sums, in device memory.
struct finder_place {
    std::byte* memory;
    std::size_t bytes; // of each block

    __device__ void* of_block(void* shared) const { return memory != nullptr ? memory + blockIdx.x * bytes : shared; }
};

template <class Shape, template <class, class> class Table, class It, class WeightIt, class Finder, class Sum>
__global__ void __launch_bounds__(Shape::threads, 1)
    weighted_histogram_kernel(It in, WeightIt weights, std::uint64_t count, Finder finder, finder_place place,
                              table_shape shape, int limit_bits, weighted_result<Sum> result, counter_memory memory)
{
    using sample = std::iter_value_t<It>;
    using weight = std::iter_value_t<WeightIt>;
    using scale_t = fixed_point_scale<Sum>;
    using table_t = Table<scale_t, Sum>;
    constexpr int elements = Shape::template elements<sample, weight>;
    constexpr int rows = Shape::template rows<sample, weight>;
    constexpr int row = elements * lanes;
    constexpr std::uint64_t chunk_size = rows * row;
    const std::uint64_t stride = Shape::threads / lanes * gridDim.x * chunk_size;
    extern __shared__ __align__(16) std::uint32_t shared_words[];

    const std::size_t words = table_t::limbs * shape.words();
    clear_words(shared_words, words);
    const auto bin_of = finder.of_block(place.of_block(shared_words + words));
    const scale_t scale = choose_scale<Sum>(weights, count, limit_bits);
    __syncthreads();
    const grid_sums<Sum> sums{memory.totals, shape.all_bins};
    const table_t table(shared_words, shape, scale, sums);
    hot_bins hot;

    const std::uint64_t before = elements_before_alignment<elements>(in, count);
    const bool aligned = is_aligned<elements>(in + before) && is_aligned<elements>(weights + before);
    const std::uint64_t after = before + (count - before) / chunk_size * chunk_size; // where the last chunk ends
    const std::uint64_t chunk = blockIdx.x + threadIdx.x / lanes * gridDim.x;
    std::uint64_t first = before + chunk * chunk_size + static_cast<unsigned>(lane_id() * elements); // of this lane
    for (; first < after; first += stride) {
        lane_vector<sample, elements> sample_row[rows];
        lane_vector<weight, elements> weight_row[rows];
        if (aligned) {
#pragma unroll
            for (int r = 0; r < rows; ++r) {
                sample_row[r] = load_vector<elements>(in + first + r * row);
                weight_row[r] = load_vector<elements>(weights + first + r * row);
            }
        } else {
#pragma unroll
            for (int r = 0; r < rows; ++r) {
                sample_row[r] = gather_vector<elements>(in + first + r * row);
                weight_row[r] = gather_vector<elements>(weights + first + r * row);
            }
        }
        std::uint32_t unsuitable = 0;
#pragma unroll
        for (int r = 0; r < rows; ++r) {
            bin_index k[elements];
            find_bins(bin_of, sample_row[r], k);
            if (table_t::lanes_share && r == 0)
                hot.consider(k[0], static_cast<int>(first / chunk_size % lanes), Shape::many_lanes, table);

            Sum scaled[elements];
            std::uint64_t whole[elements];
            bool all_whole = true;
#pragma unroll
            for (int j = 0; j < elements; ++j) {
                scaled[j] = scale.scaled(convert<Sum>(weight_row[r][j]));
                whole[j] = scale.whole(scaled[j]);
                all_whole &= scale.is_whole(scaled[j]);
            }
            if (!all_whole) {
#pragma unroll
                for (int j = 0; j < elements; ++j) {
                    fixed_point number{};
                    whole[j] = 0;
                    if (!scale.convert(convert<Sum>(weight_row[r][j]), scaled[j], number)) {
                        unsuitable |= 1U << (r * elements + j);
                        continue;
                    }
                    if (number.fraction != 0 && !(table_t::lanes_share && hot.add_fraction(k[j], number.fraction)))
                        number.whole += table.add_fraction(k[j], number.fraction);
                    whole[j] = number.whole;
                }
            }
            bool is_hot[elements];
#pragma unroll
            for (int j = 0; j < elements; ++j)
                is_hot[j] = table_t::lanes_share && hot.add(k[j], whole[j]);
            table.add(k, whole, is_hot);
        }
        for (; unsuitable != 0; unsuitable &= unsuitable - 1) {
            const int i = __ffs(static_cast<int>(unsuitable)) - 1;
            const std::uint64_t at = first + static_cast<unsigned>(i / elements * row + i % elements);
            detail::add_exactly(convert<Sum>(weights[at]), sums[bin_of(in[at])]);
        }
    }
    if (blockIdx.x == gridDim.x - 1) {
        for (std::uint64_t i = threadIdx.x; i < before + count - after; i += Shape::threads) {
            const std::uint64_t at = i < before ? i : after + (i - before);
            detail::add_exactly(convert<Sum>(weights[at]), sums[bin_of(in[at])]);
        }
    }
    if (table_t::lanes_share)
        hot.flush(table);

    if constexpr (table_t::limbs != 0) {
        __syncthreads();
        // Blocks begin at different sums, lest they all wait for the same ones.
        const bin_index turned = blockIdx.x * Shape::threads % shape.all_bins;
        for (bin_index i = threadIdx.x; i < shape.all_bins; i += Shape::threads) {
            const bin_index k = i + turned < shape.all_bins ? i + turned : i + turned - shape.all_bins;
            scale.add_to(sums[k], table.total(k));
        }
    }
    if (shape.all_bins > Shape::most_for_one_block) {
        memory.wait_for_all(gridDim.x);
        result.take(sums, blockIdx.x, gridDim.x);
    } else if (memory.is_last(gridDim.x)) {
        result.take(sums, 0, 1);
    }
}

template <class Shape, template <class, class> class Table, class It, class WeightIt, class Finder, class Sum>
void launch_weighted_histogram(const cuda& target, It in, WeightIt weights, std::uint64_t count, const Finder& finder,
                               bool finder_is_shared, const table_shape& shape, weighted_result<Sum> result)
{
    using sample = std::iter_value_t<It>;
    using weight = std::iter_value_t<WeightIt>;
    using table_t = Table<fixed_point_scale<Sum>, Sum>;
    constexpr auto kernel = weighted_histogram_kernel<Shape, Table, It, WeightIt, Finder, Sum>;
    constexpr std::uint64_t chunk =
        Shape::template elements<sample, weight> * Shape::template rows<sample, weight> * lanes;
    allow_shared_bytes<kernel>(target);
    const auto resident = static_cast<std::uint64_t>(target.workspace().multiprocessors());
    finder_place place{nullptr, (finder.shared_bytes() + 127) / 128 * 128};
    if (!finder_is_shared && place.bytes != 0)
        place.memory =
            static_cast<std::byte*>(target.workspace().memory(workspace_purpose::lists, resident * place.bytes));
    std::uint64_t first = 0;
    do {
        const std::uint64_t piece = std::min(count - first, Shape::most_samples);
        result.last = first + piece == count;
        const std::uint64_t blocks = std::clamp<std::uint64_t>(piece / chunk, 1, resident);
        const std::uint64_t most_of_block = piece / blocks + (Shape::threads / lanes) * chunk;
        const grid_shape grid{.blocks = static_cast<unsigned>(blocks),
                              .threads = Shape::threads,
                              .shared_bytes = table_t::limbs * shape.words() * sizeof(std::uint32_t) +
                                              (place.memory == nullptr ? finder.shared_bytes() : 0),
                              .cooperative = shape.all_bins > Shape::most_for_one_block};
        launch(target, "weighted_histogram", kernel, grid, in + first, weights + first, piece, finder, place, shape,
               63 - std::bit_width(most_of_block), result,
               counters_of(target, std::size_t{shape.all_bins} * grid_sums<Sum>::words));
        first += piece;
    } while (first < count);
}

template <class Shape, class It, class WeightIt, class Finder, class Sum>
void weighted_histogram(const cuda& target, It in, WeightIt weights, std::uint64_t count, const Finder& finder,
                        const weighted_result<Sum>& result)
{
    table_shape shape{static_cast<bin_index>(finder.bins + detail::out_of_range_bins), 0};
    constexpr std::size_t limbs = sums_of_block<fixed_point_scale<Sum>, Sum>::limbs;
    const auto copies_beside = [&](std::size_t bytes) {
        return (table_bytes(target) - bytes) / (limbs * shape.words() * sizeof(std::uint32_t));
    };
    const bool finder_is_shared = copies_beside(finder.shared_bytes()) != 0;
    const std::size_t copies = copies_beside(finder_is_shared ? finder.shared_bytes() : 0);
    if (copies == 0)
        return launch_weighted_histogram<Shape, no_sums>(target, in, weights, count, finder, true, shape, result);
    shape.copy_bits = static_cast<unsigned>(std::bit_width(std::min<std::size_t>(copies, lanes))) - 1;
    if (shape.copy_bits == lane_levels)
        launch_weighted_histogram<Shape, sums_of_lanes>(target, in, weights, count, finder, true, shape, result);
    else
        launch_weighted_histogram<Shape, sums_of_block>(target, in, weights, count, finder, finder_is_shared, shape,
                                                        result);
}

} // namespace upsweep::gpu

namespace upsweep::detail {

template <>
struct engine<cuda, verb::weighted_histogram> {
    template <class In, class Weights, class Bins, class Sum>
    static void add_up(const cuda& target, In& in, Weights& weights, const Bins& bins, std::span<Sum> sums,
                       weight_outside<Sum>* out_of_range, bool accumulates)
    {
        constexpr std::string_view call = "weighted_histogram";
        const std::size_t count = size_of(in);
        const gpu::current_device current(target.device());
        gpu::check_place(target, call, first_of(in), count);
        gpu::check_place(target, call, first_of(weights), count);
        gpu::check_place(target, call, sums.data(), sums.size());
        gpu::check_place(target, call, out_of_range, 1);
        const gpu::weighted_result<Sum> result{sums.data(), out_of_range, static_cast<bin_index>(sums.size()),
                                               accumulates, true};
        gpu::with_bin_finder<std::ranges::range_value_t<In>>(target, bins, [&](const auto& finder) {
            gpu::weighted_histogram<gpu::weighted_shape>(target, first_of(in), first_of(weights), count, finder,
                                                         result);
        });
    }
};

} // namespace upsweep::detail
