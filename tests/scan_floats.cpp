// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>
#include <vector>

#include "scan_cases.hpp"

namespace upsweep::test {

INSTANTIATE_TYPED_TEST_SUITE_P(cpu_floats, scan_sums, every_float);
INSTANTIATE_TYPED_TEST_SUITE_P(cpu, scan_floats, every_float);

namespace {

// The same bits as of one thread, between addresses that lie so many elements behind a multiple of 64 bytes.
template <class T>
void expect_results_of_one_thread(int threads, std::size_t n, std::size_t offset_in, std::size_t offset_out)
{
    auto random = generator();
    host_array<T> in = random_array<T>(random, n + offset_in);
    const auto elements = in.span().subspan(offset_in);
    host_array<T> expected(n), got(n + offset_out + 1);
    inclusive_scan(cpu{1}, elements, expected.span(), plus{});

    const T untouched = random_value<T>(random);
    std::ranges::fill(got, untouched);
    const auto results = got.span().subspan(offset_out, n);
    inclusive_scan(cpu{threads}, elements, results, plus{});
    ASSERT_TRUE(bits_equal(host_array<T>(results), expected)) << offset_in << " and " << offset_out;
    for (std::size_t i = 0; i < offset_out; ++i)
        ASSERT_TRUE(bits_equal(got[i], untouched));
    ASSERT_TRUE(bits_equal(got[n + offset_out], untouched));

    inclusive_scan(cpu{threads}, elements, elements, plus{});
    ASSERT_TRUE(bits_equal(host_array<T>(elements), expected)) << offset_in << ", in place";
}

} // namespace

// Results of 32 MiB and more go around the caches.
TEST(scan_of_large_arrays, has_the_same_bits_at_every_alignment)
{
    constexpr std::size_t n = (std::size_t{33} << 20) / sizeof(float);
#ifdef UPSWEEP_TEST_FEW_TYPES
    const std::vector offsets{std::pair{3, 5}};
#else
    const std::vector offsets{std::pair{0, 0}, {1, 0}, {0, 1}, {3, 5}, {2, 15}};
#endif
    for (const auto& [in, out] : offsets)
        expect_results_of_one_thread<float>(2, n + 77, static_cast<std::size_t>(in), static_cast<std::size_t>(out));
    expect_results_of_one_thread<f16>(2, 2 * n + 5, 1, 3);
}

// Most threads have no core when others need what they have begun.
TEST(scan_of_large_arrays, has_the_same_bits_with_more_threads_than_cores)
{
    for (int round = 0; round < 8; ++round)
        expect_results_of_one_thread<float>(24, (std::size_t{3} << 20) + 5, 0, 0);
}

} // namespace upsweep::test
