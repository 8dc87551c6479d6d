// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <upsweep/exact_sum.hpp>
#include <upsweep/gpu/histogram/bin_finder.cuh>
#include <upsweep/gpu/histogram/table.cuh>
#include <upsweep/gpu/primitive/ptx.cuh>
#include <upsweep/gpu/primitive/warp.cuh>
#include <upsweep/op.hpp>

// The sums of a weighted histogram. Those of the grid are exact for every number: superaccumulators as Kulisch has
// them, one for each bin (exact_sum.hpp). Those of a block are privatized tables of fixed-point numbers, which are
// exact for the weights that a scale suits.
namespace upsweep::gpu {

// --- the sums of the grid --------------------------------------------------------------------------------------------

// The sums of the grid in global memory. Word w of the sum of bin k is number w * all_bins + k, so that neighbouring
// threads, which have neighbouring bins, access neighbouring words. All words are zero between kernels.
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

// The number whole * 2^32 + fraction, in units that a scale defines. The whole is signed, in two's complement; the
// fraction is never negative.
struct fixed_point {
    std::uint64_t whole;
    std::uint32_t fraction;
};

// Tells which fixed-point numbers stand for floats: the largest weights have about `usual` bits before the point. The
// sum of all weights of a block that are within the limit has at most 64 bits before the point.
template <class F>
struct fixed_point_scale {
    using format = detail::float_format<F>;
    static constexpr bool has_fraction = true;
    static constexpr int usual = 38; // so that few weights in f32 have bits behind the point
    // The lowest position whose factor is a number of type F.
    static constexpr int least_position = std::same_as<F, float> ? 0 : 64;

    int position;         // the number of a fraction's lowest bit, as exact_sum.hpp counts bits
    F factor;             // a weight times this is a scaled weight, in units of the whole
    F limit;              // the magnitude that scaled weights must be below
    std::uint32_t window; // how far apart all_whole and the limit are, by their upper bits

    // `exponent` is the largest exponent field of the weights, and scaled weights of up to `limit_bits` bits before the
    // point are within the limit.
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

    // Returns whether a scaled number is within the limit and known by its exponent to have no fraction, as nearly all
    // are.
    __device__ bool is_whole(F scaled) const { return upper_bits(scaled) - upper_bits(all_whole) < window; }
    __device__ static std::uint64_t whole(F scaled)
    {
        return static_cast<std::uint64_t>(static_cast<long long>(scaled));
    }

    // Converts x, whose scaled number is `scaled`, and returns whether the scale suits it: x is within the limit, and
    // no bit of it is lost.
    __device__ bool convert(F x, F scaled, fixed_point& number) const
    {
        if (!(std::abs(scaled) < limit))
            return false;
        const auto before = static_cast<long long>(scaled);
        const F after = (scaled - static_cast<F>(before)) * F(4294967296);
        const auto parts = static_cast<long long>(after);
        number = {static_cast<std::uint64_t>(before + (parts >> 32)), static_cast<std::uint32_t>(parts)};
        return static_cast<F>(parts) == after && (scaled != 0) == (x != 0); // a tiny product is zero
    }

    template <class Sum>
    __device__ void add_to(const Sum& sum, const fixed_point& number) const
    {
        detail::add_fixed_point(static_cast<std::int64_t>(number.whole), number.fraction, position, sum);
    }

private:
    // From this number on, no float has a fraction.
    static constexpr F all_whole = static_cast<F>(std::uint64_t{1} << format::fraction_bits);

    // Returns the upper 31 bits after the sign, which have the order of magnitudes.
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

// Integers stand for themselves.
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

// Returns the scale of a block, from one weight for each of its threads; these are spread over the whole array. All
// threads of a block call this.
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

// How a table is laid out in shared memory: there are 2^copy_bits copies of it, side by side.
struct table_shape {
    bin_index all_bins;
    unsigned copy_bits;

    // Behind the copies comes one word for each lane, to which it adds what is to be skipped.
    UPSWEEP_HOST_DEVICE std::size_t words() const { return (swizzled_table::words(all_bins) << copy_bits) + lanes; }
};

// Fixed-point sums in shared memory. Each lane has a copy of the table, or shares one with a few others. A sum has
// limbs of 32 bits: the lower half of the whole, the upper half and, for floats, the fraction, which few of them have.
// All copies of the first limb come first, then those of the second, then those of the third.
template <class Sum, bool LanesShare>
struct shared_sums {
    static constexpr bool has_fraction = fixed_point_scale<Sum>::has_fraction;
    static constexpr std::size_t limbs = has_fraction ? 3 : 2;
    static constexpr bool lanes_share = LanesShare;

    std::uint32_t* words;
    unsigned copies;
    unsigned limb; // words from one limb's copies to the next one's
    shared_address address;

    __device__ shared_sums(std::uint32_t* shared, const table_shape& of, const fixed_point_scale<Sum>&,
                           const grid_sums<Sum>&)
        : words(shared), copies(1U << of.copy_bits), limb(static_cast<unsigned>(of.words())),
          address(shared_address_of(shared + (static_cast<unsigned>(lane_id()) & (copies - 1))))
    {
    }

    // Returns the place of a bin's first limb. Where lanes share copies, bins are swizzled over the banks, as in a
    // table of counters.
    __device__ std::uint32_t place(bin_index k) const
    {
        return LanesShare ? swizzled_table::place(k) * copies : k * lanes;
    }

    // Returns the place of what is skipped: the lane's word behind the copies, counted from where the lane's copy
    // begins.
    __device__ std::uint32_t nowhere() const
    {
        const auto lane = static_cast<unsigned>(lane_id());
        return limb - lanes + (lane & ~(copies - 1));
    }

    // Adds numbers to the bins for which `skip` is false. All lower halves are added first, so that one addition need
    // not wait for another. What is skipped is added to words that nobody reads, since a branch for each addition would
    // cost more.
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
            if (has_fraction || upper[j] != 0) // upper halves of floats are rarely zero
                add_shared(address, at[j] + limb, upper[j]);
    }

    // Adds a fraction and returns the carry, which belongs to the whole.
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
            if constexpr (has_fraction)
                fraction += low[2 * limb + i];
        }
        return {whole + (fraction >> 32), static_cast<std::uint32_t>(fraction)};
    }
};

// Takes the place of a table where a block has no room for one: every weight is added to the sums of the grid.
template <class Sum>
struct no_sums {
    static constexpr std::size_t limbs = 0;
    static constexpr bool lanes_share = true;

    fixed_point_scale<Sum> scale;
    grid_sums<Sum> sums;

    __device__ no_sums(std::uint32_t*, const table_shape&, const fixed_point_scale<Sum>& by, const grid_sums<Sum>& of)
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

// Bins that many lanes of a warp add to at once, where they would wait for one another: each lane keeps privatized sums
// of these bins in registers.
class hot_bins {
public:
    // Returns whether the bin is one of these; the number has then been added to the lane's sum.
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

    // Looks at the bin that one lane adds to now. If `many` lanes add to it, it replaces the bin that has been here for
    // longest, unless that bin is still in demand.
    template <class Table>
    __device__ void consider(bin_index k, int lane, int many, const Table& table)
    {
        const bin_index candidate = __shfl_sync(all_lanes, k, lane);
        if (__popc(__ballot_sync(all_lanes, k == candidate)) < many)
            return;
        bool known = false;
#pragma unroll
        for (const bin_index bin : bins_)
            known |= candidate == bin;
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

    // Adds the sums of all lanes to the table.
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
    std::uint32_t fraction_[count] = {}; // what they carry is in whole_
};

} // namespace upsweep::gpu
