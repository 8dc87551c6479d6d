// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
// Bytes either are refused with an error, or are those of the partial that is read.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <vector>

#include <upsweep/partial.hpp>

namespace {

namespace up = upsweep;

template <class T, class Op>
void read(std::span<const std::byte> bytes)
{
    try {
        up::partial<T, Op> partial = up::partial<T, Op>::from_bytes(bytes);
        const std::vector<std::byte> written = partial.bytes();
        if (written.size() != bytes.size() || std::memcmp(written.data(), bytes.data(), bytes.size()) != 0)
            std::abort();
        (void)partial.count();
        (void)partial.value();
    } catch (const up::error&) {
    }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    const std::span bytes(reinterpret_cast<const std::byte*>(data), size);
    read<float, up::plus>(bytes);
    read<std::int8_t, up::maximum>(bytes);
    read<double, up::logical_or>(bytes);
    return 0;
}
