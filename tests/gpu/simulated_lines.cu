// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Rows, columns and segments in the simulator: right under every schedule, without a finding, and read once. simulated.cu sets
// the machine up.
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>
#include <upsweep/axis.hpp>
#include <upsweep/image.hpp>
#include <upsweep/segmented.hpp>

#include "../expected.hpp"
#include "../image_reference.hpp"
#include "../samples.hpp"
#include "../targets.hpp"
#include "schedules.hpp"

namespace up = upsweep;
namespace sim = upsweep::simulator;
using namespace upsweep::test;

namespace {

// Segments of elements, of which one is long, and what they fold to.
struct cut_elements {
    std::vector<std::int32_t> offsets;
    host_array<float> values;
    host_array<float> folds;
    host_array<float> scans;

    explicit cut_elements(const std::vector<int>& lengths)
        : offsets(offsets_of(lengths)), values(random_values(static_cast<std::size_t>(offsets.back()))),
          folds(lengths.size()), scans(values.size())
    {
        for (std::size_t k = 0; k < lengths.size(); ++k) {
            const auto line =
                values.span().subspan(static_cast<std::size_t>(offsets[k]), static_cast<std::size_t>(lengths[k]));
            folds[k] = line.empty() ? 0.0F : literal_fold(line, up::plus{});
            const auto of_line = literal_folds(line, up::plus{});
            std::copy(of_line.begin(), of_line.end(), scans.begin() + offsets[k]);
        }
    }

    static std::vector<std::int32_t> offsets_of(const std::vector<int>& lengths)
    {
        std::vector<std::int32_t> offsets{0};
        for (const int length : lengths)
            offsets.push_back(offsets.back() + length);
        return offsets;
    }
    static host_array<float> random_values(std::size_t count)
    {
        auto random = generator();
        return random_array<float>(random, count);
    }

    void expect_folds() const
    {
        const target_array<up::cuda, float> in(values.span());
        const target_array<up::cuda, std::int32_t> cuts{std::span<const std::int32_t>(offsets)};
        target_array<up::cuda, float> out(folds.size());
        up::segmented_reduce(up::cuda{}, in.const_span(), cuts.const_span(), out.span(), up::plus{});
        EXPECT_TRUE(bits_equal(out.to_host(), folds));
    }
    // From elements at the beginning of a vector to results that do not begin there, nor touch what lies around them.
    void expect_scans_elsewhere() const
    {
        const target_array<up::cuda, float> in(values.span());
        const target_array<up::cuda, std::int32_t> cuts{std::span<const std::int32_t>(offsets)};
        for (const std::size_t shift : {1, 2, 3}) {
            target_array<up::cuda, float> out(values.size() + 4);
            const host_array<float> before = out.to_host();
            up::segmented_inclusive_scan(up::cuda{}, in.const_span(), cuts.const_span(),
                                         out.span().subspan(shift, values.size()), up::plus{});
            const host_array<float> got = out.to_host();
            EXPECT_TRUE(bits_equal(host_array<float>(got.span().subspan(shift, values.size())), scans)) << shift;
            for (std::size_t i = 0; i < got.size(); ++i) {
                if (i < shift || i >= shift + values.size()) {
                    EXPECT_TRUE(same_bits(got[i], before[i])) << i;
                }
            }
        }
    }
    void expect_scans() const
    {
        const target_array<up::cuda, std::int32_t> cuts{std::span<const std::int32_t>(offsets)};
        target_array<up::cuda, float> array(values.span());
        up::segmented_inclusive_scan(up::cuda{}, array.const_span(), cuts.const_span(), array.span(), up::plus{});
        EXPECT_TRUE(bits_equal(array.to_host(), scans));
    }
};

// Of 256 elements a piece: groups of 32 pieces are joined, and the last one of them is.
const std::vector<int> some_lengths{5, 0, 33 * 256, 1, 300, 600, 255, 256, 257, 17, 64 * 256, 40};

TEST(simulated_lines, segments_under_40_schedules)
{
    const cut_elements cut(some_lengths);
    under_schedules(schedules(40), [&] { cut.expect_folds(); });
    under_schedules(schedules(40), [&] { cut.expect_scans(); });
}
TEST(simulated_lines, segments_whose_results_are_not_aligned)
{
    const cut_elements cut(some_lengths);
    under_schedules(schedules(0), [&] { cut.expect_scans_elsewhere(); });
}
TEST(simulated_lines, segments_with_each_block_stalled_and_each_block_first)
{
    const cut_elements cut(some_lengths);
    under_schedules(unfair_schedules(4), [&] { cut.expect_folds(); });
    under_schedules(unfair_schedules(4), [&] { cut.expect_scans(); });
}

// Pieces that fill their window, whose warps have several of them, and that begin anywhere.
TEST(simulated_lines, segments_of_large_pieces)
{
    const cut_elements cut({3, 150 * 1024, 5, 40 * 1024 + 1, 70 * 1024 - 9});
    under_schedules(schedules(1), [&] { cut.expect_folds(); });
    under_schedules(schedules(1), [&] { cut.expect_scans(); });
}

// The lines of a matrix along an axis, and what they fold to.
struct folded_lines {
    std::size_t rows;
    std::size_t columns;
    std::size_t axis;
    host_array<float> values;
    host_array<float> folds;
    host_array<float> scans;

