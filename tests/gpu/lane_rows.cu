// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Rows along which a lane walks each. The kernels are called by name: they are chosen for more rows than a test has.
#include <cstddef>
#include <cstdint>
#include <initializer_list>

#include <upsweep/monoids.hpp>

#include "rows_of_elements.cuh"

namespace upsweep::test {

template <class T, class Op>
void expect_lane_rows(const rows_of_elements<T>& of, const Op& op)
{
    of.expect_totals(op, [](const auto& lines, const auto& by, const auto& finish) {
        gpu::reduce_lane_rows<accumulator_t<Op, T>>(cuda{}, "reduce", lines, by, finish);
    });
}

// Lengths around a word of 16 bytes, around blocks, and around one stage and several.
template <class T>
inline constexpr std::size_t of_word = gpu::vector_elements<sizeof(T)>;
template <class T>
inline constexpr std::initializer_list<std::size_t> lane_row_lengths{1,
                                                                     3,
                                                                     of_word<T> - 1,
                                                                     of_word<T>,
                                                                     of_word<T> + 1,
                                                                     4 * of_word<T> + 1,
                                                                     7 * of_word<T> + 1,
                                                                     8 * of_word<T>,
                                                                     8 * of_word<T> + 1,
                                                                     15 * of_word<T>,
                                                                     16 * of_word<T> - 1,
                                                                     27 * of_word<T> + 3,
                                                                     45 * of_word<T>,
                                                                     100 * of_word<T> + of_word<T> / 2};

// Rows without gaps from every place in a word on, and rows that lie apart.
template <class T, class Op>
void expect_lane_rows(std::size_t rows, const Op& op)
{
    std::size_t offset = 0;
    for (const std::size_t length : lane_row_lengths<T>) {
        offset = (offset + 1) % of_word<T>;
        expect_lane_rows(rows_of_elements<T>{rows, length, length, 0}, op);
        expect_lane_rows(rows_of_elements<T>{rows, length, length, offset}, op);
        expect_lane_rows(rows_of_elements<T>{rows, length, length + 1, offset}, op);
        expect_lane_rows(rows_of_elements<T>{rows, length, (length / of_word<T> + 2) * of_word<T>, 0}, op);
    }
}

TEST(gpu_lane_rows, of_bytes)
{
    expect_lane_rows<std::uint8_t>(67, plus{});
    expect_lane_rows<std::int8_t>(33, minimum{});
}
TEST(gpu_lane_rows, of_16_bits)
{
    expect_lane_rows<f16>(65, plus{});
    expect_lane_rows<std::int16_t>(31, maximum{});
}
TEST(gpu_lane_rows, of_32_bits)
{
    expect_lane_rows<float>(97, plus{});
    expect_lane_rows<std::int32_t>(64, plus{});
}
TEST(gpu_lane_rows, of_64_bits)
{
    expect_lane_rows<double>(40, plus{});
    expect_lane_rows<double>(40, minimum{});
}
TEST(gpu_lane_rows, of_moments)
{
    expect_lane_rows<float>(40, mean_and_variance{});
    expect_lane_rows<double>(33, mean_and_variance{});
}

// More rows than lanes, of a large GPU or of the simulated one, so that a warp has several times 32 of them, and the last time fewer.
TEST(gpu_lane_rows, of_which_a_lane_has_several)
{
    expect_lane_rows(rows_of_elements<float>{60'011, 7, 7, 1}, plus{});
    expect_lane_rows(rows_of_elements<float>{5'011, 41, 43, 1}, plus{});
    expect_lane_rows(rows_of_elements<std::uint8_t>{5'011, 150, 150, 3}, plus{});
}

// As long as a lane walks, and one element less than a power of two.
TEST(gpu_lane_rows, of_the_longest)
{
    constexpr std::size_t longest = (std::size_t{gpu::block_walk_rows<float>} << gpu::block_walk_levels) - 1;
    expect_lane_rows(rows_of_elements<float>{35, longest, longest, 1}, plus{});
}

// Memory that ends with the last element, and where the elements before the first have never been written: neither is read. Rows may overlap, too.
template <class T>
void expect_own_memory_only(std::size_t rows, std::size_t length, std::size_t pitch, std::size_t offset)
{
    const std::size_t count = (rows - 1) * pitch + length;
    const host_array<T> values = rows_of_elements<T>::random_values(count);
    T* memory = nullptr;
    gpu::check("cudaMalloc", cudaMalloc(&memory, (offset + count) * sizeof(T)));
    gpu::check("cudaMemcpy", cudaMemcpy(memory + offset, values.begin(), count * sizeof(T), cudaMemcpyHostToDevice));
    const view<const T, 2> matrix(memory + offset, {rows, length}, {static_cast<std::ptrdiff_t>(pitch), 1});
    target_array<cuda, T> results(rows);
    gpu::reduce_lane_rows<T>(cuda{}, "reduce", detail::lines_of(matrix, axis{1}, results.span().data(), 1, {1, 0}),
                             maximum{}, detail::as_results_of<maximum>{});
    const host_array<T> found = results.to_host();
    for (std::size_t i = 0; i < rows; ++i)
        ASSERT_TRUE(
            bits_equal(found[i], as_expected<T>(literal_fold(values.span().subspan(i * pitch, length), maximum{}))))
            << "row " << i << " of " << length << ", " << pitch << " apart, from " << offset;
    gpu::check("cudaFree", cudaFree(memory));
}

TEST(gpu_lane_rows, read_their_own_memory_only)
{
    for (const std::size_t length : {1, 29, 30, 32, 61, 94, 125})
        for (const std::size_t pitch : {std::size_t{1}, std::size_t{3}, length})
            for (std::size_t offset = 0; offset < 4; ++offset) {
                expect_own_memory_only<float>(65, length, pitch, offset);
                expect_own_memory_only<std::uint8_t>(97, 4 * length - 3, pitch, 5 * offset);
            }
    expect_own_memory_only<double>(70, 31, 1, 1);
    expect_own_memory_only<double>(70, 31, 31, 1);
}

// As the verbs choose them: rows in several dimensions, that lie apart, and rows that overlap.
TEST(gpu_lane_rows, of_views)
{
    constexpr std::size_t images = 3;
    constexpr std::size_t rows = 4096;
    constexpr std::size_t length = 50;
    constexpr std::size_t pitch = 57;
    const rows_of_elements<float> of{images * (rows + 2), length, pitch, 1};
    target_array<cuda, float> sums(images * rows);
    const float* const first = of.matrix().data();
    const view<const float, 3> apart(first, {images, rows, length}, {(rows + 2) * pitch, pitch, 1});
    reduce(cuda{}, apart, axis{2}, view<float, 2>(sums.span().data(), {images, rows}), plus{});
    const host_array<float> of_apart = sums.to_host();
    for (std::size_t i = 0; i < of_apart.size(); ++i)
        ASSERT_TRUE(bits_equal(of_apart[i], literal_fold(of.row(i / rows * (rows + 2) + i % rows), plus{}))) << i;

    const view<const float, 2> windows(first, {images * rows, length}, {1, 1});
    reduce(cuda{}, windows, axis{1}, view<float, 1>(sums.span().data(), {images * rows}), plus{});
    const host_array<float> of_windows = sums.to_host();
    for (std::size_t i = 0; i < of_windows.size(); ++i)
        ASSERT_TRUE(bits_equal(of_windows[i], literal_fold(of.values.span().subspan(1 + i, length), plus{}))) << i;
}

// Lines of one element, wherever they lie.
TEST(gpu_lane_rows, of_one_element)
{
    const rows_of_elements<float> of{9000, 1, 3, 1};
    target_array<cuda, float> sums(of.rows);
    target_array<cuda, float> running(of.rows);
    reduce(cuda{}, of.matrix(), axis{1}, view<float, 1>(sums.span().data(), {of.rows}), plus{});
    inclusive_scan(cuda{}, of.matrix(), axis{1}, view<float, 2>(running.span().data(), {of.rows, 1}), plus{});
    const host_array<float> reduced = sums.to_host();
    const host_array<float> scanned = running.to_host();
    for (std::size_t i = 0; i < of.rows; ++i) {
        ASSERT_TRUE(bits_equal(reduced[i], of.row(i)[0])) << i;
        ASSERT_TRUE(bits_equal(scanned[i], of.row(i)[0])) << i;
    }
}

} // namespace upsweep::test
