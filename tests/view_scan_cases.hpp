// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>

#include <gtest/gtest.h>
#include <upsweep/scan.hpp>

#include "view_shapes.hpp"

// Scans of views, into views: the bits of the plain call on the elements side by side, and nothing beside the view is
// written.
namespace upsweep::test {

template <class Target>
class view_scan : public ::testing::Test {
};
TYPED_TEST_SUITE_P(view_scan);

// Scans by scan(target, in, out): from a view to an array, from an array to a view, from a view to another and in
// place.
template <class Target, class T, class Scan>
void expect_scan_of_views(Scan scan)
{
    auto random = generator();
    on_every_shape(many_elements<Target>, [&](const auto& s) {
        using array = viewed_array<Target, T, std::tuple_size_v<decltype(s.extents)>>;
        const array in(s, random);
        const target_array<Target, T> plain(in.elements().span());
        target_array<Target, T> plain_out(in.size());
        scan(Target{}, plain.const_span(), plain_out.span());
        const host_array<T> expected = plain_out.to_host();

        on_every_variant<Target>([&](const Target& target) {
            target_array<Target, T> out(in.size());
            scan(target, in.readable(), out.span());
            EXPECT_TRUE(bits_equal(out.to_host(), expected)) << "from a view";
            if (!has_distinct_elements(s))
                return;

            array from_plain(s, random);
            scan(target, plain.const_span(), from_plain.writable());
            EXPECT_TRUE(bits_equal(from_plain.written(), expected)) << "to a view";
            array from_view(s, random);
            scan(target, in.readable(), from_view.writable());
            EXPECT_TRUE(bits_equal(from_view.written(), expected)) << "from view to view";
        });
        if (has_distinct_elements(s)) {
            array in_place(s, random);
            const target_array<Target, T> same(in_place.elements().span());
            scan(Target{}, same.const_span(), plain_out.span());
            scan(Target{}, in_place.readable(), in_place.writable());
            EXPECT_TRUE(bits_equal(in_place.written(), plain_out.to_host())) << "in place";
        }
    });
}

TYPED_TEST_P(view_scan, inclusive_sums_of_floats)
{
    expect_scan_of_views<TypeParam, float>(
        [](const TypeParam& target, const auto& in, auto out) { inclusive_scan(target, in, out, plus{}); });
}
TYPED_TEST_P(view_scan, exclusive_with_an_operator_that_does_not_commute)
{
    expect_scan_of_views<TypeParam, wrapping_map>([](const TypeParam& target, const auto& in, auto out) {
        exclusive_scan(target, in, out, wrapping_composition);
    });
}

// From the last element to the first, at addresses of every alignment, between others that stay.
TYPED_TEST_P(view_scan, from_the_end)
{
    auto random = generator();
    constexpr std::size_t beside = 7;
    for (std::size_t offset = 0;
         const std::size_t n : {1UL, 2UL, 31UL, 1000UL, 4097UL, 9000UL, many_elements<TypeParam>}) {
        offset = (offset + 3) % beside;
        const host_array<float> values = random_array<float>(random, n + beside);
        host_array<float> from_the_end(n);
        const auto part = values.span().subspan(offset, n);
        std::reverse_copy(part.begin(), part.end(), from_the_end.begin());
        const target_array<TypeParam, float> in(values.span());
        const target_array<TypeParam, float> plain(from_the_end.span());
        const auto last = static_cast<std::ptrdiff_t>(n) - 1;
        const view<const float, 1> elements(in.const_span().data() + offset + last, {n}, {-1});
        on_every_variant<TypeParam>([&](const TypeParam& target) {
            const auto expect = [&](const char* what, auto scan) {
                target_array<TypeParam, float> there(n);
                scan(plain.const_span(), there.span());
                const host_array<float> expected = there.to_host();
                host_array<float> all = random_array<float>(random, n + beside);
                target_array<TypeParam, float> out(all.span());
                scan(elements, view<float, 1>(out.span().data() + beside - offset + last, {n}, {-1}));
                std::reverse_copy(expected.begin(), expected.end(), all.span().subspan(beside - offset).begin());
                EXPECT_TRUE(bits_equal(out.to_host(), all)) << what << " of " << n;
            };
            expect("sums", [&](const auto& from, const auto& to) { inclusive_scan(target, from, to, plus{}); });
            expect("sums before", [&](const auto& from, const auto& to) { exclusive_scan(target, from, to, plus{}); });
            expect("sums after a number",
                   [&](const auto& from, const auto& to) { exclusive_scan(target, from, to, plus{}, 2.5F); });
        });
    }
}

// --- what is refused ------------------------------------------------------------------------------------------------

template <class Target, class In, class Out>
void expect_refused(const In& in, const Out& out, const std::string& why)
{
    try {
        inclusive_scan(Target{}, in, out, plus{});
        FAIL() << "no error";
    } catch (const error& failure) {
        EXPECT_EQ(failure.kind(), error_kind::invalid_argument);
        EXPECT_NE(std::string(failure.what()).find(why), std::string::npos) << failure.what();
    }
}

TYPED_TEST_P(view_scan, outputs_with_two_elements_at_one_place_are_refused)
{
    const target_array<TypeParam, float> in(24);
    target_array<TypeParam, float> memory(100);
    float* const data = memory.span().data();
    const std::string why = "two elements at the same place";
    expect_refused<TypeParam>(in.const_span(), view(data, {24}, {0}), why);
    expect_refused<TypeParam>(in.const_span(), view(data, {4, 6}, {0, 1}), why);
    expect_refused<TypeParam>(in.const_span(), view(data, {4, 6}, {5, 1}), why);
    expect_refused<TypeParam>(in.const_span(), view(data + 50, {4, 6}, {-5, 1}), why);
    expect_refused<TypeParam>(in.const_span(), view(data, {6, 4}, {2, 3}), why); // 3 * 2 is 2 * 3
    expect_refused<TypeParam>(in.const_span(), view(data, {2, 3, 4}, {3, 4, 1}), why);
    // Elements between one another are no elements at one place.
    EXPECT_NO_THROW(inclusive_scan(TypeParam{}, in.const_span(), view(data, {12, 2}, {2, 25}), plus{}));
    EXPECT_NO_THROW(inclusive_scan(TypeParam{}, in.const_span(), view(data, {2, 12}, {25, 2}), plus{}));
    EXPECT_NO_THROW(inclusive_scan(TypeParam{}, in.const_span(), view(data, {1, 24}, {0, 1}), plus{}));
}

TYPED_TEST_P(view_scan, overlapping_views_are_refused_unless_they_are_the_same)
{
    const target_array<TypeParam, float> values(200);
    target_array<TypeParam, float> memory(200);
    float* const data = memory.span().data();
    const std::string why = "input and output overlap";
    const auto matrix = view(data, {8, 8}, {10, 1});
    expect_refused<TypeParam>(matrix, view(data + 1, {8, 8}, {10, 1}), why);
    expect_refused<TypeParam>(matrix, view(data, {8, 8}, {1, 10}), why); // transposed in place
    expect_refused<TypeParam>(matrix, view(data + 7, {8, 8}, {10, -1}), why);
    expect_refused<TypeParam>(matrix, memory.span().subspan(77, 64), why);
    expect_refused<TypeParam>(memory.span().first(64), matrix, why);
    const auto expect_accepted = [](const auto& in, const auto& out) {
        EXPECT_NO_THROW(inclusive_scan(TypeParam{}, in, out, plus{}));
    };
    expect_accepted(matrix, matrix);
    expect_accepted(view<const float, 2>(matrix), matrix);
    expect_accepted(matrix, memory.span().subspan(78, 64));
    expect_accepted(view(data, {64}, {2}), view(data + 1, {64}, {2})); // the even and the odd elements
    expect_accepted(view(data, {8, 4}, {10, 1}), view(data + 4, {8, 4}, {10, 1}));
    expect_accepted(view(data, {8, 8}), memory.span().first(64));
    expect_accepted(memory.span().first(64), view(data, {4, 16}));
    expect_accepted(view(data, {8}, {2}), view(data, {9}, {2})); // there is room for one more
}

REGISTER_TYPED_TEST_SUITE_P(view_scan, inclusive_sums_of_floats, exclusive_with_an_operator_that_does_not_commute,
                            from_the_end, outputs_with_two_elements_at_one_place_are_refused,
                            overlapping_views_are_refused_unless_they_are_the_same);

} // namespace upsweep::test
