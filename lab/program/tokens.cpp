// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "tokens.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>

namespace lab::program {

namespace {

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_word_part(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '_' || c == '$' ||
           static_cast<unsigned char>(c) >= 0x80;
}

// The end of a string or character literal whose opening quote stands at `begin`.
std::size_t end_of_literal(std::string_view s, std::size_t begin)
{
    std::size_t end = begin + 1;
    while (end < s.size() && s[end] != s[begin] && s[end] != '\n')
        end += s[end] == '\\' ? 2 : 1;
    return std::min(end + 1, s.size());
}

// The end of R"name(...)name", whose quote stands at `begin`.
std::size_t end_of_raw_string(std::string_view s, std::size_t begin)
{
    const std::size_t open = s.find('(', begin);
    if (open == s.npos)
        return s.size();
    const std::string ending = ")" + std::string(s.substr(begin + 1, open - begin - 1)) + '"';
    const std::size_t close = s.find(ending, open);
    return close == s.npos ? s.size() : close + ending.size();
}

bool is_literal_prefix(std::string_view word)
{
    static constexpr std::string_view prefixes[] = {"", "u8", "u", "U", "L"};
    return std::ranges::any_of(prefixes, [&](std::string_view prefix) {
        return word == prefix || (word.size() == prefix.size() + 1 && word.starts_with(prefix) && word.back() == 'R');
    });
}

std::size_t end_of_number(std::string_view s, std::size_t begin)
{
    std::size_t end = begin + 1;
    while (end < s.size()) {
        const char before = s[end - 1];
        const bool sign_of_exponent =
            (s[end] == '+' || s[end] == '-') && (before == 'e' || before == 'E' || before == 'p' || before == 'P');
        const bool separator = s[end] == '\'' && end + 1 < s.size() && is_word_part(s[end + 1]);
        if (!is_word_part(s[end]) && s[end] != '.' && !separator && !sign_of_exponent)
            break;
        ++end;
    }
    // The plus of 0x1e+2 is an operator, but no program has that.
    return end;
}

constexpr std::string_view long_punctuation[] = {"->*", "...", "::", "->", ".*", "##"};

} // namespace

void token_list::read_marker(std::string_view line, std::uint32_t& file, std::uint32_t& number)
{
    // # 12 "name" flags, where flag 3 tells of a system header
    const auto digits = line.find_first_of("0123456789");
    std::from_chars(line.data() + digits, line.data() + line.size(), number);
    const auto open = line.find('"');
    if (open == line.npos)
        return;
    const auto close = line.rfind('"');
    std::string name;
    for (std::size_t i = open + 1; i < close; ++i) {
        i += line[i] == '\\' ? 1 : 0;
        name += line[i];
    }
    const bool is_system = line.substr(close).find(" 3") != line.npos;
    const auto known = std::find_if(files.begin(), files.end(), [&](const source_file& f) { return f.name == name; });
    file = static_cast<std::uint32_t>(known - files.begin());
    if (known == files.end())
        files.push_back({std::move(name), is_system});
}

token_list::token_list(std::string preprocessed) : text_(std::move(preprocessed))
{
    const std::string_view s = text_;
    std::uint32_t file = 0, line = 1;
    bool at_line_start = true;
    std::size_t gap = 0;
    for (std::size_t i = 0; i < s.size();) {
        if (s[i] == '\n') {
            ++line;
            gap = ++i;
            at_line_start = true;
            continue;
        }
        if (is_blank(s[i])) {
            ++i;
            continue;
        }
        token next{token_kind::punctuation, {}, s.substr(gap, i - gap), file, line};
        std::size_t end = i + 1;
        if (s[i] == '#' && at_line_start) {
            end = std::min(s.find('\n', i), s.size());
            const std::string_view directive = s.substr(i, end - i);
            if (directive.size() > 2 && directive[1] == ' ' && is_digit(directive[2])) {
                read_marker(directive, file, line);
                i = std::min(end + 1, s.size()); // the marker tells of the line after it
                gap = i;
                continue;
            }
            next.kind = token_kind::directive;
        } else if (is_digit(s[i]) || (s[i] == '.' && i + 1 < s.size() && is_digit(s[i + 1]))) {
            end = end_of_number(s, i);
            next.kind = token_kind::number;
        } else if (is_word_part(s[i]) || s[i] == '"' || s[i] == '\'') {
            end = i;
            while (end < s.size() && is_word_part(s[end]))
                ++end;
            next.kind = token_kind::word;
            if (end < s.size() && (s[end] == '"' || s[end] == '\'') && is_literal_prefix(s.substr(i, end - i))) {
                const bool is_raw = end > i && s[end - 1] == 'R' && s[end] == '"';
                end = is_raw ? end_of_raw_string(s, end) : end_of_literal(s, end);
                next.kind = token_kind::text;
            }
        } else {
            for (const std::string_view known : long_punctuation)
                if (s.substr(i, known.size()) == known) {
                    end = i + known.size();
                    break;
                }
        }
        next.spelling = s.substr(i, end - i);
        tokens.push_back(next);
        line += static_cast<std::uint32_t>(std::count(next.spelling.begin(), next.spelling.end(), '\n'));
        i = gap = end;
        at_line_start = false;
    }
}

token_range closing(token_range open, token_range end)
{
    int depth = 0;
    for (auto at = open; at != end; ++at) {
        if (at->kind != token_kind::punctuation)
            continue;
        if (at->is("(") || at->is("[") || at->is("{"))
            ++depth;
        else if ((at->is(")") || at->is("]") || at->is("}")) && --depth == 0)
            return at;
    }
    return end;
}

std::string text_of(const std::vector<token>& tokens, const std::vector<source_file>& files)
{
    std::string out;
    std::uint32_t file = ~0u, line = 0;
    for (const token& t : tokens) {
        constexpr std::uint32_t shortest_jump = 8;
        const bool is_near = t.file == file && t.line >= line && t.line - line < shortest_jump;
        const bool own_line = t.kind == token_kind::directive;
        if (!is_near || (own_line && t.line == line && !out.empty() && out.back() != '\n')) {
            std::string name;
            for (const char c : files[t.file].name) {
                if (c == '"' || c == '\\')
                    name += '\\';
                name += c;
            }
            fmt::format_to(std::back_inserter(out), "{}# {} \"{}\"{}\n", out.empty() || out.back() == '\n' ? "" : "\n",
                           t.line, name, files[t.file].is_system ? " 3" : "");
        } else {
            out.append(t.line - line, '\n');
        }
        out += t.gap;
        out += t.spelling;
        file = t.file;
        line = t.line + static_cast<std::uint32_t>(std::count(t.spelling.begin(), t.spelling.end(), '\n'));
        if (own_line) {
            out += '\n';
            ++line;
        }
    }
    return out + "\n";
}

} // namespace lab::program
