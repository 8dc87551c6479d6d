// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

namespace upsweep::cli {

// A line on standard error that tells how far long work has come. Nothing appears in the first second, nor where
// standard error is no terminal; the line is erased at the end.
class progress {
public:
    // Bytes to be worked through, where known.
    explicit progress(std::optional<std::uint64_t> total);
    progress(const progress&) = delete;
    progress& operator=(const progress&) = delete;
    ~progress();

    void advance(std::uint64_t bytes);

private:
    using clock = std::chrono::steady_clock;

    void draw(clock::time_point now);

    std::optional<std::uint64_t> total_;
    std::uint64_t done_ = 0;
    bool enabled_;
    bool drawn_ = false;
    clock::time_point begin_;
    clock::time_point next_;
};

} // namespace upsweep::cli
