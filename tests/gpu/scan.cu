// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Scan on a GPU: the cases of the other targets, with the same literal folds as the answer.
#include <cstdint>

#include "../scan_cases.hpp"
#include "operators.cuh"

namespace up = upsweep;
using namespace upsweep::test;
using upsweep::scan_kind;

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

// Without the largest size, since the simulator is slow: the one before it already has more than a group of tiles, and
// enough matrices for the large ones.
TEST(gpu_scan_of, monoids_of_the_user)
{
    const auto sizes = std::span(telling_sizes).first(telling_sizes.size() - 1);
    expect_prefix_folds<up::cuda, affine, affine>(composition, sizes);
    expect_prefix_folds<up::cuda, matrix, matrix>(product, sizes);
}

// Of a larger array that is cut at multiples of `length`, a power of two, all but the last result of each piece.
template <scan_kind Kind, class T, class Op>
void expect_pieces(std::size_t count, std::size_t length, const Op& op, const T* init = nullptr)
{
    auto random = generator();
    const host_array<T> values = random_array<T>(random, count);
    const host_array<T> folds = literal_folds(values.span(), op);
    const target_array<up::cuda, T> in(values.span());
    target_array<up::cuda, T> out(count);
    const up::cuda gpu;
    for (std::size_t at = 0; at < count; at += length) {
        const T* const before = at != 0 ? &folds[at - 1] : nullptr;
        up::gpu::scan<Kind, T>(gpu, in.const_span().data() + at, out.span().data() + at,
                               std::min(length, count - at) - 1, op, init, before);
    }
    const host_array<T> results = out.to_host();
    for (std::size_t i = 0; i < count; ++i) {
        if ((i + 1) % length == 0 || i + 1 == count)
            continue;
        const std::size_t folded = Kind == scan_kind::inclusive ? i + 1 : i;
        T expected = folded != 0 ? folds[folded - 1] : up::fold_of_nothing<T>(op);
        if constexpr (Kind == scan_kind::exclusive)
            if (init != nullptr)
                expected = folded != 0 ? op(*init, expected) : *init;
        ASSERT_TRUE(bits_equal(results[i], expected)) << "result " << i;
    }
}

TEST(gpu_scan_of, pieces_of_a_larger_array)
{
    const float init = 1.1F;
    expect_pieces<scan_kind::inclusive, float>(7 * 8192 - 100, 8192, up::plus{});
    expect_pieces<scan_kind::exclusive, float>(7 * 8192 - 100, 8192, up::plus{}, &init);
    expect_pieces<scan_kind::inclusive, float>(820000, 1 << 19, up::plus{}); // more tiles than are folded at once
    expect_pieces<scan_kind::exclusive, affine>(5 * 4096 + 7, 4096, composition);
    expect_pieces<scan_kind::inclusive, matrix>(5 * 4096 + 7, 4096, product);
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
