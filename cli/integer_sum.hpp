// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include <upsweep/runtime.h>

namespace upsweep::cli {

// The sum of integers without a modulus. libupsweep adds 64 bits modulo 2^64; here the sums of pieces that cannot wrap are added up in
// 128 bits.
class integer_sum {
public:
    // Elements of 64 bits are folded in pieces of 2^piece_level.
    integer_sum(upsweep_context* context, upsweep_dtype dtype, int piece_level);

    // A piece stays in the caches of a CPU while it is folded three times; a GPU is worth a call only for more.
    static constexpr int piece_level_of_cpu = 18;
    static constexpr int piece_level_of_gpu = 23;

    void feed(const std::string& file, const void* elements, std::uint64_t count);

    // Whether a 64-bit result, signed as the elements are, holds the sum; and that result, modulo 2^64.
    bool fits() const;
    std::uint64_t low() const { return static_cast<std::uint64_t>(sum_); }
    // All decimal digits.
    std::string digits() const;

private:
    __extension__ using int128 = __int128;

    void feed_piece(const std::string& file, const void* elements, std::uint64_t count);
    std::uint64_t fold(const std::string& file, upsweep_op op, const upsweep_array& in, upsweep_dtype result) const;

    upsweep_context* context_;
    upsweep_dtype dtype_;
    bool is_signed_;
    int piece_level_;
    int128 sum_ = 0;
};

// Of a dtype that integer_sum adds: no bool, no floating-point type.
[[nodiscard]] bool is_integer(upsweep_dtype dtype);

} // namespace upsweep::cli
