// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include <upsweep/bins.hpp>
#include <upsweep/gpu/primitive/vector.cuh>
#include <upsweep/gpu/primitive/warp.cuh>
#include <upsweep/gpu/target/cuda.cuh>

// Which bin a sample is in, on a GPU. A *bin finder* is what a kernel takes for that:
//
//     bins, or all_bins()   how many bins there are, behind whose indices come those of the out-of-range bins; or all of these
//     range                 for how many bins kernels are compiled with it
//     shared_bytes()        the shared memory that each block lends it
//     of_block(shared)      the function of a block, for which all threads call this once, before a barrier
//
// The function of a block maps a sample to its bin. Where it has a quick way that is nearly always right, it is a
// two_step_finder, which asks for the vector of a lane at once.
namespace upsweep::gpu {

using detail::bin_index;

// Few bins are those whose counters fit into the shared memory of a block, with the table of the bin finder beside them.
enum class bin_range { few, many, any };

// A bin finder that needs no shared memory is its own function.
template <class Finder, bin_range Range = bin_range::any>
struct plain_bin_finder {
    static constexpr bin_range range = Range;

    constexpr std::size_t shared_bytes() const { return 0; }
    __device__ const Finder& of_block(void*) const { return static_cast<const Finder&>(*this); }
};

// Finds bins in two steps: quick(sample, k) sets k and tells whether it is right; settle(sample, k) puts it right. A lane takes
// the first step for all of its samples and the second one only if a sample of its vector needs it, which costs one branch.
template <class Function>
struct two_step_finder {
    template <class T>
    __device__ bin_index operator()(const T& sample) const
    {
        bin_index k = 0;
        return function().quick(sample, k) ? k : function().settle(sample, k);
    }

    template <class T, int Count>
    __device__ void find(const lane_vector<T, Count>& samples, bin_index (&found)[Count]) const
    {
        bool all_found = true;
#pragma unroll
        for (int j = 0; j < Count; ++j)
            all_found &= function().quick(samples[j], found[j]);
        if (!all_found)
#pragma unroll
            for (int j = 0; j < Count; ++j)
                found[j] = function().settle(samples[j], found[j]);
    }

private:
    __device__ const Function& function() const { return static_cast<const Function&>(*this); }
};

// Calls f(bin) for each of a lane's samples: after looking for all of them where the function can do so at once, else one by
// one, so that bin indices take few registers.
template <class Function, class T, int Count, class F>
__device__ void for_each_bin(const Function& bin_of, const lane_vector<T, Count>& samples, F f)
{
    if constexpr (requires(bin_index(&found)[Count]) { bin_of.find(samples, found); }) {
        bin_index found[Count];
        bin_of.find(samples, found);
#pragma unroll
        for (int j = 0; j < Count; ++j)
            f(found[j]);
    } else {
#pragma unroll
        for (int j = 0; j < Count; ++j)
            f(bin_of(samples[j]));
    }
}

template <class Function, class T, int Count>
__device__ void find_bins(const Function& bin_of, const lane_vector<T, Count>& samples, bin_index (&found)[Count])
{
    int j = 0;
    for_each_bin(bin_of, samples, [&](bin_index k) { found[j++] = k; });
}

// The out-of-range bin of a sample that is in no bin.
template <class E>
__device__ bin_index out_of_range_bin(E x, E lo, E hi, bin_index bins)
{
    return x < lo ? bins : x > hi ? bins + 1 : bins + 2;
}

// The indices that a bin finder has: of its bins and of the out-of-range bins.
template <class Finder>
bin_index all_bins_of(const Finder& finder)
{
    if constexpr (requires { finder.all_bins(); })
        return finder.all_bins();
    else
        return static_cast<bin_index>(finder.bins + detail::out_of_range_bins);
}

// The shared memory that a block has for counters and for what its bin finder keeps there.
inline std::size_t table_bytes(const cuda& target)
{
    constexpr std::size_t variables = 1024; // more than the kernels have beside the tables
    return target.workspace().shared_bytes() - variables;
}

// The words that a bin finder has in the shared memory of a block, before the counters, which are aligned to the banks.
template <class Finder>
constexpr std::size_t words_of(const Finder& finder)
{
    return (finder.shared_bytes() / sizeof(std::uint32_t) + lanes - 1) / lanes * lanes;
}

// --- integer bins and bin functions ----------------------------------------------------------------------------------

template <class T>
struct integer_bin_finder : plain_bin_finder<integer_bin_finder<T>>, two_step_finder<integer_bin_finder<T>> {
    detail::integer_offset<T> offset;
    std::size_t bins;

    explicit integer_bin_finder(const integer_bins& integers) : offset(integers), bins(integers.count)
    {
        static_assert(std::integral<T>, "integer bins are for integer samples; see even_bins");
    }

    __device__ bool quick(T sample, bin_index& k) const
    {
        const auto distance = offset.distance(sample);
        k = offset.bin_at(distance);
        return offset.is_inside(distance);
    }
    __device__ bin_index settle(T sample, bin_index) const { return offset(sample); }
};

template <class T, class F>
struct function_bin_finder : plain_bin_finder<function_bin_finder<T, F>> {
    detail::by_function<T, F> function;
    std::size_t bins;

    explicit function_bin_finder(const bins_by<F>& by) : function(by), bins(by.count) {}

    __device__ bin_index operator()(const T& sample) const { return function(sample); }
};

// with_bin_finder<T>(target, bins, f) calls f(the bin finder for samples of type T) that suits these bins best; even_bins.cuh
// and edges.cuh have the others.
template <class T, class F>
void with_bin_finder(const cuda&, const integer_bins& bins, F f)
{
    f(integer_bin_finder<T>(bins));
}

template <class T, class G, class F>
void with_bin_finder(const cuda&, const bins_by<G>& bins, F f)
{
    f(function_bin_finder<T, G>(bins));
}

// --- one bin finder for each kind of bins ----------------------------------------------------------------------------

// Kernels that take many bin finders at once, or for which finding bins is a small part of the work, take one type of bin finder
// for each kind of bins, whatever the numbers in them: what with_bin_finder decides by the type, it decides by a branch that
// all lanes take alike. The thresholds of their edges are collected and uploaded in one piece.
class threshold_list {
public:
    // `shared_bytes` is what each of the bin finders may take of the shared memory of a block.
    explicit threshold_list(std::size_t shared_bytes) : shared_bytes_(shared_bytes) {}

    std::size_t shared_bytes() const { return shared_bytes_; }
    const std::vector<std::uint64_t>& words() const { return words_; }

    // Appends values and returns the number of the word where they begin.
    template <class C>
    std::size_t append(const std::vector<C>& values)
    {
        const std::size_t first = words_.size();
        const std::size_t bytes = values.size() * sizeof(C);
        words_.resize(first + (bytes + sizeof(std::uint64_t) - 1) / sizeof(std::uint64_t));
        std::memcpy(words_.data() + first, static_cast<const void*>(values.data()), bytes);
        return first;
    }

private:
    std::size_t shared_bytes_;
    std::vector<std::uint64_t> words_;
};

// any_bin_finder<T>(bins, thresholds) makes the bin finder; place(finder, words) tells it where the uploaded thresholds are.
template <class T>
auto any_bin_finder(const integer_bins& bins, threshold_list&)
{
    return integer_bin_finder<T>(bins);
}

template <class T, class F>
auto any_bin_finder(const bins_by<F>& bins, threshold_list&)
{
    return function_bin_finder<T, F>(bins);
}

template <class Finder>
void place(Finder&, const std::uint64_t*)
{
}

} // namespace upsweep::gpu
