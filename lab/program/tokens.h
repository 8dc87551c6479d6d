// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// The tokens of a C++ source that the compiler has preprocessed. Comments, macros and conditionals are gone; line markers
// tell where each token came from.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lab::program {

enum class token_kind : std::uint8_t { word, number, text, punctuation, directive };

struct token {
    token_kind kind{};
    std::string_view spelling;
    std::string_view gap;   // the white space before it on its line
    std::uint32_t file = 0; // the index of its file
    std::uint32_t line = 0; // in that file

    bool is(std::string_view what) const { return spelling == what && kind != token_kind::text; }
    bool is_word() const { return kind == token_kind::word; }
};

struct source_file {
    std::string name;
    bool is_system = false; // in a folder of the system or of the simulator
};

// Owns the text that its tokens refer to. Each `<` and each `>` is a token of its own, whatever stands beside it.
struct token_list {
    explicit token_list(std::string preprocessed); // the output of the compiler's option -E
    token_list(const token_list&) = delete;
    token_list& operator=(const token_list&) = delete;

    std::vector<token> tokens;
    std::vector<source_file> files;

private:
    void read_marker(std::string_view line, std::uint32_t& file, std::uint32_t& number);
    std::string text_;
};

using token_range = std::vector<token>::const_iterator;

// The bracket that closes the one at `open`, or `end`. Parentheses, brackets and braces nest; angle brackets do not count.
token_range closing(token_range open, token_range end);

// The text of the tokens, with markers where the next token is not where the text is. `files` are those of the tokens.
std::string text_of(const std::vector<token>& tokens, const std::vector<source_file>& files);

} // namespace lab::program
