// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include <upsweep/gpu/fold/line_start.cuh>
#include <upsweep/gpu/fold/vector_fold.cuh>
#include <upsweep/gpu/primitive/vector.cuh>
#include <upsweep/gpu/primitive/warp.cuh>
#include <upsweep/gpu/shapes/few.cuh>
#include <upsweep/gpu/shapes/line_places.cuh>
#include <upsweep/gpu/source/array.cuh>
#include <upsweep/gpu/target/cuda.cuh>
#include <upsweep/gpu/target/launch.cuh>
#include <upsweep/lines.hpp>
#include <upsweep/op.hpp>

// Rows of one to four elements, as points, complex numbers and pixels are, which lie one behind the other. A lane has as many of them as their
// number of vectors holds, and folds each in registers: no lane asks where a row begins.
namespace upsweep::gpu {

inline constexpr std::size_t shortest_row = 1;
inline constexpr std::size_t longest_short_row = 4;

// The rows of a warp, of which a lane has Length vectors of elements. Elements that lie in no vectors, and results, go through shared memory of the
// warp, so that neighbouring lanes read and write neighbours: a lane that writes vectors behind each other fills sectors of memory in parts.
template <int Length, class T, class Out>
class short_rows {
    static constexpr int each = vector_elements<larger_element<const T*, Out*>>; // rows of a lane
    static constexpr int of_warp = each * Length * lanes;                        // elements
    static constexpr int bytes = of_warp * static_cast<int>(larger_element<const T*, Out*>);
    static constexpr int most_bytes = 32 << 10; // of a block

public:
    static constexpr int rows = each;
    static constexpr int warps = 8 * bytes <= most_bytes ? 8 : most_bytes / bytes;
    static constexpr int threads = warps * lanes;
    using memory = raw_array<unsigned char, bytes>;

    // Loads the rows of this warp, of `count`.
    __device__ short_rows(const T* in, std::uint64_t count, memory& shared)
        : first_(warp_in_grid() * of_warp), shared_(shared)
    {
        const std::uint64_t left = first_ < count * Length ? count * Length - first_ : 0;
        count_ = left < of_warp ? static_cast<int>(left) : of_warp;
        const T* const from = in + first_;
        if (count_ == of_warp && is_aligned<each>(from)) {
#pragma unroll
            for (int v = 0; v < Length; ++v)
                loaded_[v] = load_vector<each>(from + (lane_id() * Length + v) * each);
            return;
        }
        auto* const vectors = vectors_of<T>();
        for_each_of_lane([&](int v, int e, int i) { element(vectors[v], e) = i < count_ ? from[i] : T{}; });
        __syncwarp();
#pragma unroll
        for (int v = 0; v < Length; ++v)
            loaded_[v] = vectors[place(lane_id() * Length + v)];
        __syncwarp(); // results take their places
    }

    // Calls f(j, function that returns element i of row j) for each row of this lane. Behind the last one, elements are zero.
    template <class Acc, class F>
    __device__ void for_each(F f) const
    {
#pragma unroll
        for (int j = 0; j < each; ++j)
            f(j, [&](int i) { return convert<Acc>(loaded_[(j * Length + i) / each][(j * Length + i) % each]); });
    }

    // Writes a result a row to those from `out` on.
    __device__ void store_one_a_row(Out* out, const Out (&made)[each]) const
    {
        const int first = lane_id() * each;
        Out* const to = out + first_ / Length + first;
        if constexpr (are_word<each, Out>)
            if (count_ == of_warp && is_aligned<each>(to))
                return store_vector<each>(to, vector_of(made, 0));
#pragma unroll
        for (int j = 0; j < each; ++j)
            if ((first + j) * Length < count_)
                to[j] = made[j];
    }

    // Writes as many results as there are elements.
    __device__ void store_one_an_element(Out* out, const Out (&made)[each * Length]) const
    {
        Out* const to = out + first_;
        auto* const vectors = vectors_of<Out>();
#pragma unroll
        for (int v = 0; v < Length; ++v)
            vectors[place(lane_id() * Length + v)] = vector_of(made, v);
        __syncwarp();
        if constexpr (are_word<each, Out>) {
            if (count_ == of_warp && is_aligned<each>(to)) {
#pragma unroll
                for (int v = 0; v < Length; ++v)
                    store_vector<each>(to + (v * lanes + lane_id()) * each, vectors[place(v * lanes + lane_id())]);
                return;
            }
        }
        for_each_of_lane([&](int v, int e, int i) {
            if (i < count_)
                to[i] = element(vectors[v], e);
        });
    }

private:
    template <class Element>
    __device__ lane_vector<Element, each>* vectors_of() const
    {
        return reinterpret_cast<lane_vector<Element, each>*>(shared_.bytes);
    }
    template <class Element>
    __device__ static Element& element(lane_vector<Element, each>& vector, int e)
    {
        return reinterpret_cast<Element*>(&vector)[e];
    }
    template <int Count>
    __device__ static lane_vector<Out, each> vector_of(const Out (&made)[Count], int v)
    {
        typename lane_vector<Out, each>::elements all;
#pragma unroll
        for (int k = 0; k < each; ++k)
            all.element[k] = made[v * each + k];
        return lane_vector<Out, each>::of(all);
    }

