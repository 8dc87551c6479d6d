// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Scan on a GPU: the cases of the other targets, with the same literal folds as the answer.
#include <cstdint>

#include "../scan_cases.hpp"
#include "operators.cuh"

namespace up = upsweep;
using namespace upsweep::test;

namespace {

#define ELEMENT typename TypeParam::element

template <class On>
class gpu_scan : public ::testing::Test {
};
using types = on_gpu<std::int8_t, std::uint16_t, std::int32_t, up::f16, float, double>;
TYPED_TEST_SUITE(gpu_scan, types);

TYPED_TEST(gpu_scan, plus) { expect_scans<up::cuda, ELEMENT>(up::plus{}); }

TEST(gpu_scan_of, other_operators)
{
    expect_prefix_folds<up::cuda, float, float>(up::maximum{});
    expect_prefix_folds<up::cuda, bool, bool>(up::logical_or{});
    expect_prefix_folds<up::cuda, std::uint8_t, std::uint8_t>(up::bit_xor{});
}

TEST(gpu_scan_of, flags_into_positions) { expect_prefix_folds<up::cuda, bool, std::uint32_t>(up::plus{}); }

TEST(gpu_scan_of, monoids_of_the_user)
{
    expect_prefix_folds<up::cuda, affine, affine>(composition);
    expect_prefix_folds<up::cuda, matrix, matrix>(product);
}

TEST(gpu_scan_of, nothing_writes_nothing)
{
    target_array<up::cuda, int> out(0);
    up::inclusive_scan(up::cuda{}, std::span<const int>{}, out.span());
}

TEST(gpu_scan_of, host_memory_is_refused)
{
    host_array<int> on_host{1, 2, 3};
    EXPECT_THROW(up::inclusive_scan(up::cuda{}, on_host.span(), on_host.span()), up::error);
}

TEST(gpu_scan_of, spans_that_overlap_by_half_are_refused)
{
    target_array<up::cuda, int> memory(100);
    EXPECT_THROW(up::inclusive_scan(up::cuda{}, memory.const_span().first(50), memory.span().subspan(1, 50)),
                 up::error);
}

} // namespace
