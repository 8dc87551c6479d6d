// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string_view>
#include <type_traits>

#include <upsweep/engine.hpp>
#include <upsweep/gpu/fold/line_start.cuh>
#include <upsweep/gpu/fold/reduce.cuh>
#include <upsweep/gpu/primitive/divider.cuh>
#include <upsweep/gpu/shapes/axis.cuh>
#include <upsweep/gpu/shapes/image_bands.cuh>
#include <upsweep/gpu/shapes/segments.cuh>
#include <upsweep/gpu/source/strided.cuh>
#include <upsweep/gpu/target/cuda.cuh>
#include <upsweep/gpu/target/launch.cuh>
#include <upsweep/op.hpp>
#include <upsweep/qualifiers.hpp>
#include <upsweep/types.hpp>
#include <upsweep/verb/image.hpp>
#include <upsweep/view.hpp>

// Integral images in one pass, or by scans along axes, and what is asked of them: a thread has a query, or a window, at a time.
namespace upsweep::gpu {

template <class Out>
__global__ void put_zeros_kernel(Out out, std::uint64_t count)
{
    for (std::uint64_t i = blockIdx.x * std::uint64_t{blockDim.x} + threadIdx.x; i < count;
         i += std::uint64_t{gridDim.x} * blockDim.x)
        out[i] = {};
}

// The squares of what another source has, as Acc.
template <class Acc, class Source>
struct squared_source {
    using value_type = Acc;
    using difference_type = std::ptrdiff_t;
    Source in;

    __device__ squared_source operator+(std::uint64_t n) const { return {in + n}; }
    __device__ Acc operator[](std::uint64_t n) const { return squared{}.template lift<Acc>(in[n]); }
};

// --- queries ------------------------------------------------------------------------------------------------------------------

// The source of the numbers of boxes that are none; for others, of the largest number.
template <class Index, std::size_t Rank>
struct wrong_boxes {
    using value_type = std::uint64_t;
    using difference_type = std::ptrdiff_t;

    view<const Index, 2> boxes;
    std::size_t extents[Rank];
    std::uint64_t first = 0;

