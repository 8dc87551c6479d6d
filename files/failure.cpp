// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include <system_error>

#include <fmt/core.h>
#include <upsweep/files.hpp>

namespace upsweep::files {

namespace {

std::string message_of(const std::string& file, const place& where, const std::string& reason)
{
    if (where.line)
        return fmt::format("{}: line {}: {}", file, *where.line, reason);
    if (where.byte)
        return fmt::format("{}: byte {}: {}", file, *where.byte, reason);
    return fmt::format("{}: {}", file, reason);
}

} // namespace

failure::failure(const std::string& file, const place& where, const problem& what)
    : std::runtime_error(message_of(file, where, what.reason)), file_(file), where_(where), problem_(what)
{
}

failure system_failure(const std::string& file, std::string_view what, int error_number)
{
    return failure(file, {}, {fmt::format("{}: {}", what, std::generic_category().message(error_number))});
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

} // namespace upsweep::files
