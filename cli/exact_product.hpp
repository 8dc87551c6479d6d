// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <upsweep/runtime.h>

#include "inputs.hpp"
#include "overflow.hpp"

namespace upsweep::cli {

// The product of integers without a modulus, in 127 bits and a sign. A long product has 0, 1 and -1 for nearly all its factors, which
// libupsweep multiplies; others are multiplied one by one until the product is too large, which it stays up to a 0.
class exact_product {
public:
    static constexpr std::string_view noun = "product";

    exact_product(upsweep_context* context, upsweep_dtype dtype, bool on_gpu);

    void feed(const input_chunk& chunk);
    // Throws a failure that tells the first element up to which the product is too large.
    int128 value() const;

private:
    void feed_piece(const input_chunk& chunk, std::uint64_t first, std::uint64_t count);
    bool multiply(int128 factor);

    upsweep_context* context_;
    upsweep_dtype dtype_;
    std::uint64_t piece_;
    int128 product_ = 1;
    std::string too_large_at_; // empty where it is not
};

} // namespace upsweep::cli