    UPSWEEP_HOST_DEVICE wrong_boxes operator+(std::uint64_t n) const
    {
        wrong_boxes there = *this;
        there.first += n;
        return there;
    }
    __device__ std::uint64_t operator[](std::uint64_t n) const
    {
        const std::uint64_t k = first + n;
        bool is_wrong = false;
        for (std::size_t i = 0; i < Rank; ++i) {
            const Index begins = boxes(k, i);
            const Index ends = boxes(k, Rank + i);
            const bool is_negative = std::is_signed_v<Index> && begins < Index{};
            is_wrong |= is_negative || ends < begins || static_cast<std::size_t>(ends) > extents[i];
        }
        return is_wrong ? k : ~std::uint64_t{0};
    }
};

template <class Index, class Out, class Query>
__global__ void __launch_bounds__(256) query_kernel(view<const Index, 2> boxes, Out results, Query query)
{
    const std::uint64_t threads = std::uint64_t{gridDim.x} * blockDim.x;
    for (std::uint64_t k = blockIdx.x * std::uint64_t{blockDim.x} + threadIdx.x; k < boxes.extent(0); k += threads) {
        std::iter_value_t<Out> result;
        query(boxes, k, result);
        results[k] = result;
    }
}

// The mean of the window around each element, a thread each.
template <class Sum, class Mean>
__global__ void __launch_bounds__(256) windows_kernel(detail::summed_image<Sum> image, std::uint64_t half_rows,
                                                      std::uint64_t half_columns, view<Mean, 2> out, divider columns)
{
    using quotient = detail::quotient_t<Sum>;
    const std::uint64_t threads = std::uint64_t{gridDim.x} * blockDim.x;
    const std::uint64_t rows = image.rows();
    for (std::uint64_t i = blockIdx.x * std::uint64_t{blockDim.x} + threadIdx.x; i < rows * columns.divisor;
         i += threads) {
        const std::uint64_t r = columns.quotient(i);
        const std::uint64_t c = i - r * columns.divisor;
        const std::uint64_t r0 = r > half_rows ? r - half_rows : 0;
        const std::uint64_t c0 = c > half_columns ? c - half_columns : 0;
        const std::uint64_t r1 = rows - 1 - r > half_rows ? r + half_rows + 1 : rows;
        const std::uint64_t c1 = columns.divisor - 1 - c > half_columns ? c + half_columns + 1 : columns.divisor;
        const auto count = static_cast<quotient>((r1 - r0) * (c1 - c0));
        out(r, c) = as_result<Mean, plus>(static_cast<quotient>(image.sum(r0, c0, r1, c1)) / count);
    }
}

// What queries read, where kernels reach it, as sources.
template <class Sum>
void check_image(const cuda& target, const detail::summed_image<Sum>& image)
{
    if (!image.sums.empty())
        check_place(target, "integral image", strided_source(image.sums.begin().elements()), image.sums.size());
}
template <class Sum>
auto query_source(const cuda& target, const detail::sum_of_rectangle<Sum>& query)
{
    check_image(target, query.sums);
    return query;
}
template <class Sum>
auto query_source(const cuda& target, const detail::mean_of_rectangle<Sum>& query)
{
    check_image(target, query.sums);
    return query;
}
template <class Sum, class Square>
auto query_source(const cuda& target, const detail::variance_of_rectangle<Sum, Square>& query)
{
    check_image(target, query.sums);
    check_image(target, query.squares);
    return query;
}
template <class In, class Sum>
auto query_source(const cuda& target, const detail::sum_of_slice<In, Sum>& query)
{
    const auto scanned = source_of(query.scanned);
    check_place(target, "slice_sum", scanned, 1);
    return detail::sum_of_slice<std::remove_const_t<decltype(scanned)>, Sum>{scanned, query.border};
}

} // namespace upsweep::gpu

namespace upsweep::detail {

template <>
struct engine<cuda, verb::images> {
    template <class Out, std::size_t Rank>
    static void put_border(const cuda& target, const view<Out, Rank>& out)
    {
        const gpu::current_device current(target.device());
        for (const std::size_t k : {Rank - 2, Rank - 1}) {
            std::array<std::size_t, Rank> extents;
            std::array<std::ptrdiff_t, Rank> strides;
            for (std::size_t j = 0; j < Rank; ++j) {
                extents[j] = j == k ? 1 : out.extent(j);
                strides[j] = out.stride(j);
            }
            const view<Out, Rank> first(out.data(), extents, strides); // row, or column, of each image
            if (first.empty())
                continue;
            const auto source = gpu::strided_source(first.begin().elements());
            gpu::check_place(target, "integral_image", source, first.size());
            constexpr int threads = 256;
            gpu::launch(target, "integral_image", gpu::put_zeros_kernel<std::remove_const_t<decltype(source)>>,
                        gpu::grid_shape{gpu::some_blocks(target, (first.size() + threads - 1) / threads), threads, 0},
                        source, first.size());
        }
    }

    template <class T, std::size_t Rank, class Sum>
    static void integrate(const cuda& target, const view<const T, Rank>& in, const view<Sum, Rank>& sums)
    {
        if (!in_one_pass<gpu::unlifted>(target, "integral_image", in, sums))
            scan_both_ways(target, in, sums);
    }

