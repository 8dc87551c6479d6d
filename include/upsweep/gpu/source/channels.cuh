// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <upsweep/gpu/primitive/divider.cuh>
#include <upsweep/gpu/source/array.cuh>
#include <upsweep/gpu/source/matrix.cuh>
#include <upsweep/matrix.hpp>

// The elements of an image's pixels, each with the channel to which it belongs: the remainder of its column by the
// number of channels.
namespace upsweep::gpu {

template <class T>
struct channel_sample {
    T element;
    std::uint32_t channel;
};

// Elements with channels as a source: they are found by their number, row by row. The divisions that this takes
// multiply by a reciprocal (divider.cuh).
template <class T>
struct channel_source {
    using value_type = channel_sample<T>;
    matrix_source<T> elements;
    divider channels;

    channel_source(const matrix<T>& in, std::size_t all) : elements(in), channels(all) {}

    __device__ channel_source operator+(std::uint64_t n) const
    {
        channel_source there = *this;
        there.elements = elements + n;
        return there;
    }
    __device__ value_type operator[](std::uint64_t n) const
    {
        const auto at = elements.place_of(n);
        return {elements.in.row(at.row)[at.column], static_cast<std::uint32_t>(channels.remainder(at.column))};
    }
};

template <int Count, class T>
UPSWEEP_HOST_DEVICE bool is_aligned(const channel_source<T>& it)
{
    return is_aligned<Count>(it.elements);
}
template <int Count, class T>
__device__ auto load_vector(const channel_source<T>& from)
{
    using vector_t = lane_vector<channel_sample<T>, Count>;
    const auto at = from.elements.place_of(0);
    const auto loaded = load_vector<Count>(from.elements.in.row(at.row) + at.column);
    auto channel = static_cast<std::uint32_t>(from.channels.remainder(at.column));
    typename vector_t::elements all{};
#pragma unroll
    for (int j = 0; j < Count; ++j) {
        all.element[j] = {loaded[j], channel};
        channel = channel + 1 == from.channels.divisor ? 0 : channel + 1;
    }
    return vector_t::of(all);
}

// A piece of an image, for kernels to which the order of the elements does not matter. They are compiled for some
// numbers of channels; Channels is 0 where the number is known at run time alone.
template <class T, int Channels>
struct channel_rows {
    using value_type = channel_sample<T>;
    matrix<T> in;
    std::uint32_t channels;
};

// Tells the channel of each element of a vector. Where the number of channels is known when the kernel is compiled, the
// channels are computed for each vector, as many as there are. Else they are kept for the next vector of the thread,
// which mostly begins with the same channel.
template <int Channels, int Elements>
class vector_channels {
public:
    __device__ void begin_with(std::uint32_t channel, std::uint32_t channels)
    {
        if (Channels == 0 && channel == channel_of_[0])
            return;
#pragma unroll
        for (std::uint32_t& each : channel_of_) {
            each = channel;
            channel = channel + 1 == channels ? 0 : channel + 1;
        }
    }
    __device__ std::uint32_t of(int j) const { return channel_of_[j % count]; }

private:
    static constexpr int count = Channels != 0 ? Channels : Elements;
    std::uint32_t channel_of_[count] = {~std::uint32_t{0}};
};

// A vector of elements with their channels, as a reader hands it over.
template <class T, int Count, class Channels>
struct channel_vector {
    const lane_vector<T, Count>& elements;
    const Channels& channels;

    // Calls f(element, channel) for each element.
    template <class F>
    __device__ void for_each(F f) const
    {
#pragma unroll
        for (int j = 0; j < Count; ++j)
            f(elements[j], channels.of(j));
    }
};

template <int Rows, class T, int Channels>
class source_reader<Rows, channel_rows<T, Channels>> {
    static constexpr int elements = row_vectors<T>::elements;

public:
    __device__ source_reader(const channel_rows<T, Channels>& pixels, std::uint64_t, unsigned block, unsigned blocks)
        : in_(pixels.in), channels_(pixels.channels), thread_(std::uint64_t{block} * blockDim.x + threadIdx.x),
          stride_(std::uint64_t{blocks} * blockDim.x)
    {
    }

    // Calls take(channel_vector) for every vector that falls to this thread, and then for the elements beside the
    // vectors.
    template <class F>
    __device__ void for_each(F take)
    {
        // The stride is made a multiple of the channels, where that leaves only a few threads idle: a thread's vectors
        // then mostly begin with the same channel.
        const std::uint64_t whole = stride_ - (Channels != 0 || channels_ >= lanes ? 0 : stride_ % channels_);
        constexpr std::uint64_t none = ~std::uint64_t{0}; // no vector has this number
        vector_cursor<T> cursor(in_, thread_ < whole ? thread_ : none, whole);
        vector_channels<Channels, elements> channels_of;
        while (cursor.is_within()) {
            typename row_vectors<T>::vector vectors[Rows];
            std::uint32_t columns[Rows];
            bool are_read[Rows];
#pragma unroll
            for (int r = 0; r < Rows; ++r)
                are_read[r] = cursor.read(vectors[r], columns[r]);
#pragma unroll
            for (int r = 0; r < Rows; ++r)
                if (are_read[r]) {
                    channels_of.begin_with(channel_of(columns[r]), channels_);
                    take(channel_vector<T, elements, vector_channels<Channels, elements>>{vectors[r], channels_of});
                }
        }
        for_each_beside_vectors(in_, thread_, stride_, [&](const lane_vector<T, 1>& element, std::uint32_t column) {
            vector_channels<1, 1> channel;
            channel.begin_with(channel_of(column), channels_);
            take(channel_vector<T, 1, vector_channels<1, 1>>{element, channel});
        });
    }

private:
    __device__ std::uint32_t channel_of(std::uint32_t column) const
    {
        return column % (Channels != 0 ? static_cast<std::uint32_t>(Channels) : channels_);
    }

    matrix<T> in_;
    std::uint32_t channels_;
    std::uint64_t thread_;
    std::uint64_t stride_;
};

} // namespace upsweep::gpu
