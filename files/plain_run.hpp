// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#if defined(__x86_64__)
#include "plain_run_avx512.hpp"
#include "plain_run_sse41.hpp"
#endif

namespace upsweep::files {

// Parses numbers that are separated by white space, from p on, until one is malformed or the end of the text is near: by the widest
// vectors of the machine, and nothing where it has none. Returns where the next one may begin.
template <class T>
const char* parse_plain_run(const char* p, [[maybe_unused]] const char* end, [[maybe_unused]] T*& values)
{
#if defined(__x86_64__)
    if (avx512::is_supported())
        return avx512::parse_run(p, end, values);
    if (sse41::is_supported())
        return sse41::parse_run(p, end, values);
#endif
    return p;
}

} // namespace upsweep::files
