// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstdlib>
#include <span>

// What fuzzers that make arrays of their bytes have in common.

inline void check(bool condition)
{
    if (!condition)
        std::abort();
}

// The bytes of the fuzzer, and zeros after the last one.
class fuzzed_bytes {
public:
    explicit fuzzed_bytes(std::span<const std::uint8_t> data) : data_(data) {}

    std::uint8_t byte()
    {
        if (data_.empty())
            return 0;
        const std::uint8_t first = data_.front();
        data_ = data_.subspan(1);
        return first;
    }

private:
    std::span<const std::uint8_t> data_;
};
