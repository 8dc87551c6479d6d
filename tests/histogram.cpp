// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// What does not depend on the type of the samples; histogram_of_*.cpp has the types.
#include "histogram_cases.hpp"

#include <type_traits>

namespace upsweep::test {

namespace {

template <class T, class Bins>
bool is_found_by_arithmetic(const Bins& bins)
{
    return detail::with_bin_finder<T>(bins, [](const auto& finder) {
        return std::is_same_v<std::remove_cvref_t<decltype(finder)>, detail::even_arithmetic<detail::edge_t<T>>>;
    });
}

// NumPy's linspace in f32.
std::vector<double> edges_of_float(float lo, float hi, std::size_t bins)
{
    std::vector<double> edges(bins + 1);
    const float step = (hi - lo) / static_cast<float>(bins);
    for (std::size_t k = 0; k < bins; ++k) {
        const float offset = static_cast<float>(k) * step;
        edges[k] = static_cast<double>(offset + lo);
    }
    edges[bins] = static_cast<double>(hi);
    return edges;
}

} // namespace

// The search is several times as slow.
TEST(bin_finder, of_nearly_even_edges_is_arithmetic)
{
    for (const std::size_t bins : {1UL, 10UL, 64UL, 1000UL, 100'000UL}) {
        const up::edges edges(edges_of_float(-3.3F, 7.7F, bins));
        EXPECT_TRUE(is_found_by_arithmetic<float>(edges)) << bins;
        EXPECT_TRUE(is_found_by_arithmetic<up::f16>(edges)) << bins;
        EXPECT_TRUE(is_found_by_arithmetic<double>(edges)) << bins;
        EXPECT_TRUE(is_found_by_arithmetic<int>(edges)) << bins;
    }
    EXPECT_TRUE(is_found_by_arithmetic<float>(up::edges{0, 0.1, 0.2, 0.3}));
    EXPECT_TRUE(is_found_by_arithmetic<float>(up::edges{0, 1.2, 2, 3}));
    EXPECT_FALSE(is_found_by_arithmetic<float>(up::edges{0, 1.3, 2, 3}));
    EXPECT_FALSE(is_found_by_arithmetic<double>(up::edges{-1, 0, 1, 10}));
    EXPECT_FALSE(is_found_by_arithmetic<float>(up::edges{0, 1e-30, 1}));
    // Floats have nothing between these, or one number alone.
    EXPECT_FALSE(is_found_by_arithmetic<float>(up::edges{1 + 1e-12, 1 + 2e-12}));
    EXPECT_FALSE(is_found_by_arithmetic<float>(up::edges{1 - 1e-12, 1 + 1e-12}));
    EXPECT_FALSE(is_found_by_arithmetic<double>(up::edges{-inf, 0, inf}));
}

// Edges that deviate from even ones by any part of a bin, and floats on them, beside them and between.
TEST(bin_finder, of_nearly_even_edges_is_exact)
{
    auto random = generator();
    for (const std::size_t bins : {1UL, 7UL, 64UL, 1000UL}) {
        for (const double deviation : {0.0, 1e-7, 1e-3, 0.1, 0.24, 0.4}) {
            for (const auto& [lo, hi] :
                 {std::pair{-3.3, 7.7}, {1e5, 1e5 + 7}, {0.0, 1e-42}, {1.0, 1 + 1e-6}, {-1e38, 2e38}}) {
                const double width = (hi - lo) / static_cast<double>(bins);
                std::uniform_real_distribution<double> off(-deviation, deviation);
                std::vector<double> edges(bins + 1);
                for (std::size_t k = 0; k <= bins; ++k)
                    edges[k] = lo + (static_cast<double>(k) + off(random)) * width;
                if (!std::is_sorted(edges.begin(), edges.end(), std::less_equal<>()))
                    continue;
                host_array<float> samples(2003);
                for (float& sample : samples) {
                    const auto edge = static_cast<float>(edges[random() % edges.size()]);
                    const std::array<float, 4> choice{
                        edge, std::nextafter(edge, static_cast<float>(-inf)),
                        std::nextafter(edge, static_cast<float>(inf)),
                        static_cast<float>(std::uniform_real_distribution<double>(lo - width, hi + width)(random))};
                    sample = choice[random() % choice.size()];
                }
                ASSERT_EQ((counted<cpu, float>(samples.span(), up::edges(edges), bins)),
                          searched<float>(samples.span(), edges))
                    << bins << " bins, " << lo << " to " << hi << ", " << deviation;
            }
        }
    }
}

INSTANTIATE_TYPED_TEST_SUITE_P(cpu, histogram_bins, ::testing::Types<cpu>);

} // namespace upsweep::test
