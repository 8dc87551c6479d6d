// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Inclusive and exclusive scans of the floating-point types, on every target: bits, not tolerances.
#include <cstdint>
#include <limits>

#include "scan_cases.hpp"

namespace up = upsweep;
using namespace upsweep::test;

namespace {

template <class On>
class scan_floats : public ::testing::Test {
};
using floats = every<up::f16, up::bf16, float, double>;
TYPED_TEST_SUITE(scan_floats, floats);

#define TARGET typename TypeParam::target
#define ELEMENT typename TypeParam::element

TYPED_TEST(scan_floats, plus) { expect_scans<TARGET, ELEMENT>(up::plus{}); }
TYPED_TEST(scan_floats, multiplies) { expect_scans<TARGET, ELEMENT>(up::multiplies{}); }
TYPED_TEST(scan_floats, minimum) { expect_scans<TARGET, ELEMENT>(up::minimum{}); }
TYPED_TEST(scan_floats, maximum) { expect_scans<TARGET, ELEMENT>(up::maximum{}); }
TYPED_TEST(scan_floats, logical_and) { expect_scans<TARGET, ELEMENT>(up::logical_and{}); }
TYPED_TEST(scan_floats, logical_or) { expect_scans<TARGET, ELEMENT>(up::logical_or{}); }

TYPED_TEST(scan_floats, converts_to_float) { expect_prefix_folds<TARGET, ELEMENT, float>(up::plus{}); }
TYPED_TEST(scan_floats, converts_to_double) { expect_prefix_folds<TARGET, ELEMENT, double>(up::plus{}); }

// scan[i] is the reduce of the first i + 1 elements, for types that both accumulate alike.
TYPED_TEST(scan_floats, is_the_reduce_of_every_prefix)
{
    using target = TARGET;
    using element = ELEMENT;
    auto random = generator();
    const target_array<target, element> in(random_array<element>(random, 700).span());
    target_array<target, up::accumulator_t<up::plus, element>> out(700);
    up::inclusive_scan(target{}, in.const_span(), out.span(), up::plus{});
    const auto results = out.to_host();
    for (std::size_t i = 0; i < 700; ++i)
        ASSERT_TRUE(bits_equal(results[i], up::reduce(target{}, in.const_span().first(i + 1), up::plus{}))) << i;
}

TYPED_TEST(scan_floats, keeps_the_sign_of_zero)
{
    using target = TARGET;
    using element = ELEMENT;
    const element minus_zero(-0.0F);
    const element zero(0.0F);
    on_every_variant<target>([&](const target& where) {
        host_array<element> zeros(300000);
        std::ranges::fill(zeros, minus_zero);
        const target_array<target, element> in(zeros.span());
        target_array<target, element> out(zeros.size());
        up::inclusive_scan(where, in.const_span(), out.span(), up::plus{});
        ASSERT_TRUE(bits_equal(out.to_host(), zeros));
        up::exclusive_scan(where, in.const_span(), out.span(), up::plus{}, minus_zero);
        ASSERT_TRUE(bits_equal(out.to_host(), zeros));
        up::exclusive_scan(where, in.const_span(), out.span(),
                           up::plus{}); // the sum of nothing is +0, that of -0 is -0
        zeros[0] = zero;
        ASSERT_TRUE(bits_equal(out.to_host(), zeros));
    });
}

// A result that is rounded twice, or an accumulator of 16 bits, would stay at 256 (bf16) or 2048 (f16).
TYPED_TEST(scan_floats, rounds_sub_word_floats_once)
{
    using target = TARGET;
    using element = ELEMENT;
    host_array<element> ones(5000);
    std::ranges::fill(ones, element(1.0F));
    const target_array<target, element> in(ones.span());
    target_array<target, element> out(ones.size());
    up::inclusive_scan(target{}, in.const_span(), out.span(), up::plus{});
    const host_array<element> results = out.to_host();
    for (std::size_t i = 0; i < results.size(); ++i)
        ASSERT_TRUE(bits_equal(results[i], element(static_cast<float>(i + 1)))) << i;
}

TYPED_TEST(scan_floats, without_init_begins_with_the_identity)
{
    using target = TARGET;
    using element = ELEMENT;
    const target_array<target, element> in(host_array<element>{element(3.0F)}.span());
    const auto first = [&](auto op) {
        target_array<target, element> out(1);
        up::exclusive_scan(target{}, in.const_span(), out.span(), op);
        return out.to_host()[0];
    };
    constexpr float inf = std::numeric_limits<float>::infinity();
    EXPECT_TRUE(bits_equal(first(up::plus{}), element(0.0F)));
    EXPECT_TRUE(bits_equal(first(up::multiplies{}), element(1.0F)));
    EXPECT_TRUE(bits_equal(first(up::minimum{}), element(inf)));
    EXPECT_TRUE(bits_equal(first(up::maximum{}), element(-inf)));
    EXPECT_TRUE(bits_equal(first(up::logical_and{}), element(1.0F)));
    EXPECT_TRUE(bits_equal(first(up::logical_or{}), element(0.0F)));
}

} // namespace
