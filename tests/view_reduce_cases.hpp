// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include <gtest/gtest.h>
#include <upsweep/reduce.hpp>

#include "view_shapes.hpp"

// A view is reduced to the bits of the plain call on its elements, side by side.
namespace upsweep::test {

template <class Target>
class view_reduce : public ::testing::Test {
};
TYPED_TEST_SUITE_P(view_reduce);

template <class Target, class T, class Op>
void expect_reduce_of_views(Op op)
{
    auto random = generator();
    on_every_shape(many_elements<Target>, [&](const auto& s) {
        const viewed_array<Target, T, std::tuple_size_v<decltype(s.extents)>> in(s, random);
        const target_array<Target, T> plain(in.elements().span());
        const auto expected = reduce(Target{}, plain.const_span(), op);
        on_every_variant<Target>(
            [&](const Target& target) { EXPECT_TRUE(bits_equal(reduce(target, in.readable(), op), expected)); });
    });
}

TYPED_TEST_P(view_reduce, sums_of_floats) { expect_reduce_of_views<TypeParam, float>(plus{}); }
TYPED_TEST_P(view_reduce, an_operator_that_does_not_commute)
{
    expect_reduce_of_views<TypeParam, wrapping_map>(wrapping_composition);
}
TYPED_TEST_P(view_reduce, sums_of_bytes) { expect_reduce_of_views<TypeParam, std::uint8_t>(plus{}); }

REGISTER_TYPED_TEST_SUITE_P(view_reduce, sums_of_floats, an_operator_that_does_not_commute, sums_of_bytes);

} // namespace upsweep::test
