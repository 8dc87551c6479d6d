// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Arrays that come in pieces, on a GPU: pieces in its own memory, in the host's, and in both by turns.
#include <cstdint>
#include <string>

#include "../streaming_cases.hpp"

namespace upsweep::test {

INSTANTIATE_TYPED_TEST_SUITE_P(cuda, streaming, ::testing::Types<cuda>);

namespace {

constexpr std::uint64_t few_bytes = 3 * 1024 * 2 * sizeof(double); // so that pieces pass in many chunks

TEST(gpu_streaming, a_reducer_takes_pieces_from_both_memories)
{
    auto random = generator();
    const host_array<float> values = random_array<float>(random, streamed<cuda>);
    const host_array<float> folds = literal_folds(values.span(), plus{});
    const target_array<cuda, float> on_gpu(values.span());
    for (const unsigned every : {1U, 2U, 3U}) { // all pieces from the host, each second, each third
        const std::vector<std::size_t> cuts = random_cuts(random, values.size());
        reducer<float, plus, cuda> sum{cuda{}};
        sum.limit_gpu_memory(few_bytes);
        for (std::size_t i = 1; i < cuts.size(); ++i) {
            const std::size_t size = cuts[i] - cuts[i - 1];
            sum.feed(i % every == 0 ? values.span().subspan(cuts[i - 1], size)
                                    : on_gpu.const_span().subspan(cuts[i - 1], size));
            ASSERT_EQ(sum.count(), cuts[i]);
            if (cuts[i] > 0 && i % 3 == 0) {
                ASSERT_TRUE(bits_equal(sum.result(), folds[cuts[i] - 1])) << cuts[i] << " elements";
            }
        }
        ASSERT_TRUE(bits_equal(sum.result(), folds[values.size() - 1]));
    }
}

TEST(gpu_streaming, a_scanner_takes_pieces_from_both_memories)
{
    auto random = generator();
    const host_array<double> values = random_array<double>(random, streamed<cuda>);
    const host_array<double> expected = literal_folds(values.span(), plus{});
    const target_array<cuda, double> on_gpu(values.span());
    target_array<cuda, double> out_on_gpu(values.size());
    host_array<double> out(values.size());
    const std::vector<std::size_t> cuts = random_cuts(random, values.size());
    scanner<double, plus, cuda> scan(cuda{}, scan_kind::inclusive);
    scan.limit_gpu_memory(few_bytes);
    for (std::size_t i = 1; i < cuts.size(); ++i) {
        const auto part = [&](auto span) { return span.subspan(cuts[i - 1], cuts[i] - cuts[i - 1]); };
        if (i % 2 == 0)
            scan.feed(part(values.span()), part(out.span()));
        else
            scan.feed(part(on_gpu.const_span()), part(out_on_gpu.span()));
    }
    const host_array<double> from_gpu = out_on_gpu.to_host();
    for (std::size_t i = 1; i < cuts.size(); i += 2)
        std::ranges::copy(from_gpu.span().subspan(cuts[i - 1], cuts[i] - cuts[i - 1]),
                          out.begin() + static_cast<std::ptrdiff_t>(cuts[i - 1]));
    EXPECT_TRUE(bits_equal(out, expected));
    try {
        scan.feed(values.span(), out_on_gpu.span());
        FAIL() << "no error";
    } catch (const error& failure) {
        EXPECT_EQ(failure.kind(), error_kind::invalid_argument);
        EXPECT_NE(std::string(failure.what()).find("different memories"), std::string::npos) << failure.what();
    }
}

TEST(gpu_streaming, a_counter_takes_pieces_from_both_memories)
{
    auto random = generator();
    const host_array<float> values = samples_around_bins(random, streamed<cuda>);
    const even_bins bins{0, 1, 100};
    host_array<std::uint64_t> whole(100);
    const outside out_of_range = histogram(cpu{}, values.span(), bins, whole.span());
    const target_array<cuda, float> on_gpu(values.span());
    counter<float, even_bins, cuda> count(cuda{}, bins);
    count.limit_gpu_memory(few_bytes);
    const std::vector<std::size_t> cuts = random_cuts(random, values.size());
    for (std::size_t i = 1; i < cuts.size(); ++i) {
        const std::size_t size = cuts[i] - cuts[i - 1];
        count.feed(i % 2 == 0 ? values.span().subspan(cuts[i - 1], size)
                              : on_gpu.const_span().subspan(cuts[i - 1], size));
    }
    host_array<std::uint64_t> counts(100);
    EXPECT_EQ(count.result(counts.span()), out_of_range);
    EXPECT_TRUE(bits_equal(counts, whole));
    EXPECT_THROW(count.limit_gpu_memory(1 << 20), error); // too late
}

} // namespace
} // namespace upsweep::test