    folded_lines(std::size_t r, std::size_t c, std::size_t along)
        : rows(r), columns(c), axis(along), values(random_values(r * c)), folds(along == 0 ? c : r), scans(r * c)
    {
        const std::size_t length = axis == 0 ? rows : columns;
        const auto place = [&](std::size_t l, std::size_t i) { return axis == 0 ? i * columns + l : l * columns + i; };
        for (std::size_t l = 0; l < folds.size(); ++l) {
            host_array<float> line(length);
            for (std::size_t i = 0; i < length; ++i)
                line[i] = values[place(l, i)];
            const auto of_line = literal_folds(line.span(), up::plus{});
            for (std::size_t i = 0; i < length; ++i)
                scans[place(l, i)] = of_line[i];
            folds[l] = literal_fold(line.span(), up::plus{});
        }
    }
    static host_array<float> random_values(std::size_t count)
    {
        auto random = generator();
        return random_array<float>(random, count);
    }

    void expect_right(const std::vector<sim::schedule>& schedules) const
    {
        under_schedules(schedules, [&] {
            target_array<up::cuda, float> array(values.span());
            target_array<up::cuda, float> out(folds.size());
            const up::view<float, 2> image(array.span().data(), {rows, columns});
            up::reduce(up::cuda{}, image, up::axis{axis}, up::view<float, 1>(out.span()), up::plus{});
            EXPECT_TRUE(bits_equal(out.to_host(), folds));
            up::inclusive_scan(up::cuda{}, image, up::axis{axis}, image, up::plus{});
            EXPECT_TRUE(bits_equal(array.to_host(), scans));
        });
    }

