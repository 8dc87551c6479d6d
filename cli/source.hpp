// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <upsweep/runtime.h>

#include "byte_input.hpp"
#include "csv.hpp"

namespace upsweep::cli {

enum class file_format { npy, raw, text, csv };

// How to read a file, as far as the user has said.
struct source_options {
    std::optional<file_format> format;
    std::optional<upsweep_dtype> dtype;
    csv_options csv;
    std::optional<char> delimiter; // of CSV; otherwise a tab for .tsv and a comma for the rest
    int threads = 0;               // 0: all cores
};

// The elements of one file, in order, as a sequence of blocks.
class source {
public:
    // Takes `count` elements; `bytes` of the file were read for them.
    using sink = std::function<void(const void* elements, std::uint64_t count, std::uint64_t bytes)>;

    source() = default;
    source(const source&) = delete;
    source& operator=(const source&) = delete;
    virtual ~source() = default;

    virtual const std::string& name() const = 0;
    virtual upsweep_dtype dtype() const = 0;
    // Whether stream() may be called again.
    virtual bool rereadable() const = 0;
    // Bytes that stream() will read and elements that it will give, where these are known beforehand.
    virtual std::optional<std::uint64_t> bytes() const = 0;
    virtual std::optional<std::uint64_t> count() const = 0;
    // How many threads the taker of the blocks should use: all where the elements lie in the file as they are, one
    // where the others are busy turning the bytes into elements.
    virtual int sink_threads() const = 0;

    // Gives all elements to `take`, from one thread at a time. Blocks are valid during the call only.
    virtual void stream(const sink& take) = 0;
};

// Opens a file and finds out what it holds: by options.format, by its extension, or by its first bytes.
[[nodiscard]] std::unique_ptr<source> open_source(const std::string& path, source_options options);

// The bytes of a file as u8, whatever it is.
[[nodiscard]] std::unique_ptr<source> open_bytes(const std::string& path, int threads);

} // namespace upsweep::cli
