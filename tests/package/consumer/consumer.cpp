// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cstdint>
#include <cstdlib>
#include <numeric>
#include <vector>

#include <upsweep/upsweep.hpp>

namespace up = upsweep;

int main()
{
    std::vector<int> numbers(100'000);
    std::iota(numbers.begin(), numbers.end(), 0);

    const bool sum = up::reduce(up::cpu{}, numbers, up::plus{}) == std::int64_t{4999950000};
    std::array<std::uint64_t, 2> halves{};
    up::histogram(up::cpu{}, numbers, up::even_bins{0, 100'000, 2}, halves);
    up::inclusive_scan(up::cpu{}, numbers, numbers, up::maximum{});
    return sum && halves[0] == 50'000 && halves[1] == 50'000 && numbers.back() == 99'999 ? EXIT_SUCCESS : EXIT_FAILURE;
}
