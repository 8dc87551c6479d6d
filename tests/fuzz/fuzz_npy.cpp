// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
// A .npy header either is refused with a failure, or tells of an array that can be.
#include <cstdint>
#include <cstdlib>
#include <limits>

#include "npy.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    namespace cli = upsweep::cli;
    const std::string_view file(reinterpret_cast<const char*>(data), size);
    try {
        const cli::npy_header header = cli::parse_npy_header(file);
        if (header.data_offset > size)
            std::abort();
        if (header.count > std::numeric_limits<std::int64_t>::max() / upsweep_dtype_size(header.dtype))
            std::abort();
        unsigned __int128 count = 1;
        for (const std::uint64_t extent : header.shape)
            count = extent == 0 || count == 0 ? 0 : count * extent;
        if (count != header.count)
            std::abort();
    } catch (const cli::failure&) {
    }
    return 0;
}
