// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
// expect: nodiscard
#include <vector>

#include <upsweep/reduce.hpp>

namespace up = upsweep;

void sum(const std::vector<int>& in)
{
#ifdef FIXED
    [[maybe_unused]] const auto total =
#endif
        up::reduce(up::cpu{}, in, up::plus{});
}
