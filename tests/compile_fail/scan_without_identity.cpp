// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
// expect: not a monoid over the result type | needs op(a, b) and an identity
#include <algorithm>
#include <limits>
#include <vector>

#include <upsweep/scan.hpp>

namespace up = upsweep;

void running_maximum(const std::vector<int>& in, std::vector<int>& out)
{
    const auto greater = [](int a, int b) { return std::max(a, b); };
#ifdef FIXED
    up::inclusive_scan(up::cpu{}, in, out, up::monoid{greater, std::numeric_limits<int>::min(), up::commutative});
#else
    up::inclusive_scan(up::cpu{}, in, out, greater);
#endif
}
