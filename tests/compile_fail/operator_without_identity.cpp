// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
// expect: not a monoid over the element type | needs op(a, b) and an identity
#include <vector>

#include <upsweep/reduce.hpp>

namespace up = upsweep;

int sum(const std::vector<int>& in)
{
    const auto add = [](int a, int b) { return a + b; };
#ifdef FIXED
    return up::reduce(up::cpu{}, in, up::monoid{add, 0, up::commutative});
#else
    return up::reduce(up::cpu{}, in, add);
#endif
}