    // Columns that are scanned, in place or from element `offset` of another array on, by the kernel for more elements than a test has.
    template <bool HasFolders>
    void expect_panels(const std::vector<sim::schedule>& schedules, bool in_bulk = true, std::size_t offset = 0) const
    {
        under_schedules(schedules, [&] {
            target_array<up::cuda, float> array(values.span());
            target_array<up::cuda, float> other(offset + values.size());
            const up::view<const float, 2> image(array.span().data(), {rows, columns});
            float* const out = offset == 0 ? array.span().data() : other.span().data() + offset;
            const auto stride = static_cast<std::ptrdiff_t>(columns);
            const auto lines = up::detail::lines_of(image, up::axis{0}, out, rows, {stride, 1});
            up::gpu::scan_panel_cuts cuts = up::gpu::cut_into_scan_panels<float>(lines);
            cuts.in_bulk = in_bulk;
            up::gpu::scan_by_panels<HasFolders>(
                up::cuda{}, "scan", lines, cuts, up::plus{},
                up::gpu::start_of_lines<float>(up::scan_kind::inclusive, up::plus{}, nullptr));
            const host_array<float> results = (offset == 0 ? array : other).to_host();
            for (std::size_t i = 0; i < scans.size(); ++i)
                ASSERT_TRUE(same_bits(results[offset + i], scans[i])) << i;
        });
    }
};
void expect_columns(std::size_t rows, std::size_t columns, const std::vector<sim::schedule>& schedules)
{
    folded_lines(rows, columns, 0).expect_right(schedules);
}
void expect_rows(std::size_t rows, std::size_t columns, const std::vector<sim::schedule>& schedules)
{
    folded_lines(rows, columns, 1).expect_right(schedules);
}
TEST(simulated_lines, columns_of_several_tiles)
{
    expect_columns(1300, 6, schedules(10));
    expect_columns(5000, 3, schedules(10)); // in one piece
}
TEST(simulated_lines, columns_of_many_tiles)
{
    expect_columns(34 * 512 + 7, 33, schedules(1)); // tiles enough for a group
    expect_columns(32 * 512 - 7, 33, schedules(1)); // of which the last one is not whole
    expect_columns(33 * 4096, 2, schedules(1));     // in one piece, all of them whole
}
TEST(simulated_lines, columns_with_each_block_stalled_and_each_block_first)
{
    expect_columns(1300, 40, unfair_schedules(4));
    expect_columns(9000, 3, unfair_schedules(4));
}
TEST(simulated_lines, columns_scanned_by_panels)
{
    folded_lines(1300, 40, 0).expect_panels<false>(schedules(10));
    folded_lines(66 * 256 + 7, 33, 0).expect_panels<false>(schedules(1)); // tiles enough for a group of groups
    folded_lines(5000, 3, 0).expect_panels<false>(unfair_schedules(4));
}
TEST(simulated_lines, columns_scanned_by_panels_with_folders)
{
    folded_lines(1300, 40, 0).expect_panels<true>(schedules(10));
    folded_lines(70 * 256, 33, 0)
        .expect_panels<true>(schedules(1)); // two rows of tiles that are folded, and some of a third
    folded_lines(32 * 256 + 1, 33, 0).expect_panels<true>(schedules(1)); // a row, and a tile that is not whole
    folded_lines(5000, 3, 0).expect_panels<true>(unfair_schedules(4));
    folded_lines(1300, 40, 0).expect_panels<true>(schedules(4), true, 1); // whose chunks have words that they share
    folded_lines(1300, 40, 0).expect_panels<true>(schedules(4), false);
}
TEST(simulated_lines, columns_by_panels_with_folders_of_an_older_generation)
{
    sim::options options = sim::current_options();
    options.machine.major = 8;
    const sim::with_options with(options);
    folded_lines(1300, 40, 0).expect_panels<true>(schedules(2));
}
TEST(simulated_lines, rows_of_several_tiles)
{
    expect_rows(3, 2 * 8192 + 11, schedules(10));
    expect_rows(2, 2 * 8192, schedules(10));
}
TEST(simulated_lines, rows_of_many_tiles) { expect_rows(1, 33 * 8192 + 1, schedules(1)); }
TEST(simulated_lines, rows_with_each_block_stalled_and_each_block_first)
{
    expect_rows(1, 4 * 8192 + 31, unfair_schedules(4));
}
TEST(simulated_lines, short_columns)
{
    for (const std::size_t rows : {2, 3, 4, 5, 15, 16, 17, 32, 63})
        expect_columns(rows, 1100, schedules(1));
}

// Which many columns alone would be.
TEST(simulated_lines, walks_past_all_levels)
{
    const folded_lines lines(up::gpu::longest_walk - 1, 33, 0);
    under_schedules(schedules(1), [&] {
        target_array<up::cuda, float> array(lines.values.span());
        target_array<up::cuda, float> out(lines.columns);
        const up::view<const float, 2> image(array.span().data(), {lines.rows, lines.columns});
        const auto columns = up::detail::lines_of(image, up::axis{0}, out.span().data(), 1, {0, 1});
        up::gpu::reduce_walked<float>(up::cuda{}, "reduce", columns, up::plus{}, up::detail::as_results_of<up::plus>{});
        EXPECT_TRUE(bits_equal(out.to_host(), lines.folds));
        const auto stride = static_cast<std::ptrdiff_t>(lines.columns);
        const auto scans = up::detail::lines_of(image, up::axis{0}, array.span().data(), lines.rows, {stride, 1});
        up::gpu::scan_walked(up::cuda{}, "scan", scans, up::plus{},
                             up::gpu::start_of_lines<float>(up::scan_kind::inclusive, up::plus{}, nullptr));
        EXPECT_TRUE(bits_equal(array.to_host(), lines.scans));
    });
}

// Of all launches of f().
template <class F>
std::uint64_t load_bytes_of(F f)
{
    f();
    const sim::recording recorded;
    f();
    for (const auto& finding : recorded.findings())
        ADD_FAILURE() << finding.text();
    std::uint64_t sum = 0;
    for (const auto& launch : recorded.launches())
        sum += launch.total.load_bytes;
    return sum;
}

TEST(simulated_lines, elements_are_read_once)
{
    constexpr std::size_t rows = 256; // one tile of columns, which has no states to read
    constexpr std::size_t columns = 96;
    constexpr std::uint64_t bytes = rows * columns * sizeof(float);
    auto random = generator();
    const target_array<up::cuda, float> in(random_array<float>(random, rows * columns).span());
    target_array<up::cuda, float> out(rows);
    const up::cuda gpu;
    const up::view<const float, 2> image(in.const_span().data(), {rows, columns});
    const auto of_columns = load_bytes_of(
        [&] { up::reduce(gpu, image, up::axis{0}, up::view<float, 1>(out.span().first(columns)), up::plus{}); });
    EXPECT_GE(of_columns, bytes);
    EXPECT_LE(of_columns, bytes + bytes / 50);
    const auto of_rows =
        load_bytes_of([&] { up::reduce(gpu, image, up::axis{1}, up::view<float, 1>(out.span()), up::plus{}); });
    EXPECT_GE(of_rows, bytes);
    EXPECT_LE(of_rows, bytes + bytes / 50);
}

// Ten bands of an image, which wait for one another.
class banded_image {
public:
    static constexpr std::size_t rows = 32 * 9 + 5;
    static constexpr std::size_t columns = 70;

