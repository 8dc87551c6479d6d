// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Partials on a GPU, and of parts that a CPU and a GPU have folded.
#include <cstdint>

#include "../partial_cases.hpp"

namespace upsweep::test {

using partial_types = on_gpu<std::int16_t, float>;
INSTANTIATE_TYPED_TEST_SUITE_P(cuda, partials, partial_types);
INSTANTIATE_TYPED_TEST_SUITE_P(cuda, partial_on, ::testing::Types<cuda>);

TEST(gpu_partials, of_cpu_and_gpu_are_the_whole)
{
    auto random = generator();
    const host_array<float> values = random_array<float>(random, sampled<cuda>(300007));
    const std::span<const float> on_host = values.span();
    const target_array<cuda, float> on_gpu(on_host);
    const auto borders = random_borders(random, values.size());
    std::vector<partial<float>> parts;
    for (std::size_t i = 1; i < borders.size(); ++i) {
        const std::size_t first = borders[i - 1];
        const std::size_t count = borders[i] - first;
        parts.push_back(i % 2 == 0 ? reduce_partial(cpu{}, on_host.subspan(first, count), first)
                                   : reduce_partial(cuda{}, on_gpu.const_span().subspan(first, count), first));
    }
    EXPECT_TRUE(bits_equal(merged_at_random(parts, random).value(), reduce(cpu{}, on_host, plus{})));
}

} // namespace upsweep::test
