// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <upsweep/files.hpp>

namespace upsweep::files {

// The .npy format of NumPy, versions 1.0, 2.0 and 3.0: six bytes of magic, two of version, the header's length in
// little-endian (two bytes in version 1, four after it), the header, which is a Python dictionary, and the elements.
struct npy_header {
    upsweep_dtype dtype = UPSWEEP_F64;
    bool byte_swapped = false;  // relative to this machine
    bool fortran_order = false; // the first index runs fastest in the file
    std::vector<std::uint64_t> shape;
    std::uint64_t count = 0;     // the product of the shape
    std::size_t data_offset = 0; // from the beginning of the file
};

inline constexpr std::string_view npy_magic = "\x93NUMPY";
// Enough of a file to tell how long its header is.
inline constexpr std::size_t npy_preamble_bytes = 12;

// The offset of the first element, from the first npy_preamble_bytes of a file (fewer where the file ends before). Its
// name is what a failure begins with.
[[nodiscard]] std::size_t npy_data_offset(const std::string& file, std::string_view preamble);
// Reads the header from the front of a file, which holds at least npy_data_offset bytes.
[[nodiscard]] npy_header parse_npy_header(const std::string& file, std::string_view front);

// A header of version 1.0 for an array of these extents in C order. Of arrays of one dimension it has one length, so that the count
// can be filled in afterwards. Not for bf16, which NumPy does not have.
[[nodiscard]] std::string make_npy_header(upsweep_dtype dtype, std::span<const std::uint64_t> shape);

} // namespace upsweep::files
