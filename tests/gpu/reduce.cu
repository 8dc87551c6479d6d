// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Reduce on a GPU: the cases of the other targets, and what only a GPU has. reduce_operators.cu and
// reduce_floats.cu have other operators than sums.
#include <cstdint>
#include <string>

#include "../reduce_cases.hpp"

namespace upsweep::test {

using reduce_types = on_gpu<bool, std::int8_t, std::uint16_t, std::int32_t, std::int64_t, f16, float, double>;
INSTANTIATE_TYPED_TEST_SUITE_P(cuda, reduce_sums, reduce_types);
INSTANTIATE_TYPED_TEST_SUITE_P(cuda, reduce_on, ::testing::Types<cuda>);

TEST(gpu_reduce, host_memory_is_refused)
{
    const host_array<int> on_host{1, 2, 3};
    try {
        (void)reduce(cuda{}, on_host.span(), plus{});
        FAIL() << "no error";
    } catch (const error& failure) {
        EXPECT_EQ(failure.kind(), error_kind::invalid_argument);
        EXPECT_NE(std::string(failure.what()).find("belongs to the host"), std::string::npos) << failure.what();
    }
}

} // namespace upsweep::test
