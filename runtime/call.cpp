// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "call.hpp"

namespace upsweep::runtime {

thread_local std::string last_error;

upsweep_status failed(const error& failure)
{
    last_error = failure.what();
    switch (failure.kind()) {
    case error_kind::invalid_argument: return UPSWEEP_INVALID_ARGUMENT;
    case error_kind::unsupported: return UPSWEEP_UNSUPPORTED;
    case error_kind::out_of_memory: return UPSWEEP_OUT_OF_MEMORY;
    case error_kind::no_device: return UPSWEEP_NO_DEVICE;
    case error_kind::device: break;
    }
    return UPSWEEP_INTERNAL;
}

upsweep_status failed(const refusal& failure)
{
    last_error = failure.what();
    return failure.status();
}

upsweep_status failed(const std::bad_alloc&)
{
    last_error = "upsweep: out of memory; free some, or fold the array in smaller pieces";
    return UPSWEEP_OUT_OF_MEMORY;
}

upsweep_status failed(const std::exception& failure)
{
    last_error = std::string("upsweep: ") + failure.what();
    return UPSWEEP_INTERNAL;
}

} // namespace upsweep::runtime

extern "C" const char* upsweep_last_error(void) { return upsweep::runtime::last_error.c_str(); }
