// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// The tables and pictures of the lab book are what the laboratory prints. With UPSWEEP_UPDATE_BOOK set in the
// environment, this test writes them anew.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
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

// What stands for a marker such as "table: reduce 4096 256 sm_90".
std::string printed(const std::string& marker)
{
    std::istringstream words(marker);
    std::string what, name;
    lab::settings how;
    words >> what >> name >> how.what.n >> how.what.block >> how.geometry;
    if (what == "brent")
        return lab::brent_table(ladder_named("scan"));
    if (what == "table:") {
        std::vector<lab::measurement> rows;
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
    EXPECT_EQ(markers, 9);
}
