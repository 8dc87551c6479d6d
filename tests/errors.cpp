// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// What bad input gets: an up::error that names the call, the reason and the remedy, and nothing written.
#include <cstdint>
#include <limits>
#include <span>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>
#include <upsweep/upsweep.hpp>

namespace up = upsweep;

namespace {

constexpr up::cpu two_threads{2};
constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

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

// --- reduce and scan ------------------------------------------------------------------------------------------------

TEST(errors, minimum_and_maximum_of_nothing)
{
    const std::vector<float> none;
    expect_error([&] { (void)up::reduce(two_threads, none, up::minimum{}); },
                 {"reduce", "minimum", "no elements", "empty"});
    expect_error([&] { (void)up::reduce(two_threads, none, up::maximum{}); },
                 {"reduce", "maximum", "no elements", "empty"});
    float result = 42;
    expect_error([&] { up::reduce(two_threads, none, &result, up::minimum{}); }, {"reduce"});
    EXPECT_EQ(result, 42);
}

TEST(errors, an_output_that_is_too_short)
{
    const std::vector<int> in(10, 1);
    std::vector<int> out(9, -1);
    expect_error([&] { up::inclusive_scan(two_threads, in, out, up::plus{}); }, {"scan", "shorter"});
    expect_error([&] { up::exclusive_scan(two_threads, in, out, up::plus{}, 5); }, {"scan", "shorter"});
    EXPECT_EQ(out, std::vector<int>(9, -1));
}

TEST(errors, spans_that_overlap_in_part)
{
    std::vector<int> memory(100, 1);
    const std::span<int> all(memory);
    for (const std::size_t shift : {1, 7, 49}) {
        expect_error([&] { up::inclusive_scan(two_threads, all.first(50), all.subspan(shift, 50), up::plus{}); },
                     {"scan", "overlap"});
        expect_error([&] { up::inclusive_scan(two_threads, all.subspan(shift, 50), all.first(50), up::plus{}); },
                     {"scan", "overlap"});
    }
    EXPECT_EQ(memory, std::vector<int>(100, 1));
    up::inclusive_scan(two_threads, all.first(50), all.subspan(50, 50), up::plus{}); // side by side is no overlap
    EXPECT_EQ(memory[99], 50);
}

TEST(errors, a_result_of_another_size_in_place)
{
    std::vector<std::uint64_t> memory(100, 1);
    const std::span<const std::uint32_t> in(reinterpret_cast<const std::uint32_t*>(memory.data()), 100);
    expect_error([&] { up::inclusive_scan(two_threads, in, memory, up::plus{}); }, {"scan", "overlap"});
    EXPECT_EQ(memory, std::vector<std::uint64_t>(100, 1));
}

// --- histogram ------------------------------------------------------------------------------------------------------

// Bins that the histogram must refuse without touching a counter.
template <class Bins>
void expect_bad_bins(const Bins& bins, std::initializer_list<std::string> words, std::size_t counters = 3)
{
    const std::vector<int> in(1000, 1);
    std::vector<std::uint64_t> counts(counters, 42);
    expect_error([&] { up::histogram(two_threads, in, bins, counts); }, words);
    up::outside out_of_range{1, 2, 3};
    expect_error([&] { up::histogram_accumulate(two_threads, in, bins, counts, out_of_range); }, words);
    EXPECT_EQ(counts, std::vector<std::uint64_t>(counters, 42));
    EXPECT_EQ(out_of_range, (up::outside{1, 2, 3}));
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
    expect_bad_bins(up::even_bins{not_a_number, 1, 3}, {"histogram", "nan"});
    expect_bad_bins(up::even_bins{0, not_a_number, 3}, {"histogram", "nan"});
    expect_bad_bins(up::even_bins{0, infinity, 3}, {"histogram", "finite"});
    expect_bad_bins(up::even_bins{-infinity, 0, 3}, {"histogram", "finite"});
    expect_bad_bins(up::even_bins{-1.7e308, 1.7e308, 3}, {"histogram", "finite"});
}

TEST(errors, edges_that_do_not_ascend)
{
    expect_bad_bins(up::edges{0, 1, 1, 2}, {"histogram", "ascending", "edge 2", "sort"});
    expect_bad_bins(up::edges{0, 2, 1, 3}, {"histogram", "ascending", "edge 2"});
    expect_bad_bins(up::edges{0, not_a_number, 1, 3}, {"histogram", "edge 1 is NaN"});
    expect_bad_bins(up::edges{not_a_number, 0, 1, 3}, {"histogram", "edge 0 is NaN"});
    expect_bad_bins(up::edges{0, 1, 2, not_a_number}, {"histogram", "edge 3 is NaN"});
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

// With a pointer for them, as asynchronous targets have it.
TEST(errors, no_place_for_samples_outside)
{
    const std::vector<int> in(1000, 1);
    const up::integer_bins bins{0, 3};
    std::vector<std::uint64_t> counts(3, 42);
    std::vector<std::int64_t> sums(3, 42);
    up::outside* const nowhere = nullptr;
    up::weight_outside<std::int64_t>* const no_sums = nullptr;
    expect_error([&] { up::histogram(two_threads, in, bins, counts, nowhere); },
                 {"histogram", "no place", "up::outside"});
    expect_error(
        [&] {
            up::joint_histogram_accumulate(two_threads, std::tuple{std::span(in)}, std::tuple{bins}, counts, nowhere);
        },
        {"joint_histogram", "no place", "up::outside"});
    expect_error([&] { up::weighted_histogram(two_threads, in, in, bins, sums, no_sums); },
                 {"weighted_histogram", "no place", "up::weight_outside"});
    EXPECT_EQ(counts, std::vector<std::uint64_t>(3, 42));
    EXPECT_EQ(sums, std::vector<std::int64_t>(3, 42));
}

// --- histograms of matrices and joint ones --------------------------------------------------------------------------

TEST(errors, rows_that_overlap_or_misalign_elements)
{
    const std::vector<float> memory(100, 1);
    std::vector<std::uint64_t> counts(3, 42);
    const up::even_bins bins{0, 2, 3};
    const up::matrix<float> overlapping(memory.data(), 5, 10, 36);
    expect_error([&] { up::histogram(two_threads, overlapping, bins, counts); },
                 {"histogram", "36 bytes", "40 bytes", "pitch"});
    const up::matrix<float> misaligned(memory.data(), 5, 10, 42);
    expect_error([&] { up::histogram(two_threads, misaligned, bins, counts); },
                 {"histogram", "42 bytes", "multiple of 4"});
    constexpr std::size_t many = std::size_t{1} << 40;
    for (const up::matrix<float>& huge :
         {up::matrix<float>(memory.data(), many, many), up::matrix<float>(memory.data(), 2, many << 22, 8),
          up::matrix<float>(memory.data(), many, 1, many)})
        expect_error([&] { up::histogram(two_threads, huge, bins, counts); }, {"histogram", "more than memory"});
    EXPECT_EQ(counts, std::vector<std::uint64_t>(3, 42));
    up::histogram(two_threads, up::matrix<float>(memory.data(), 1, 10, 3), bins, counts); // one row has no next one
    EXPECT_EQ(counts, (std::vector<std::uint64_t>{0, 10, 0}));
}

TEST(errors, counters_of_other_rows_or_channels)
{
    const std::vector<int> memory(100, 1);
    std::vector<std::uint64_t> counts(15, 42);
    std::vector<up::outside> out_of_range(5, up::outside{1, 2, 3});
    const up::integer_bins bins{0, 3};
    const up::matrix<int> in(memory.data(), 5, 20);
    const auto rows = [&](const auto& some_bins, std::size_t counters, std::size_t places) {
        up::histogram_rows(two_threads, in, some_bins, std::span(counts).first(counters),
                           std::span(out_of_range).first(places));
    };
    const auto channels = [&](std::size_t number, std::size_t counters, std::size_t places) {
        up::histogram_channels(two_threads, in, number, bins, std::span(counts).first(counters),
                               std::span(out_of_range).first(places));
    };
    expect_error([&] { rows(bins, 14, 5); }, {"histogram_rows", "14 counters", "5 rows", "3 bins"});
    expect_error([&] { rows(bins, 15, 4); }, {"histogram_rows", "4 places", "5 rows", "up::outside"});
    expect_error([&] { rows(up::integer_bins{0, 0}, 0, 5); }, {"histogram", "no bins"});
    expect_error([&] { channels(5, 14, 5); }, {"histogram_channels", "14 counters", "5 channels"});
    expect_error([&] { channels(5, 15, 4); }, {"histogram_channels", "4 places", "5 channels"});
    expect_error([&] { channels(3, 9, 3); }, {"histogram_channels", "20 elements", "3 channels"});
    expect_error([&] { channels(0, 0, 0); }, {"histogram_channels", "0 channels"});
    EXPECT_EQ(counts, std::vector<std::uint64_t>(15, 42));
    EXPECT_EQ(out_of_range, std::vector<up::outside>(5, up::outside{1, 2, 3}));
}

TEST(errors, joint_histograms)
{
    const std::vector<int> many(10, 1);
    const std::vector<int> few(9, 1);
    std::vector<std::uint64_t> counts(6, 42);
    const auto joint = [&](std::span<const int> ys, const auto& ys_bins) {
        up::joint_histogram(two_threads, std::tuple{std::span(many), ys}, std::tuple{up::integer_bins{0, 2}, ys_bins},
                            counts);
    };
    expect_error([&] { joint(few, up::integer_bins{0, 3}); }, {"joint_histogram", "input 1", "9 samples", "10"});
    expect_error([&] { joint(many, up::integer_bins{0, 4}); }, {"joint_histogram", "6 counters", "2 x 4 bins"});
    expect_error([&] { joint(many, up::integer_bins{0, 0}); }, {"histogram", "no bins"});
    expect_error([&] { joint(many, up::edges{0, 2, 1, 3}); }, {"histogram", "ascending"});
    expect_error(
        [&] {
            joint(many, up::integer_bins{0, 0x80000000});
        },
        {"joint_histogram", "2 x 2147483648 bins", "2^32", "fewer"});
    EXPECT_EQ(counts, std::vector<std::uint64_t>(6, 42));
}

} // namespace
