// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// What a call reads and writes, and where that may be: nothing beside its output, at any alignment, in every kind of
// memory that a GPU reaches; and what happens when there is too little of it.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <regex>
#include <string>

#include "../operators.cuh"
#include "device.cuh"

namespace up = upsweep;
using namespace upsweep::test;

namespace {

// An array that begins `offset` bytes after a multiple of 16, between bytes that nobody may write.
template <class T>
class guarded_array {
public:
    guarded_array(std::size_t size, std::size_t offset)
        : size_(size), before_(64 + offset), bytes_(before_ + size * sizeof(T) + 64)
    {
        check(cudaMemset(bytes_.as<void>(), sentinel, bytes_.size()));
    }
    guarded_array(std::span<const T> values, std::size_t offset) : guarded_array(values.size(), offset)
    {
        check(cudaMemcpy(span().data(), values.data(), values.size_bytes(), cudaMemcpyHostToDevice));
    }

    std::span<T> span() { return {reinterpret_cast<T*>(bytes_.as<std::byte>() + before_), size_}; }
    std::span<const T> const_span() { return span(); }

    // Whether the array is what is expected, and the bytes around it are what they were.
    ::testing::AssertionResult holds(std::span<const T> expected) const
    {
        std::vector<unsigned char> image(bytes_.size());
        check(cudaMemcpy(image.data(), bytes_.as<void>(), image.size(), cudaMemcpyDeviceToHost));
        const auto* const values = reinterpret_cast<const unsigned char*>(expected.data());
        for (std::size_t i = 0; i < image.size(); ++i) {
            const bool inside = i >= before_ && i < before_ + expected.size_bytes();
            if (image[i] != (inside ? values[i - before_] : sentinel))
                return ::testing::AssertionFailure() << "byte " << static_cast<std::ptrdiff_t>(i - before_) << " of "
                                                     << expected.size_bytes() << " is " << int{image[i]};
        }
        return ::testing::AssertionSuccess();
    }

private:
    static constexpr unsigned char sentinel = 0xA5;
    std::size_t size_;
    std::size_t before_;
    device_bytes bytes_;
};

template <class T, class Op>
void expect_nothing_else_is_written(const up::cuda& gpu, std::span<const T> values, std::size_t in_offset,
                                    std::size_t out_offset, Op op)
{
    SCOPED_TRACE(std::to_string(values.size()) + " elements, from byte " + std::to_string(in_offset) + " to byte " +
                 std::to_string(out_offset));
    using total = up::result_t<Op, T>;
    host_array<T> expected(values.size());
    up::inclusive_scan(up::cpu{}, values, expected.span(), op);

    guarded_array<T> in(values, in_offset);
    guarded_array<T> out(values.size(), out_offset);
    up::inclusive_scan(gpu, in.const_span(), out.span(), op);
    ASSERT_TRUE(out.holds(expected.span()));
    guarded_array<total> sum(1, out_offset / alignof(total) * alignof(total));
    up::reduce(gpu, in.const_span(), sum.span().data(), op);
    ASSERT_TRUE(sum.holds(host_array<total>{up::reduce(up::cpu{}, values, op)}.span()));
    ASSERT_TRUE(in.holds(values)) << "the input was changed";

    guarded_array<T> in_place(values, in_offset);
    up::inclusive_scan(gpu, in_place.const_span(), in_place.span(), op);
    ASSERT_TRUE(in_place.holds(expected.span())) << "in place";
}

// Every pair of alignments for few elements, every alignment of either for so many that tiles are large.
template <class T, class Op>
void expect_nothing_else_is_written(Op op)
{
    auto random = generator();
    const host_array<T> values = random_array<T>(random, (std::size_t{1} << 21) + 12'345);
    const up::cuda gpu;
    for (std::size_t in = 0; in < 16; in += alignof(T))
        for (std::size_t out = 0; out < 16; out += alignof(T))
            for (const std::size_t n : {1U, 37U, 20'011U}) {
                expect_nothing_else_is_written(gpu, values.first(n), in, out, op);
                if (::testing::Test::HasFatalFailure())
                    return;
            }
    for (std::size_t offset = 0; offset < 16; offset += alignof(T))
        for (const auto [in, out] :
             {std::pair{offset, offset}, std::pair{offset, std::size_t{0}}, std::pair{std::size_t{0}, offset}}) {
            expect_nothing_else_is_written(gpu, values.span(), in, out, op);
            if (::testing::Test::HasFatalFailure())
                return;
        }
}

TEST(every_alignment, i8) { expect_nothing_else_is_written<std::int8_t>(up::plus{}); }
TEST(every_alignment, u16) { expect_nothing_else_is_written<std::uint16_t>(up::plus{}); }
TEST(every_alignment, f16) { expect_nothing_else_is_written<up::f16>(up::plus{}); }
TEST(every_alignment, i32) { expect_nothing_else_is_written<std::int32_t>(up::plus{}); }
TEST(every_alignment, f64) { expect_nothing_else_is_written<double>(up::plus{}); }
TEST(every_alignment, pairs_of_floats) { expect_nothing_else_is_written<affine>(composition); }
TEST(every_alignment, matrices) { expect_nothing_else_is_written<matrix>(product); }

// Memory of the host that the GPU reaches, too.
template <class Allocate, class Free>
void expect_folds_in(Allocate allocate, Free free)
{
    auto random = generator();
    constexpr std::size_t n = 200'003;
    const host_array<float> values = random_array<float>(random, n);
    host_array<float> expected(n);
    up::inclusive_scan(up::cpu{}, values.span(), expected.span());
    void* memory = nullptr;
    check(allocate(&memory, (2 * n + 1) * sizeof(float)));
    auto* const array = static_cast<float*>(memory);
    std::ranges::copy(values, array);

    const up::cuda gpu;
    up::inclusive_scan(gpu, std::span<const float>(array, n), std::span<float>(array + n, n));
    up::reduce(gpu, std::span<const float>(array, n), array + 2 * n, up::plus{});
    check(cudaStreamSynchronize(gpu.stream()));
    EXPECT_TRUE(bits_equal(host_array<float>(std::span<const float>(array + n, n)), expected));
    EXPECT_TRUE(bits_equal(array[2 * n], up::reduce(up::cpu{}, values.span())));
    check(free(memory));
}

TEST(memory, managed)
{
    expect_folds_in([](void** memory, std::size_t bytes) { return cudaMallocManaged(memory, bytes); }, cudaFree);
}

TEST(memory, pinned)
{
    expect_folds_in([](void** memory, std::size_t bytes) { return cudaMallocHost(memory, bytes); }, cudaFreeHost);
}

TEST(memory, of_another_gpu_is_refused)
{
    int devices = 0;
    check(cudaGetDeviceCount(&devices));
    if (devices < 2)
        GTEST_SKIP() << "needs two GPUs";
    const up::cuda gpu;
    check(cudaSetDevice(1));
    {
        const target_array<up::cuda, int> there(host_array<int>{1, 2, 3}.span());
        EXPECT_THROW((void)up::reduce(gpu, there.const_span()), up::error);
        EXPECT_EQ(up::reduce(up::cuda{}, there.const_span()), 6);
    }
    check(cudaSetDevice(0));
}

// So many elements, which take no memory, that the totals of their tiles have no place.
TEST(memory, too_little_for_the_workspace)
{
    auto random = generator();
    const stream on;
    const up::cuda gpu(on);
    example<double> given(random, 100'000);
    results<double> got(100'000);
    comparison compared(on);
    got.fold(gpu, given, compared);

    const squares first{0};
    {
        on.wait();
        std::vector<std::unique_ptr<device_bytes>> rest;
        const std::size_t left = std::size_t{64} << 20;
        for (std::size_t piece = free_device_bytes(); piece > left; piece /= 2)
            while (free_device_bytes() > piece + left)
                rest.push_back(std::make_unique<device_bytes>(piece));
        try {
            (void)up::reduce(gpu, std::ranges::subrange(first, first + (std::uint64_t{1} << 40)));
            ADD_FAILURE() << "no error";
        } catch (const up::error& failure) {
            EXPECT_EQ(failure.kind(), up::error_kind::out_of_memory);
            const std::string message = failure.what();
            std::smatch bytes;
            ASSERT_TRUE(std::regex_search(message, bytes, std::regex("([0-9]+) bytes"))) << message;
            EXPECT_GT(std::stoull(bytes[1]), left) << message;
        }
        got.fold(gpu, given, compared);
        EXPECT_EQ(compared.differences(), 0U) << "after the error";
    }

    // With room again, for a workspace that is larger than the one so far.
    const unsigned __int128 n = std::uint64_t{1} << 34;
    const auto expected = static_cast<std::uint64_t>((n - 1) * n * (2 * n - 1) / 6);
    EXPECT_EQ(up::reduce(gpu, std::ranges::subrange(first, first + static_cast<std::uint64_t>(n))), expected);
}

} // namespace
