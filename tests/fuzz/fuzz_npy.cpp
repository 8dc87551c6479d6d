// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
// A .npy header either is refused with a failure, or tells of an array that can be.
#include <cstdint>
#include <cstdlib>
#include <limits>

#include "dtype.hpp"
#include "npy.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    namespace files = upsweep::files;
    const std::string_view file(reinterpret_cast<const char*>(data), size);
    try {
        const files::npy_header header = files::parse_npy_header("fuzzed", file);
        if (header.data_offset > size)
            std::abort();
        if (header.count > std::numeric_limits<std::int64_t>::max() / files::dtype_size(header.dtype))
            std::abort();
        unsigned __int128 count = 1;
        for (const std::uint64_t extent : header.shape)
            count = extent == 0 || count == 0 ? 0 : count * extent;
        if (count != header.count)
            std::abort();
    } catch (const files::failure&) {
    }
    return 0;
}
