// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <upsweep/gpu/primitive/divider.cuh>
#include <upsweep/gpu/primitive/ptx.cuh>
#include <upsweep/op.hpp>
#include <upsweep/view.hpp>

// Where lines of a view lie.
namespace upsweep::gpu {

// Calls f with a number from First to Last as a constant, and returns what f does.
template <int First, int Last, class F>
auto with_constant(std::size_t number, F f)
{
    if constexpr (First == Last) {
        return f(std::integral_constant<int, First>{});
    } else {
        if (number == First)
            return f(std::integral_constant<int, First>{});
        return with_constant<First + 1, Last>(number, f);
    }
}

// The lines of a view: where each of them begins, and how far apart its elements are.
template <class T, std::size_t Rank>
struct line_places {
    T* data;
    std::int64_t stride; // along the axis
    std::int64_t strides[Rank - 1];
    divider extents[Rank - 1];
    bool in_one_dimension = true; // whether all lines are of the last dimension, which needs no division

    explicit line_places(const view<T, Rank>& lines) : data(lines.data()), stride(lines.stride(0))
    {
        for (std::size_t k = 1; k < Rank; ++k) {
            strides[k - 1] = lines.stride(k);
            extents[k - 1] = divider(lines.extent(k));
            in_one_dimension = in_one_dimension && (k + 1 == Rank || lines.extent(k) == 1);
        }
    }

    __device__ T* first_of(std::uint64_t line) const
    {
        if (in_one_dimension)
            return data + static_cast<std::int64_t>(line) * strides[Rank - 2];
        std::int64_t offset = 0;
#pragma unroll
        for (int k = static_cast<int>(Rank) - 2; k >= 0; --k) {
            const std::uint64_t rest = extents[k].quotient(line);
            offset += static_cast<std::int64_t>(line - rest * extents[k].divisor) * strides[k];
            line = rest;
        }
        return data + offset;
    }
};

template <class T, class Out, std::size_t Rank>
struct lines_on_device {
    line_places<const T, Rank> in;
    line_places<Out, Rank> out;
    std::uint64_t length; // of a line
    std::uint64_t count;  // of lines
};

// The memory of all elements of a view, and of what lies between them. Kernels copy whole words of it; what else the first and the last word hold may be
// anything, and somebody else's.
struct memory_range {
    const std::byte* begin;
    const std::byte* end;

    template <class T, std::size_t Rank>
    static memory_range of(const view<T, Rank>& elements)
    {
        const auto memory = detail::footprint_of(elements.begin(), elements.size());
        const auto* const data = reinterpret_cast<const std::byte*>(elements.data());
        const std::byte* const lowest = data - (reinterpret_cast<std::uintptr_t>(data) - memory.lowest);
        return {lowest, lowest + memory.reach() + memory.size};
    }

    __device__ bool has(const std::byte* first, const std::byte* last) const { return first >= begin && last <= end; }
    // Copies a word to shared memory asynchronously, or the bytes of it that are of this memory at once.
    __device__ void copy_word(uint4* to, const std::byte* from) const
    {
        if (has(from, from + sizeof(uint4)))
            return copy_once_async(to, from);
#pragma unroll 1
        for (unsigned k = 0; k < sizeof(uint4); ++k)
            if (has(from + k, from + k + 1))
                reinterpret_cast<std::byte*>(to)[k] = from[k];
    }
};

// Whether each line begins where the one before it ends.
template <class T, std::size_t Rank>
bool lie_without_gaps(const view<T, Rank>& lines)
{
    std::uint64_t distance = lines.extent(0);
    for (std::size_t k = Rank - 1; k > 0; distance *= lines.extent(k--))
        if (lines.extent(k) != 1 && lines.stride(k) != static_cast<std::ptrdiff_t>(distance))
            return false;
    return true;
}

} // namespace upsweep::gpu
