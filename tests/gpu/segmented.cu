// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "../segmented_cases.hpp"

namespace upsweep::test {

INSTANTIATE_TYPED_TEST_SUITE_P(cuda, segments, ::testing::Types<cuda>);

// Calls f(in, offsets, values, cut) for segments of every mix, as kernels take them that are for long ones, whatever they are.
template <class T, class Offset, class F>
void on_every_cut_of_some(F f)
{
    on_every_cut<cuda, Offset>([&](const auto& cut, auto& random) {
        if (cut.elements == 0 || cut.offsets.size() == 1)
            return;
        const host_array<T> values = random_array<T>(random, cut.elements);
        const target_array<cuda, T> in(values.span());
        const target_array<cuda, Offset> offsets{std::span<const Offset>(cut.offsets)};
        f(in.const_span().data(), offsets.const_span().data(), values, cut);
    });
}
template <class T, class Cut>
std::span<const T> segment_of(const host_array<T>& values, const Cut& cut, std::size_t k)
{
    const auto first = static_cast<std::size_t>(cut.offsets[k]);
    return values.span().subspan(first, static_cast<std::size_t>(cut.offsets[k + 1]) - first);
}

template <class T, class Offset, class Op>
void expect_folds_in_pieces(const Op& op)
{
    using sum = accumulator_t<Op, T>;
    on_every_cut_of_some<T, Offset>([&](const T* in, const Offset* offsets, const auto& values, const auto& cut) {
        const std::size_t count = cut.offsets.size() - 1;
        target_array<cuda, sum> out(count);
        const detail::as_results_of<Op> finish;
        gpu::reduce_long_segments<sum>(cuda{}, "reduce", in, cut.elements, offsets, count, out.span().data(), op,
                                       finish);
        const host_array<sum> sums = out.to_host();
        target_array<cuda, sum> out_of_few(count);
        const gpu::segments_in_pieces<const T*, Offset, sum*, sum> lines(
            in, offsets, count, cut.elements, out_of_few.span().data(), fold_of_nothing<sum>(op));
        gpu::reduce_in_few_pieces<sum>(cuda{}, "reduce", lines, cut.elements, op, finish);
        ASSERT_TRUE(bits_equal(out_of_few.to_host(), sums)) << "where those of few pieces are folded in one go";
        for (std::size_t k = 0; k < count; ++k) {
            const auto line = converted<sum>(segment_of(values, cut, k));
            const sum expected = line.size() == 0 ? fold_of_nothing<sum>(op) : literal_fold(line.span(), op);
            ASSERT_TRUE(bits_equal(sums[k], as_expected<sum>(expected))) << "segment " << k << " of " << line.size();
        }
    });
}
TEST(gpu_segments, in_pieces)
{
    expect_folds_in_pieces<float, std::int32_t>(plus{});
    expect_folds_in_pieces<std::int8_t, std::uint64_t>(plus{});
    expect_folds_in_pieces<wrapping_map, std::int64_t>(wrapping_composition);
}

// What stands before and behind the segments is left as it was.
template <scan_kind Kind, class T, class Offset, class Op>
void expect_scans_by_warps(const Op& op, const accumulator_t<Op, T>* init = nullptr)
{
    using sum = accumulator_t<Op, T>;
    on_every_cut_of_some<T, Offset>([&](const T* in, const Offset* offsets, const auto& values, const auto& cut) {
        const std::size_t count = cut.offsets.size() - 1;
        target_array<cuda, sum> out(cut.elements);
        host_array<sum> expected = out.to_host();
        for (std::size_t k = 0; k < count; ++k) {
            const auto folds = literal_folds(segment_of(values, cut, k), op);
            const auto to = expected.span().subspan(static_cast<std::size_t>(cut.offsets[k]));
            for (std::size_t i = 0; i < folds.size(); ++i) {
                if (Kind == scan_kind::inclusive)
                    to[i] = as_expected<sum>(folds[i]);
                else if (i == 0)
                    to[i] = init != nullptr ? *init : fold_of_nothing<sum>(op);
                else
                    to[i] = as_expected<sum>(init != nullptr ? op(*init, folds[i - 1]) : folds[i - 1]);
            }
        }
        gpu::scan_segments_by_warps<sum>(cuda{}, "scan", in, cut.elements, offsets, count, out.span().data(), op,
                                         gpu::start_of_segments<Kind>(op, init));
        ASSERT_TRUE(bits_equal(out.to_host(), expected));
    });
}
TEST(gpu_segments, scanned_by_warps)
{
    static constexpr wrapping_map first{5, 9};
    expect_scans_by_warps<scan_kind::inclusive, float, std::int32_t>(plus{});
    expect_scans_by_warps<scan_kind::exclusive, double, std::uint64_t>(plus{});
    expect_scans_by_warps<scan_kind::inclusive, wrapping_map, std::int64_t>(wrapping_composition);
    expect_scans_by_warps<scan_kind::exclusive, wrapping_map, std::uint32_t>(wrapping_composition, &first);
}

// The mix that a choice by averages does not foresee: short segments side by side, which must not all fall to one warp, and long ones behind them.
TEST(gpu_segments, which_are_long_on_average)
{
    constexpr std::size_t count = 1200;
    constexpr std::size_t longest = 70'000;
    std::vector<std::int32_t> cuts{0};
    for (std::size_t k = 0; k < count; ++k)
        cuts.push_back(cuts.back() + static_cast<std::int32_t>(k < 1000 ? k % 2 : k == 1100 ? longest : k));
    auto random = generator();
    const host_array<float> values = random_array<float>(random, static_cast<std::size_t>(cuts.back()));
    const target_array<cuda, float> in(values.span());
    const target_array<cuda, std::int32_t> offsets{std::span<const std::int32_t>(cuts)};
    target_array<cuda, float> out(values.size());
    segmented_inclusive_scan(cuda{}, in.const_span(), offsets.const_span(), out.span(), plus{});
    host_array<float> expected(values.size());
    segmented_inclusive_scan(cpu{}, values.span(), std::span<const std::int32_t>(cuts), expected.span(), plus{});
    ASSERT_TRUE(bits_equal(out.to_host(), expected));
}

} // namespace upsweep::test
