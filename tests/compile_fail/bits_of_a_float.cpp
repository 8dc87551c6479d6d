// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
// expect: not a monoid over the element type
#include <vector>

#include <upsweep/reduce.hpp>

namespace up = upsweep;

#ifdef FIXED
using element = unsigned;
#else
using element = float; // has no exclusive or
#endif

auto parity(const std::vector<element>& in) { return up::reduce(up::cpu{}, in, up::bit_xor{}); }
