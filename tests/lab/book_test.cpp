// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// The tables and pictures of the lab book are what the laboratory prints. With UPSWEEP_UPDATE_BOOK set in the
// environment, this test writes them anew.
#include <gtest/gtest.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "measure.h"

namespace {

const lab::ladder& ladder_named(const std::string& name)
{
    for (const auto& l : lab::ladders())
        if (l.name == name)
            return l;
    throw std::logic_error("no ladder " + name);
}

std::vector<nlohmann::json> stored_rows(const std::string& machine)
{
    std::ifstream in(std::string(STORED_RESULTS) + "/" + machine + "/lab.jsonl");
    std::vector<nlohmann::json> rows;
    for (std::string line; std::getline(in, line);)
        rows.push_back(nlohmann::json::parse(line));
    return rows;
}

// Mark Harris, "Optimizing Parallel Reduction in CUDA": GB/s for 2^22 integers on a G80.
double by_harris(const std::string& row)
{
    static const std::map<std::string, double> known{{"R6", 2.083},  {"R5", 4.854},   {"R7", 9.741},  {"R8", 17.377},
                                                     {"R9", 31.289}, {"R10", 43.996}, {"R11", 62.671}};
    const auto found = known.find(row);
    return found == known.end() ? 0 : found->second;
}

// What a GPU measured for so many elements of an input, or for as many as a kernel was given.
std::string measured(const std::string& machine, const std::string& ladder, unsigned n, const std::string& input,
                     bool harris)
{
    std::string out = fmt::format("{:<4} {:<31} {:>9} {:>5} {:>8} {:>9} {:>8} {:>6}{}\n", "row", "kernel", "elements",
                                  "block", "launches", "ms", "GB/s", "roof%", harris ? "  G80 GB/s" : "");
    const auto rows = stored_rows(machine);
    std::string fastest;
    double least = INFINITY;
    for (const auto& r : ladder_named(ladder).rungs) {
        const nlohmann::json* shown = nullptr;
        for (const auto& row : rows)
            if (row.at("row") == r.row && row.at("kernel") == r.name && row.value("input", "") == input &&
                row.at("size") <= n && (shown == nullptr || row.at("size") > shown->at("size")))
                shown = &row;
        if (shown == nullptr)
            throw std::logic_error("no result of " + r.name);
        const double ms = shown->at("ms");
        if (shown->at("size") == n && ms < least) {
            least = ms;
            fastest = r.name;
        }
        out += fmt::format("{:<4} {:<31} {:>9} {:>5} {:>8} {:>9.4f} {:>8.1f} {:>6.1f}{}\n", r.row, r.name,
                           shown->at("n").get<unsigned>(), shown->at("block").get<unsigned>(),
                           shown->at("launches").get<unsigned>(), ms, shown->at("gbps").get<double>(),
                           100 * shown->at("share_of_roof").get<double>(),
                           harris && by_harris(r.row) > 0 ? fmt::format("  {:>8.1f}", by_harris(r.row)) : "");
    }
    if (ladder == "scan")
        out += fmt::format("S8, measured: the least time for {} elements has {}\n", n, fastest);
    return out;
}

// What stands for a marker such as "table: reduce 4096 256 sm_90", or with the name of an input behind it.
std::string printed(const std::string& marker)
{
    std::istringstream words(marker);
    std::string what, name, ladder, input;
    lab::settings how;
    words >> what >> name;
    if (what == "measured:") {
        words >> ladder >> how.what.n >> input;
        return measured(name, ladder, how.what.n, input == "harris" ? "" : input, input == "harris");
    }
    words >> how.what.n >> how.what.block >> how.geometry >> input;
    if (what == "brent")
        return lab::brent_table(ladder_named("scan"));
    if (what == "table:") {
        std::vector<lab::measurement> rows;
        if (!input.empty())
            how.what.input = ladder_named(name).input_named(input);
        for (const auto& r : ladder_named(name).rungs)
            rows.push_back(lab::measure(r, how));
        return lab::table_of(rows);
    }
    for (const auto& l : lab::ladders())
        for (const auto& r : l.rungs)
            if (what == "flow:" && r.name == name)
                return lab::data_flow(r, how.what);
    throw std::logic_error("an unknown marker: " + marker);
}

std::string read(const std::filesystem::path& file)
{
    std::ifstream in(file);
    std::ostringstream text;
    text << in.rdbuf();
    return text.str();
}

// The text with every marker followed by a fresh block; blocks that stand there already are replaced.
std::string renewed(const std::string& text, int& markers)
{
    std::istringstream in(text);
    std::string out, line;
    while (std::getline(in, line)) {
        out += line + "\n";
        if (line.rfind("<!-- ", 0) != 0)
            continue;
        ++markers;
        out += "```\n" + printed(line.substr(5, line.size() - 9)) + "```\n";
        const auto rest = in.tellg();
        if (std::getline(in, line) && line == "```") {
            while (std::getline(in, line) && line != "```") {
            }
        } else {
            in.seekg(rest);
        }
    }
    return out;
}

} // namespace

TEST(book, prints_what_the_laboratory_prints)
{
#ifdef __clang__
    GTEST_SKIP() << "the book is printed by the build with g++; where lanes rejoin after a branch in a loop depends on "
                    "the compiler";
#endif
    int markers = 0;
    for (const auto& entry : std::filesystem::directory_iterator(LAB_BOOK)) {
        const auto text = read(entry.path());
        const auto fresh = renewed(text, markers);
        if (std::getenv("UPSWEEP_UPDATE_BOOK") != nullptr)
            std::ofstream(entry.path()) << fresh;
        else
            EXPECT_EQ(text, fresh) << entry.path();
    }
    EXPECT_EQ(markers, 31);
}

TEST(stored_results, are_right_and_below_the_roof)
{
    int rows = 0;
    for (const auto& machine : std::filesystem::directory_iterator(STORED_RESULTS))
        for (const auto& row : stored_rows(machine.path().filename())) {
            ++rows;
            EXPECT_TRUE(row.at("right")) << row;
            EXPECT_LT(row.at("share_of_roof"), 1.1) << row;
        }
    EXPECT_GT(rows, 0);
}
