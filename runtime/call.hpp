// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <exception>
#include <new>
#include <string>

#include <upsweep/error.hpp>
#include <upsweep/runtime.h>

// What all functions of the C ABI do: no exception leaves them.
namespace upsweep::runtime {

// The calling thread's last failure.
extern thread_local std::string last_error;

// Keeps what an exception says and returns the status that stands for it.
upsweep_status failed(const error& failure);
upsweep_status failed(const std::bad_alloc&);
upsweep_status failed(const std::exception& failure);

// Calls f and turns what it throws into a status.
template <class F>
upsweep_status guarded(F f) noexcept
{
    try {
        f();
        return UPSWEEP_OK;
    } catch (const error& failure) {
        return failed(failure);
    } catch (const std::bad_alloc& failure) {
        return failed(failure);
    } catch (const std::exception& failure) {
        return failed(failure);
    }
}

inline void require(bool condition, const char* call, const char* reason, const char* remedy)
{
    if (!condition)
        throw error(error_kind::invalid_argument, call, reason, remedy);
}

inline void check_input(const char* call, const void* in, std::uint64_t count)
{
    require(in != nullptr || count == 0, call, "the input is a null pointer", "pass a pointer to the elements");
}

} // namespace upsweep::runtime
