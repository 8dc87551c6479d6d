// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <upsweep/runtime.h>

#include "failure.hpp"

namespace upsweep::cli {

// Room for one value of any dtype.
union scalar {
    std::uint64_t u64;
    double f64;
    unsigned char bytes[8];
};

// Turns a status of libupsweep into an exception that begins with the name of the data at hand.
inline void check(upsweep_status status, std::string_view name)
{
    if (status != UPSWEEP_OK)
        throw failure(std::string(name) + ": " + upsweep_last_error());
}

struct context_deleter {
    void operator()(upsweep_context* context) const { upsweep_context_destroy(context); }
};
using context_ptr = std::unique_ptr<upsweep_context, context_deleter>;

struct reducer_deleter {
    void operator()(upsweep_reducer* reducer) const { upsweep_reducer_destroy(reducer); }
};
using reducer_ptr = std::unique_ptr<upsweep_reducer, reducer_deleter>;

struct scanner_deleter {
    void operator()(upsweep_scanner* scanner) const { upsweep_scanner_destroy(scanner); }
};
using scanner_ptr = std::unique_ptr<upsweep_scanner, scanner_deleter>;

struct counter_deleter {
    void operator()(upsweep_counter* counter) const { upsweep_counter_destroy(counter); }
};
using counter_ptr = std::unique_ptr<upsweep_counter, counter_deleter>;

} // namespace upsweep::cli