    banded_image()
        : values_(cut_elements::random_values(rows * columns)), sums_(expected_integral(values_, rows, columns))
    {
    }
    void expect_sums() const
    {
        const target_array<up::cuda, float> in(values_.span());
        target_array<up::cuda, float> out(rows * columns);
        scan(in, out);
        EXPECT_TRUE(bits_equal(out.to_host(), sums_));
    }
    std::uint64_t load_bytes() const
    {
        const target_array<up::cuda, float> in(values_.span());
        target_array<up::cuda, float> out(rows * columns);
        return load_bytes_of([&] { scan(in, out); });
    }

private:
    static void scan(const target_array<up::cuda, float>& in, target_array<up::cuda, float>& out)
    {
        up::integral_image(up::cuda{}, up::view<const float, 2>(in.const_span().data(), {rows, columns}),
                           up::view<float, 2>(out.span().data(), {rows, columns}));
    }

    host_array<float> values_;
    host_array<float> sums_;
};

TEST(simulated_lines, bands_of_an_image_under_200_schedules)
{
    const banded_image image;
    under_schedules(schedules(200), [&] { image.expect_sums(); });
}
TEST(simulated_lines, bands_of_an_image_with_each_block_stalled_and_each_block_first)
{
    const banded_image image;
    const unsigned blocks = blocks_of([&] { image.expect_sums(); });
    EXPECT_GT(blocks, 1U);
    under_schedules(unfair_schedules(blocks), [&] { image.expect_sums(); });
}

// Of 32 rows a column reads four states of 8 bytes on average, which may be looked at again, and the words at the edges of squares are read twice.
TEST(simulated_lines, images_are_read_once)
{
    constexpr std::uint64_t bytes = banded_image::rows * banded_image::columns * sizeof(float);
    const std::uint64_t read = banded_image().load_bytes();
    EXPECT_GE(read, bytes);
    EXPECT_LE(read, 2 * bytes);
}

} // namespace
