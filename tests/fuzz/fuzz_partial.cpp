// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
// Bytes either are refused with an error, or are those of the partial that is read, but for the pattern of NaN.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <vector>

#include <upsweep/partial.hpp>

#include "../partial_bytes.hpp"

namespace {

namespace up = upsweep;

template <class T, class Op>
void read(std::span<const std::byte> bytes)
{
    try {
        up::partial<T, Op> partial = up::partial<T, Op>::from_bytes(bytes);
        if (partial.bytes() != up::test::with_one_nan<typename up::partial<T, Op>::accumulator>(bytes))
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
