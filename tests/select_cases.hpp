// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <upsweep/scan.hpp>
#include <upsweep/select.hpp>

#include "expected.hpp"
#include "refusal.hpp"
#include "samples.hpp"
#include "targets.hpp"
#include "view_shapes.hpp"

// Select, partition and adjacent difference: every size and selectivity, in order, and nothing written beside the results.
namespace upsweep::test {

template <class Target>
class selections : public ::testing::Test {
};
TYPED_TEST_SUITE_P(selections);

template <class T>
struct is_odd {
    UPSWEEP_HOST_DEVICE bool operator()(const T& element) const
    {
        return (static_cast<std::uint64_t>(element) & 1) != 0;
    }
};

// Sizes around blocks and pieces.
template <class Target>
std::vector<std::size_t> selected_sizes()
{
    std::vector<std::size_t> sizes{0, 1, 2, 255, 256, 257, 1000, 5003, 16383, 16384, 16385};
    sizes.push_back(many_elements<Target>);
    return sizes;
}

// Elements of which about one in `one_in` is selected; of the first third none or all are.
template <class T>
host_array<T> elements_of(std::mt19937_64& random, std::size_t size, std::size_t one_in)
{
    host_array<T> values(size);
    for (std::size_t i = 0; i < size; ++i) {
        const bool is_selected = i < size / 3 ? one_in < 5 : random() % one_in == 0;
        values[i] = static_cast<T>((random() & 62) | (is_selected ? 1 : 0));
    }
    return values;
}

template <class T>
host_array<T> array_of(const std::vector<T>& values)
{
    return host_array<T>(std::span<const T>(values));
}

// The results and, as they were, the elements behind them.
template <class T>
void expect_first(const host_array<T>& got, const host_array<T>& before, const std::vector<T>& expected)
{
    ASSERT_GE(got.size(), expected.size());
    ASSERT_TRUE(bits_equal(host_array<T>(got.first(expected.size())), array_of(expected)));
    for (std::size_t i = expected.size(); i < got.size(); ++i)
        ASSERT_TRUE(same_bits(got[i], before[i])) << "written behind the results, at " << i;
}

template <class Target, class T, class Flag>
void expect_selections()
{
    auto random = generator();
    for (const std::size_t size : selected_sizes<Target>())
        for (const std::size_t one_in : {1UL, 2UL, 3UL, 10UL, 1000UL, std::size_t{1} << 40}) {
            const host_array<T> values = elements_of<T>(random, size, one_in);
            host_array<Flag> flags(size);
            std::vector<T> selected;
            std::vector<T> rejected;
            for (std::size_t i = 0; i < size; ++i) {
                flags[i] = is_odd<T>{}(values[i]) ? static_cast<Flag>(1 + random() % 3) : Flag{};
                (is_odd<T>{}(values[i]) ? selected : rejected).push_back(values[i]);
            }
            std::vector<T> both = selected;
            both.insert(both.end(), rejected.begin(), rejected.end());
            const target_array<Target, T> in(values.span());
            const target_array<Target, Flag> flags_there(flags.span());
            on_every_variant<Target>([&](const Target& target) {
                target_array<Target, std::int64_t> count(1);
                const auto found = [&] { return static_cast<std::size_t>(count.to_host()[0]); };
                target_array<Target, T> exact(selected.size()); // which a sanitizer watches
                select(target, in.const_span(), is_odd<T>{}, exact.span(), count.span().data());
                ASSERT_EQ(found(), selected.size());
                ASSERT_TRUE(bits_equal(exact.to_host(), array_of(selected)));
                target_array<Target, T> out(size + 3);
                const auto before = out.to_host();
                select(target, in.const_span(), flags_there.const_span(), out.span(), count.span().data());
                ASSERT_EQ(found(), selected.size());
                expect_first(out.to_host(), before, selected);
                target_array<Target, T> parts(size);
                partition(target, in.const_span(), is_odd<T>{}, parts.span(), count.span().data());
                ASSERT_EQ(found(), selected.size());
                ASSERT_TRUE(bits_equal(parts.to_host(), array_of(both)));
                target_array<Target, T> first(selected.size());
                target_array<Target, T> second(rejected.size());
                partition(target, in.const_span(), flags_there.const_span(), first.span(), second.span(),
                          count.span().data());
                ASSERT_EQ(found(), selected.size());
                ASSERT_TRUE(bits_equal(first.to_host(), array_of(selected)));
                ASSERT_TRUE(bits_equal(second.to_host(), array_of(rejected)));
            });
        }
}
TYPED_TEST_P(selections, of_words) { expect_selections<TypeParam, std::int32_t, bool>(); }
TYPED_TEST_P(selections, of_doubles) { expect_selections<TypeParam, double, std::uint8_t>(); }
TYPED_TEST_P(selections, of_bytes) { expect_selections<TypeParam, std::uint8_t, std::int32_t>(); }

// Flags that are bytes, from every place in a word on, whatever that of the elements is. Nothing is read behind their memory, which ends with the last
// one.
template <class Target, class T>
void expect_selections_by_flags_from_every_place()
{
    constexpr std::size_t size = 20011;
    auto random = generator();
    const host_array<T> values = elements_of<T>(random, size + 1, 3);
    const target_array<Target, T> in(values.span());
    for (std::size_t place = 0; place < 16; ++place) {
        const std::size_t first = place % 2;
        host_array<std::uint8_t> flags(place + size);
        std::vector<T> selected;
        for (std::size_t i = 0; i < size; ++i) {
            flags[place + i] = random() % 3 == 0 ? 1 : 0;
            if (flags[place + i] != 0)
                selected.push_back(values[first + i]);
        }
        const target_array<Target, std::uint8_t> flags_there(flags.span());
        target_array<Target, T> out(selected.size());
        target_array<Target, std::int64_t> count(1);
        select(Target{}, in.const_span().subspan(first, size), flags_there.const_span().subspan(place), out.span(),
               count.span().data());
        ASSERT_EQ(static_cast<std::size_t>(count.to_host()[0]), selected.size());
        ASSERT_TRUE(bits_equal(out.to_host(), array_of(selected))) << place;
    }
}
TYPED_TEST_P(selections, by_flags_from_every_place)
{
    expect_selections_by_flags_from_every_place<TypeParam, std::int32_t>();
    expect_selections_by_flags_from_every_place<TypeParam, std::int16_t>();
    expect_selections_by_flags_from_every_place<TypeParam, std::uint8_t>();
}

// Views are read and written in the order of the range.
TYPED_TEST_P(selections, of_views)
{
    auto random = generator();
    const shape<2> transposed{{40, 50}, {1, 41}, 3};
    const viewed_array<TypeParam, std::int32_t, 2> in(transposed, random);
    std::vector<std::int32_t> selected;
    std::vector<std::int32_t> rejected;
    const host_array<std::int32_t> elements = in.elements();
    for (const std::int32_t element : elements.span())
        (is_odd<std::int32_t>{}(element) ? selected : rejected).push_back(element);
    viewed_array<TypeParam, std::int32_t, 2> out({{50, 40}, {-80, -2}}, random);
    target_array<TypeParam, std::uint32_t> count(1);
    partition(TypeParam{}, in.readable(), is_odd<std::int32_t>{}, out.writable(), count.span().data());
    EXPECT_EQ(count.to_host()[0], selected.size());
    selected.insert(selected.end(), rejected.begin(), rejected.end());
    EXPECT_TRUE(bits_equal(out.written(), array_of(selected)));
}

template <class Target, class T, class Out>
void expect_differences()
{
    using accumulator = scan_accumulator_t<plus, Out>;
    auto random = generator();
    for (const std::size_t size :
         {0UL, 1UL, 2UL, 511UL, 512UL, 513UL, 5003UL, 65536UL, 65537UL, many_elements<Target>}) {
        const host_array<T> values = random_array<T>(random, size);
        host_array<Out> expected(size);
        for (std::size_t i = 0; i < size; ++i) {
            const auto here = convert<accumulator>(values[i]);
            if (i == 0)
                expected[i] = as_expected<Out>(here);
            else if constexpr (std::is_integral_v<accumulator>)
                expected[i] = static_cast<Out>(static_cast<std::uint64_t>(here) -
                                               static_cast<std::uint64_t>(convert<accumulator>(values[i - 1])));
            else
                expected[i] = as_expected<Out>(here - convert<accumulator>(values[i - 1]));
        }
        const target_array<Target, T> in(values.span());
        on_every_variant<Target>([&](const Target& target) {
            target_array<Target, Out> out(size);
            adjacent_difference(target, in.const_span(), out.span());
            ASSERT_TRUE(bits_equal(out.to_host(), expected)) << size;
            if constexpr (std::is_same_v<T, Out>) {
                target_array<Target, Out> in_place(values.span());
                adjacent_difference(target, in_place.const_span(), in_place.span());
                ASSERT_TRUE(bits_equal(in_place.to_host(), expected)) << size << " in place";
                if constexpr (std::is_integral_v<T>) {
                    inclusive_scan(target, in_place.const_span(), in_place.span());
                    ASSERT_TRUE(bits_equal(in_place.to_host(), values)) << size << " undone";
                }
            }
        });
    }
}
TYPED_TEST_P(selections, differences_of_words) { expect_differences<TypeParam, std::int32_t, std::int32_t>(); }
TYPED_TEST_P(selections, differences_of_floats) { expect_differences<TypeParam, float, float>(); }
TYPED_TEST_P(selections, differences_of_half_floats) { expect_differences<TypeParam, bf16, bf16>(); }
TYPED_TEST_P(selections, differences_of_bytes) { expect_differences<TypeParam, std::uint8_t, std::int16_t>(); }

struct ten_times_and_before {
    UPSWEEP_HOST_DEVICE int operator()(int element, int before) const { return 10 * element + before; }
};
TYPED_TEST_P(selections, differences_by_a_function)
{
    const host_array<int> values{5, 7, 7, 2};
    const target_array<TypeParam, int> in(values.span());
    target_array<TypeParam, int> out(4);
    adjacent_difference(TypeParam{}, in.const_span(), out.span(), ten_times_and_before{});
    EXPECT_TRUE(bits_equal(out.to_host(), host_array<int>{5, 75, 77, 27}));
}

TYPED_TEST_P(selections, what_is_refused)
{
    constexpr is_odd<int> odd;
    target_array<TypeParam, int> memory(host_array<int>{1, 3, 5, 6, 8, 9, 0, 0, 0, 0}.span());
    const host_array<int> untouched = memory.to_host();
    const auto in = memory.const_span().first(6);
    target_array<TypeParam, int> out(6);
    const host_array<int> before = out.to_host();
    target_array<TypeParam, int> count(1);
    int* const found = count.span().data();
    const int none = count.to_host()[0];
    expect_refusal([&] { select(TypeParam{}, in, memory.const_span().first(5), out.span(), found); },
                   {"select", "6 elements and 5 flags"});
    expect_refusal([&] { select(TypeParam{}, in, odd, memory.span(), found); }, {"select", "overlap"});
    expect_refusal([&] { select(TypeParam{}, in, memory.const_span().subspan(4), memory.span().subspan(6), found); },
                   {"overlap"});
    expect_refusal([&] { partition(TypeParam{}, in, odd, out.span().first(5), found); }, {"partition", "shorter"});
    expect_refusal([&] { partition(TypeParam{}, in, odd, memory.span().subspan(4, 6), found); },
                   {"partition", "overlap"});
    expect_refusal([&] { partition(TypeParam{}, in, odd, out.span().first(4), out.span().subspan(3), found); },
                   {"overlap"});
    expect_refusal([&] { adjacent_difference(TypeParam{}, in, out.span().first(5)); },
                   {"adjacent_difference", "shorter"});
    expect_refusal([&] { adjacent_difference(TypeParam{}, in, memory.span().subspan(1)); }, {"overlap"});
    EXPECT_TRUE(bits_equal(memory.to_host(), untouched));
    EXPECT_TRUE(bits_equal(out.to_host(), before));
    // What there is no room for is counted, and not written. A target that does not wait tells the number alone.
    constexpr bool waits = detail::returned<TypeParam>::is_in_host_memory;
    const auto expect_no_room = [&](auto call, std::initializer_list<std::string> words) {
        if constexpr (waits)
            expect_refusal(call, words);
        else
            call();
        EXPECT_EQ(count.to_host()[0], waits ? none : 4);
    };
    expect_no_room([&] { select(TypeParam{}, in, odd, out.span().first(3), found); },
                   {"4 elements are selected", "room for 3"});
    EXPECT_EQ(out.to_host()[3], before[3]);
    expect_no_room([&] { partition(TypeParam{}, in, odd, out.span().first(4), out.span().subspan(5), found); },
                   {"2 elements are not selected", "room for 1"});
    EXPECT_EQ(out.to_host()[4], before[4]);
}

REGISTER_TYPED_TEST_SUITE_P(selections, by_flags_from_every_place, of_words, of_doubles, of_bytes, of_views,
                            differences_of_words, differences_of_floats, differences_of_half_floats,
                            differences_of_bytes, differences_by_a_function, what_is_refused);

} // namespace upsweep::test
