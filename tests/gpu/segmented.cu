// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <span>

#include "../segmented_cases.hpp"

namespace upsweep::test {

INSTANTIATE_TYPED_TEST_SUITE_P(cuda, segments, ::testing::Types<cuda>);

// Segments as the kernels take them that are for long ones, whatever they are.
template <class T, class Offset, class Op>
void expect_folds_in_pieces(const Op& op)
{
    using sum = accumulator_t<Op, T>;
    on_every_cut<cuda, Offset>([&](const auto& cut, auto& random) {
        const std::size_t count = cut.offsets.size() - 1;
        if (cut.elements == 0 || count == 0)
            return;
        const host_array<T> values = random_array<T>(random, cut.elements);
        const target_array<cuda, T> in(values.span());
        const target_array<cuda, Offset> offsets{std::span<const Offset>(cut.offsets)};
        target_array<cuda, sum> out(count);
        const T* const from = in.const_span().data();
        gpu::reduce_long_segments<sum>(cuda{}, "reduce", from, cut.elements, offsets.const_span().data(), count,
                                       out.span().data(), op, detail::as_results_of<Op>{});
        const host_array<sum> sums = out.to_host();
        for (std::size_t k = 0; k < count; ++k) {
            const auto first = static_cast<std::size_t>(cut.offsets[k]);
            const auto length = static_cast<std::size_t>(cut.offsets[k + 1]) - first;
            const auto line = converted<sum>(values.span().subspan(first, length));
            const sum expected = length == 0 ? fold_of_nothing<sum>(op) : literal_fold(line.span(), op);
            ASSERT_TRUE(bits_equal(sums[k], as_expected<sum>(expected))) << "segment " << k << " of " << length;
        }
    });
}
TEST(gpu_segments, in_pieces)
{
    expect_folds_in_pieces<float, std::int32_t>(plus{});
    expect_folds_in_pieces<std::int8_t, std::uint64_t>(plus{});
    expect_folds_in_pieces<wrapping_map, std::int64_t>(wrapping_composition);
}

} // namespace upsweep::test
