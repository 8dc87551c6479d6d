// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Inclusive and exclusive scans of bool and the integers, on every target.
#include <cstdint>

#include "scan_cases.hpp"

namespace up = upsweep;
using namespace upsweep::test;

namespace {

template <class On>
class scan_integers : public ::testing::Test {
};
using integers = every<bool, std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t, std::uint16_t,
                       std::uint32_t, std::uint64_t>;
TYPED_TEST_SUITE(scan_integers, integers);

#define TARGET typename TypeParam::target
#define ELEMENT typename TypeParam::element

TYPED_TEST(scan_integers, plus_wraps_in_the_type_of_the_results) { expect_scans<TARGET, ELEMENT>(up::plus{}); }

// The other operators, for one type of each kind.
template <class On>
class scan_operators : public ::testing::Test {
};
using kinds = every<bool, std::uint8_t, std::int64_t>;
TYPED_TEST_SUITE(scan_operators, kinds);

TYPED_TEST(scan_operators, minimum) { expect_scans<TARGET, ELEMENT>(up::minimum{}); }
TYPED_TEST(scan_operators, logical_or) { expect_scans<TARGET, ELEMENT>(up::logical_or{}); }
TYPED_TEST(scan_operators, multiplies) { expect_scans<TARGET, ELEMENT>(up::multiplies{}); }
TYPED_TEST(scan_operators, maximum) { expect_scans<TARGET, ELEMENT>(up::maximum{}); }
TYPED_TEST(scan_operators, bit_and) { expect_scans<TARGET, ELEMENT>(up::bit_and{}); }
TYPED_TEST(scan_operators, bit_or) { expect_scans<TARGET, ELEMENT>(up::bit_or{}); }
TYPED_TEST(scan_operators, bit_xor) { expect_scans<TARGET, ELEMENT>(up::bit_xor{}); }
TYPED_TEST(scan_operators, logical_and) { expect_scans<TARGET, ELEMENT>(up::logical_and{}); }

// Elements are converted to the type of the results before they are folded: bytes into counts, flags into positions.
TYPED_TEST(scan_integers, widens_to_64_bits) { expect_prefix_folds<TARGET, ELEMENT, std::uint64_t>(up::plus{}); }
TYPED_TEST(scan_operators, converts_to_double) { expect_prefix_folds<TARGET, ELEMENT, double>(up::plus{}); }

TYPED_TEST(scan_integers, of_nothing_writes_nothing)
{
    using target = TARGET;
    using element = ELEMENT;
    target_array<target, element> out(0);
    on_every_variant<target>([&](const target& where) {
        up::inclusive_scan(where, std::span<const element>{}, out.span(), up::plus{});
        up::exclusive_scan(where, std::span<const element>{}, out.span(), up::minimum{}, element{1});
    });
}

// The last result of an inclusive scan of 64-bit integers is the reduce.
TEST(scan, ends_with_the_reduce)
{
    auto random = generator();
    const host_array<std::int64_t> in = random_array<std::int64_t>(random, 200003);
    host_array<std::int64_t> out(in.size());
    up::inclusive_scan(up::cpu{}, in, out, up::multiplies{});
    EXPECT_EQ(out[out.size() - 1], up::reduce(up::cpu{}, in, up::multiplies{}));
}

// An output that is longer than the input keeps its tail.
TEST(scan, writes_as_many_results_as_there_are_elements)
{
    const host_array<int> in{1, 2, 3};
    host_array<int> out{-1, -1, -1, -1, -1};
    up::inclusive_scan(up::cpu{}, in, out, up::plus{});
    EXPECT_TRUE(bits_equal(out, host_array<int>{1, 3, 6, -1, -1}));
}

} // namespace
