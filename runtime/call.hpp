// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <exception>
#include <new>
#include <string>
#include <string_view>

#include <upsweep/error.hpp>
#include <upsweep/runtime.h>

// What all functions of the C ABI do: no exception leaves them.
namespace upsweep::runtime {

// The calling thread's last failure.
extern thread_local std::string last_error;

// An error with a status that no kind of up::error stands for.
class refusal : public error {
public:
    refusal(upsweep_status status, std::string_view call, std::string_view reason, std::string_view remedy)
        : error(error_kind::invalid_argument, call, reason, remedy), status_(status)
    {
    }

    upsweep_status status() const { return status_; }

private:
    upsweep_status status_;
};

// Keeps what an exception says and returns the status that stands for it.
upsweep_status failed(const error& failure);
upsweep_status failed(const refusal& failure);
upsweep_status failed(const std::bad_alloc&);
upsweep_status failed(const std::exception& failure);

// Calls f and turns what it throws into a status.
template <class F>
upsweep_status guarded(F f) noexcept
{
    try {
        f();
        return UPSWEEP_OK;
    } catch (const refusal& failure) {
        return failed(failure);
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

// A caller may pass any integer for a dtype.
inline void check_dtype(const char* call, upsweep_dtype dtype)
{
    const auto number = static_cast<int>(dtype);
    if (number < UPSWEEP_BOOL || number > UPSWEEP_F64)
        throw refusal(UPSWEEP_UNSUPPORTED, call, "dtype " + std::to_string(number) + " does not exist",
                      "pass one of enum upsweep_dtype");
}

} // namespace upsweep::runtime
