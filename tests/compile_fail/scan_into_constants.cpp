// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
// expect: output_range
#include <span>

#include <upsweep/scan.hpp>

namespace up = upsweep;

#ifdef FIXED
using result = int;
#else
using result = const int;
#endif

void scan(std::span<const int> in, std::span<result> out) { up::inclusive_scan(up::cpu{}, in, out, up::plus{}); }
