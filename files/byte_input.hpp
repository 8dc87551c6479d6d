// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace upsweep::files {

// Bytes that are read once, from front to back, by one thread at a time.
class byte_stream {
public:
    byte_stream() = default;
    byte_stream(const byte_stream&) = delete;
    byte_stream& operator=(const byte_stream&) = delete;
    virtual ~byte_stream() = default;

    // Reads up to `capacity` bytes, fewer only at the end.
    virtual std::size_t read(char* buffer, std::size_t capacity) = 0;

    // For a stream that nobody wants to read any more: a read() in which another thread waits for bytes ends, as if these
    // had ended. Works only after allow_interrupt(), which must come before the reading and makes it dearer.
    virtual void allow_interrupt() {}
    virtual void interrupt() {}
};

// The bytes of a file or of standard input. A regular file is mapped, so that its bytes need no copy and may be larger
// than memory; this holds for standard input too when it is redirected from one. Anything else (a pipe, a terminal, a
// device, a file of the kernel's) is read from front to back, and so is what is made of another input's bytes.
class byte_input {
public:
    // "-" is standard input.
    explicit byte_input(const std::string& path);

    // What `open` makes of the bytes of another input. Where that one is rereadable, `open` is called once more to read
    // it again; the stream that it made before is gone by then.
    using opener = std::function<std::unique_ptr<byte_stream>()>;
    byte_input(std::string name, opener open, bool rereadable);

    byte_input(const byte_input&) = delete;
    byte_input& operator=(const byte_input&) = delete;
    ~byte_input();

    // The path, or "standard input": what error messages begin with.
    const std::string& name() const { return name_; }

    bool is_mapped() const { return mapped_; }
    // The whole content; only of a mapped input.
    std::string_view content() const { return content_; }
    // Whether the bytes are made of another input's: decompressed, or in another encoding.
    bool is_decoded() const { return open_ != nullptr; }

    // Whether the bytes can be read more than once.
    bool rereadable() const { return mapped_ || rereadable_; }
    // The next read() begins at the front. Where the input is not rereadable, nothing has been read yet.
    void rewind();

    // Up to `wanted` bytes from the front, without consuming them; fewer only at the end.
    std::string_view peek(std::size_t wanted);
    // Reads up to `capacity` bytes, fewer only at the end; only of an input that is not mapped.
    std::size_t read(char* buffer, std::size_t capacity);

    // As of a stream. A mapped input has nothing to wait for.
    void allow_interrupt();
    void interrupt();

private:
    std::string name_;
    bool mapped_ = false;
    std::string_view content_;
    void* mapping_ = nullptr;
    std::size_t mapping_bytes_ = 0;
    opener open_;
    bool rereadable_ = false;
    bool was_read_ = false;
    std::unique_ptr<byte_stream> stream_;
    std::vector<char> peeked_;
    std::size_t peeked_used_ = 0;
};

// The bytes of an input piece by piece, without a copy where it is mapped.
class byte_pieces {
public:
    static constexpr std::size_t usual_bytes = std::size_t{1} << 16;

    // Begins at the front of `from`, which must outlive this.
    explicit byte_pieces(byte_input& from, std::size_t piece_bytes = usual_bytes);

    // The next piece, valid until the next call; empty at the end.
    std::string_view next();
    // How many bytes all pieces had so far.
    std::uint64_t position() const { return position_; }

private:
    byte_input& from_;
    std::size_t piece_bytes_;
    std::vector<char> piece_; // where the input is not mapped
    std::uint64_t position_ = 0;
};

} // namespace upsweep::files
