// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Scan on a GPU by other operators than sums, some of each kind since their kernels differ in nothing else; and pieces
// of arrays.
#include <algorithm>
#include <cstdint>
#include <limits>

#include "../scan_cases.hpp"

namespace upsweep::test {

INSTANTIATE_TYPED_TEST_SUITE_P(cuda, scan_on, ::testing::Types<cuda>);

TEST(gpu_scan, other_operators)
{
    expect_prefix_folds<cuda, float, float>(maximum{});
    expect_prefix_folds<cuda, bool, bool>(logical_or{});
    expect_prefix_folds<cuda, std::uint8_t, std::uint8_t>(bit_xor{});
}

// Doubles are folded as integers: every order of zeros, infinities, denormal and largest numbers, and NaN of both signs.
TEST(gpu_scan, maxima_of_doubles)
{
    using limits = std::numeric_limits<double>;
    const double special[] = {
        -limits::infinity(), -limits::max(),    -1.0, -limits::denorm_min(), -0.0, 0.0, limits::denorm_min(), 1.0,
        limits::max(),       limits::infinity()};
    auto random = generator();
    for (const std::size_t n : {std::size_t{2}, std::size_t{7}, std::size_t{3001}}) {
        host_array<double> values(n);
        for (std::size_t i = 0; i < n; ++i) // the maximum changes all along the array
            values[i] = special[i * 9 / n + random() % 2];
        const host_array<double> folds = literal_folds(values.span(), maximum{});
        const target_array<cuda, double> in(values.span());
        target_array<cuda, double> out(n);
        inclusive_scan(cuda{}, in.const_span(), out.span(), maximum{});
        ASSERT_TRUE(bits_equal(out.to_host(), folds)) << n;
        exclusive_scan(cuda{}, in.const_span(), out.span(), maximum{});
        ASSERT_TRUE(bits_equal(out.to_host(), shifted(folds, maximum{}))) << n;
    }
    expect_prefix_folds<cuda, double, double>(maximum{});
    expect_one_nan<cuda, double>(maximum{}, 1, 0);
    expect_one_nan<cuda, double>(maximum{}, 5001, 2500);
}

// Of a larger array that is cut at multiples of `length`, a power of two, all but the last result of each piece.
template <scan_kind Kind, class T, class Op>
void expect_pieces(std::size_t count, std::size_t length, const Op& op, const T* init = nullptr)
{
    auto random = generator();
    const host_array<T> values = random_array<T>(random, count);
    const host_array<T> folds = literal_folds(values.span(), op);
    const target_array<cuda, T> in(values.span());
    target_array<cuda, T> out(count);
    const cuda gpu;
    for (std::size_t at = 0; at < count; at += length) {
        const T* const before = at != 0 ? &folds[at - 1] : nullptr;
        gpu::scan<Kind, T>(gpu, in.const_span().data() + at, out.span().data() + at, std::min(length, count - at) - 1,
                           op, init, before);
    }
    const host_array<T> results = out.to_host();
    for (std::size_t i = 0; i < count; ++i) {
        if ((i + 1) % length == 0 || i + 1 == count)
            continue;
        const std::size_t folded = Kind == scan_kind::inclusive ? i + 1 : i;
        T expected = folded != 0 ? folds[folded - 1] : fold_of_nothing<T>(op);
        if constexpr (Kind == scan_kind::exclusive)
            if (init != nullptr)
                expected = folded != 0 ? op(*init, expected) : *init;
        ASSERT_TRUE(bits_equal(results[i], expected)) << "result " << i;
    }
}

TEST(gpu_scan, pieces_of_a_larger_array)
{
    const float init = 1.1F;
    expect_pieces<scan_kind::inclusive, float>(7 * 8192 - 100, 8192, plus{});
    expect_pieces<scan_kind::exclusive, float>(7 * 8192 - 100, 8192, plus{}, &init);
    expect_pieces<scan_kind::inclusive, float>(820000, 1 << 19, plus{}); // more tiles than are folded at once
    expect_pieces<scan_kind::exclusive, affine>(5 * 4096 + 7, 4096, composition);
    expect_pieces<scan_kind::inclusive, matrix>(5 * 4096 + 7, 4096, product);
}

} // namespace upsweep::test
