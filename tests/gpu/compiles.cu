// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Compiled for every generation of GPUs, not run.
#include <array>
#include <cstdint>
#include <span>
#include <tuple>

// Before the others: nvcc passes some constants on in another form then.
#include <upsweep/recurrence.hpp>

#include <upsweep/upsweep.hpp>

#include "bulk_copies.cuh" // whose instructions the engine does not use yet

namespace up = upsweep;

void fold(const up::cuda& gpu, std::span<const float> in, float* sum, std::span<const std::int32_t> counts,
          std::span<std::int32_t> ends)
{
    up::reduce(gpu, in, sum, up::plus{});
    up::inclusive_scan(gpu, counts, ends);
}

void count(const up::cuda& gpu, std::span<const float> in, std::span<std::uint64_t> counts, up::outside* out_of_range)
{
    up::histogram(gpu, in, up::even_bins{0, 1, counts.size()}, counts, out_of_range);
}

void count_shapes(const up::cuda& gpu, std::span<const float> xs, std::span<const float> ys, std::uint8_t* pixels,
                  std::span<std::uint64_t> counts, std::span<up::outside> out_of_range)
{
    const up::even_bins even{0, 1, 16};
    const up::matrix image(pixels, 100, 300, 512);
    up::joint_histogram(gpu, std::tuple{xs, ys}, std::tuple{even, up::edges{0, 1, 3}}, counts, out_of_range.data());
    up::histogram_rows(gpu, image, up::integer_bins{}, counts, out_of_range);
    up::histogram_channels(gpu, image, 3, up::integer_bins{}, counts, out_of_range);
    up::histogram_channels(gpu, image, 2, std::array{up::integer_bins{}, up::integer_bins{1, 9}}, counts, out_of_range);
    up::histogram(gpu, image, up::integer_bins{}, counts, out_of_range.data());
    const std::span<const std::uint8_t> bytes(pixels, 30000);
    up::joint_histogram(gpu, std::tuple{bytes, bytes}, std::tuple{even, even}, counts, out_of_range.data());
}

void add_up(const up::cuda& gpu, std::span<const float> in, std::span<const double> weights, std::span<double> sums,
            up::weight_outside<double>* out_of_range)
{
    up::weighted_histogram(gpu, in, weights, up::even_bins{0, 1, sums.size()}, sums, out_of_range);
}

void fold_lines(const up::cuda& gpu, up::view<const float, 2> image, up::view<double, 1> sums,
                std::span<const std::int32_t> keys, std::span<std::int32_t> values, std::span<std::int64_t> lengths,
                std::uint64_t* runs)
{
    up::reduce(gpu, image, up::axis{0}, sums, up::plus{});
    up::segmented_inclusive_scan(gpu, keys, lengths, values, up::maximum{});
    up::run_length_encode(gpu, keys, values, lengths, runs);
    up::run_length_decode(gpu, keys, keys, values);
}

struct is_positive {
    UPSWEEP_HOST_DEVICE bool operator()(float x) const { return x > 0; }
};

void select_and_ask(const up::cuda& gpu, std::span<const float> in, std::span<const std::uint8_t> flags,
                    std::span<float> out, std::size_t* found, up::view<const double, 2> image,
                    up::view<double, 2> results, up::view<const std::int32_t, 2> boxes)
{
    up::select(gpu, in, is_positive{}, out, found);
    up::partition(gpu, in, flags, out, found);
    up::adjacent_difference(gpu, in, out);
    up::linear_recurrence(gpu, image, image, results, up::axis{1}, up::backward);
    up::argmin(gpu, in, found);
    up::argmax(gpu, image, up::axis{0}, up::view<std::size_t, 1>(found, {image.extent(1)}));
    up::rectangle_mean(gpu, image, boxes, out);
    up::window_mean(gpu, image, 2, 3, results);
}
