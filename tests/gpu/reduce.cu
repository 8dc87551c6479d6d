// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Reduce on a GPU: the cases of the other targets, with the same literal folds as the answer.
#include <cstdint>

#include "../reduce_cases.hpp"
#include "operators.cuh"

namespace up = upsweep;
using namespace upsweep::test;

namespace {

#define ELEMENT typename TypeParam::element

template <class On>
class gpu_reduce : public ::testing::Test {
};
using types = on_gpu<bool, std::int8_t, std::uint16_t, std::int32_t, std::int64_t, up::f16, float, double>;
TYPED_TEST_SUITE(gpu_reduce, types);

TYPED_TEST(gpu_reduce, plus) { expect_reduces<up::cuda, ELEMENT>(up::plus{}); }

TEST(gpu_reduce_of, floats_by_every_other_operator)
{
    expect_literal_folds<up::cuda, float>(up::minimum{});
    expect_literal_folds<up::cuda, up::bf16>(up::maximum{});
    expect_literal_folds<up::cuda, float>(up::logical_or{});
    expect_literal_folds<up::cuda, double>(up::multiplies{});
}

TEST(gpu_reduce_of, integers_by_bits)
{
    expect_literal_folds<up::cuda, std::uint8_t>(up::bit_xor{});
    expect_literal_folds<up::cuda, std::int64_t>(up::bit_and{});
}

// Operands of an operator that does not commute keep their order; a total of 16 bytes does not fit into a tile state.
TEST(gpu_reduce_of, monoids_of_the_user)
{
    expect_literal_folds<up::cuda, affine>(composition);
    expect_literal_folds<up::cuda, matrix>(product);
}

// Whole tiles, of 16384 bytes where they are few and 32768 where they are more, and one element less or more.
template <class T>
void expect_reduces_of_whole_tiles()
{
    auto random = generator();
    const host_array<T> values = random_array<T>(random, 30 * 16384 / sizeof(T));
    const target_array<up::cuda, T> in(values.span());
    for (const std::size_t tiles : {1, 2, 3, 24, 28})
        for (const std::size_t n :
             {tiles * 16384 / sizeof(T) - 1, tiles * 16384 / sizeof(T), tiles * 16384 / sizeof(T) + 1})
            EXPECT_TRUE(bits_equal(up::reduce(up::cuda{}, in.const_span().first(n)),
                                   up::reduce(up::cpu{1}, values.span().first(n))))
                << n << " elements";
}

TEST(gpu_reduce_of, whole_tiles)
{
    expect_reduces_of_whole_tiles<float>();
    expect_reduces_of_whole_tiles<std::int16_t>();
}

TEST(gpu_reduce_of, nothing)
{
    EXPECT_TRUE(bits_equal(up::reduce(up::cuda{}, std::span<const float>{}), 0.0F));
    EXPECT_EQ(up::reduce(up::cuda{}, std::span<const int>{}, up::multiplies{}), 1);
    EXPECT_THROW((void)up::reduce(up::cuda{}, std::span<const int>{}, up::minimum{}), up::error);
}

// The kernels read elements through the iterator, so that a transform costs no pass of its own.
TEST(gpu_reduce_of, what_an_iterator_makes)
{
    const std::uint64_t n = 50000;
    const auto total = up::reduce(up::cuda{}, square_range{squares(0), squares(n)}, up::plus{});
    EXPECT_EQ(total, (n - 1) * n * (2 * n - 1) / 6);
}

TEST(gpu_reduce_of, host_memory_is_refused)
{
    const host_array<int> on_host{1, 2, 3};
    try {
        (void)up::reduce(up::cuda{}, on_host.span(), up::plus{});
        FAIL() << "no error";
    } catch (const up::error& failure) {
        EXPECT_EQ(failure.kind(), up::error_kind::invalid_argument);
        EXPECT_NE(std::string(failure.what()).find("belongs to the host"), std::string::npos) << failure.what();
    }
}

} // namespace
