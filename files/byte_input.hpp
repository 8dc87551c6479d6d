// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace upsweep::files {

// The bytes of a file or of standard input. A regular file is mapped, so that its bytes need no copy and may be larger
// than memory; this holds for standard input too when it is redirected from one. Anything else (a pipe, a terminal, a
// device) is read once, from front to back.
class byte_input {
public:
    // "-" is standard input.
    explicit byte_input(const std::string& path);
    byte_input(const byte_input&) = delete;
    byte_input& operator=(const byte_input&) = delete;
    ~byte_input();

    // The path, or "standard input": what error messages begin with.
    const std::string& name() const { return name_; }

    bool is_mapped() const { return mapped_; }
    // The whole content; only of a mapped input.
    std::string_view content() const { return content_; }

    // Up to `wanted` bytes from the front, without consuming them; fewer only at the end.
    std::string_view peek(std::size_t wanted);
    // Reads up to `capacity` bytes, fewer only at the end; only of an input that is not mapped.
    std::size_t read(char* buffer, std::size_t capacity);

private:
    std::size_t read_fully(char* buffer, std::size_t capacity);

    std::string name_;
    int descriptor_ = -1;
    bool mapped_ = false;
    std::string_view content_;
    void* mapping_ = nullptr;
    std::size_t mapping_bytes_ = 0;
    std::vector<char> peeked_;
    std::size_t peeked_used_ = 0;
};

} // namespace upsweep::files
