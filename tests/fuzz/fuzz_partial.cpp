// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
// Bytes either are refused with an error, or are those of the partial that is read, but for NaN: one of any pattern of bits
// is read, and the quiet one without payload is written.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <span>
#include <type_traits>
#include <vector>

#include <upsweep/partial.hpp>

namespace {

namespace up = upsweep;

// The bytes of a partial that has been read, with its NaN as they are written.
template <class T, class Op>
std::vector<std::byte> with_one_nan(std::span<const std::byte> bytes, const up::partial<T, Op>& partial)
{
    using accumulator = typename up::partial<T, Op>::accumulator;
    std::vector<std::byte> expected(bytes.begin(), bytes.end());
    if constexpr (std::is_floating_point_v<accumulator>) {
        const accumulator nan = std::numeric_limits<accumulator>::quiet_NaN();
        const std::size_t header = 24;
        const std::size_t entry = 16 + (sizeof nan + 7) / 8 * 8;
        for (std::size_t i = 0; i < partial.blocks().size(); ++i)
            if (std::isnan(partial.blocks()[i].total))
                std::memcpy(expected.data() + header + i * entry + 16, &nan, sizeof nan);
    }
    return expected;
}

template <class T, class Op>
void read(std::span<const std::byte> bytes)
{
    try {
        up::partial<T, Op> partial = up::partial<T, Op>::from_bytes(bytes);
        if (partial.bytes() != with_one_nan(bytes, partial))
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
