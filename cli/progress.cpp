// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "progress.hpp"

#include <algorithm>
#include <cstdio>
#include <string>

#include <fmt/core.h>
#include <unistd.h>

#include "bar_plot.hpp"
#include "report.hpp"
#include "terminal.hpp"

namespace upsweep::cli {

progress::progress(std::optional<std::uint64_t> total)
    : total_(total), enabled_(is_terminal(STDERR_FILENO)), begin_(clock::now()), next_(begin_ + std::chrono::seconds(1))
{
}

progress::~progress()
{
    if (drawn_)
        std::fputs("\r\x1b[K", stderr); // carriage return, erase to the end of the line
}

void progress::advance(std::uint64_t bytes)
{
    done_ += bytes;
    if (!enabled_)
        return;
    const auto now = clock::now();
    if (now < next_)
        return;
    draw(now);
    next_ = now + std::chrono::milliseconds(100);
}

void progress::draw(clock::time_point now)
{
    const double seconds = std::chrono::duration<double>(now - begin_).count();
    std::string numbers = fmt::format("{}, {}/s", bytes_text(done_),
                                      bytes_text(static_cast<std::uint64_t>(static_cast<double>(done_) / seconds)));
    std::string line;
    if (total_ && *total_ > 0) {
        const double share = std::min(1.0, static_cast<double>(done_) / static_cast<double>(*total_));
        numbers = fmt::format(" {:3.0f} %  {}", share * 100, numbers);
        const std::size_t columns = screen_of(STDERR_FILENO).columns;
        const std::size_t width = std::min<std::size_t>(columns - std::min(columns, numbers.size() + 3), 50);
        const std::string filled = bar(share, width, locale_is_utf8());
        line = fmt::format("[{}]{}", padded(filled, width), numbers);
    } else {
        line = numbers;
    }
    std::fputs(("\r" + line + "\x1b[K").c_str(), stderr);
    drawn_ = true;
}

} // namespace upsweep::cli
