// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <iterator>
#include <type_traits>

#include <upsweep/gpu/primitive/vector.cuh>
#include <upsweep/gpu/primitive/warp.cuh>
#include <upsweep/gpu/source/array.cuh>
#include <upsweep/types.hpp>

// Where a selection (select.cuh) puts the elements that it takes, and those that it does not.
namespace upsweep::gpu {

// Elements go to `out` one behind the other, as many as there is room for; behind as many others as *behind says, if it is not null.
template <class Out>
struct selection_output {
    static constexpr bool exists = true;
    Out out;
    std::uint64_t room;
    const std::uint64_t* behind = nullptr;

    // Which place of a line of memory result `at` has, for results that are stored by whole vectors.
    template <class Shape, class T>
    __device__ int place_in_line(std::uint64_t at) const
    {
        if constexpr (is_stored_by_vectors<Shape, T>)
            return static_cast<int>(reinterpret_cast<std::uintptr_t>(out + at) / sizeof(T) % Shape::line);
        else
            return 0;
    }

    // All threads of a block store elements `first` to `first` + count - 1 of shared memory as results from number `at` on.
    template <class Shape, class T>
    __device__ void store(T* packed, int first, int count, std::uint64_t at) const
    {
        const std::uint64_t left = at < room ? room - at : 0;
        const int end = first + (left < static_cast<unsigned>(count) ? static_cast<int>(left) : count);
        if constexpr (is_stored_by_vectors<Shape, T>)
            if (reinterpret_cast<std::uintptr_t>(out) % sizeof(T) == 0)
                return store_vectors<Shape>(packed, first, end, at);
        for (int i = first + static_cast<int>(threadIdx.x); i < end; i += Shape::threads)
            out[at + static_cast<unsigned>(i - first)] = convert<std::iter_value_t<Out>>(packed[i]);
    }

private:
    template <class Shape, class T>
    static constexpr bool is_stored_by_vectors =
        has_words<Shape::vector, Out>&& std::is_same_v<std::iter_value_t<Out>, T>&& Shape::vector * sizeof(T) == 16;

    // `first` is the place in its line of memory, so that `to` is where a line begins.
    template <class Shape, class T>
    __device__ void store_vectors(T* packed, int first, int end, std::uint64_t at) const
    {
        constexpr int vector = Shape::vector;
        const int before = first % Shape::line;
        T* const to = out + at - before;
        packed += first - before;
        end -= first - before;
        for (int v = static_cast<int>(threadIdx.x) * vector; v < end; v += Shape::threads * vector) {
            if (v >= before && v + vector <= end) {
                store_vector<vector>(to + v, *reinterpret_cast<const lane_vector<T, vector>*>(packed + v));
            } else {
                for (int i = v < before ? before : v; i < v + vector && i < end; ++i)
                    to[i] = packed[i];
            }
        }
    }
};

// Nowhere.
struct no_selection_output {
    static constexpr bool exists = false;
};

// How long runs are whose heads are selected goes to `out`, for as many runs as there is room for.
template <class Out>
struct run_lengths {
    static constexpr bool exists = true;
    Out out;
    std::uint64_t room;

    // All threads of a block store the lengths of the runs that end where the selected elements are: at these places of a tile that begins with
    // element `begin`, of which the first one has number `at` among all.
    template <class Shape>
    __device__ void store(const std::uint16_t* places, int count, std::uint64_t begin, std::uint64_t last_before,
                          std::uint64_t at) const
    {
        const int before = at != 0 ? place_in_line(out + (at - 1)) : 0;
        for (int i = static_cast<int>(threadIdx.x) - before; i < count; i += Shape::threads) {
            const std::uint64_t run = at + static_cast<unsigned>(i) - 1; // before the first head there is none
            if (i >= 0 && run < room)
                out[run] = static_cast<std::iter_value_t<Out>>(i != 0 ? static_cast<unsigned>(places[i] - places[i - 1])
                                                                      : begin + places[0] - last_before);
        }
    }
    // The run that ends with the last element.
    __device__ void store_last(std::uint64_t all, std::uint64_t length) const
    {
        if (all <= room)
            out[all - 1] = static_cast<std::iter_value_t<Out>>(length);
    }
};
struct no_run_lengths {
    static constexpr bool exists = false;
};

} // namespace upsweep::gpu
