// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "bar_plot.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/core.h>

#include "report.hpp"

namespace upsweep::cli {

std::string bar(double share, std::size_t width, bool unicode)
{
    const double length = share * static_cast<double>(width);
    if (length <= 0)
        return {};
    if (!unicode)
        return std::string(std::max<std::size_t>(static_cast<std::size_t>(std::lround(length)), 1), '#');

    static constexpr std::string_view eighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    const auto parts = std::max<std::size_t>(static_cast<std::size_t>(std::lround(length * 8)), 1);
    std::string result;
    for (std::size_t i = 0; i < parts / 8; ++i)
        result += "█";
    return result.append(eighths[parts % 8]);
}

std::size_t display_width(std::string_view text)
{
    return static_cast<std::size_t>(std::count_if(
        text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0U) != 0x80U; }));
}

std::string padded(std::string_view text, std::size_t width)
{
    const std::size_t used = display_width(text);
    return std::string(text).append(width > used ? width - used : 0, ' ');
}

std::string bar_plot(const std::vector<bar_row>& rows, std::size_t columns, bool unicode)
{
    std::size_t label_width = 0;
    std::size_t count_width = 0;
    std::uint64_t largest = 1;
    for (const bar_row& row : rows) {
        label_width = std::max(label_width, display_width(row.label));
        count_width = std::max(count_width, grouped(row.count).size());
        largest = std::max(largest, row.count);
    }
    constexpr std::size_t gaps = 4; // two spaces before the count, two before the bar
    const std::size_t used = label_width + count_width + gaps;
    const std::size_t bar_width = columns > used ? columns - used : 0;

    std::string plot;
    for (const bar_row& row : rows) {
        const double share = static_cast<double>(row.count) / static_cast<double>(largest);
        std::string line = fmt::format("{}  {:>{}}  {}", padded(row.label, label_width), grouped(row.count),
                                       count_width, bar_width > 0 ? bar(share, bar_width, unicode) : "");
        line.erase(line.find_last_not_of(' ') + 1);
        plot += line + '\n';
    }
    return plot;
}

std::uint64_t bins_per_row(std::uint64_t bins, std::size_t rows)
{
    const std::uint64_t most = std::max<std::uint64_t>(rows, 1);
    return std::max<std::uint64_t>((bins + most - 1) / most, 1);
}

} // namespace upsweep::cli
