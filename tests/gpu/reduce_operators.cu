// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Reduce of integers on a GPU by other operators than sums, for a type of each kind.
#include <cstdint>
#include <utility>

#include "../reduce_cases.hpp"

namespace upsweep::test {

INSTANTIATE_TYPED_TEST_SUITE_P(cuda, reduce_integers, on_gpu<std::int16_t>);
INSTANTIATE_TYPED_TEST_SUITE_P(cuda, reduce_bits, on_gpu<std::uint8_t>);

// Arrays of every size, for some operators.
TEST(gpu_reduce_of_every_size, integers)
{
    expect_literal_folds<cuda, std::uint8_t>(bit_xor{});
    expect_literal_folds<cuda, std::int64_t>(bit_and{});
}

// Of narrow elements, from every place in a vector on: a warp puts vectors together from words, but for those at the ends, whose words have memory
// of others. Nothing is read behind the memory, which ends with the last element.
template <class T, class Op>
void expect_shifted_folds(const Op& op)
{
    using sum = accumulator_t<Op, T>;
    using shape = gpu::reduce_shape<sum, const T*, Op>;
    auto random = generator();
    using few = gpu::small_reduce_shape<const T*>;
    const std::size_t by_few = few::tile * gpu::most_tiles_of_few<sum, const T*, Op, result_t<Op, T>>(cuda{});
    for (std::size_t place = 1; place < shape::elements; ++place) {
        const std::size_t n = (by_few / shape::tile + 2) * shape::tile + (place % 2 != 0 ? 0 : 7 * place);
        const host_array<T> values = random_array<T>(random, place + n);
        const target_array<cuda, T> in(values.span());
        const auto of = values.span().subspan(place);
        const auto expected = as_expected<result_t<Op, T>>(literal_fold(converted<sum>(of).span(), op));
        on_every_variant<cuda>([&](const cuda& target) {
            ASSERT_TRUE(bits_equal(reduce(target, in.const_span().subspan(place), op), expected)) << "from " << place;
        });
    }
}

// Of every second or fourth byte, the same.
template <class T, class Op>
void expect_folds_of_strided_bytes(const Op& op)
{
    using sum = accumulator_t<Op, T>;
    using source = decltype(gpu::strided_source(std::declval<view<const T, 1>>().begin().elements()));
    using shape = gpu::reduce_shape<sum, source, Op>;
    using few = gpu::small_reduce_shape<source>;
    static_assert(gpu::may_be_strided_bytes<shape::elements, source>);
    auto random = generator();
    const std::size_t by_few = few::tile * gpu::most_tiles_of_few<sum, source, Op, result_t<Op, T>>(cuda{});
    for (const std::size_t stride : {2, 4})
        for (const std::size_t place : {0, 1, 7, 15}) {
            const std::size_t n = (by_few / shape::tile + 2) * shape::tile + place;
            const host_array<T> values = random_array<T>(random, place + (n - 1) * stride + 1);
            host_array<T> of(n);
            for (std::size_t i = 0; i < n; ++i)
                of[i] = values[place + i * stride];
            const target_array<cuda, T> in(values.span());
            const view<const T, 1> apart(in.const_span().data() + place, {n}, {static_cast<std::ptrdiff_t>(stride)});
            const auto expected = as_expected<result_t<Op, T>>(literal_fold(converted<sum>(of.span()).span(), op));
            ASSERT_TRUE(bits_equal(reduce(cuda{}, apart, op), expected)) << "from " << place << " by " << stride;
        }
}

// Elements of two bytes that lie at any address are read one by one.
struct byte_pair {
    std::uint8_t first;
    std::uint8_t second;
};
static_assert(gpu::may_be_shifted_rows<8, const std::uint16_t*> && !gpu::may_be_shifted_rows<8, const byte_pair*>);

TEST(gpu_reduce, of_narrow_elements_from_every_place)
{
    expect_shifted_folds<std::uint8_t>(plus{});
    expect_shifted_folds<std::int8_t>(maximum{});
    expect_shifted_folds<std::uint16_t>(minimum{});
    expect_shifted_folds<f16>(plus{});
    expect_shifted_folds<bf16>(maximum{});
}

TEST(gpu_reduce, of_bytes_at_a_stride)
{
    expect_folds_of_strided_bytes<std::uint8_t>(plus{});
    expect_folds_of_strided_bytes<std::int8_t>(maximum{});
    expect_folds_of_strided_bytes<bool>(logical_and{});
}

} // namespace upsweep::test
