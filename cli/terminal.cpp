// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "terminal.hpp"

#include <cstdint>
#include <cstdlib>
#include <string_view>

#include <langinfo.h>
#include <locale.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <upsweep/files.hpp>

namespace upsweep::cli {

namespace {

std::size_t from_environment(const char* name, std::size_t otherwise)
{
    constexpr std::uint64_t most = 65535; // which a terminal can tell of itself
    const char* const text = std::getenv(name);
    std::uint64_t value = 0;
    const bool possible = text != nullptr && files::parse_number(text, value) == files::number_error::none;
    return possible && value > 0 && value <= most ? static_cast<std::size_t>(value) : otherwise;
}

} // namespace

bool is_terminal(int descriptor) { return ::isatty(descriptor) == 1; }

screen screen_of(int descriptor)
{
    screen result;
    winsize size{};
    if (::ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 && size.ws_row > 0)
        result = {size.ws_col, size.ws_row};
    return {from_environment("COLUMNS", result.columns), from_environment("LINES", result.rows)};
}

bool locale_is_utf8()
{
    // A locale object of its own: the process as a whole stays in the C locale, whose numbers have a point.
    static const bool utf8 = [] {
        const locale_t user = ::newlocale(LC_CTYPE_MASK, "", nullptr);
        if (user == nullptr)
            return false;
        const bool is_utf8 = std::string_view(::nl_langinfo_l(CODESET, user)) == "UTF-8";
        ::freelocale(user);
        return is_utf8;
    }();
    return utf8;
}

} // namespace upsweep::cli