    // Where a vector of the warp lies in shared memory. Lanes that have an odd number of vectors each meet in no bank wherever those begin.
    __device__ static int place(int vector)
    {
        if constexpr (Length % 2 == 0)
            return swizzled<Length>(vector);
        else
            return vector;
    }
    // Calls f(place of a vector, number in it, number in the warp) for elements 32 apart.
    template <class F>
    __device__ void for_each_of_lane(F f) const
    {
#pragma unroll
        for (int k = 0; k < each * Length; ++k) {
            const int i = k * lanes + lane_id();
            f(place(i / each), i % each, i);
        }
    }

    std::uint64_t first_; // element of this warp
    memory& shared_;
    int count_; // of the warp's elements, those that there are
    lane_vector<T, each> loaded_[Length];
};

template <int Length, class Acc, class T, class Out, class Op, class Finish>
__global__ void __launch_bounds__(short_rows<Length, T, Out>::threads)
    reduce_short_rows_kernel(const T* in, std::uint64_t count, Out* out, Op op, Finish finish)
{
    using rows_t = short_rows<Length, T, Out>;
    __shared__ __align__(16) typename rows_t::memory of_warps[rows_t::warps];
    const rows_t rows(in, count, of_warps[warp_id()]);
    Out made[rows_t::rows];
    rows.template for_each<Acc>([&](int j, auto element) {
        finish(fold_few<Acc, longest_short_row>(op.template identity<Acc>(), element, 0, Length, op), made[j]);
    });
    rows.store_one_a_row(out, made);
}

template <int Length, class Acc, class T, class Out, class Op>
__global__ void __launch_bounds__(short_rows<Length, T, Out>::threads)
    scan_short_rows_kernel(const T* in, std::uint64_t count, Out* out, Op op, line_start<Acc> start)
{
    using rows_t = short_rows<Length, T, Out>;
    __shared__ __align__(16) typename rows_t::memory of_warps[rows_t::warps];
    const rows_t rows(in, count, of_warps[warp_id()]);
    Out made[rows_t::rows * Length];
    rows.template for_each<Acc>([&](int j, auto element) {
        const auto put = [&](int i, const Acc& before, const Acc& with) {
            made[j * Length + i] = start.template result_at<Out>(before, with, i == 0, op);
        };
        scan_few<Acc, longest_short_row>(op.template identity<Acc>(), element, put, 0, Length, op);
    });
    rows.store_one_an_element(out, made);
}

// --- which rows ---------------------------------------------------------------------------------------------------------------

// Whether those of a warp fit into shared memory.
template <class T, class Out>
inline constexpr bool may_be_short_rows = larger_element<const T*, Out*> <= 128;

// Whether all lines are rows of so few elements, one behind the other, and their results, too.
template <class T, class Out, std::size_t Rank>
bool are_short_rows(const detail::lines<const T, Out, Rank>& all)
{
    const std::size_t results = all.out.extent(0); // of a row
    bool lie_close = may_be_short_rows<T, Out> && all.length() >= shortest_row && all.length() <= longest_short_row &&
                     (all.length() == 1 || all.in.stride(0) == 1) && (results == 1 || all.out.stride(0) == 1) &&
                     all.in.stride(Rank - 1) == static_cast<std::ptrdiff_t>(all.length()) &&
                     all.out.stride(Rank - 1) == static_cast<std::ptrdiff_t>(results);
    for (std::size_t k = 1; k + 1 < Rank; ++k)
        lie_close = lie_close && all.in.extent(k) == 1;
    return lie_close;
}

// Calls f with the length of the rows, as a constant, and a grid.
template <class T, class Out, std::size_t Rank, class F>
void with_short_rows(const detail::lines<const T, Out, Rank>& all, F f)
{
    with_constant<shortest_row, longest_short_row>(
        all.length(), [&]<int Length>(std::integral_constant<int, Length> length) {
            using rows_t = short_rows<Length, T, Out>;
            constexpr std::uint64_t of_warp = rows_t::rows * lanes;
            f(length, grid_of_warps((all.count() + of_warp - 1) / of_warp, rows_t::threads));
        });
}

template <class Acc, class T, class Out, std::size_t Rank, class Op, class Finish>
void reduce_short_rows(const cuda& target, std::string_view call, const detail::lines<const T, Out, Rank>& all,
                       const Op& op, const Finish& finish)
{
    with_short_rows(all, [&]<int Length>(std::integral_constant<int, Length>, const grid_shape& grid) {
        launch(target, call, reduce_short_rows_kernel<Length, Acc, T, Out, Op, Finish>, grid, all.in.data(),
               std::uint64_t{all.count()}, all.out.data(), op, finish);
    });
}

template <class Acc, class T, class Out, std::size_t Rank, class Op>
void scan_short_rows(const cuda& target, std::string_view call, const detail::lines<const T, Out, Rank>& all,
                     const Op& op, const line_start<Acc>& start)
{
    with_short_rows(all, [&]<int Length>(std::integral_constant<int, Length>, const grid_shape& grid) {
        launch(target, call, scan_short_rows_kernel<Length, Acc, T, Out, Op>, grid, all.in.data(),
               std::uint64_t{all.count()}, all.out.data(), op, start);
    });
}

} // namespace upsweep::gpu
