// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <iterator>
#include <type_traits>

#include <cuda_pipeline.h>

#include <upsweep/gpu/primitive/vector.cuh>
#include <upsweep/gpu/primitive/warp.cuh>
#include <upsweep/gpu/source/array.cuh>

// A window of a warp into an array: consecutive elements in shared memory, of which every lane may read any.
namespace upsweep::gpu {

// Elements of a type in shared memory. 16 bytes lie idle behind every 128, so that lanes that read at equal distances of a power
// of two meet in few banks.
template <class T, int Capacity>
struct window_memory {
    static constexpr int vector = vector_elements<sizeof(T)>;
    static constexpr int group = 8 * vector;
    static constexpr int before = 15; // most places before the first element, where a vector of bytes begins
    static constexpr int places = (Capacity + before + group - 1) / group * (group + vector);

    raw_array<T, places> elements;

    __device__ static int place(int i) { return i + i / group * vector; }
    __device__ T& operator[](int i) { return elements[place(i)]; }

    // Elements i to i + Count - 1, of those before `end`, in registers: by vectors where `aligned` says that i is the first one of a
    // vector.
    template <int Count>
    __device__ void load(int i, int end, bool aligned, T (&to)[Count])
    {
        for_each_vector<Count>(
            i, end, aligned,
            [&](int j) {
                const auto loaded = *reinterpret_cast<const lane_vector<T, vector>*>(&(*this)[i + j]);
#pragma unroll
                for (int k = 0; k < vector; ++k)
                    to[j + k] = loaded[k];
            },
            [&](int j) { to[j] = (*this)[i + j]; });
    }
    // The other way round.
    template <int Count>
    __device__ void store(int i, int end, bool aligned, const T (&from)[Count])
    {
        for_each_vector<Count>(
            i, end, aligned,
            [&](int j) {
                typename lane_vector<T, vector>::elements all;
#pragma unroll
                for (int k = 0; k < vector; ++k)
                    all.element[k] = from[j + k];
                *reinterpret_cast<lane_vector<T, vector>*>(&(*this)[i + j]) = lane_vector<T, vector>::of(all);
            },
            [&](int j) { (*this)[i + j] = from[j]; });
    }

private:
    template <int Count, class Vector, class Element>
    __device__ static void for_each_vector(int i, int end, bool aligned, Vector of_vector, Element of_element)
    {
        if constexpr (vector > 1 && Count % vector == 0 && are_word<vector, T>) {
            if (aligned) {
#pragma unroll
                for (int j = 0; j < Count; j += vector) {
                    if (i + j + vector <= end) {
                        of_vector(j);
                    } else {
#pragma unroll
                        for (int k = j; k < j + vector; ++k)
                            if (i + k < end)
                                of_element(k);
                    }
                }
                return;
            }
        }
#pragma unroll
        for (int j = 0; j < Count; ++j)
            if (i + j < end)
                of_element(j);
    }
};

// Where a window begins within a vector of an array in memory, so that whole vectors can be copied.
template <class T>
__device__ int place_in_vector(T* first)
{
    constexpr int vector = vector_elements<sizeof(T)>;
    if constexpr (vector > 1)
        return static_cast<int>(reinterpret_cast<std::uintptr_t>(first) / sizeof(T) % vector);
    else
        return 0;
}
template <class Source>
__device__ int place_in_vector(const Source&)
{
    return 0;
}

template <class Source>
__device__ bool has_whole_elements(const Source& first)
{
    using element = std::iter_value_t<Source>;
    if constexpr (has_words<vector_elements<sizeof(element)>, Source> &&
                  vector_elements<sizeof(element)> * sizeof(element) == 16)
        return reinterpret_cast<std::uintptr_t>(first) % sizeof(element) == 0;
    else
        return false;
}

// Copies `count` elements from `from` on to the places from `first` on, which is place_in_vector(from) where vectors are to be
// copied. The lanes of a warp call this together, and all of them may read the window afterwards.
template <class Source, class T, int Capacity>
__device__ void fill_window(window_memory<T, Capacity>& window, const Source& from, int first, int count)
{
    constexpr int vector = window_memory<T, Capacity>::vector;
    __syncwarp(); // others have read what is replaced
    if (has_whole_elements(from)) {
        if constexpr (has_words<vector, Source> && vector * sizeof(T) == 16) {
            const T* const base = from - first;
            const int end = first + count;
            for (int v = lane_id() * vector; v < end; v += lanes * vector) {
                if (v >= first && v + vector <= end) {
                    __pipeline_memcpy_async(&window[v], base + v, 16);
                } else {
                    for (int i = v < first ? first : v; i < v + vector && i < end; ++i)
                        window[i] = base[i];
                }
            }
            __pipeline_commit();
            __pipeline_wait_prior(0);
        }
    } else {
        constexpr int at_once = sizeof(T) <= 8 ? 8 : 1;
        for (int i = lane_id(); i < count; i += lanes * at_once) {
            lane_vector<T, 1> loaded[at_once];
#pragma unroll
            for (int j = 0; j < at_once; ++j)
                loaded[j] = gather_vector<1>(from + (i + j * lanes < count ? i + j * lanes : i));
#pragma unroll
            for (int j = 0; j < at_once; ++j)
                if (i + j * lanes < count)
                    window[first + i + j * lanes] = loaded[j][0];
        }
    }
    __syncwarp();
}

// Copies `count` elements from the places from `first` on to `to`, after all lanes have written them.
template <class Out, class T, int Capacity>
__device__ void empty_window(window_memory<T, Capacity>& window, const Out& to, int first, int count)
{
    constexpr int vector = window_memory<T, Capacity>::vector;
    __syncwarp();
    if (has_whole_elements(to) && place_in_vector(to) == first) {
        if constexpr (has_words<vector, Out> && vector * sizeof(T) == 16) {
            T* const base = to - first;
            const int end = first + count;
            for (int v = lane_id() * vector; v < end; v += lanes * vector) {
                if (v >= first && v + vector <= end) {
                    store_vector<vector>(base + v, *reinterpret_cast<const lane_vector<T, vector>*>(&window[v]));
                } else {
                    for (int i = v < first ? first : v; i < v + vector && i < end; ++i)
                        base[i] = window[i];
                }
            }
        }
    } else {
        for (int i = lane_id(); i < count; i += lanes)
            to[i] = window[first + i];
    }
    __syncwarp();
}

} // namespace upsweep::gpu
