// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "annotate.h"

#include <fmt/core.h>

#include <algorithm>
#include <fstream>
#include <string_view>
#include <utility>
#include <vector>

namespace lab {

namespace sim = upsweep::simulator;

std::string in_words(const sim::counters& c)
{
    std::string text;
    auto add = [&](const char* format, auto... values) {
        text += fmt::format("{}{}", text.empty() ? "" : ", ", fmt::format(fmt::runtime(format), values...));
    };
    if (c.global_load_accesses)
        add("{} loads in {} transactions", c.global_load_accesses, c.load_transactions);
    if (c.global_store_accesses)
        add("{} stores in {} transactions", c.global_store_accesses, c.store_transactions);
    if (c.bulk_copies)
        add("{} bulk copies in {} transactions", c.bulk_copies, c.transactions());
    if (c.shared_load_accesses + c.shared_store_accesses)
        add("{} shared", c.shared_load_accesses + c.shared_store_accesses);
    if (c.bank_conflicts)
        add("{} conflicts (worst {}-way)", c.bank_conflicts, c.worst_bank);
    if (c.atomic_accesses)
        add("{} atomics, up to {} at one address", c.atomic_accesses, c.worst_address);
    if (c.barriers)
        add("{} barriers", c.barriers);
    if (c.warp_barriers)
        add("{} syncwarps", c.warp_barriers);
    if (c.exchanges)
        add("{} exchanges", c.exchanges);
    if (c.fences)
        add("{} fences", c.fences);
    if (c.active_lanes < c.possible_lanes)
        add("{:.0f} % idle",
            100.0 * static_cast<double>(c.possible_lanes - c.active_lanes) / static_cast<double>(c.possible_lanes));
    return text;
}

namespace {

// The white space before a line's text; all of a blank line.
std::size_t indentation(const std::string& line) { return std::min(line.find_first_not_of(" \t"), line.size()); }
bool is_blank(const std::string& line) { return indentation(line) == line.size(); }

// The lines around one that belong to it: from the blank line before it to the brace that closes its block.
std::pair<int, int> surroundings(const std::vector<std::string>& source, int at)
{
    const auto line = [&](int number) -> const std::string& { return source[static_cast<std::size_t>(number) - 1]; };
    const auto closes = [&](const std::string& text) {
        return !is_blank(text) && text[indentation(text)] == '}' &&
               indentation(text) < std::max<std::size_t>(indentation(line(at)), 1);
    };
    int first = at, last = at;
    while (first > 1 && !is_blank(line(first - 1)))
        --first;
    const bool is_whole_function = indentation(line(at)) == 0 && line(at).ends_with('}');
    while (!is_whole_function && last < static_cast<int>(source.size()) && !closes(line(last)))
        ++last;
    return {first, last};
}

std::vector<std::string> lines_of(const std::filesystem::path& file)
{
    std::ifstream in(file);
    std::vector<std::string> lines;
    for (std::string text; std::getline(in, text);) {
        if (text.ends_with('\r'))
            text.pop_back();
        lines.push_back(std::move(text));
    }
    return lines;
}

} // namespace

std::string annotated(const std::map<int, sim::counters>& lines, const std::filesystem::path& source_file)
{
    const std::vector<std::string> source = lines_of(source_file);
    std::string out;
    int shown = 0;
    for (const auto& [number, counts] : lines) {
        if (number > static_cast<int>(source.size()) || number < 1) {
            out += fmt::format("{:>5}  {}\n", number, in_words(counts));
            continue;
        }
        auto [first, last] = surroundings(source, number);
        first = std::max(first, shown + 1);
        if (first > last)
            continue;
        if (shown != 0 && first > shown + 1)
            out += "\n";
        for (int i = first; i <= last; ++i) {
            const auto counted = lines.find(i);
            const std::string& text = source[static_cast<std::size_t>(i) - 1];
            out += counted == lines.end() ? fmt::format("{:>5}  {}\n", i, text)
                                          : fmt::format("{:>5}  {:<90} | {}\n", i, text, in_words(counted->second));
        }
        shown = last;
    }
    return out;
}

} // namespace lab
