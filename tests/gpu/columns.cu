// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Lines side by side by the kernels that are chosen for more elements than a test has.
#include <bit>

#include "matrices_of_elements.cuh"

namespace upsweep::test {

namespace {

constexpr std::size_t piece = gpu::piece_rows;

// Of which most numbers are zero.
template <class Number, int Count>
host_array<several<Number, Count>> random_several(std::size_t count)
{
    auto random = generator();
    host_array<several<Number, Count>> values(count);
    for (auto& value : values)
        for (Number& number : value.numbers)
            number = static_cast<Number>(random() % 4 == 0 ? random() : 0);
    return values;
}

template <class Number, int Count>
void expect_panels_of_several()
{
    using element = several<Number, Count>;
    for (const std::size_t columns : {2, 33, 300, 520})
        for (const std::size_t gap : {0, 1, 47}) {
            constexpr std::size_t rows = piece + 9;
            auto values = random_several<Number, Count>(1 + rows * (columns + gap) - gap);
            matrices_of_elements<element>{1, rows, columns, 1, gap, std::move(values)}.expect_panels(
                joining<Number, Count>);
        }
}

template <class Number, int Count>
void expect_panel_scans_of_several()
{
    using element = several<Number, Count>;
    for (const std::size_t columns : {5, 33}) {
        constexpr std::size_t rows = 777;
        auto values = random_several<Number, Count>(1 + rows * columns);
        matrices_of_elements<element>{1, rows, columns, 1, 0, std::move(values)}.expect_panel_scans(
            joining<Number, Count>);
    }
}

} // namespace

// Rows shorter than a word, of a few elements, of as many as a block has threads, and of several parts, of which the last one is shorter; panels of one
// matrix and of several, of groups of threads of which some have no panel, and rows behind the last of them.
TEST(gpu_columns, by_panels)
{
    for (const std::size_t columns : {2, 3, 7, 33, 48, 100, 511, 512, 513, 800, 1030})
        matrices_of_elements<float>{1, 2 * piece + 77, columns}.expect_panels(plus{});
    for (const std::size_t offset : {1, 3})
        matrices_of_elements<float>{3, piece + 31, 50, offset}.expect_panels(plus{});
    for (const std::size_t offset : {1, 2})
        matrices_of_elements<float>{2, piece + 31, 601, offset}.expect_panels(plus{});
    matrices_of_elements<affine>{2, 3 * piece + 1, 65}.expect_panels(composition);
    matrices_of_elements<affine>{2, 3 * piece, 3}.expect_panels(composition);
    matrices_of_elements<affine>{1, piece + 2, 515, 1}.expect_panels(composition);
    matrices_of_elements<double>{1, piece + 5, 70, 1}.expect_panels(plus{});
}
// What lies behind the last element of all is not read.
TEST(gpu_columns, by_panels_up_to_the_last_element)
{
    for (const std::size_t columns : {3, 50, 51, 701})
        for (const std::size_t gap : {0, 1, 13, 100})
            matrices_of_elements<float>{1, piece, columns, gap % 3, gap}.expect_panels(plus{});
    for (const std::size_t columns : {3, 51, 701})
        matrices_of_elements<std::uint8_t>{1, piece, columns, 0, columns % 10}.expect_panels(plus{});
}
// Small gaps are copied with the rows, of others each row by itself.
TEST(gpu_columns, by_panels_of_rows_that_lie_apart)
{
    for (const std::size_t gap : {1, 3, 5, 17, 40, 1000})
        matrices_of_elements<float>{1, 2 * piece, 50, gap % 7, gap}.expect_panels(plus{});
    for (const std::size_t gap : {1, 16, 17, 99})
        matrices_of_elements<float>{2, piece + 3, 2, 1, gap}.expect_panels(plus{});
    matrices_of_elements<float>{3, piece + 31, 100, 1, 11}.expect_panels(plus{});
    matrices_of_elements<float>{1, piece + 31, 700, 3, 11}.expect_panels(plus{});
    for (const std::size_t gap : {3, 48})
        matrices_of_elements<double>{2, piece, 48, 1, gap}.expect_panels(plus{});
    for (const std::size_t gap : {7, 70, 203})
        matrices_of_elements<std::uint8_t>{2, piece, 101, 3, gap}.expect_panels(plus{});
    for (const std::size_t gap : {1, 35, 62})
        matrices_of_elements<f16>{1, piece + 9, 66, 1, gap}.expect_panels(plus{});
    for (const std::size_t gap : {2, 9})
        matrices_of_elements<affine>{2, piece + 1, 65, 0, gap}.expect_panels(composition);
}
TEST(gpu_columns, of_narrow_elements_by_panels)
{
    for (const std::size_t columns : {2, 3, 5, 50, 101, 1030, 2048})
        matrices_of_elements<std::uint8_t>{1, piece + 9, columns, columns % 4}.expect_panels(plus{});
    matrices_of_elements<std::int8_t>{2, 2 * piece + 200, 67}.expect_panels(minimum{});
    for (const std::size_t columns : {2, 49})
        matrices_of_elements<f16>{2, 2 * piece + 33, columns, 1}.expect_panels(plus{});
}
// A stage begins where the last one did in a sector of memory after as many rows as the size of an element asks for.
TEST(gpu_columns, of_elements_of_other_sizes_by_panels)
{
    expect_panels_of_several<std::uint8_t, 3>();
    expect_panels_of_several<std::uint32_t, 3>();
    for (const std::size_t columns : {3, 140, 300})
        matrices_of_elements<matrix>{1, piece + 9, columns, 1, 1}.expect_panels(product);
    using element = several<std::uint8_t, 5>;
    const view<const element, 2> of_odd_size(nullptr, {piece, 3}, {3, 1});
    const auto cuts =
        gpu::cut_into_panels(detail::lines_of(of_odd_size, axis{0}, static_cast<element*>(nullptr), 1, {0, 1}));
    EXPECT_EQ(cuts.stage_rows * 3 * sizeof(element) % gpu::panel_shape::sector, 0U);
    // Groups have panels of whole rows: of parts, the last one has fewer lines.
    using odd = several<std::uint8_t, 11>;
    const view<const odd, 2> of_parts(nullptr, {2 * piece, 373}, {376, 1});
    const auto parts =
        gpu::cut_into_panels(detail::lines_of(of_parts, axis{0}, static_cast<odd*>(nullptr), 1, {0, 1}), 1);
    EXPECT_GT(parts.parts.divisor, 1U);
    EXPECT_EQ(parts.groups, 1U);
}
TEST(gpu_columns, of_groups_of_panels)
{
    matrices_of_elements<float>{1, (piece + 1) * piece + 3, 2}.expect_panels(plus{}); // groups of totals, and one more
    matrices_of_elements<std::uint8_t>{1, (2 * piece + 40) * piece, 1 + 2}.expect_panels(plus{});
}
// Many elements are, wherever rows begin, unless rows are long and begin with a sector of memory each.
TEST(gpu_columns, that_are_long_are_folded_by_panels)
{
    alignas(32) float memory[8] = {};
    const auto are_panels = [&](std::size_t rows, std::size_t columns, std::size_t pitch, std::size_t offset = 0) {
        const view<const float, 2> elements(memory + offset, {rows, columns}, {static_cast<std::ptrdiff_t>(pitch), 1});
        return gpu::are_long_panels(cuda{}, detail::lines_of(elements, axis{0}, memory, 1, {0, 1}));
    };
    constexpr std::size_t many = std::size_t{1} << 25;
    for (const std::size_t columns : {2, 5, 16, 100, 300, 1000, 2047, 4095, 4097})
        EXPECT_TRUE(are_panels(many / columns, columns, columns)) << columns;
    EXPECT_TRUE(are_panels(many / 4096, 4096, 4096, 1));
    EXPECT_TRUE(are_panels(many / 4096, 4096, 4099));
    EXPECT_FALSE(are_panels(many / 4096, 4096, 4096));
    EXPECT_FALSE(are_panels(many / 4096, 4096, 4104));
    EXPECT_TRUE(are_panels(std::size_t{1} << 23, 2, 3));
    EXPECT_FALSE(are_panels(std::size_t{1} << 17, 100, 100)); // too few elements
    EXPECT_FALSE(are_panels(900, many / 900, many / 900));    // too few rows
}
TEST(gpu_columns, by_pieces)
{
    for (const std::size_t left : {0, 1, 31, 32, 33, 200, 255}) // behind the last piece
        matrices_of_elements<affine>{1, 2 * piece + left, 35}.expect_pieces(composition);
    matrices_of_elements<affine>{3, 40, 35}.expect_pieces(composition); // no piece at all
    matrices_of_elements<std::int32_t>{2, 3 * piece + 7, 33}.expect_pieces(plus{});
    matrices_of_elements<f16>{2, 3 * piece + 7, 33}.expect_pieces(plus{});
}

// A tile that is not whole may be the last one of a group, of which no total is ever published then.
TEST(gpu_columns, whose_last_tile_is_the_last_of_a_group)
{
    const matrices_of_elements<matrix> of{1, 32 * 128 - 7, 33}; // tiles of 128 rows
    of.expect_reductions(product);
    of.expect_scans(product);
}

// Blocks are wide where rows begin anywhere; groups of 8 tiles, and of 64, whole and begun, whose last tile is whole or not.
TEST(gpu_columns, of_rows_that_begin_anywhere)
{
    constexpr std::size_t tile = 128;
    for (const std::size_t rows : {8 * tile - 5, 8 * tile, 9 * tile + 3})
        matrices_of_elements<float>{1, rows, 101}.expect_scans(plus{});
    matrices_of_elements<float>{1, 65 * tile + 1, 98}.expect_scans(plus{});
    matrices_of_elements<float>{1, 600, 257}.expect_scans(plus{});
    matrices_of_elements<affine>{2, 9 * tile + 77, 99, 1}.expect_scans(composition);
}

// Scans by panels of as many lines as a block has for one group of threads and for many; whole tiles, and one that has less than a row of a thread, or more;
// groups of 8 and 64 tiles; matrices behind each other, and gaps between the rows of elements.
TEST(gpu_columns, scanned_by_panels)
{
    for (const std::size_t columns : {2, 3, 5, 7, 8, 31, 33, 63, 65, 96, 127, 128})
        for (const std::size_t left : {0, 1, 63, 64, 200}) {
            const std::size_t tile = 64 * std::min<std::size_t>(std::bit_floor(256 / columns), 32);
            matrices_of_elements<float>{1, 2 * tile + left, columns}.expect_panel_scans(plus{});
        }
    matrices_of_elements<float>{1, 65 * 128 + 1, 97}.expect_panel_scans(plus{});
    for (const std::size_t gap : {0, 1, 3, 8}) {
        matrices_of_elements<affine>{3, 600, 33, 1, gap}.expect_panel_scans(composition);
        matrices_of_elements<float>{2, 777, 33, 3, gap}.expect_panel_scans(plus{});
    }
}
TEST(gpu_columns, of_narrow_elements_scanned_by_panels)
{
    for (const std::size_t columns : {2, 3, 5, 33, 127, 128})
        for (const std::size_t offset : {0, 1, 15, 16}) {
            matrices_of_elements<std::uint8_t>{1, 5000, columns, offset}.expect_panel_scans(plus{});
            matrices_of_elements<f16>{1, 5000, columns, offset}.expect_panel_scans(plus{});
        }
    matrices_of_elements<f16>{2, 9 * 512 + 3, 51, 1, 2}.expect_panel_scans(plus{});
    matrices_of_elements<std::uint8_t>{1, 3000, 33}.expect_exclusive_scans(plus{}); // for which panels are chosen
    matrices_of_elements<f16>{2, 3000, 33}.expect_exclusive_scans(plus{});
}
TEST(gpu_columns, of_elements_of_other_sizes_scanned_by_panels)
{
    for (const std::size_t columns : {3, 33, 100}) {
        matrices_of_elements<matrix>{1, 1000, columns, 1}.expect_panel_scans(product);
        matrices_of_elements<double>{2, 1000, columns, 1}.expect_panel_scans(plus{});
    }
}
TEST(gpu_columns, of_several_numbers_scanned_by_panels)
{
    expect_panel_scans_of_several<float, 3>();
    static_assert(
        !gpu::may_be_scan_panels<several<std::uint8_t, 9>, several<std::uint8_t, 9>, several<std::uint8_t, 9>>);
}
// Results may be wider than elements, which they replace in shared memory.
template <bool HasFolders>
void expect_bytes_as_integers(std::size_t columns)
{
    constexpr std::size_t rows = 3000;
    const matrices_of_elements<std::uint8_t> of{1, rows, columns, 1};
    target_array<cuda, std::uint32_t> out(of.size());
    const view<std::uint32_t, 3> results(out.span().data(), {1, rows, columns});
    const auto lines =
        detail::lines_of(of.elements(), axis{1}, results.data(), rows,
                         {static_cast<std::ptrdiff_t>(of.size()), static_cast<std::ptrdiff_t>(columns), 1});
    scan_by_panels<HasFolders, std::uint32_t>(lines, plus{});
    const host_array<std::uint32_t> sums = out.to_host();
    for (std::size_t c = 0; c < columns; ++c) {
        std::uint32_t expected = 0;
        for (std::size_t r = 0; r < rows; ++r) {
            expected += of.values[1 + r * columns + c];
            ASSERT_EQ(sums[r * columns + c], expected) << r << ", " << c << " of " << columns;
        }
    }
}
TEST(gpu_columns, of_bytes_scanned_as_integers_by_panels)
{
    for (const std::size_t columns : {2, 3, 51, 128}) {
        expect_bytes_as_integers<false>(columns);
        expect_bytes_as_integers<true>(columns);
    }
}
// Tiles enough for all rows of them that are folded at once, and for blocks of rows; and several matrices, of which each has its packs, and whose last one is
// not full.
TEST(gpu_columns, scanned_by_panels_with_folders_of_many_tiles)
{
    matrices_of_elements<float>{1, 2048 * 140 + 5, 3}.expect_panel_scans(plus{});
    matrices_of_elements<float>{1, 2048 * 64, 4, 1}.expect_panel_scans(plus{});
    matrices_of_elements<std::uint8_t>{2, 4096 * 34 + 1, 3, 1}.expect_panel_scans(maximum{});
    matrices_of_elements<affine>{2, 128 * 70 + 1, 33, 1}.expect_panel_scans(composition);
    matrices_of_elements<double>{1, 1024 * 290, 3, 1}.expect_panel_scans(plus{}); // nine rows of 32 tiles
}
// So many tiles that each block scans several, whose bulk copies take turns in the same shared memory.
TEST(gpu_columns, scanned_by_panels_with_folders_of_more_tiles_than_blocks)
{
    const auto tiles = std::size_t{16} * static_cast<unsigned>(cuda{}.workspace().multiprocessors());
    const matrices_of_elements<float> of{1, 256 * tiles + 3, 33, 1};
    const auto scans = [&](auto scan) {
        target_array<cuda, float> out(of.size());
        scan(of.lines_into(view<float, 3>(out.span().data(), {1, of.rows, of.columns})));
        return out.to_host();
    };
    const host_array<float> by_tree = scans([](const auto& lines) { scan_by_panels<false, float>(lines, plus{}); });
    for (const bool in_bulk : {true, false})
        EXPECT_TRUE(bits_equal(scans([&](const auto& lines) { scan_by_panels<true, float>(lines, plus{}, in_bulk); }),
                               by_tree));
}
TEST(gpu_columns, scanned_exclusively_by_panels_with_folders)
{
    matrices_of_elements<float>{2, 256 * 35 + 3, 33, 1}.expect_exclusive_panel_scans(plus{});
    matrices_of_elements<affine>{1, 256 * 10, 10}.expect_exclusive_panel_scans(composition);
}

template <class T>
bool have_folders(std::size_t matrices, std::size_t rows, std::size_t columns)
{
    return gpu::are_faster_with_folders<T, T, T>(columns, matrices, matrices * rows * columns);
}
TEST(gpu_columns, have_folders_where_few_long_lines_lie_side_by_side)
{
    constexpr std::size_t long_line = 1 << 21;
    EXPECT_TRUE(have_folders<float>(1, long_line, 33));
    EXPECT_FALSE(have_folders<float>(1, long_line, 16)); // whole sectors
    EXPECT_FALSE(have_folders<float>(1, long_line, 96));
    EXPECT_FALSE(have_folders<float>(1, 1 << 10, 33));
    EXPECT_FALSE(have_folders<float>(100, 1 << 17, 33)); // many matrices
    EXPECT_TRUE(have_folders<double>(1, long_line, 56));
    EXPECT_TRUE(have_folders<double>(1, long_line, 83));
    EXPECT_FALSE(have_folders<double>(1, long_line, 60)); // whole sectors
    EXPECT_FALSE(have_folders<double>(1, long_line, 85));
    EXPECT_FALSE(have_folders<double>(5, long_line, 20));
    EXPECT_TRUE(have_folders<std::uint8_t>(1, long_line, 101));
    EXPECT_FALSE(have_folders<std::uint8_t>(1, 1 << 12, 101));
}

TEST(gpu_columns, are_copied_in_bulk_where_tiles_are_many_and_large)
{
    constexpr std::size_t many = std::size_t{1} << 26; // bytes
    gpu::scan_panel_cuts cuts{};
    cuts.groups = 4;
    cuts.in.chunk_bytes = 6144;
    EXPECT_TRUE(gpu::are_faster_in_bulk(cuts, many));
    EXPECT_FALSE(gpu::are_faster_in_bulk(cuts, many - 1));
    cuts.in.chunk_bytes -= 32;
    EXPECT_FALSE(gpu::are_faster_in_bulk(cuts, many));
}

// Where results take the place of elements, panels are those whose words belong to one chunk each.
template <bool HasFolders>
void expect_panels_in_place()
{
    for (const std::size_t offset : {0, 1, 4}) {
        const matrices_of_elements<float> of{1, 3000, 33, offset};
        target_array<cuda, float> all(of.values.span());
        const view<float, 3> elements(all.span().data() + offset, {1, of.rows, of.columns});
        const auto lines =
            detail::lines_of(view<const float, 3>(elements), axis{1}, elements.data(), of.rows,
                             {static_cast<std::ptrdiff_t>(of.size()), static_cast<std::ptrdiff_t>(of.columns), 1});
        EXPECT_EQ(gpu::can_be_scan_panels<float>(cuda{}, lines, gpu::cut_into_scan_panels<float>(lines)),
                  offset % 4 == 0);
        if (offset % 4 != 0)
            continue;
        scan_by_panels<HasFolders, float>(lines, plus{});
        const host_array<float> got = all.to_host();
        for (std::size_t i = 0; i < of.lines(); ++i) {
            const auto folds = literal_folds(of.line(i).span(), plus{});
            for (std::size_t r = 0; r < of.rows; ++r)
                ASSERT_TRUE(same_bits(got[offset + of.place(i, r)], as_expected<float>(folds[r]))) << i << ", " << r;
        }
    }
}

TEST(gpu_columns, scanned_by_panels_in_place) { expect_panels_in_place<false>(); }
TEST(gpu_columns, scanned_by_panels_with_folders_in_place) { expect_panels_in_place<true>(); }

} // namespace upsweep::test
