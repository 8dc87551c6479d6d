// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// An array in three parts, as three machines may have them: each folds its own part, and whoever has all of the bytes
// has the sum of the whole, to the bit. The parts begin anywhere and are merged in any order.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <span>
#include <vector>

#include <upsweep/upsweep.hpp>

namespace up = upsweep;

int main()
{
    std::vector<float> wave(1'000'000);
    for (std::size_t i = 0; i < wave.size(); ++i)
        wave[i] = std::sin(static_cast<float>(i));
    const std::span<const float> all(wave);

    const auto bytes_of_part = [&](std::size_t first, std::size_t end) {
        return up::reduce_partial(up::cpu{}, all.subspan(first, end - first), first, up::plus{}).bytes();
    };
    up::partial<float, up::plus> sum;
    sum.merge(sum.from_bytes(bytes_of_part(700'000, 1'000'000)));
    sum.merge(sum.from_bytes(bytes_of_part(0, 123'457)));
    try {
        (void)sum.value();
    } catch (const up::error& failure) {
        std::printf("%s\n", failure.what());
    }
    sum.merge(sum.from_bytes(bytes_of_part(123'457, 700'000)));

    // One thread may also read the array piece by piece.
    up::reducer<float, up::plus> reader(up::cpu{1});
    for (std::size_t first = 0; first < wave.size(); first += 4321)
        reader.feed(all.subspan(first, std::min<std::size_t>(4321, wave.size() - first)));

    const float whole = up::reduce(up::cpu{}, wave, up::plus{});
    std::printf("%s\n", sum.value() == whole && reader.result() == whole ? "the same bits" : "other bits");
}

// Prints:
// partial: elements 123457 to 699999 are missing; merge the partial that has folded them
// the same bits
