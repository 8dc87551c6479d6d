// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstdint>
#include <iterator>
#include <type_traits>

#include <upsweep/gpu/primitive/vector.cuh>
#include <upsweep/gpu/source/array.cuh>
#include <upsweep/op.hpp>
#include <upsweep/runtime.h>
#include <upsweep/types.hpp>

#include "../element_type.hpp"

// Elements of one type as those of another, in memory of the GPU, at the speed at which it copies. Types that are known when a kernel runs are asked for
// once, and not for each element.
namespace upsweep::runtime::gpu {

// to[i] = f(from[i]) for so many elements of sources at any place, by vectors of which several are on their way.
template <class From, class To, class F>
__device__ void convert_each(const From& from, std::uint64_t count, const To& to, F f)
{
    using namespace upsweep::gpu;
    using given = std::iter_value_t<From>;
    using wanted = std::iter_value_t<To>;
    constexpr int each = vector_elements<larger_element<From, To>>;
    constexpr int rows = 4;
    const std::uint64_t threads = std::uint64_t{gridDim.x} * blockDim.x;
    const std::uint64_t thread = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
    const std::uint64_t vectors = count / each;
    const bool reads_words = is_aligned<each>(from);
    const bool writes_words = is_aligned<each>(to);
    for (std::uint64_t first = thread; first < vectors; first += rows * threads) {
        lane_vector<given, each> loaded[rows];
#pragma unroll
        for (int r = 0; r < rows; ++r) {
            const std::uint64_t v = first + static_cast<unsigned>(r) * threads;
            if (v < vectors)
                loaded[r] = reads_words ? load_vector<each>(from + v * each) : gather_vector<each>(from + v * each);
        }
#pragma unroll
        for (int r = 0; r < rows; ++r) {
            const std::uint64_t v = first + static_cast<unsigned>(r) * threads;
            if (v >= vectors)
                continue;
            typename lane_vector<wanted, each>::elements all;
#pragma unroll
            for (int j = 0; j < each; ++j)
                all.element[j] = f(loaded[r][j]);
            const auto converted = lane_vector<wanted, each>::of(all);
            if (writes_words)
                store_vector<each>(address_of(to + v * each), converted);
            else
                scatter_within<each>(to, count, v * each, converted);
        }
    }
    for (std::uint64_t i = vectors * each + thread; i < count; i += threads)
        to[i] = f(from[i]);
}

// As numbers of type Acc, of which integers are wrapped to so many bits, and then as To.
template <class Acc, class To>
__global__ void convert_kernel(const void* in, upsweep_dtype dtype, int bits, std::uint64_t count, To* to)
{
    with_type(dtype, [&]<class T>(std::type_identity<T>) {
        convert_each(static_cast<const T*>(in), count, to, [=](const T& element) {
            const Acc value = convert<Acc>(element);
            if constexpr (std::integral<Acc>)
                return static_cast<To>(static_cast<Acc>(static_cast<std::uint64_t>(value) << (64 - bits)) >>
                                       (64 - bits));
            else
                return static_cast<To>(value);
        });
    });
}

// As truths, 0 and 1: whether the bits of an element that count, which are all but the sign of a zero, are other than those of zero.
template <class To>
__global__ void convert_to_truths_kernel(const void* in, int bytes, bool are_floats, std::uint64_t count, To* to)
{
    const auto convert_words = [&]<class Word>(Word) {
        const auto counted = static_cast<Word>(static_cast<Word>(~Word{0}) >> (are_floats ? 1 : 0));
        convert_each(static_cast<const Word*>(in), count, to,
                     [counted](Word element) { return static_cast<To>((element & counted) != 0); });
    };
    switch (bytes) {
    case 1: return convert_words(std::uint8_t{});
    case 2: return convert_words(std::uint16_t{});
    case 4: return convert_words(std::uint32_t{});
    default: return convert_words(std::uint64_t{});
    }
}

// Results as those of another type; of segments, what lies before the first one and behind the last is left alone. All operators are built-in ones,
// of which any tells that NaN has one pattern.
template <class From>
__global__ void convert_results_kernel(const From* in, std::uint64_t count, void* to, upsweep_dtype dtype,
                                       const std::uint64_t* offsets, std::uint64_t segments)
{
    const std::uint64_t first = offsets != nullptr ? offsets[0] : 0;
    const std::uint64_t all = (offsets != nullptr ? offsets[segments] : count) - first;
    with_type(dtype, [&]<class T>(std::type_identity<T>) {
        convert_each(in + first, all, static_cast<T*>(to) + first,
                     [](const From& result) { return as_result<T, plus>(result); });
    });
}

} // namespace upsweep::runtime::gpu
