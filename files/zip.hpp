// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "byte_input.hpp"

namespace upsweep::files {

// Zip archives, of which NumPy's .npz are some: one file after another, each whole or deflated, and a directory at the
// end. Fields of 32 bits that are too small are all ones, and the number is in a ZIP64 record.
struct zip_member {
    std::string name;
    std::uint64_t header_offset = 0; // of the local header, which the bytes follow
    std::uint64_t stored_bytes = 0;  // in the archive
    std::uint64_t bytes = 0;         // of the file
    std::uint32_t checksum = 0;      // CRC-32 of the file
    unsigned method = 0;
    bool is_encrypted = false;
};

// Enough of a file to tell.
inline constexpr std::size_t zip_magic_bytes = 4;
[[nodiscard]] bool is_zip(std::string_view front);

// The files in an archive, in the order of its directory. Throws a failure that begins with the archive's name where the
// directory is not there or is wrong.
[[nodiscard]] std::vector<zip_member> zip_members(const std::string& archive, std::string_view content);

// The bytes of a member, as they were before they were put into the archive. The stream throws a failure where they have
// not the length and the checksum that the directory tells. `content` must outlive the stream.
[[nodiscard]] std::unique_ptr<byte_stream> read_zip_member(const std::string& archive, std::string_view content,
                                                           const zip_member& member);

// A member of an archive, and its name in there.
struct zip_input {
    std::unique_ptr<byte_input> input;
    std::string member;
};

// Opens the member of that name, whose ".npy" may be left out; without a name the only one. Where there are several, the
// failure lists them.
[[nodiscard]] zip_input open_zip(std::unique_ptr<byte_input> archive, const std::optional<std::string>& member);

} // namespace upsweep::files
