// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <type_traits>

#include <gtest/gtest.h>
#include <upsweep/reduce.hpp>
#include <upsweep/scan.hpp>

#include "expected.hpp"
#include "samples.hpp"
#include "targets.hpp"

// What holds for a scan with any operator, from any element type to any result type; scan_integers.cpp and scan_floats.cpp
// apply it.
namespace upsweep::test {

// The results of an exclusive scan: those of the inclusive one shifted by one, after the fold of nothing.
template <class Out, class Op>
host_array<Out> shifted(const host_array<Out>& inclusive, const Op& op)
{
    host_array<Out> exclusive(inclusive.size());
    exclusive[0] = convert<Out>(fold_of_nothing<scan_accumulator_t<Op, Out>>(op));
    std::copy(inclusive.begin(), inclusive.end() - 1, exclusive.begin() + 1);
    return exclusive;
}

// Inclusive: the literal fold of every prefix. Exclusive: the same shifted by one, to the bit. With init: init (+) that, and
// init first. From and to addresses of every alignment.
template <class Target, class In, class Out, class Op>
void expect_prefix_folds(Op op, std::span<const std::size_t> sizes = telling_sizes)
{
    using accumulator = scan_accumulator_t<Op, Out>;
    auto random = generator();
    const host_array<In> values = random_array<In>(random, sizes.back() + 17);
    const target_array<Target, In> in(values.span());
    const auto init = random_value<Out>(random);
    const auto init_accumulator = convert<accumulator>(init);
    std::size_t offset = 0;

    for (const std::size_t n : sizes) {
        offset = (offset + 1) % 17;
        const auto folds = literal_folds(converted<accumulator>(values.span().subspan(offset, n)).span(), op);
        host_array<accumulator> after_init(n);
        after_init[0] = init_accumulator;
        for (std::size_t i = 1; i < n; ++i)
            after_init[i] = op(init_accumulator, folds[i - 1]);
        const host_array<Out> inclusive = converted<Out>(folds.span());
        const host_array<Out> exclusive = shifted(inclusive, op);
        const host_array<Out> exclusive_after_init = converted<Out>(after_init.span());

        on_every_variant<Target>([&](const Target& target) {
            target_array<Target, Out> memory(n + 3);
            const std::span<Out> out = memory.span().subspan(offset % 3, n);
            const auto from = in.const_span().subspan(offset, n);
            const auto written = [&] {
                const host_array<Out> all = memory.to_host();
                return host_array<Out>(all.span().subspan(offset % 3, n));
            };
            inclusive_scan(target, from, out, op);
            ASSERT_TRUE(bits_equal(written(), inclusive)) << "inclusive scan of " << n;
            exclusive_scan(target, from, out, op);
            ASSERT_TRUE(bits_equal(written(), exclusive)) << "exclusive scan of " << n;
            exclusive_scan(target, from, out, op, init);
            ASSERT_TRUE(bits_equal(written(), exclusive_after_init))
                << "exclusive scan of " << n << " after " << printed(init);
        });
    }
}

// In place, the same results.
template <class Target, class T, class Op>
void expect_in_place(Op op)
{
    using accumulator = scan_accumulator_t<Op, T>;
    auto random = generator();
    for (const std::size_t n : telling_sizes) {
        const host_array<T> values = random_array<T>(random, n);
        const auto folds = literal_folds(converted<accumulator>(values.span()).span(), op);
        const host_array<T> expected_inclusive = converted<T>(folds.span());
        const host_array<T> expected_exclusive = shifted(expected_inclusive, op);
        on_every_variant<Target>([&](const Target& target) {
            target_array<Target, T> inclusive(values.span());
            inclusive_scan(target, inclusive.const_span(), inclusive.span(), op);
            ASSERT_TRUE(bits_equal(inclusive.to_host(), expected_inclusive)) << "inclusive scan of " << n;

            target_array<Target, T> exclusive(values.span());
            exclusive_scan(target, exclusive.span(), exclusive.span(), op);
            ASSERT_TRUE(bits_equal(exclusive.to_host(), expected_exclusive)) << "exclusive scan of " << n;
        });
    }
}

template <class Target, class T, class Op>
void expect_scans(Op op)
{
    expect_prefix_folds<Target, T, T>(op);
    expect_in_place<Target, T>(op);
}

} // namespace upsweep::test
