// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>

#include <upsweep/runtime.h>

#include "inputs.hpp"
#include "runtime_call.hpp"

namespace upsweep::cli {

// The value of a reduce: of a dtype, or, beyond 64 bits, an i128 of which there are the digits alone.
struct fold_result {
    upsweep_dtype dtype = UPSWEEP_I64;
    scalar value{};
    std::string i128_digits = {};

    std::string type() const;
    std::string text() const;
};

// How all elements become one value, chunk after chunk.
class fold {
public:
    fold() = default;
    fold(const fold&) = delete;
    fold& operator=(const fold&) = delete;
    virtual ~fold() = default;

    virtual void feed(const input_chunk& chunk) = 0;
    // To be called once, after all chunks.
    virtual fold_result result() = 0;
};

struct fold_kind {
    upsweep_op op = UPSWEEP_PLUS;
    upsweep_dtype in = UPSWEEP_F64;
    std::optional<upsweep_dtype> out = {}; // as reduce gives it, if not this
    bool wraps = false;                    // whether integers are folded modulo a power of two
    bool on_gpu = false;
    std::string name = {}; // of the input, for errors
};

// The right fold. Throws a failure where there is none of that kind.
[[nodiscard]] std::unique_ptr<fold> make_fold(upsweep_context* context, const fold_kind& kind);

} // namespace upsweep::cli
