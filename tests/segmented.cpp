// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "segmented_cases.hpp"

#include <array>

namespace upsweep::test {

INSTANTIATE_TYPED_TEST_SUITE_P(cpu, segments, ::testing::Types<cpu>);

// NaN, infinities and zeros of both signs in segments short enough for what lies behind them to be read with them: it must not show.
template <class T, class Op>
void expect_special_values_to_stay_in_their_segments(Op op)
{
    auto random = generator();
    constexpr T infinity = std::numeric_limits<T>::infinity();
    constexpr std::array<T, 8> special{
        std::numeric_limits<T>::quiet_NaN(), -std::numeric_limits<T>::quiet_NaN(), infinity, -infinity, T{-0.0}, T{0},
        std::numeric_limits<T>::max(),       std::numeric_limits<T>::lowest()};
    std::vector<std::int64_t> offsets{0};
    while (offsets.size() < 3000)
        offsets.push_back(offsets.back() + static_cast<std::int64_t>(random() % (random() % 8 == 0 ? 140 : 18)));
    host_array<T> values(static_cast<std::size_t>(offsets.back()));
    for (T& value : values) // most segments have nothing special
        value = random() % 16 == 0 ? special[random() % special.size()] : static_cast<T>(random() % 1000) / 7;
    host_array<T> expected_sums(offsets.size() - 1);
    host_array<T> expected_scans(values.size());
    for (std::size_t k = 0; k + 1 < offsets.size(); ++k) {
        const auto first = static_cast<std::size_t>(offsets[k]);
        const auto length = static_cast<std::size_t>(offsets[k + 1]) - first;
        const auto folds = converted<T>(literal_folds(values.span().subspan(first, length), op).span());
        std::ranges::copy(folds.span(), expected_scans.begin() + static_cast<std::ptrdiff_t>(first));
        expected_sums[k] = length == 0 ? fold_of_nothing<T>(op) : folds[length - 1];
    }
    host_array<T> sums(expected_sums.size());
    segmented_reduce(cpu{1}, values.span(), offsets, sums.span(), op);
    EXPECT_TRUE(bits_equal(sums, expected_sums));
    host_array<T> scans(values.size());
    segmented_inclusive_scan(cpu{1}, values.span(), offsets, scans.span(), op);
    EXPECT_TRUE(bits_equal(scans, expected_scans));
    segmented_inclusive_scan(cpu{1}, values.span(), offsets, values.span(), op);
    EXPECT_TRUE(bits_equal(values, expected_scans)) << "in place";
}

TEST(segments_of_special_values, sums)
{
    expect_special_values_to_stay_in_their_segments<float>(plus{});
    expect_special_values_to_stay_in_their_segments<double>(plus{});
}
TEST(segments_of_special_values, extrema)
{
    expect_special_values_to_stay_in_their_segments<float>(minimum{});
    expect_special_values_to_stay_in_their_segments<double>(maximum{});
}

} // namespace upsweep::test
