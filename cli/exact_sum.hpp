// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <upsweep/runtime.h>

#include "inputs.hpp"
#include "overflow.hpp"

namespace upsweep::cli {

// The sum of integers without a modulus. libupsweep adds 64 bits modulo 2^64; here the sums of pieces that cannot wrap are added up in
// 128 bits.
class exact_sum {
public:
    static constexpr std::string_view noun = "sum";

    exact_sum(upsweep_context* context, upsweep_dtype dtype, bool on_gpu);

    void feed(const input_chunk& chunk);
    int128 value() const { return sum_; }

private:
    void feed_piece(const std::string& file, const void* elements, std::uint64_t count);

    upsweep_context* context_;
    upsweep_dtype dtype_;
    int piece_level_; // elements of 64 bits are folded in pieces of two to this power
    int128 sum_ = 0;
};

} // namespace upsweep::cli
