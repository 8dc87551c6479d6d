// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <iterator>

#include <upsweep/gpu/primitive/vector.cuh>
#include <upsweep/gpu/source/array.cuh>

// Several sources of as many elements, read as one source: its element i is a struct of the elements i of all of them.
namespace upsweep::gpu {

// An element of each of several sources. It is not a std::tuple, since that is not trivially copyable.
template <class... Ts>
struct zip_sample {
};
template <class T, class... Rest>
struct zip_sample<T, Rest...> : zip_sample<Rest...> {
    T first;
};

// Several sources read as one: the first, and the zip of the others, from which this derives. The zip of no sources
// ends the recursion.
template <class... Its>
struct zip_source {
    __device__ void advance(std::uint64_t) {}
    template <class Sample>
    __device__ void read(std::uint64_t, Sample&) const
    {
    }
    template <int Count, class Sample>
    __device__ void read_vectors(Sample*) const
    {
    }
    template <int Count>
    __device__ bool is_aligned() const
    {
        return true;
    }
};

template <class It, class... Rest>
struct zip_source<It, Rest...> : zip_source<Rest...> {
    using rest = zip_source<Rest...>;
    using value_type = zip_sample<std::iter_value_t<It>, std::iter_value_t<Rest>...>;
    It first;

    __host__ __device__ explicit zip_source(It it, Rest... others) : rest(others...), first(it) {}

    __device__ zip_source operator+(std::uint64_t n) const
    {
        zip_source there = *this;
        there.advance(n);
        return there;
    }
    __device__ value_type operator[](std::uint64_t n) const
    {
        value_type sample{};
        read(n, sample);
        return sample;
    }

    __device__ void advance(std::uint64_t n)
    {
        first = first + static_cast<std::iter_difference_t<It>>(n);
        rest::advance(n);
    }
    template <class Sample>
    __device__ void read(std::uint64_t n, Sample& sample) const
    {
        static_cast<value_type&>(sample).first = first[static_cast<std::iter_difference_t<It>>(n)];
        rest::read(n, sample);
    }
    // Reads the first Count elements of each source: by a vector where they are words, else one by one.
    template <int Count, class Sample>
    __device__ void read_vectors(Sample* samples) const
    {
        lane_vector<std::iter_value_t<It>, Count> vector;
        if constexpr (has_words<Count, It>)
            vector = gpu::load_vector<Count>(first);
        else
            vector = gpu::gather_vector<Count>(first);
#pragma unroll
        for (int j = 0; j < Count; ++j)
            static_cast<value_type&>(samples[j]).first = vector[j];
        rest::template read_vectors<Count>(samples);
    }
    template <int Count>
    __device__ bool is_aligned() const
    {
        return (!has_words<Count, It> || gpu::is_aligned<Count>(first)) && rest::template is_aligned<Count>();
    }
};

template <class... Its>
zip_source(Its...) -> zip_source<Its...>;

// If the sources are equally far from being aligned, they are aligned from the same element on: that of the first one.
template <int Count, class It, class... Rest>
__device__ std::uint64_t elements_before_alignment(const zip_source<It, Rest...>& it, std::uint64_t count)
{
    return elements_before_alignment<Count>(it.first, count);
}
template <int Count, class... Its>
__device__ bool is_aligned(const zip_source<Its...>& it)
{
    return it.template is_aligned<Count>();
}
template <int Count, class... Its>
__device__ auto load_vector(const zip_source<Its...>& from)
{
    using vector_t = lane_vector<typename zip_source<Its...>::value_type, Count>;
    typename vector_t::elements all{};
    from.template read_vectors<Count>(all.element);
    return vector_t::of(all);
}

} // namespace upsweep::gpu
