// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace upsweep {

enum class error_kind {
    invalid_argument, // the call is wrong as it stands
    unsupported,      // the operator is not defined for the type
    out_of_memory,
    no_device,
    device, // the GPU or its driver failed
};

// What the library throws, whatever fails. It says which call failed, why, and what to do about it; the call has
// written nothing.
class error : public std::runtime_error {
public:
    error(error_kind kind, std::string_view call, std::string_view reason, std::string_view remedy)
        : std::runtime_error(message(call, reason, remedy)), kind_(kind)
    {
    }

    error_kind kind() const noexcept { return kind_; }

private:
    [[gnu::cold]] static std::string message(std::string_view call, std::string_view reason, std::string_view remedy)
    {
        std::string text(call);
        text.append(": ").append(reason).append("; ").append(remedy);
        return text;
    }

    error_kind kind_;
};

} // namespace upsweep
