// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>

#include <gtest/gtest.h>

#include <upsweep/axis.hpp>
#include <upsweep/op.hpp>
#include <upsweep/types.hpp>

#include "expected.hpp"
#include "samples.hpp"

// Rows of a matrix, which engines fold otherwise than other lines.
namespace upsweep::test {

// Rows of which a block has several, whole blocks and what is left.
TEST(rows, of_powers_of_two)
{
    auto random = generator();
    for (const std::size_t length : {2, 4, 8, 16, 32, 64, 128, 256, 512})
        for (const std::size_t rows : {1, 7, 300, 5000}) {
            const host_array<float> values = random_array<float>(random, rows * length);
            host_array<float> expected(rows), sums(rows);
            for (std::size_t r = 0; r < rows; ++r)
                expected[r] = literal_fold(values.span().subspan(r * length, length), plus{});
            for (const cpu& target : {cpu{1}, cpu{3}}) {
                reduce(target, view<const float, 2>(values.span().data(), {rows, length}), axis{1},
                       view<float, 1>(sums.span()), plus{});
                ASSERT_TRUE(bits_equal(sums, expected)) << rows << " x " << length;
            }
        }
}

// Rows around the lengths at which they are scanned otherwise: as blocks, as parts of blocks, and several together.
TEST(rows, around_blocks)
{
    auto random = generator();
    for (const std::size_t length : {63, 64, 127, 128, 129, 255, 256, 257, 1000, 1023, 1024, 1025, 2047, 2048, 2049}) {
        const std::size_t rows = 9;
        const host_array<float> values = random_array<float>(random, rows * length);
        host_array<float> expected(rows * length), results(rows * length);
        for (std::size_t r = 0; r < rows; ++r)
            std::ranges::copy(literal_folds(values.span().subspan(r * length, length), plus{}).span(),
                              expected.span().data() + r * length);
        for (float& fold : expected.span())
            fold = as_expected<float>(fold);
        const view<const float, 2> in(values.span().data(), {rows, length});
        for (const cpu& target : {cpu{1}, cpu{3}}) {
            inclusive_scan(target, in, axis{1}, view<float, 2>(results.span().data(), {rows, length}), plus{});
            ASSERT_TRUE(bits_equal(results, expected)) << length;
            exclusive_scan(target, in, axis{1}, view<float, 2>(results.span().data(), {rows, length}), plus{});
            for (std::size_t r = 0; r < rows; ++r)
                for (std::size_t i = 1; i < length; ++i)
                    ASSERT_TRUE(same_bits(results[r * length + i], expected[r * length + i - 1])) << length;
        }
    }
}

// Rows of every length at which vectors have several, one, or a part of one; and around those at which they are scanned otherwise. Results begin
// anywhere in a line of memory, or lie apart, or where the elements are, and nothing is written beside them.
template <class T, class Out, class Op>
void expect_scans_of_rows(std::size_t length, const Op& op)
{
    using acc = scan_accumulator_t<Op, Out>;
    constexpr std::size_t beside = 70;
    auto random = generator();
    for (const std::size_t rows : {std::size_t{1}, std::size_t{2}, 9000 / length + 3}) {
        const host_array<T> values = random_array<T>(random, 1 + rows * length);
        const std::span<const T> elements = values.span().subspan(1);
        const acc first = convert<acc>(random_array<Out>(random, 1)[0]);
        const view<const T, 2> in(elements.data(), {rows, length});
        for (const bool is_exclusive : {false, true})
            for (const bool has_init : {false, true}) {
                if (has_init && !is_exclusive)
                    continue;
                host_array<Out> expected(rows * length);
                for (std::size_t r = 0; r < rows; ++r) {
                    const auto row = converted<acc>(elements.subspan(r * length, length));
                    const auto folds = literal_folds(row.span(), op);
                    for (std::size_t i = 0; i < length; ++i) {
                        const acc fold = !is_exclusive ? folds[i] : i > 0 ? folds[i - 1] : fold_of_nothing<acc>(op);
                        const acc result = !has_init ? fold : i > 0 ? op(first, fold) : first;
                        expected[r * length + i] = as_expected<Out>(as_expected<acc>(result));
                    }
                }
                const auto scan = [&](const auto& from, std::size_t step, std::size_t begin, host_array<Out>& memory) {
                    const view<Out, 2> to(memory.span().data() + begin, {rows, length},
                                          {static_cast<std::ptrdiff_t>(step), 1});
                    if (has_init)
                        exclusive_scan(cpu{2}, from, axis{1}, to, op, first);
                    else if (is_exclusive)
                        exclusive_scan(cpu{2}, from, axis{1}, to, op);
                    else
                        inclusive_scan(cpu{2}, from, axis{1}, to, op);
                };
                for (const std::size_t gap : {0, 3})
                    for (const std::size_t begin : {beside, beside + 5}) {
                        const std::size_t step = length + gap;
                        host_array<Out> memory = random_array<Out>(random, begin + rows * step + beside);
                        host_array<Out> wanted = memory;
                        for (std::size_t r = 0; r < rows; ++r)
                            std::ranges::copy(expected.span().subspan(r * length, length),
                                              wanted.span().data() + begin + r * step);
                        scan(in, step, begin, memory);
                        ASSERT_TRUE(bits_equal(memory, wanted)) << rows << " x " << length << ", " << gap;
                    }
                if constexpr (std::same_as<T, Out>) {
                    host_array<T> memory(rows * length);
                    std::ranges::copy(elements, memory.span().data());
                    scan(view<const T, 2>(memory.span().data(), {rows, length}), length, 0, memory);
                    ASSERT_TRUE(bits_equal(memory, expected)) << rows << " x " << length;
                }
            }
    }
}
TEST(rows, of_all_lengths)
{
    for (const std::size_t length :
         {1,  2,  3,  4,  5,  6,   7,   8,   9,   12,  15,   16,   17,   24,   31,   32,   33,
          48, 63, 65, 79, 96, 127, 129, 255, 256, 257, 1000, 2047, 2048, 2049, 4095, 4096, 4097}) {
        expect_scans_of_rows<float, float>(length, plus{});
        expect_scans_of_rows<double, double>(length, maximum{});
        expect_scans_of_rows<std::uint8_t, std::uint8_t>(length, minimum{});
        expect_scans_of_rows<f16, f16>(length, multiplies{});
        expect_scans_of_rows<std::int16_t, std::int64_t>(length, plus{});
    }
}

// NaN of any bits, infinities of both signs and zeros of both, by operators that keep their signs.
TEST(rows, of_what_is_no_number)
{
    const std::array<float, 8> some = {-0.0F,
                                       0.0F,
                                       std::bit_cast<float>(0xffc01234U),
                                       1.0F,
                                       -0.0F,
                                       std::numeric_limits<float>::infinity(),
                                       -0.0F,
                                       -std::numeric_limits<float>::infinity()};
    auto random = generator();
    for (const std::size_t length : {2, 3, 7, 8, 13, 16, 17, 100, 256, 1000}) {
        host_array<float> values(length * 50);
        for (std::size_t k = 0; k < values.size();
             ++k) // Zeros alone in some rows, and then few others, from which not all results are NaN.
            values[k] = random() % 16 == 0 ? some[random() % 8] : some[random() % 2 * 4 * (k / length % 2)];
        const auto expect = [&](const auto& op) {
            host_array<float> results(values.size());
            const view<float, 2> out(results.span().data(), {50, length});
            inclusive_scan(cpu{1}, view<const float, 2>(values.span().data(), {50, length}), axis{1}, out, op);
            for (std::size_t r = 0; r < 50; ++r) {
                const auto folds = literal_folds(std::as_const(values).span().subspan(r * length, length), op);
                for (std::size_t i = 0; i < length; ++i)
                    ASSERT_TRUE(bits_equal(results[r * length + i], as_expected<float>(folds[i])))
                        << length << ", " << i;
            }
        };
        expect(plus{});
        expect(multiplies{});
        expect(minimum{});
        expect(maximum{});
    }
}

// Rows whose results are so large that they are written around the caches.
TEST(rows, of_large_results)
{
    auto random = generator();
    for (const std::size_t length : {3, 17, 1000, 4096, 5000}) {
        const std::size_t rows = (std::size_t{9} << 20) / length;
        const host_array<float> some = random_array<float>(random, 100 * length);
        host_array<float> values(rows * length), memory(rows * length + 33);
        for (std::size_t at = 0; at < values.size(); at += some.size())
            std::ranges::copy(some.span().first(std::min(some.size(), values.size() - at)), values.span().data() + at);
        host_array<float> expected(some.size());
        for (std::size_t r = 0; r < 100; ++r)
            inclusive_scan(cpu{1}, some.span().subspan(r * length, length), expected.span().subspan(r * length, length),
                           plus{});
        for (const std::size_t begin : {1, 16}) {
            std::ranges::fill(memory.span(), 77.0F);
            float* const results = memory.span().data() + begin;
            inclusive_scan(cpu{3}, view<const float, 2>(std::as_const(values).span().data(), {rows, length}), axis{1},
                           view<float, 2>(results, {rows, length}), plus{});
            std::size_t wrong = 0;
            for (std::size_t k = 0; k < values.size(); ++k)
                wrong += same_bits(results[k], expected[k % expected.size()]) ? 0 : 1;
            for (float* p = memory.span().data(); p < memory.span().data() + memory.size(); ++p)
                wrong += (p >= results && p < results + values.size()) || *p == 77.0F ? 0 : 1;
            ASSERT_EQ(wrong, 0U) << length << " from " << begin;
        }
    }
}

} // namespace upsweep::test
