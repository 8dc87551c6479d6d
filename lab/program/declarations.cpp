// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "declarations.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace lab::program {

namespace {

template <std::size_t N>
bool is_among(const token& t, const std::array<std::string_view, N>& words)
{
    return t.is_word() && std::find(words.begin(), words.end(), t.spelling) != words.end();
}

constexpr std::array<std::string_view, 8> before_other_parentheses{
    "alignas", "__attribute__", "__attribute", "decltype", "noexcept", "requires", "explicit", "__launch_bounds__"};
constexpr std::array<std::string_view, 3> class_words{"class", "struct", "union"};

class reader {
public:
    explicit reader(const std::vector<token>& tokens) : tokens_(tokens) {}

    std::vector<declaration> all()
    {
        while (at_ < tokens_.size())
            read_one();
        return std::move(found_);
    }

private:
    bool is(std::size_t i, std::string_view what) const { return i < tokens_.size() && tokens_[i].is(what); }

    std::size_t after_closing(std::size_t open) const
    {
        const auto end = closing(tokens_.begin() + static_cast<long>(open), tokens_.end());
        return std::min(tokens_.size(), static_cast<std::size_t>(end - tokens_.begin()) + 1);
    }

    // The index after the template parameters or arguments that begin with the `<` at `open`.
    std::size_t after_angles(std::size_t open) const
    {
        int depth = 0;
        for (std::size_t i = open; i < tokens_.size();) {
            if (is(i, "(") || is(i, "[") || is(i, "{")) {
                i = after_closing(i);
                continue;
            }
            if (is(i, ";"))
                return i;
            if (is(i, "<"))
                ++depth;
            if (is(i, ">") && --depth == 0)
                return i + 1;
            ++i;
        }
        return tokens_.size();
    }

    void add(std::size_t end, std::optional<function_parts> function = {})
    {
        found_.push_back({{at_, end}, function});
        at_ = end;
    }

    void read_one()
    {
        if (tokens_[at_].kind == token_kind::directive || is(at_, "}") || is(at_, ";"))
            return add(at_ + 1);
        bool is_class = false, is_enum = false, is_linkage = false, has_value = false, in_initialisers = false;
        std::optional<span> parameters;
        std::size_t i = at_;
        while (i < tokens_.size()) {
            const token& t = tokens_[i];
            if (t.is(";"))
                return add(i + 1);
            if (t.is("}") || t.kind == token_kind::directive)
                return add(i); // of the enclosing namespace or class, or a pragma inside of a declaration
            if (t.is("template") && is(i + 1, "<")) {
                i = after_angles(i + 1);
            } else if (t.is("namespace")) {
                is_linkage = true;
                ++i;
            } else if (t.is("extern") && i + 2 < tokens_.size() && tokens_[i + 1].kind == token_kind::text &&
                       is(i + 2, "{")) {
                return add(i + 3);
            } else if (t.is("enum")) {
                is_enum = true;
                ++i;
            } else if (is_among(t, class_words)) {
                is_class = is_class || !parameters;
                ++i;
            } else if (t.is("operator")) {
                i += is(i + 1, "(") ? 3 : 2; // the parentheses of operator() are its name
                while (i < tokens_.size() && !is(i, "(") && !is(i, ";"))
                    ++i;
            } else if (t.is("=") && !has_value) {
                has_value = true;
                ++i;
            } else if (t.is("(")) {
                const bool of_function =
                    i > at_ && !parameters && !has_value && !is_among(tokens_[i - 1], before_other_parentheses);
                const std::size_t end = after_closing(i);
                if (of_function)
                    parameters = span{i + 1, end - 1};
                i = end;
            } else if (t.is("[")) {
                i = after_closing(i);
            } else if (t.is("<") && i > at_ && tokens_[i - 1].is_word() && !has_value) {
                i = after_angles(i);
            } else if (t.is(":") && parameters && !is_class) {
                in_initialisers = true;
                ++i;
            } else if (t.is("{")) {
                if (has_value || is_enum) {
                    i = after_closing(i);
                } else if (parameters) {
                    const std::size_t end = after_closing(i);
                    if (!in_initialisers || is(i - 1, ")") || is(i - 1, "}"))
                        return add(end, parts(*parameters, {i + 1, end - 1}));
                    i = end; // the braces of one member's initialiser
                } else if (is_class || is_linkage) {
                    return add(i + 1);
                } else {
                    i = after_closing(i); // the initialiser of a variable
                }
            } else {
                ++i;
            }
        }
        add(tokens_.size());
    }

