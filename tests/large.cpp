// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// More than 2^32 elements: indices, counts and the order must have 64 bits. The arrays are mapped memory that is never
// written, so they cost a page of zeros, or are generated while they are read.
#include <array>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <limits>
#include <ranges>
#include <span>
#include <string>
#include <vector>

#include <sys/mman.h>

#include <gtest/gtest.h>
#include <upsweep/upsweep.hpp>

namespace up = upsweep;

namespace {

constexpr std::uint64_t n = (std::uint64_t{1} << 32) + 5;
constexpr std::uint64_t behind = std::uint64_t{1} << 32; // an index that 32 bits take for 0

// n bytes of zeros that take no memory until they are written.
class sparse_bytes {
public:
    sparse_bytes()
    {
        void* const mapped =
            mmap(nullptr, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (mapped == MAP_FAILED)
            throw std::bad_alloc();
        madvise(mapped, n, MADV_HUGEPAGE); // a fault for 2 MiB instead of one for 4 KiB, where the kernel likes
        bytes_ = {static_cast<std::uint8_t*>(mapped), n};
    }
    ~sparse_bytes() { munmap(bytes_.data(), n); }
    sparse_bytes(const sparse_bytes&) = delete;

    std::span<std::uint8_t> span() { return bytes_; }

private:
    std::span<std::uint8_t> bytes_;
};

std::uint64_t available_bytes()
{
    std::ifstream file("/proc/meminfo");
    for (std::string word; file >> word;)
        if (word == "MemAvailable:") {
            std::uint64_t kibibytes = 0;
            file >> kibibytes;
            return kibibytes << 10;
        }
    return 0;
}

TEST(large, reduce_of_mapped_bytes)
{
    sparse_bytes bytes;
    bytes.span()[3] = 7;
    bytes.span()[behind - 1] = 200;
    bytes.span()[behind + 3] = 201; // not to be confused with element 3
    EXPECT_EQ(up::reduce(up::cpu{}, bytes.span(), up::plus{}), 408U);
    EXPECT_EQ(up::reduce(up::cpu{}, bytes.span(), up::maximum{}), 201U);
}

TEST(large, histogram_of_mapped_bytes)
{
    sparse_bytes bytes;
    bytes.span()[3] = 7;
    bytes.span()[behind + 3] = 201;
    std::vector<std::uint64_t> counts(256);
    up::histogram(up::cpu{}, bytes.span(), up::integer_bins{0, 256}, counts);
    EXPECT_EQ(counts[0], n - 2); // more than 32 bits hold
    EXPECT_EQ(counts[7], 1U);
    EXPECT_EQ(counts[201], 1U);

    std::vector<std::uint64_t> few(2);
    const up::outside out_of_range = up::histogram(up::cpu{}, bytes.span(), up::even_bins{0, 10, 2}, few);
    EXPECT_EQ(few, (std::vector<std::uint64_t>{n - 2, 1}));
    EXPECT_EQ(out_of_range, (up::outside{0, 1, 0}));
}

// Writes every page, so the array becomes real.
TEST(large, scan_of_mapped_bytes_in_place)
{
    if (available_bytes() < (std::uint64_t{6} << 30))
        GTEST_SKIP() << "needs 6 GiB of memory";
    sparse_bytes bytes;
    const std::array<std::uint64_t, 4> places{5, behind - 1, behind, behind + 4};
    for (const std::uint64_t place : places)
        bytes.span()[place] = 100;
    up::inclusive_scan(up::cpu{}, bytes.span(), bytes.span(), up::plus{});

    std::vector<std::uint64_t> counts(256);
    up::histogram(up::cpu{}, bytes.span(), up::integer_bins{0, 256}, counts);
    EXPECT_EQ(counts[0], places[0]);
    EXPECT_EQ(counts[100], places[1] - places[0]);
    EXPECT_EQ(counts[200], places[2] - places[1]);
    EXPECT_EQ(counts[300 - 256], places[3] - places[2]);
    EXPECT_EQ(counts[400 - 256], n - places[3]);
}

// Samples that are generated while they are read, one kind of bins by arithmetic, the other by a function.
TEST(large, histogram_of_generated_samples)
{
    std::vector<std::uint64_t> counts(2);
    const auto which = [](std::uint64_t i) { return i < behind ? 0 : 1; };
    up::histogram(up::cpu{}, std::views::iota(std::uint64_t{0}, n), up::bins_by(which, 2), counts);
    EXPECT_EQ(counts, (std::vector<std::uint64_t>{behind, 5}));
}

TEST(large, reduce_of_generated_elements)
{
    const auto elements = std::views::iota(std::uint64_t{0}, n);
    EXPECT_EQ(up::reduce(up::cpu{}, elements, up::plus{}), (n - 1) / 2 * n); // modulo 2^64; n is odd
}

// The order has no limit of 32 bits either: 2^32 ones are exact in a tree of floats, the 5 behind them are folded in
// after, and are too small to show. Element by element the sum would stop at 2^24.
TEST(large, canonical_order_of_floats)
{
    const auto ones = std::views::iota(std::uint64_t{0}, n) | std::views::transform([](std::uint64_t) { return 1.0F; });
    EXPECT_EQ(up::reduce(up::cpu{}, ones, up::plus{}), 0x1p32F);
}

// A line longer than 2^32, of a view that repeats one element along its axis.
TEST(large, line_of_a_repeated_element)
{
    const std::uint8_t element = 200;
    const up::view<const std::uint8_t, 2> line(&element, {1, n}, {1, 0});
    std::uint64_t sum = 0;
    up::reduce(up::cpu{}, line, up::axis{1}, up::view(&sum, {1}), up::plus{});
    EXPECT_EQ(sum, 200 * n);

    std::array<std::uint64_t, 2> counts{};
    std::array<up::outside, 1> out_of_range{};
    up::histogram(up::cpu{}, line, up::axis{1}, up::integer_bins{199, 2}, up::view(counts.data(), {1, 2}),
                  out_of_range);
    EXPECT_EQ(counts, (std::array<std::uint64_t, 2>{0, n}));
}

// Segments of elements that are generated, which begin and end beyond 2^32, and empty ones there.
TEST(large, segments_beyond_32_bits)
{
    const auto bytes = std::views::iota(std::uint64_t{0}, n) |
                       std::views::transform([](std::uint64_t i) { return i < behind ? 1 : 2; });
    const std::vector<std::uint64_t> offsets{3, 3, behind - 1, behind + 1, behind + 1, n};
    std::vector<std::uint64_t> sums(5);
    up::segmented_reduce(up::cpu{}, bytes, offsets, sums, up::plus{});
    EXPECT_EQ(sums, (std::vector<std::uint64_t>{0, behind - 4, 3, 0, 8}));
    std::vector<std::uint64_t> counts(10);
    std::vector<up::outside> out_of_range(5);
    up::segmented_histogram(up::cpu{}, bytes, offsets, up::integer_bins{1, 2}, counts, out_of_range);
    EXPECT_EQ(counts, (std::vector<std::uint64_t>{0, 0, behind - 4, 0, 1, 1, 0, 0, 0, 4}));
}

// More than 2^32 segments, nearly all of them empty: of offsets that are zeros in no memory.
TEST(large, more_segments_than_32_bits_count)
{
    void* const mapped = mmap(nullptr, n * sizeof(std::uint32_t), PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    ASSERT_NE(mapped, MAP_FAILED);
    const std::span offsets(static_cast<std::uint32_t*>(mapped), n);
    offsets[behind + 2] = 1; // is followed by zeros
    std::string refusal;
    try {
        up::check_offsets(up::cpu{}, offsets, 5);
    } catch (const up::error& failure) {
        refusal = failure.what();
    }
    EXPECT_NE(refusal.find("offset " + std::to_string(behind + 3)), std::string::npos) << refusal;
    munmap(mapped, n * sizeof(std::uint32_t));
}

// A stream need not even be mapped: the count goes on beyond 2^32.
TEST(large, pieces)
{
    const std::vector<std::uint8_t> piece((std::size_t{1} << 26) + 1, 1);
    up::reducer<std::uint8_t, up::plus> sum(up::cpu{});
    for (int i = 0; i < 65; ++i)
        sum.feed(piece);
    EXPECT_EQ(sum.count(), 65 * piece.size());
    EXPECT_EQ(sum.result(), 65 * piece.size());
}

} // namespace
