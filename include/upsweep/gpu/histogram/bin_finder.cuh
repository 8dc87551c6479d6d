// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include <upsweep/bins.hpp>
#include <upsweep/error.hpp>
#include <upsweep/gpu/primitive/vector.cuh>
#include <upsweep/gpu/primitive/warp.cuh>
#include <upsweep/gpu/target/cuda.cuh>

// A *bin finder* tells a kernel in which bin a sample is. The host makes it and passes it to the kernel by value. Its
// members are
//
//     bins, or all_bins()   the number of bins, behind which the out-of-range bins come; or the number of all of these
//     range                 whether kernels for few bins, for many, or for any number are compiled with it
//     shared_bytes()        the shared memory that each block lends it
//     of_block(shared)      the function of a block; all threads call this once, before a barrier
//     place(words)          tells it on the host where its thresholds are in device memory
//
// The function of a block maps a sample to its bin index. A function that has a quick way, which is nearly always
// right, derives from two_step_finder and looks for all samples of a lane's vector at once.
namespace upsweep::gpu {

using detail::bin_index;

// Few bins are those whose counters fit into the shared memory of a block beside the table that the bin finder keeps
// there.
enum class bin_range { few, many, any };

// A bin finder that needs neither shared memory nor thresholds is itself the function of a block.
template <class Finder, bin_range Range = bin_range::any>
struct plain_bin_finder {
    static constexpr bin_range range = Range;

    constexpr std::size_t shared_bytes() const { return 0; }
    void place(const std::uint64_t*) {}
    __device__ const Finder& of_block(void*) const { return static_cast<const Finder&>(*this); }
};

// Finds bins in two steps that Function, which derives from this, supplies: quick(sample, k) sets k and returns whether
// it is right; settle(sample, k) returns the right bin index. A lane takes the first step for all samples of its
// vector, and the second one only if one of them needs it, so that the whole vector costs one branch.
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

// Calls f(bin index) for each sample of a lane's vector. Where the function can look for all of them at once, it does
// so first. Else the samples are looked up one by one, so that only one bin index at a time takes a register.
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

// Sets found[j] to the bin index of sample j.
template <class Function, class T, int Count>
__device__ void find_bins(const Function& bin_of, const lane_vector<T, Count>& samples, bin_index (&found)[Count])
{
    int j = 0;
    for_each_bin(bin_of, samples, [&](bin_index k) { found[j++] = k; });
}

// Returns the index of the out-of-range bin of a sample that is in no bin: behind the bins come those for samples
// below, samples above and NaN.
template <class E>
__device__ bin_index out_of_range_bin(E x, E lo, E hi, bin_index bins)
{
    return x < lo ? bins : x > hi ? bins + 1 : bins + 2;
}

// Returns the last of so many numbers from `first` on for which holds(number) is true, by a binary search: it must be
// true for the first one, and for no number behind one for which it is false.
template <class Number, class F>
__device__ Number last_for_which(Number first, Number count, F holds)
{
    while (count > 1) { // the result stays in [first, first + count)
        const Number half = count / 2;
        first += holds(first + half) ? half : 0;
        count -= half;
    }
    return first;
}

// Returns how many bin indices a bin finder has: those of its bins and of the out-of-range bins.
template <class Finder>
bin_index all_bins_of(const Finder& finder)
{
    if constexpr (requires { finder.all_bins(); })
        return finder.all_bins();
    else
        return static_cast<bin_index>(finder.bins + detail::out_of_range_bins);
}

// Refuses more bins than a GPU counts at once.
inline void check_most_bins(std::string_view call, std::size_t bins, std::size_t most)
{
    if (bins > most)
        throw error(error_kind::invalid_argument, call,
                    std::to_string(bins) + " bins are more than a GPU counts at once, " + std::to_string(most),
                    "ask for fewer bins, or use the target cpu");
}

// Returns how many bytes of a block's shared memory the counters and the bin finder may take together.
inline std::size_t table_bytes(const cuda& target)
{
    constexpr std::size_t variables = 1024; // kept for __shared__ variables; a kernel that has more subtracts them
    return target.workspace().shared_bytes() - variables;
}

// Returns how many words a bin finder takes in a block's shared memory. The counters follow them; the number is rounded
// up to a multiple of the banks, so that the counters begin at the first bank.
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

// --- one bin finder for each kind of bins ----------------------------------------------------------------------------

// A threshold is an edge in the type in which a GPU compares it (edges.cuh). This list collects the thresholds of
// several bin finders, so that they are uploaded in one piece.
class threshold_list {
public:
    // Each of the bin finders may take `shared_bytes` of the shared memory of a block.
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

// Some kernels take many bin finders at once, and in others finding bins is a small part of the work. They take one
// type of bin finder for each kind of bins, whatever the numbers in them: what with_bin_finder decides by choosing a
// type, such a bin finder decides by a branch at run time, which all lanes take alike. any_bin_finder<T>(bins,
// thresholds) makes it, and appends its thresholds to the list.
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

// with_bin_finder<T>(target, bins, f) calls f with the bin finder for samples of type T that suits these bins best. Even
// bins and edges have several; those of even_bins.cuh and edges.cuh choose.
template <class T, class Bins, class F>
void with_bin_finder(const cuda&, const Bins& bins, F f)
{
    threshold_list none(0);
    f(any_bin_finder<T>(bins, none));
}

} // namespace upsweep::gpu
