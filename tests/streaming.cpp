// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Arrays that come in pieces, on a CPU.
#include "streaming_cases.hpp"

namespace upsweep::test {

INSTANTIATE_TYPED_TEST_SUITE_P(cpu, streaming, ::testing::Types<cpu>);

TEST(histogram_accumulate, adds_to_what_is_there)
{
    auto random = generator();
    const host_array<float> values = samples_around_bins(random, 300007);
    host_array<std::uint64_t> whole(100);
    const outside out_of_range = histogram(cpu{}, values.span(), even_bins{0, 1, 100}, whole.span());
    on_every_variant<cpu>([&](const cpu& target) {
        const std::vector<std::size_t> cuts = random_cuts(random, values.size());
        host_array<std::uint64_t> counts(100);
        outside sum;
        for (std::size_t i = 1; i < cuts.size(); ++i)
            histogram_accumulate(target, values.span().subspan(cuts[i - 1], cuts[i] - cuts[i - 1]),
                                 even_bins{0, 1, 100}, counts.span(), sum);
        ASSERT_TRUE(bits_equal(counts, whole));
        ASSERT_EQ(sum, out_of_range);
    });
}

} // namespace upsweep::test
