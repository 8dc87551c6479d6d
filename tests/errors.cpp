// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// What bad input gets: an up::error that names the call, the reason and the remedy, and nothing written.
#include <cstdint>
#include <limits>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <upsweep/upsweep.hpp>

namespace up = upsweep;

namespace {

constexpr up::cpu cpu{2};
constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double nan_value = std::numeric_limits<double>::quiet_NaN();

// Calls f, which must throw an up::error of this kind whose message has all the words.
template <class F>
void expect_error(F f, std::initializer_list<std::string> words, up::error_kind kind = up::error_kind::invalid_argument)
{
    try {
        f();
        FAIL() << "no error";
    } catch (const up::error& error) {
        EXPECT_EQ(error.kind(), kind);
        const std::string message = error.what();
        for (const std::string& word : words)
            EXPECT_NE(message.find(word), std::string::npos) << '"' << word << "\" is missing in: " << message;
        EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    }
}

TEST(errors, are_runtime_errors_that_tell_what_to_do)
{
    const up::error error(up::error_kind::invalid_argument, "the call", "the reason", "the remedy");
    EXPECT_EQ(std::string(error.what()), "the call: the reason; the remedy");
    EXPECT_EQ(error.kind(), up::error_kind::invalid_argument);
    static_assert(std::derived_from<up::error, std::runtime_error>);
}

// --- reduce and scan --------------------------------------------------------------------------------------------------

TEST(errors, minimum_and_maximum_of_nothing)
{
    const std::vector<float> none;
    expect_error([&] { (void)up::reduce(cpu, none, up::minimum{}); }, {"reduce", "minimum", "no elements", "empty"});
    expect_error([&] { (void)up::reduce(cpu, none, up::maximum{}); }, {"reduce", "maximum", "no elements", "empty"});
    float result = 42;
    expect_error([&] { up::reduce(cpu, none, &result, up::minimum{}); }, {"reduce"});
    EXPECT_EQ(result, 42);
}

TEST(errors, an_output_that_is_too_short)
{
    const std::vector<int> in(10, 1);
    std::vector<int> out(9, -1);
    expect_error([&] { up::inclusive_scan(cpu, in, out, up::plus{}); }, {"scan", "shorter"});
    expect_error([&] { up::exclusive_scan(cpu, in, out, up::plus{}, 5); }, {"scan", "shorter"});
    EXPECT_EQ(out, std::vector<int>(9, -1));
}

TEST(errors, spans_that_overlap_in_part)
{
    std::vector<int> memory(100, 1);
    const std::span<int> all(memory);
    for (const std::size_t shift : {1, 7, 49}) {
        expect_error([&] { up::inclusive_scan(cpu, all.first(50), all.subspan(shift, 50), up::plus{}); },
                     {"scan", "overlap"});
        expect_error([&] { up::inclusive_scan(cpu, all.subspan(shift, 50), all.first(50), up::plus{}); },
                     {"scan", "overlap"});
    }
    EXPECT_EQ(memory, std::vector<int>(100, 1));
    up::inclusive_scan(cpu, all.first(50), all.subspan(50, 50), up::plus{}); // side by side is no overlap
    EXPECT_EQ(memory[99], 50);
}

TEST(errors, a_result_of_another_size_in_place)
{
    std::vector<std::uint64_t> memory(100, 1);
    const std::span<const std::uint32_t> in(reinterpret_cast<const std::uint32_t*>(memory.data()), 100);
    expect_error([&] { up::inclusive_scan(cpu, in, memory, up::plus{}); }, {"scan", "overlap"});
    EXPECT_EQ(memory, std::vector<std::uint64_t>(100, 1));
}

// --- histogram --------------------------------------------------------------------------------------------------------

// Bins that the histogram must refuse without touching a counter.
template <class Bins>
void expect_bad_bins(const Bins& bins, std::initializer_list<std::string> words, std::size_t counters = 3)
{
    const std::vector<int> in(1000, 1);
    std::vector<std::uint64_t> counts(counters, 42);
    expect_error([&] { up::histogram(cpu, in, bins, counts); }, words);
    up::outside beside{1, 2, 3};
    expect_error([&] { up::histogram_accumulate(cpu, in, bins, counts, beside); }, words);
    EXPECT_EQ(counts, std::vector<std::uint64_t>(counters, 42));
    EXPECT_EQ(beside, (up::outside{1, 2, 3}));
}

TEST(errors, no_bins)
{
    expect_bad_bins(up::even_bins{0, 1, 0}, {"histogram", "no bins", "at least one"}, 0);
    expect_bad_bins(up::integer_bins{0, 0}, {"histogram", "no bins"}, 0);
    expect_bad_bins(up::bins_by([](int x) { return x; }, 0), {"histogram", "no bins"}, 0);
    expect_bad_bins(up::edges{}, {"histogram", "two edges"}, 0);
    expect_bad_bins(up::edges{1.0}, {"histogram", "two edges"}, 0);
}

TEST(errors, an_empty_range)
{
    expect_bad_bins(up::even_bins{1, 1, 3}, {"histogram", "lo = 1", "hi = 1", "lo < hi"});
    expect_bad_bins(up::even_bins{2, -1, 3}, {"histogram", "lo = 2", "hi = -1"});
    expect_bad_bins(up::even_bins{2e-9, 1e-9, 3}, {"histogram", "2e-09", "1e-09"}); // not rounded to 0.000000
}

TEST(errors, a_range_that_is_not_finite)
{
    expect_bad_bins(up::even_bins{nan_value, 1, 3}, {"histogram", "nan"});
    expect_bad_bins(up::even_bins{0, nan_value, 3}, {"histogram", "nan"});
    expect_bad_bins(up::even_bins{0, inf, 3}, {"histogram", "finite"});
    expect_bad_bins(up::even_bins{-inf, 0, 3}, {"histogram", "finite"});
    expect_bad_bins(up::even_bins{-1.7e308, 1.7e308, 3}, {"histogram", "finite"});
}

TEST(errors, edges_that_do_not_ascend)
{
    expect_bad_bins(up::edges{0, 1, 1, 2}, {"histogram", "ascending", "edge 2", "sort"});
    expect_bad_bins(up::edges{0, 2, 1, 3}, {"histogram", "ascending", "edge 2"});
    expect_bad_bins(up::edges{0, nan_value, 1, 3}, {"histogram", "edge 1 is NaN"});
    expect_bad_bins(up::edges{nan_value, 0, 1, 3}, {"histogram", "edge 0 is NaN"});
    expect_bad_bins(up::edges{0, 1, 2, nan_value}, {"histogram", "edge 3 is NaN"});
}

TEST(errors, another_number_of_counters)
{
    expect_bad_bins(up::even_bins{0, 1, 4}, {"histogram", "3 counters", "4 bins"});
    expect_bad_bins(up::edges{0, 1, 2}, {"histogram", "3 counters", "2 bins"});
    expect_bad_bins(up::integer_bins{0, 256}, {"histogram", "3 counters", "256 bins"});
}

// Even if its bins could be counted, a mistaken call must not first ask for gigabytes.
TEST(errors, more_bins_than_memory)
{
    expect_bad_bins(up::even_bins{0, 1, 4000000000}, {"histogram", "3 counters", "4000000000 bins"});
    constexpr std::size_t too_many = std::size_t{1} << 62;
    expect_bad_bins(up::even_bins{0, 1, too_many}, {"histogram", "bins", "fewer"});
    expect_bad_bins(up::integer_bins{0, too_many}, {"histogram", "bins", "fewer"});
}

} // namespace
