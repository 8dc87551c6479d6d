// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string_view>

#include "byte_input.hpp"

namespace upsweep::files {

// Enough of a file to tell the encoding of a text.
inline constexpr std::size_t encoding_front_bytes = 4096;

// Whether the front of a file is a text in UTF-16 with a byte order mark, and not elements that happen to begin with it:
// no control characters but white space, and more than half of it ASCII, as numbers are.
[[nodiscard]] bool looks_like_utf16(std::string_view front);

// Throws a failure with the remedy where the input is text in an encoding that is not read: UTF-32 with a byte order
// mark, or UTF-16 without.
void refuse_other_encodings(byte_input& input);

// A text as the parsers know it, in UTF-8 with LF in its line ends. UTF-16 with a byte order mark is converted; where CR
// alone ends the lines, every CR becomes LF. Most inputs are neither, and are given back as they are.
[[nodiscard]] std::unique_ptr<byte_input> as_plain_text(std::unique_ptr<byte_input> input);

// The two conversions, in pieces of so many bytes of `from`, which must outlive the stream.
[[nodiscard]] std::unique_ptr<byte_stream> utf8_of_utf16(byte_input& from,
                                                         std::size_t piece_bytes = byte_pieces::usual_bytes);
[[nodiscard]] std::unique_ptr<byte_stream> line_feeds_of_returns(byte_input& from,
                                                                 std::size_t piece_bytes = byte_pieces::usual_bytes);

} // namespace upsweep::files
