// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include <upsweep/runtime.h>

#include "output_file.hpp"

namespace upsweep::cli {

// Where a sequence of values goes as it is computed. Nothing of it is kept in memory.
class value_writer {
public:
    value_writer() = default;
    value_writer(const value_writer&) = delete;
    value_writer& operator=(const value_writer&) = delete;
    virtual ~value_writer() = default;

    virtual void append(const void* values, std::uint64_t count) = 0;
    // To be called once, at the end: without it, no file appears.
    virtual void finish() = 0;
};

// .npy, .raw and .bin by extension; otherwise text, one value a line. `count` is needed where the output is .npy and
// cannot be written over (a pipe); it may be unknown otherwise.
[[nodiscard]] std::unique_ptr<value_writer> write_to_file(const std::string& path, upsweep_dtype dtype,
                                                          std::optional<std::uint64_t> count);

// The elements of a JSON array on standard output, without its brackets.
[[nodiscard]] std::unique_ptr<value_writer> write_json_elements(upsweep_dtype dtype);

// For a terminal: the first and the last values, and how many were left out between them.
[[nodiscard]] std::unique_ptr<value_writer> write_head_and_tail(upsweep_dtype dtype, std::size_t lines);

} // namespace upsweep::cli
