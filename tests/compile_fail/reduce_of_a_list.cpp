// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
// expect: random_access
#include <list>
#include <vector>

#include <upsweep/reduce.hpp>

namespace up = upsweep;

#ifdef FIXED
using container = std::vector<int>;
#else
using container = std::list<int>; // cannot be divided among threads
#endif

auto sum(const container& in) { return up::reduce(up::cpu{}, in, up::plus{}); }
