// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "rewrite.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <stdexcept>
#include <vector>

namespace lab {

namespace {

// Marks the characters that are code, which those of comments and of string and character literals are not.
std::vector<bool> code_of(const std::string& s)
{
    std::vector<bool> code(s.size(), true);
    auto mark = [&](std::size_t from, std::size_t to) {
        std::fill(code.begin() + static_cast<long>(from), code.begin() + static_cast<long>(std::min(to, s.size())),
                  false);
    };
    for (std::size_t i = 0; i < s.size();) {
        std::size_t end = i + 1;
        if (s.compare(i, 2, "//") == 0) {
            end = std::min(s.find('\n', i), s.size());
            mark(i, end);
        } else if (s.compare(i, 2, "/*") == 0) {
            end = s.find("*/", i + 2);
            end = end == s.npos ? s.size() : end + 2;
            mark(i, end);
        } else if (s.compare(i, 2, "R\"") == 0 && (i == 0 || !std::isalnum(static_cast<unsigned char>(s[i - 1])))) {
            const auto open = s.find('(', i);
            std::string ending(1, ')');
            if (open != s.npos)
                ending.append(s, i + 2, open - i - 2).push_back('"');
            const auto close = open == s.npos ? s.npos : s.find(ending, open);
            end = close == s.npos ? s.size() : close + (open - i - 2) + 2;
            mark(i, end);
        } else if (s[i] == '"' || (s[i] == '\'' && (i == 0 || !std::isalnum(static_cast<unsigned char>(s[i - 1]))))) {
            while (end < s.size() && s[end] != s[i] && s[end] != '\n')
                end += s[end] == '\\' ? 2 : 1;
            mark(i, ++end);
        }
        i = end;
    }
    return code;
}

bool part_of_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

// Where the name of the kernel begins, with its namespaces and template arguments. It ends before `end`.
std::size_t start_of_kernel(const std::string& s, std::size_t end)
{
    auto skip_space = [&](std::size_t i) {
        while (i > 0 && std::isspace(static_cast<unsigned char>(s[i - 1])))
            --i;
        return i;
    };
    std::size_t i = skip_space(end);
    for (;;) {
        if (i > 0 && s[i - 1] == '>') {
            int depth = 0;
            do {
                --i;
                if (s[i] == '>')
                    ++depth;
                if (s[i] == '<')
                    --depth;
            } while (i > 0 && depth > 0);
            i = skip_space(i);
        }
        while (i > 0 && part_of_name(s[i - 1]))
            --i;
        if (i >= 2 && s.compare(i - 2, 2, "::") == 0)
            i = skip_space(i - 2);
        else
            return i;
    }
}

std::size_t line_at(const std::string& s, std::size_t at)
{
    return static_cast<std::size_t>(std::count(s.begin(), s.begin() + static_cast<long>(at), '\n')) + 1;
}

} // namespace

std::string rewrite_launches(const std::string& source)
{
    const auto code = code_of(source);
    std::string out;
    std::size_t copied = 0;
    for (std::size_t open = source.find("<<<"); open != source.npos; open = source.find("<<<", open + 3)) {
        if (!code[open])
            continue;
        const std::size_t start = start_of_kernel(source, open);
        if (start == open)
            continue;
        std::size_t close = open + 3;
        while (close < source.size() && !(code[close] && source.compare(close, 3, ">>>") == 0))
            ++close;
        if (close >= source.size())
            throw std::invalid_argument("line " + std::to_string(line_at(source, open)) + ": this launch has no >>>");
        std::string kernel = source.substr(start, open - start);
        while (!kernel.empty() && std::isspace(static_cast<unsigned char>(kernel.back())))
            kernel.pop_back();
        std::string shown;
        for (char c : kernel)
            shown += c == '\n' ? ' ' : c;
        out += source.substr(copied, start - copied);
        out += fmt::format("::upsweep::simulator::cuda::named_launch(\"{}\", [&](auto... upsweep_arguments) "
                           "{{ {}(upsweep_arguments...); }}, {})",
                           shown, kernel, source.substr(open + 3, close - open - 3));
        copied = close + 3;
        open = close;
    }
    return out + source.substr(copied);
}

} // namespace lab
