// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cstdint>
#include <cstdlib>

#include "weighted_histogram_cases.hpp"

namespace up = upsweep;

namespace upsweep::test {

#ifdef UPSWEEP_TEST_FEW_TYPES
using weights = every<std::int8_t, std::uint64_t, up::f16, double>;
#else
using weights = every<bool, std::int8_t, std::uint16_t, std::int32_t, std::int64_t, std::uint64_t, up::f16, up::bf16,
                      float, double>;
#endif
INSTANTIATE_TYPED_TEST_SUITE_P(cpu, weighted_histogram_of, weights);
INSTANTIATE_TYPED_TEST_SUITE_P(cpu, weighted_histogram_on, ::testing::Types<up::cpu>);

// Each piece adds to sums that were rounded: what they hold is one more weight.
TEST(weighted_histogram, pieces_accumulate)
{
    const host_array<int> samples{0, 1, 1, 5, 0};
    const host_array<float> weights{1.5F, 0x1p24F, 1, 8, -2};
    host_array<float> sums{10, 0};
    up::weight_outside<float> out_of_range{1, 2, 3};
    const up::integer_bins bins{0, 2};
    up::weighted_histogram_accumulate(up::cpu{}, samples.first(4), weights.first(4), bins, sums.span(), out_of_range);
    EXPECT_EQ(sums[0], 11.5F);
    EXPECT_EQ(sums[1], 0x1p24F);
    EXPECT_EQ(out_of_range, (up::weight_outside<float>{1, 10, 3}));
    up::weighted_histogram_accumulate(up::cpu{}, samples.span().subspan(4), weights.span().subspan(4), bins,
                                      sums.span(), out_of_range);
    EXPECT_EQ(sums[0], 9.5F);
    EXPECT_EQ(sums[1], 0x1p24F);
}

// Carried digits are the same sum, with room for more.
TEST(exact_sum, carrying_changes_no_sum)
{
    auto random = generator();
    constexpr int digits = up::detail::sum_format<float>::digits;
    for (int round = 0; round < 1000; ++round) {
        std::array<std::int64_t, up::detail::sum_format<float>::words> words{};
        for (int i = 0; i < digits - 2; ++i)
            words.at(i) = static_cast<std::int64_t>(random()) >> (1 + random() % 40);
        const auto word = [&](int i) { return words.at(i); };
        const auto before = up::detail::rounded_sum<float>(word);
        up::detail::carry_digits<float>(word, [&](int i, std::int64_t value) { words.at(i) = value; });
        EXPECT_EQ(up::detail::rounded_sum<float>(word), before);
        for (const std::int64_t digit : words)
            EXPECT_LT(std::abs(digit), std::int64_t{1} << 32);
    }
}

} // namespace upsweep::test