    function_parts parts(span parameters, span body) const
    {
        function_parts out{parameters, body};
        bool says_host = false;
        for (std::size_t i = at_; i < body.begin; ++i) {
            out.is_kernel = out.is_kernel || tokens_[i].is("__global__");
            out.is_device = out.is_device || tokens_[i].is("__device__");
            says_host = says_host || tokens_[i].is("__host__");
        }
        out.is_host = says_host || (!out.is_kernel && !out.is_device);
        return out;
    }

    const std::vector<token>& tokens_;
    std::vector<declaration> found_;
    std::size_t at_ = 0;
};

constexpr std::array<std::string_view, 20> type_words{
    "const", "volatile", "unsigned", "signed", "int",        "char",     "short",        "long", "float",   "double",
    "bool",  "void",     "struct",   "class",  "__restrict", "typename", "__restrict__", "enum", "wchar_t", "auto"};

// The name of one parameter, whose tokens are given without its default value.
std::string name_of(const std::vector<token>& tokens, span declared)
{
    std::size_t types = 0; // names of types so far, a qualified one counted once
    std::string name;
    bool is_pack = false, has_type_word = false;
    for (std::size_t i = declared.begin; i < declared.end; ++i) {
        const token& t = tokens[i];
        if (t.is("(") && i + 1 < declared.end && (tokens[i + 1].is("*") || tokens[i + 1].is("&"))) {
            for (std::size_t j = i + 2; j < declared.end && !tokens[j].is(")"); ++j)
                if (tokens[j].is_word())
                    return std::string(tokens[j].spelling); // of a pointer to a function or to an array
            return {};
        }
        if (t.is("...")) {
            is_pack = true;
        } else if (t.is("[") || t.is("=")) {
            break;
        } else if (t.is("(")) { // of decltype, or an attribute
            i = static_cast<std::size_t>(closing(tokens.begin() + static_cast<long>(i), tokens.end()) - tokens.begin());
        } else if (t.is("<")) {
            int depth = 0;
            for (; i < declared.end; ++i) {
                depth += tokens[i].is("<") ? 1 : tokens[i].is(">") ? -1 : 0;
                if (depth == 0)
                    break;
            }
        } else if (is_among(t, type_words)) {
            static constexpr std::array<std::string_view, 8> no_types{
                "const", "volatile", "struct", "class", "enum", "__restrict__", "typename", "__restrict"};
            has_type_word = has_type_word || !is_among(t, no_types);
        } else if (t.is_word()) {
            if (i > declared.begin && tokens[i - 1].is("::"))
                continue;
            ++types;
            name = t.spelling;
        }
    }
    if (types == 0 || (types == 1 && !has_type_word))
        return {};
    return name + (is_pack ? "..." : "");
}

} // namespace

std::vector<declaration> declarations_of(const std::vector<token>& tokens) { return reader(tokens).all(); }

std::vector<parameter> parameters_of(const std::vector<token>& tokens, span parameters)
{
    std::vector<parameter> out;
    std::size_t begin = parameters.begin, end_of_declarator = parameters.begin;
    int angles = 0;
    bool has_default = false;
    const auto finish = [&](std::size_t end) {
        if (end == begin || (end == begin + 1 && tokens[begin].is("void")))
            return;
        const std::size_t declared = has_default ? end_of_declarator : end;
        std::size_t place = begin; // for a name: before the brackets of an array
        while (place < declared && !tokens[place].is("["))
            ++place;
        out.push_back({name_of(tokens, {begin, declared}), place});
    };
    for (std::size_t i = parameters.begin; i < parameters.end; ++i) {
        const token& t = tokens[i];
        if (t.is("(") || t.is("[") || t.is("{")) {
            i = static_cast<std::size_t>(closing(tokens.begin() + static_cast<long>(i), tokens.end()) - tokens.begin());
        } else if (t.is("=") && !has_default) {
            has_default = true;
            end_of_declarator = i;
        } else if (!has_default && (t.is("<") || t.is(">"))) {
            angles += t.is("<") ? 1 : -1;
        } else if (t.is(",") && angles == 0) {
            finish(i);
            begin = i + 1;
            has_default = false;
        }
    }
    finish(parameters.end);
    return out;
}

} // namespace lab::program
