// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Partials on a CPU, and their bytes.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "partial_bytes.hpp"
#include "partial_cases.hpp"

namespace upsweep::test {

// tests/reference/partials.py has all types.
#ifdef UPSWEEP_TEST_FEW_TYPES
using types = every<std::int8_t, float>;
#else
using types = every<std::int8_t, std::uint64_t, bf16, double>;
#endif
INSTANTIATE_TYPED_TEST_SUITE_P(cpu, partials, types);
INSTANTIATE_TYPED_TEST_SUITE_P(cpu, partial_on, ::testing::Types<cpu>);

namespace {

partial<float> some_partial(std::size_t n = 1000)
{
    auto random = generator();
    return reduce_partial(cpu{}, random_array<float>(random, n).span(), 77, plus{});
}

// The format is a promise (docs/fold-order.md): a file that was written years ago is read.
TEST(partial_bytes, are_those_of_the_document)
{
    partial<float> part;
    part.add(3, 5, 1.5F); // elements 40 to 47
    part.add(0, 39, -2.0F);
    const std::uint8_t expected[] = {'U', 'P', 'S', 'W', 'P', 'A', 'R', 'T',  1, 0, 11, 11, 4,    0,    0,  0, 2, 0,
                                     0,   0,   0,   0,   0,   0,   0,   0,    0, 0, 0,  0,  0,    0,    39, 0, 0, 0,
                                     0,   0,   0,   0,   0,   0,   0,   0xC0, 0, 0, 0,  0,  3,    0,    0,  0, 0, 0,
                                     0,   0,   5,   0,   0,   0,   0,   0,    0, 0, 0,  0,  0xC0, 0x3F, 0,  0, 0, 0};
    const std::vector<std::byte> bytes = part.bytes();
    ASSERT_EQ(bytes.size(), sizeof expected);
    for (std::size_t i = 0; i < bytes.size(); ++i)
        EXPECT_EQ(static_cast<unsigned>(bytes[i]), expected[i]) << "byte " << i;
}

TEST(partial_bytes, that_are_cut_off_or_too_many_are_refused)
{
    std::vector<std::byte> bytes = some_partial().bytes();
    for (std::size_t length = 0; length < bytes.size(); ++length)
        expect_refused([&] { (void)partial<float>::from_bytes(std::span(bytes).first(length)); },
                       "byte " + std::to_string(length) + ": cut off");
    const std::size_t size = bytes.size();
    bytes.push_back(std::byte{0});
    expect_refused([&] { (void)partial<float>::from_bytes(bytes); }, "byte " + std::to_string(size) + ": more bytes");
}

TEST(partial_bytes, of_another_operator_type_or_version_are_refused)
{
    std::vector<std::byte> bytes = some_partial().bytes();
    expect_refused([&] { (void)partial<float, minimum>::from_bytes(bytes); }, "byte 9: operator 0");
    expect_refused([&] { (void)partial<double>::from_bytes(bytes); }, "byte 10: element type 11");
    expect_refused([&] { (void)partial<f16>::from_bytes(bytes); }, "byte 10: element type 11");
    bytes[8] = std::byte{2};
    expect_refused([&] { (void)partial<float>::from_bytes(bytes); }, "byte 8: format version 2");
    bytes[0] = std::byte{'u'};
    expect_refused([&] { (void)partial<float>::from_bytes(bytes); }, "byte 0: not the signature");
}

// Whatever one changes, the bytes either are refused, or are those of the partial that is read, but for the pattern of NaN.
TEST(partial_bytes, are_read_as_they_are_or_refused)
{
    const std::vector<std::byte> bytes = some_partial().bytes();
    auto random = generator();
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        std::vector<std::byte> changed = bytes;
        changed[i] ^= static_cast<std::byte>(1 + random() % 255);
        try {
            EXPECT_EQ(partial<float>::from_bytes(changed).bytes(), with_one_nan<float>(changed));
            EXPECT_GE(i, 24U) << "a changed header was read";
        } catch (const error& failure) {
            EXPECT_NE(std::string(failure.what()).find("byte "), std::string::npos) << failure.what();
        }
    }
}

TEST(partial_bytes, of_blocks_in_disorder_are_refused)
{
    partial<double> part;
    part.add(0, 1, 1.0);
    part.add(0, 2, 2.0);
    std::vector<std::byte> bytes = part.bytes();
    const auto set = [&](std::size_t at, std::uint64_t value) { std::memcpy(&bytes[at], &value, sizeof value); };
    const auto read = [&] { (void)partial<double>::from_bytes(bytes); };
    set(48, 1);
    set(56, 1); // elements 2 and 3: behind element 1
    EXPECT_NO_THROW(read());
    set(56, 0); // elements 0 and 1
    expect_refused(read, "byte 48: a block that does not lie behind");
    set(48, 0);
    set(56, 3);
    set(32, 2); // elements 2 and 3, each alone
    expect_refused(read, "byte 48: a block that has not been folded");
    set(48, 64);
    expect_refused(read, "byte 48: level 64");
    set(48, 62);
    set(56, 2);
    expect_refused(read, "byte 56: a block beyond");
}

TEST(partial_bytes, of_bool_are_zero_or_one)
{
    partial<float, logical_or> part;
    part.add(0, 0, true);
    std::vector<std::byte> bytes = part.bytes();
    bytes[40] = std::byte{2};
    expect_refused([&] { (void)partial<float, logical_or>::from_bytes(bytes); }, "byte 40: a bool");
    bytes[40] = std::byte{1};
    bytes[41] = std::byte{1};
    expect_refused([&] { (void)partial<float, logical_or>::from_bytes(bytes); }, "byte 41: padding");
}

TEST(partial_blocks, that_do_not_exist_are_refused)
{
    partial<float> part;
    expect_refused([&] { part.add(64, 0, 1); }, "no such block");
    expect_refused([&] { part.add(-1, 0, 1); }, "no such block");
    expect_refused([&] { part.add(0, std::uint64_t{1} << 63, 1); }, "no such block");
    expect_refused([&] { part.add(62, 2, 1); }, "no such block");
    part.add(62, 1, 1);
    part.add(0, (std::uint64_t{1} << 62) - 1, 1);
    EXPECT_EQ(part.count(), (std::uint64_t{1} << 62) + 1);

    // As many as there can be.
    partial<float> all;
    all.add(62, 0, 1);
    all.add(62, 1, 2);
    EXPECT_EQ(all.count(), std::uint64_t{1} << 63);
    EXPECT_EQ(partial<float>::from_bytes(all.bytes()).value(), 3.0F);
}

} // namespace
} // namespace upsweep::test