    // Squares that are not integrated in one pass are scanned where they are written.
    template <class T, std::size_t Rank, class Sum, class Square>
    static void integrate_both(const cuda& target, const view<const T, Rank>& in, const view<Sum, Rank>& sums,
                               const view<Square, Rank>& squares)
    {
        using square = scan_accumulator_t<plus, Square>;
        integrate(target, in, sums);
        if (in.empty() || in_one_pass<gpu::squared>(target, "integral_images", in, squares))
            return;
        {
            const gpu::current_device current(target.device());
            gpu::with_sources(in.begin(), squares.begin(), [&](const auto& from, const auto& to) {
                gpu::check_place(target, "integral_images", from, in.size());
                gpu::check_place(target, "integral_images", to, in.size());
                const gpu::equal_segments rows{in.extent(Rank - 1), in.size() / in.extent(Rank - 1)};
                gpu::scan_segments<square>(
                    target, gpu::squared_source<square, std::remove_cvref_t<decltype(from)>>{from}, in.size(), rows, to,
                    plus{}, gpu::start_of_segments<scan_kind::inclusive, square>(plus{}, nullptr));
            });
        }
        scan_columns(target, squares);
    }

private:
    // Returns whether there are kernels that do so.
    template <class Lift, class T, std::size_t Rank, class Out>
    static bool in_one_pass(const cuda& target, std::string_view call, const view<const T, Rank>& in,
                            const view<Out, Rank>& out)
    {
        if constexpr (gpu::may_be_bands<T, Out>) {
            if (in.empty() || !gpu::are_bands(in, out))
                return false;
            const gpu::current_device current(target.device());
            gpu::check_place(target, call, gpu::strided_source(in.begin().elements()), in.size());
            gpu::check_place(target, call, gpu::strided_source(out.begin().elements()), out.size());
            return gpu::scan_bands<Lift>(target, call, in, out);
        } else {
            return false;
        }
    }
};

// Boxes are looked through before a query, and the call waits for that.
template <>
struct engine<cuda, verb::boxes> {
    template <std::size_t Rank, class Index>
    static std::optional<std::size_t> first_wrong(const cuda& target, const view<const Index, 2>& boxes,
                                                  const std::array<std::size_t, Rank>& extents)
    {
        if (boxes.empty())
            return std::nullopt;
        const gpu::current_device current(target.device());
        gpu::check_place(target, "integral image", gpu::strided_source(boxes.begin().elements()), boxes.size());
        gpu::wrong_boxes<Index, Rank> wrong{boxes, {}};
        for (std::size_t i = 0; i < Rank; ++i)
            wrong.extents[i] = extents[i];
        const auto lowest = returned<cuda>::value<std::uint64_t>(target, "integral image", [&](std::uint64_t* result) {
            gpu::reduce<std::uint64_t>(target, wrong, boxes.extent(0), minimum{}, result);
        });
        return lowest < boxes.extent(0) ? std::optional<std::size_t>(lowest) : std::nullopt;
    }

    template <class Index, class Out, class Query>
    static void query(const cuda& target, const view<const Index, 2>& boxes, Out results, const Query& query)
    {
        const std::size_t count = boxes.extent(0);
        if (count == 0)
            return;
        const gpu::current_device current(target.device());
        const auto of = gpu::query_source(target, query);
        const auto to = gpu::source_of(results);
        gpu::check_place(target, "integral image", to, count);
        constexpr int threads = 256;
        gpu::launch(target, "integral image",
                    gpu::query_kernel<Index, std::remove_const_t<decltype(to)>, std::remove_const_t<decltype(of)>>,
                    gpu::grid_shape{gpu::some_blocks(target, (count + threads - 1) / threads), threads, 0}, boxes, to,
                    of);
    }

    template <class Sum, class Mean>
    static void windows(const cuda& target, const summed_image<Sum>& image, std::size_t half_rows,
                        std::size_t half_columns, const view<Mean, 2>& out)
    {
        const gpu::current_device current(target.device());
        gpu::check_image(target, image);
        gpu::check_place(target, "window_mean", gpu::strided_source(out.begin().elements()), out.size());
        constexpr int threads = 256;
        gpu::launch(target, "window_mean", gpu::windows_kernel<Sum, Mean>,
                    gpu::grid_shape{gpu::some_blocks(target, (out.size() + threads - 1) / threads), threads, 0}, image,
                    half_rows, half_columns, out, gpu::divider(out.extent(1)));
    }
};

} // namespace upsweep::detail
