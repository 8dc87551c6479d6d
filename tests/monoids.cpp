// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Monoids of the user on a CPU: the cases of every target, and what only a CPU takes: elements that are large or own
// memory, and operators that fail.
#include <array>
#include <chrono>
#include <concepts>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "monoid_cases.hpp"

namespace upsweep::test::user {

INSTANTIATE_TYPED_TEST_SUITE_P(cpu, monoids, ::testing::Types<up::cpu>);

// Without a tag a monoid is ordered: the assumption that cannot go wrong.
TEST(monoid, is_ordered_unless_said_otherwise)
{
    const auto sum = [](int a, int b) { return a + b; };
    static_assert(std::same_as<decltype(up::monoid{sum, 0}), decltype(up::monoid{sum, 0, up::ordered})>);
    static_assert(!std::same_as<decltype(up::monoid{sum, 0}), decltype(up::monoid{sum, 0, up::commutative})>);
}

// Elements of a kilobyte, of which few fit a cache.
struct large {
    std::array<std::uint32_t, 256> lanes{};
    friend bool operator==(const large&, const large&) = default;
};

TEST(monoid, may_have_large_elements)
{
    auto random = generator();
    std::vector<large> values(1001);
    for (large& value : values)
        for (std::uint32_t& lane : value.lanes)
            lane = static_cast<std::uint32_t>(random());
    const auto add = [](const large& a, const large& b) {
        large sum;
        for (std::size_t k = 0; k < sum.lanes.size(); ++k)
            sum.lanes[k] = a.lanes[k] + b.lanes[k];
        return sum;
    };
    expect_loop<up::cpu>(values, up::monoid{add, large{}, up::commutative});
}

// Elements that own memory: the free monoid.
TEST(monoid, may_own_memory)
{
    std::vector<std::string> letters(3000);
    for (std::size_t i = 0; i < letters.size(); ++i)
        letters[i] = std::string(i % 3, static_cast<char>('a' + i % 26));
    const auto concatenate = [](const std::string& a, const std::string& b) { return a + b; };
    expect_loop<up::cpu>(letters, up::monoid{concatenate, std::string{}, up::ordered});
}

// An operator that throws ends the call with its own exception, on every number of threads, and nothing hangs.
TEST(monoid, may_throw)
{
    const std::vector<int> values(1 << 20, 1);
    std::vector<int> out(values.size());
    const auto fragile = [](int a, int b) {
        if (a + b > 300000)
            throw std::domain_error("too much");
        return a + b;
    };
    on_every_variant<up::cpu>([&](up::cpu target) {
        EXPECT_THROW((void)up::reduce(target, values, up::monoid{fragile, 0}), std::domain_error);
        EXPECT_THROW(up::inclusive_scan(target, values, out, up::monoid{fragile, 0}), std::domain_error);
        EXPECT_EQ(up::reduce(target, values, up::plus{}), 1 << 20);
    });
}

// A piece that fails while others are about to pass on their totals: the slow step is the one that combines whole
// pieces.
TEST(monoid, may_throw_at_any_time)
{
    std::vector<int> values(1 << 20, 1);
    std::vector<int> out(values.size());
    const auto fragile = [](int a, int b) {
        if (a < 0 || b < 0)
            throw std::domain_error("a negative element");
        if (a >= 65536 && b >= 65536)
            std::this_thread::sleep_for(std::chrono::microseconds(300));
        return a + b;
    };
    for (std::size_t place = 5; place < values.size(); place += values.size() / 16) {
        values[place] = -1;
        EXPECT_THROW(up::inclusive_scan(up::cpu{8}, values, out, up::monoid{fragile, 0}), std::domain_error);
        values[place] = 1;
    }
}

} // namespace upsweep::test::user
