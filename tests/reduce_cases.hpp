// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <type_traits>

#include <gtest/gtest.h>
#include <upsweep/reduce.hpp>

#include "expected.hpp"
#include "samples.hpp"
#include "targets.hpp"

// What holds for a reduce with any operator over any element type; reduce_integers.cpp and reduce_floats.cpp apply it.
namespace upsweep::test {

// Reduces prefixes of random elements, from addresses of every alignment, and compares with the literal fold.
template <class Target, class T, class Op>
void expect_literal_folds(Op op)
{
    using accumulator = accumulator_t<Op, T>;
    auto random = generator();
    const host_array<T> values = random_array<T>(random, telling_sizes.back() + 17);
    const target_array<Target, T> in(values.span());
    std::size_t offset = 0;
    for (const std::size_t n : telling_sizes) {
        offset = (offset + 1) % 17;
        const host_array<accumulator> converted_values = converted<accumulator>(values.span().subspan(offset, n));
        const auto expected = convert<result_t<Op, T>>(literal_fold(converted_values.span(), op));
        on_every_variant<Target>([&](const Target& target) {
            const auto got = reduce(target, in.const_span().subspan(offset, n), op);
            static_assert(std::is_same_v<decltype(got), const result_t<Op, T>>);
            ASSERT_TRUE(bits_equal(got, expected)) << n << " elements";
        });
    }
}

// An aligned block is its two halves; a larger power of two and a smaller one are folded apart and then together.
template <class Target, class T, class Op>
void expect_concatenation(Op op)
{
    auto random = generator();
    const host_array<T> values = random_array<T>(random, std::size_t{1} << 18);
    const Target target{};
    const auto folded = [&](std::size_t first, std::size_t count) {
        const target_array<Target, T> part(values.span().subspan(first, count));
        return convert<accumulator_t<Op, T>>(reduce(target, part.const_span(), op));
    };
    for (std::size_t left = 1; left < values.size(); left *= 8) {
        const auto of_left = folded(0, left);
        for (std::size_t right = 1; right <= left; right *= 2)
            ASSERT_TRUE(bits_equal(folded(0, left + right), op(of_left, folded(left, right))))
                << left << " + " << right;
    }
}

// The overload for a result in the target's memory.
template <class Target, class T, class Op>
void expect_result_in_memory(Op op)
{
    auto random = generator();
    const target_array<Target, T> in(random_array<T>(random, 1000).span());
    const Target target{};
    target_array<Target, result_t<Op, T>> result(1);
    reduce(target, in.const_span(), result.span().data(), op);
    EXPECT_TRUE(bits_equal(result.to_host()[0], reduce(target, in.const_span(), op)));
}

template <class Target, class T, class Op>
void expect_reduces(Op op)
{
    expect_literal_folds<Target, T>(op);
    expect_concatenation<Target, T>(op);
    expect_result_in_memory<Target, T>(op);
}

// The reduce of nothing.
template <class Target, class T, class Op>
auto of_nothing(Op op)
{
    return reduce(Target{}, std::span<const T>{}, op);
}

} // namespace upsweep::test
