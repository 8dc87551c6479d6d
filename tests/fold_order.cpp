// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// The canonical order made visible: operators that write down, or hash, how their operands were parenthesised.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <upsweep/fold_order.hpp>
#include <upsweep/upsweep.hpp>

#include "expected.hpp"
#include "samples.hpp"
#include "targets.hpp"

namespace up = upsweep;
using namespace upsweep::test;

namespace {

// "(ab)" from "a" and "b". Its identity is neutral, and nothing else about it is a monoid: every regrouping shows.
struct parenthesise {
    std::string operator()(const std::string& a, const std::string& b) const
    {
        return a.empty() ? b : b.empty() ? a : "(" + a + b + ")";
    }
    template <class>
    static std::string identity()
    {
        return {};
    }
};

// The same for long arrays: a hash that depends on both operands and on which is which. 0 is neutral.
struct hash_pair {
    std::uint64_t operator()(std::uint64_t a, std::uint64_t b) const
    {
        if (a == 0 || b == 0)
            return a + b;
        const std::uint64_t mixed = (a * 0x9e3779b97f4a7c15U) ^ (b * 0xc2b2ae3d27d4eb4fU + (a >> 29));
        return mixed | 1;
    }
    template <class>
    static std::uint64_t identity()
    {
        return 0;
    }
};

std::vector<std::string> letters(std::size_t count)
{
    std::vector<std::string> result(count);
    for (std::size_t i = 0; i < count; ++i)
        result[i] = std::string(1, static_cast<char>('a' + i % 26));
    return result;
}

TEST(fold_order, is_that_of_the_documentation)
{
    const auto fold = [](std::size_t count) { return up::reduce(up::cpu{1}, letters(count), parenthesise{}); };
    EXPECT_EQ(fold(0), "");
    EXPECT_EQ(fold(1), "a");
    EXPECT_EQ(fold(2), "(ab)");
    EXPECT_EQ(fold(3), "((ab)c)");
    EXPECT_EQ(fold(4), "((ab)(cd))");
    EXPECT_EQ(fold(5), "(((ab)(cd))e)");
    EXPECT_EQ(fold(6), "(((ab)(cd))(ef))");
    EXPECT_EQ(fold(7), "((((ab)(cd))(ef))g)");
    EXPECT_EQ(fold(8), "(((ab)(cd))((ef)(gh)))");
    EXPECT_EQ(fold(13), "(((((ab)(cd))((ef)(gh)))((ij)(kl)))m)");
}

TEST(fold_order, of_a_scan_is_that_of_the_reduces_of_its_prefixes)
{
    const std::vector<std::string> in = letters(7);
    std::vector<std::string> out(7);
    up::inclusive_scan(up::cpu{1}, in, out, parenthesise{});
    EXPECT_EQ(out, (std::vector<std::string>{"a", "(ab)", "((ab)c)", "((ab)(cd))", "(((ab)(cd))e)", "(((ab)(cd))(ef))",
                                             "((((ab)(cd))(ef))g)"}));
    up::exclusive_scan(up::cpu{1}, in, out, parenthesise{});
    EXPECT_EQ(
        out, (std::vector<std::string>{"", "a", "(ab)", "((ab)c)", "((ab)(cd))", "(((ab)(cd))e)", "(((ab)(cd))(ef))"}));
    up::exclusive_scan(up::cpu{1}, in, out, parenthesise{}, std::string("_"));
    EXPECT_EQ(out, (std::vector<std::string>{"_", "(_a)", "(_(ab))", "(_((ab)c))", "(_((ab)(cd)))", "(_(((ab)(cd))e))",
                                             "(_(((ab)(cd))(ef)))"}));
}

// Long enough for several threads, each with several of the pieces that it takes at a time.
TEST(fold_order, does_not_depend_on_how_the_work_is_divided)
{
    auto random = generator();
    const host_array<std::uint64_t> in = random_array<std::uint64_t>(random, 300007);
    const host_array<std::uint64_t> expected = literal_folds(in.span(), hash_pair{});
    on_every_variant<up::cpu>([&](up::cpu target) {
        for (const std::size_t n : telling_sizes)
            ASSERT_EQ(up::reduce(target, in.first(n), hash_pair{}), expected[n - 1]) << n;
        ASSERT_EQ(up::reduce(target, in, hash_pair{}), expected[in.size() - 1]);

        host_array<std::uint64_t> out(in.size());
        up::inclusive_scan(target, in, out, hash_pair{});
        ASSERT_TRUE(bits_equal(out, expected));
    });
}

// The order that a GPU engine, or anyone who folds in pieces, can rely on: aligned blocks may be folded apart.
TEST(fold_stack, takes_blocks_of_any_power_of_two)
{
    const std::vector<std::string> in = letters(23);
    up::fold_stack<std::string, parenthesise> one_by_one{parenthesise{}};
    for (const std::string& letter : in)
        one_by_one.push(letter, 0);

    up::fold_stack<std::string, parenthesise> in_blocks{parenthesise{}};
    const auto block = [&](std::size_t first, std::size_t size) {
        return up::reduce(up::cpu{1}, std::span(in).subspan(first, size), parenthesise{});
    };
    in_blocks.push(block(0, 8), 3);
    in_blocks.push(block(8, 4), 2);
    in_blocks.push(block(12, 2), 1);
    in_blocks.push(block(14, 1), 0);
    in_blocks.push(block(15, 1), 0); // closes blocks of 2, 4, 8 and 16
    in_blocks.push(block(16, 4), 2);
    in_blocks.push(block(20, 2), 1);
    in_blocks.push(block(22, 1), 0);

    EXPECT_EQ(in_blocks.count(), 23U);
    EXPECT_EQ(in_blocks.fold(), one_by_one.fold());
    EXPECT_EQ(in_blocks.fold_after("_"), one_by_one.fold_after("_"));
}

TEST(fold_stack, of_nothing_is_the_identity)
{
    EXPECT_EQ((up::fold_stack<std::string, parenthesise>{parenthesise{}}.fold()), "");
    EXPECT_EQ((up::fold_stack<std::string, parenthesise>{parenthesise{}}.fold_after("before")), "before");
}

} // namespace
