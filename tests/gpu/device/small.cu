// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Every path of the kernels on as few elements as it takes: what compute-sanitizer, which is slow, looks at.
#include <cstdint>

#include "../operators.cuh"
#include "device.cuh"

namespace up = upsweep;
using namespace upsweep::test;

namespace {

template <class T, class Op>
void expect_few_to_be_folded(Op op)
{
    auto random = generator();
    const up::cuda gpu;
    // No whole tile; several; so many that the tiles of a scan are large.
    for (const std::size_t n :
         {std::size_t{1}, std::size_t{1'000}, std::size_t{100'003}, (std::size_t{2} << 20) / sizeof(T) + 777}) {
        const host_array<T> values = random_array<T>(random, n + 1);
        host_array<T> expected(n);
        up::inclusive_scan(up::cpu{}, values.first(n), expected.span(), op);
        const target_array<up::cuda, T> in(values.span());
        target_array<up::cuda, T> out(n);
        up::inclusive_scan(gpu, in.const_span().first(n), out.span(), op);
        EXPECT_TRUE(bits_equal(out.to_host(), expected));
        EXPECT_TRUE(bits_equal(up::reduce(gpu, in.const_span().subspan(1), op),
                               up::reduce(up::cpu{}, values.span().subspan(1), op)));
    }
}

TEST(small, i8) { expect_few_to_be_folded<std::int8_t>(up::plus{}); }
TEST(small, u16) { expect_few_to_be_folded<std::uint16_t>(up::plus{}); }
TEST(small, f16) { expect_few_to_be_folded<up::f16>(up::plus{}); }
TEST(small, i32) { expect_few_to_be_folded<std::int32_t>(up::maximum{}); }
TEST(small, f32) { expect_few_to_be_folded<float>(up::plus{}); }
TEST(small, f64) { expect_few_to_be_folded<double>(up::plus{}); }
TEST(small, matrices) { expect_few_to_be_folded<matrix>(product); }

} // namespace
