// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "byte_input.hpp"

namespace upsweep::files {

// Files of one compressed stream, or of several one after another, which stand for what they hold together.
enum class compression : std::uint8_t { gzip, zstd, xz, bzip2 };

[[nodiscard]] std::string_view name_of(compression kind);

// The compression whose magic bytes the front of a file has, of which this many tell it.
inline constexpr std::size_t compression_magic_bytes = 10;
[[nodiscard]] std::optional<compression> compression_of_front(std::string_view front);
// "gz" and its like.
[[nodiscard]] std::optional<compression> compression_of_extension(std::string_view extension);
// Whether `content`, which is a whole file, ends inside the magic bytes.
[[nodiscard]] bool ends_inside_magic(std::string_view content, compression kind);

// What the compressed bytes of `from` stand for. A failure names the byte of the compressed file: where it is corrupt,
// where it ends too early, and where something else follows. `from` must outlive the stream, and is read in pieces of so
// many bytes.
[[nodiscard]] std::unique_ptr<byte_stream> decompress(compression kind, byte_input& from,
                                                      std::size_t piece_bytes = byte_pieces::usual_bytes);

// The same in a thread of its own. An input that is mapped or rereadable becomes one that is rereadable.
[[nodiscard]] std::unique_ptr<byte_input> decompressed(compression kind, std::unique_ptr<byte_input> from);

} // namespace upsweep::files
