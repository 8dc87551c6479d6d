// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "failure.hpp"

#include <system_error>

#include <fmt/core.h>

namespace upsweep::cli {

failure system_failure(std::string_view name, std::string_view what, int error_number)
{
    return failure(fmt::format("{}: {}: {}", name, what, std::generic_category().message(error_number)));
}

std::string in_quotes(std::string_view text)
{
    constexpr std::size_t longest = 40;
    std::string result = "'";
    for (const char c : text.substr(0, longest)) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte < 0x20 || byte == 0x7f)
            result += fmt::format("\\x{:02x}", byte);
        else
            result += c;
    }
    if (text.size() > longest) {
        // A cut inside a UTF-8 sequence would make the whole message invalid.
        while (!result.empty() && (static_cast<unsigned char>(result.back()) & 0xc0U) == 0x80U)
            result.pop_back();
        if (static_cast<unsigned char>(result.back()) >= 0xc0U)
            result.pop_back();
        result += "...";
    }
    return result + "'";
}

} // namespace upsweep::cli
