// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include <algorithm>
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

bool is_continuation(char c) { return (static_cast<unsigned char>(c) & 0xc0U) == 0x80U; }

// The length of the character of UTF-8 at the front; 0 where there is none, or a control character: those of ASCII, and
// U+0080 to U+009F, which terminals obey as well.
std::size_t printable_length(std::string_view text)
{
    const auto lead = static_cast<unsigned char>(text.front());
    if (lead < 0x80)
        return lead < 0x20 || lead == 0x7f ? 0 : 1;
    const std::size_t length = lead < 0xc2 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : lead < 0xf5 ? 4 : 0;
    if (length == 0 || length > text.size() || !std::all_of(text.begin() + 1, text.begin() + length, is_continuation))
        return 0;
    const bool control = lead == 0xc2 && static_cast<unsigned char>(text[1]) < 0xa0;
    return control ? 0 : length;
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

std::string escaped(std::string_view text)
{
    std::string result;
    while (!text.empty()) {
        const std::size_t length = printable_length(text);
        if (length > 0)
            result += text.substr(0, length);
        else
            result += fmt::format("\\x{:02x}", static_cast<unsigned char>(text.front()));
        text.remove_prefix(std::max<std::size_t>(length, 1));
    }
    return result;
}

std::string in_quotes(std::string_view text)
{
    constexpr std::size_t longest = 40;
    std::size_t length = std::min(text.size(), longest);
    // The cut is not inside of a UTF-8 sequence, which has up to three bytes after its first.
    for (int back = 0; back < 3 && length < text.size() && is_continuation(text[length]); ++back)
        --length;
    return '\'' + escaped(text.substr(0, length)) + (length < text.size() ? "...'" : "'");
}

} // namespace upsweep::files
