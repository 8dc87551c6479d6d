// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "../operators.cuh"
#include "bits.cuh"

namespace upsweep::test {

namespace {

// Of more elements than have one tile a block.
template <class T, class Op>
void expect_bits_of_cpu_for_many(const Op& op)
{
    auto random = generator();
    const std::size_t n = 2'000'000 + random() % 100'000;
    const host_array<T> values = random_array<T>(random, n);
    const target_array<cuda, T> in(values.span());
    target_array<cuda, T> out(n);
    host_array<T> expected(n);
    inclusive_scan(cpu{}, values.span(), expected.span(), op);
    inclusive_scan(cuda{}, in.const_span(), out.span(), op);
    EXPECT_TRUE(bits_equal(out.to_host(), expected));
    EXPECT_TRUE(bits_equal(reduce(cuda{}, in.const_span(), op), expected[n - 1]));
}

TEST(bits_of_cpu_for_many, affine_functions) { expect_bits_of_cpu_for_many<affine>(composition); }
TEST(bits_of_cpu_for_many, matrices) { expect_bits_of_cpu_for_many<matrix>(product); }

} // namespace

} // namespace upsweep::test
