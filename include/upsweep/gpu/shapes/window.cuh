// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <iterator>
#include <type_traits>

#include <cuda_pipeline.h>

#include <upsweep/gpu/primitive/ptx.cuh>
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
    static constexpr int group = 8 * vector; // a line of memory
    // Most places before the first element: those of a line, or of a vector of bytes whose results lie here.
    static constexpr int before = group - 1 < 15 ? 15 : group - 1;
    static constexpr int places = (Capacity + before + group - 1) / group * (group + vector);

    static constexpr int rows =
        (Capacity + before + lanes * vector - 1) / (lanes * vector); // of vectors, one for each lane

    raw_array<T, places> elements;

    // By unsigned numbers, whose quotients are shifts.
    __device__ static int place(int i) { return i + static_cast<int>(static_cast<unsigned>(i) / group * vector); }
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

// Where a window begins within a line of memory of 128 bytes, so that whole vectors can be copied, and lines by as few requests as can be.
template <class T>
__device__ int place_in_window(T* first)
{
    constexpr int vector = vector_elements<sizeof(T)>;
    if constexpr (vector > 1)
        return static_cast<int>(reinterpret_cast<std::uintptr_t>(first) / sizeof(T) % (8 * vector));
    else
        return 0;
}
template <class Source>
__device__ int place_in_window(const Source&)
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

// Calls of_vector(r, place, address) for row r of the whole vectors among the elements of a window from `first` on, which lies in its first line, up to `end`,
// where place 0 stands for `base`, and of_element(i) for those that share their vector with others, fewer than a vector at each end. Each
// lane has one vector of a row, and those of the next row are as far behind.
template <class T, int Capacity, class Pointer, class OfVector, class OfElement>
__device__ void for_each_in_window(window_memory<T, Capacity>& window, Pointer base, int first, int end,
                                   OfVector of_vector, OfElement of_element)
{
    using memory = window_memory<T, Capacity>;
    constexpr int vector = memory::vector;
    constexpr int row = lanes * vector;
    constexpr int places_of_row = row / memory::group * (memory::group + vector);
    const int mine = lane_id() * vector;
    T* const place = &window[mine];
    const Pointer address = keep(base + mine);
    const int left = end - mine - vector; // from this lane's vector on
#pragma unroll
    for (int r = 0; r < memory::rows; ++r)
        if ((r != 0 || mine >= first) && left >= r * row)
            of_vector(r, place + r * places_of_row, address + r * row);
    static_assert(2 * vector <= lanes);
    const int before = first / vector * vector; // where the first vector begins, and the last one
    const int behind = end / vector * vector;
    const bool is_at_end = lane_id() >= vector;
    const int i = is_at_end ? behind + lane_id() - vector : before + lane_id();
    const bool is_apart = is_at_end ? lane_id() < 2 * vector && (behind > first || before == first) : before != first;
    if (is_apart && i >= first && i < end)
        of_element(i);
}

// Copies `count` elements from `from` on to the places from `first` on, which is place_in_window(from) where vectors are to be
// copied. The lanes of a warp call this together, and all of them may read the window afterwards. Meanwhile() is called while elements are
// on their way.
template <class Source, class T, int Capacity, class Meanwhile>
__device__ void fill_window(window_memory<T, Capacity>& window, const Source& from, int first, int count,
                            Meanwhile meanwhile)
{
    constexpr int vector = window_memory<T, Capacity>::vector;
    __syncwarp(); // others have read what is replaced
    if (has_whole_elements(from)) {
        if constexpr (has_words<vector, Source> && vector * sizeof(T) == 16) {
            const T* const base = from - first;
            for_each_in_window(
                window, base, first, first + count,
                [](int, T* place, const T* address) { copy_cached_async(place, address); },
                [&](int i) { window[i] = base[i]; });
            __pipeline_commit();
            meanwhile();
            __pipeline_wait_prior(0);
        }
    } else {
        meanwhile();
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
template <class Source, class T, int Capacity>
__device__ void fill_window(window_memory<T, Capacity>& window, const Source& from, int first, int count)
{
    fill_window(window, from, first, count, [] {});
}

// Copies `count` elements from the places from `first` on to `to`, after all lanes have written them.
template <class Out, class T, int Capacity>
__device__ void empty_window(window_memory<T, Capacity>& window, const Out& to, int first, int count)
{
    constexpr int vector = window_memory<T, Capacity>::vector;
    __syncwarp();
    if (has_whole_elements(to) && place_in_window(to) % vector == first % vector) {
        if constexpr (has_words<vector, Out> && vector * sizeof(T) == 16) {
            T* const base = to - first;
            for_each_in_window(
                window, base, first, first + count,
                [](int, const T* place, T* address) {
                    store_vector<vector>(address, *reinterpret_cast<const lane_vector<T, vector>*>(place));
                },
                [&](int i) { base[i] = window[i]; });
        }
    } else {
        for (int i = lane_id(); i < count; i += lanes)
            to[i] = window[first + i];
    }
    __syncwarp();
}

} // namespace upsweep::gpu
