// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "translate.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>

#include "declarations.h"
#include "inline_ptx.h"
#include "tokens.h"

namespace lab::program {

namespace {

#define RUNTIME "::upsweep::simulator::cuda::"

using tokens = std::vector<token>;

bool same_text(const tokens& a, span in_a, const tokens& b, span in_b)
{
    return std::equal(a.begin() + static_cast<long>(in_a.begin), a.begin() + static_cast<long>(in_a.end),
                      b.begin() + static_cast<long>(in_b.begin), b.begin() + static_cast<long>(in_b.end),
                      [](const token& x, const token& y) { return x.spelling == y.spelling; });
}

// ---- the host's and the device's side of one source ----

// Joins what two passes of the preprocessor made of one source. A function that both define has the body of the side that
// runs it, and both bodies where both do; what only one side declares is kept.
class two_sides {
public:
    // `device` is the list whose files the result refers to.
    two_sides(const token_list& host, token_list& device) : host_(host), device_(device)
    {
        for (const source_file& f : host.files) {
            const auto same = [&](const source_file& other) { return other.name == f.name; };
            auto known = std::find_if(device.files.begin(), device.files.end(), same);
            file_of_.push_back(static_cast<std::uint32_t>(known - device.files.begin()));
            if (known == device.files.end())
                device.files.push_back(f);
        }
    }

    tokens joined()
    {
        const auto of_host = declarations_of(host_.tokens), of_device = declarations_of(device_.tokens);
        std::map<key, std::vector<std::size_t>> places; // of the declarations of the host, in their order
        for (std::size_t i = 0; i < of_host.size(); ++i)
            places[key_of(host_.tokens, of_host[i], file_of_[file_at(host_.tokens, of_host[i])])].push_back(i);
        std::size_t next_host = 0;
        for (const declaration& d : of_device) {
            const auto& same = places[key_of(device_.tokens, d, file_at(device_.tokens, d))];
            const auto at = std::lower_bound(same.begin(), same.end(), next_host);
            if (at == same.end()) {
                take(device_.tokens, d.tokens);
                continue;
            }
            for (; next_host < *at; ++next_host)
                take_from_host(of_host[next_host].tokens);
            take_both(of_host[next_host++], d);
        }
        for (; next_host < of_host.size(); ++next_host)
            take_from_host(of_host[next_host].tokens);
        return std::move(out_);
    }

private:
    // Where a declaration begins, and its first words: enough to tell it from others on its line.
    using key = std::tuple<std::uint32_t, std::uint32_t, std::string>;

    static key key_of(const tokens& of, const declaration& d, std::uint32_t file)
    {
        std::string head;
        const std::size_t end = d.function ? d.function->parameters.end : d.tokens.end;
        for (std::size_t i = d.tokens.begin; i < end; ++i)
            head.append(of[i].spelling).push_back(' ');
        return {file, of[d.tokens.begin].line, std::move(head)};
    }
    static std::uint32_t file_at(const tokens& of, const declaration& d) { return of[d.tokens.begin].file; }

    void take(const tokens& from, span which)
    {
        out_.insert(out_.end(), from.begin() + static_cast<long>(which.begin),
                    from.begin() + static_cast<long>(which.end));
    }
    void take_from_host(span which)
    {
        for (std::size_t i = which.begin; i < which.end; ++i) {
            out_.push_back(host_.tokens[i]);
            out_.back().file = file_of_[out_.back().file];
        }
    }
    void say(std::string_view text)
    {
        token made = out_.back();
        made.kind = token_kind::punctuation;
        made.gap = " ";
        made.spelling = text;
        out_.push_back(made);
    }

    void take_both(const declaration& on_host, const declaration& on_device)
    {
        if (!on_device.function || !on_device.function->is_host || !on_host.function ||
            same_text(host_.tokens, on_host.function->body, device_.tokens, on_device.function->body))
            return take(device_.tokens, on_device.tokens);
        const function_parts &host = *on_host.function, &device = *on_device.function;
        take(device_.tokens, {on_device.tokens.begin, device.body.begin});
        if (device.is_device) {
            say("if (!__builtin_is_constant_evaluated() && ::upsweep::simulator::device::inside_kernel()) {");
            take(device_.tokens, device.body);
            say("} else {");
            take_from_host(host.body);
            say("}");
        } else {
            take_from_host(host.body);
        }
        take(device_.tokens, {device.body.end, on_device.tokens.end});
    }

    const token_list& host_;
    token_list& device_;
    std::vector<std::uint32_t> file_of_; // the device's index of each file of the host
    tokens out_;
};

// ---- kernels and launches ----

class translator {
public:
    translator(const tokens& from, const std::vector<source_file>& files)
        : from_(from), files_(files), before_(from.size() + 1), instead_(from.size())
    {
    }

    tokens done()
    {
        for (const declaration& d : declarations_of(from_)) {
            if (!d.function)
                continue;
            if (d.function->is_kernel)
                wrap_kernel(d);
            if (d.function->is_kernel || d.function->is_device)
                replace_ptx(d.function->body);
        }
        for (std::size_t i = 0; i + 2 < from_.size(); ++i)
            if (opens_launch(i))
                i = rewrite_launch(i);
        strip_qualifiers();
        return assembled();
    }

private:
    bool is(std::size_t i, std::string_view what) const { return i < from_.size() && from_[i].is(what); }
    std::size_t closing_of(std::size_t open) const
    {
        return static_cast<std::size_t>(closing(from_.begin() + static_cast<long>(open), from_.end()) - from_.begin());
    }
    std::string place_of(std::size_t i) const
    {
        const token& t = from_[std::min(i, from_.size() - 1)];
        return files_[t.file].name + ":" + std::to_string(t.line);
    }

    // The body becomes a function object. The stub copies the parameters into it, once for each launch, and each thread of the
    // grid runs a copy of its own.
    void wrap_kernel(const declaration& d)
    {
        std::string arguments;
        std::size_t number = 0;
        for (const parameter& p : parameters_of(from_, d.function->parameters)) {
            std::string name = p.name;
            if (name.empty()) {
                name = "upsweep_parameter_" + std::to_string(number);
                before_[p.place] += " " + name;
            }
            ++number;
            arguments += (arguments.empty() ? "" : ", ") + name;
        }
        const span body = d.function->body;
        before_[body.begin] += fmt::format(" " RUNTIME "kernel_stub upsweep_stub(__PRETTY_FUNCTION__); "
                                           "upsweep_stub.take({}); upsweep_stub.run([=]() mutable {{",
                                           arguments);
        before_[body.end] += " }); ";
    }

    bool opens_launch(std::size_t i) const
    {
        return is(i, "<") && is(i + 1, "<") && is(i + 2, "<") && !is(i + 3, "<") && i > 0 && !is(i - 1, "<") &&
               !is(i - 1, "operator");
    }

    // The index of the first token of the expression that names the kernel and ends before `end`.
    std::size_t start_of_kernel(std::size_t end) const
    {
        std::size_t i = end;
        for (;;) {
            i = start_of_operand(i);
            if (i == 0)
                return i;
            if (is(i - 1, "::")) {
                i -= 1; // of a namespace or class, or of the global namespace
                if (i == 0 || !(from_[i - 1].is_word() || is(i - 1, ">")) || is_keyword(i - 1))
                    return i;
            } else if (is(i - 1, ".") || is(i - 1, "->")) {
                i -= 1;
            } else {
                return is(i - 1, "template") ? i - 1 : i;
            }
        }
    }

    // One name with its template arguments, or one pair of parentheses, and the brackets and calls behind it.
    std::size_t start_of_operand(std::size_t end) const
    {
        std::size_t i = end;
        for (;;) {
            if (i > 0 && (is(i - 1, "]") || is(i - 1, ")"))) {
                i = opening_of(i - 1);
                if (is(i, "(") && (i == 0 || !(from_[i - 1].is_word() || is(i - 1, ">")) || is_keyword(i - 1)))
                    return i; // in parentheses, and no call
                continue;
            }
            if (i > 0 && is(i - 1, ">"))
                i = opening_angle(i - 1);
            return i > 0 && from_[i - 1].is_word() ? i - 1 : i;
        }
    }

    bool is_keyword(std::size_t i) const
    {
        static constexpr std::array<std::string_view, 8> words{"if",     "else", "for",    "while",
                                                               "return", "do",   "switch", "case"};
        return std::find(words.begin(), words.end(), from_[i].spelling) != words.end();
    }

    std::size_t opening_of(std::size_t close) const
    {
        int depth = 0;
        for (std::size_t i = close;; --i) {
            if (is(i, ")") || is(i, "]") || is(i, "}"))
                ++depth;
            else if ((is(i, "(") || is(i, "[") || is(i, "{")) && --depth == 0)
                return i;
            if (i == 0)
                return 0;
        }
    }

    std::size_t opening_angle(std::size_t close) const
    {
        int depth = 0;
        for (std::size_t i = close; i > 0; --i) {
            if (is(i, ")") || is(i, "]") || is(i, "}"))
                i = opening_of(i);
            else if (is(i, ">"))
                ++depth;
            else if (is(i, "<") && --depth == 0)
                return i;
        }
        return 0;
    }

    // The index of the last `>` of the >>> that ends a launch, which is followed by the arguments.
    std::size_t end_of_configuration(std::size_t open) const
    {
        for (std::size_t i = open + 3; i < from_.size(); ++i) {
            if (is(i, "(") || is(i, "[") || is(i, "{"))
                i = closing_of(i);
            else if (is(i, ";") || is(i, "}"))
                break;
            else if (is(i, ">") && is(i - 1, ">") && is(i - 2, ">") && is(i + 1, "("))
                return i;
        }
        throw syntax_error(place_of(open) + ": this launch has no >>> with arguments behind it");
    }

    std::size_t rewrite_launch(std::size_t open)
    {
        const std::size_t kernel = start_of_kernel(open);
        if (kernel == open)
            throw syntax_error(place_of(open) + ": nothing before <<< names a kernel");
        const std::size_t close = end_of_configuration(open);
        before_[kernel] += "(" RUNTIME "configure(";
        // The configuration is moved before the kernel, so that the expression of the kernel comes last and is called.
        for (std::size_t i = open + 3; i < close - 2; ++i) {
            before_[kernel] += from_[i].line != from_[i - 1].line && before_[kernel].back() != '(' ? " " : "";
            before_[kernel].append(from_[i].gap).append(from_[i].spelling);
            instead_[i] = "";
        }
        before_[kernel] += "), ";
        for (std::size_t i = open; i < open + 3; ++i)
            instead_[i] = "";
        for (std::size_t i = close - 2; i <= close; ++i)
            instead_[i] = "";
        before_[closing_of(close + 1) + 1].insert(0, ")");
        return close;
    }

    void replace_ptx(span body)
    {
        for (std::size_t i = body.begin; i < body.end; ++i) {
            if (!is(i, "asm") && !is(i, "__asm__") && !is(i, "__asm"))
                continue;
            std::size_t open = i + 1;
            while (open < body.end && from_[open].is_word())
                ++open; // volatile
            if (!is(open, "("))
                continue;
            const std::size_t close = closing_of(open);
            before_[i] += simulated_ptx(from_, {open + 1, close});
            for (; i <= close; ++i)
                instead_[i] = "";
        }
    }

    void strip_qualifiers()
    {
        static constexpr std::array<std::string_view, 3> erased{"__device__", "__host__", "__grid_constant__"};
        for (std::size_t i = 0; i < from_.size(); ++i) {
            if (from_[i].is("__global__")) // a stub knows by its address which kernel it is
                instead_[i] = "__attribute__((noinline, noclone))";
            else if (std::find(erased.begin(), erased.end(), from_[i].spelling) != erased.end())
                instead_[i] = "";
            else if (from_[i].is("__noinline__") && i > 0 && !is(i - 1, "(") && !is(i - 1, ","))
                instead_[i] = "__attribute__((noinline))"; // but not within the attributes of the standard library
            else if ((from_[i].is("thread_local") || from_[i].is("__thread")) && !is_of_others(i))
                place_specifiers(i);
        }
    }

    bool is_of_others(std::size_t i) const
    {
        const source_file& file = files_[from_[i].file];
        return file.is_system || file.name.find("/upsweep/simulator/") != file.name.npos;
    }

    // A variable of a host thread gets the one model of access that the assembler's stand-in knows. `__shared__ alignas(16)`,
    // which nvcc takes, has its alignment put where C++ has it.
    void place_specifiers(std::size_t thread_local_at)
    {
        std::size_t begin = thread_local_at;
        while (begin > 0 && is(begin - 1, ")") && begin > 1 && is(opening_of(begin - 1) - 1, "__attribute__"))
            begin = opening_of(begin - 1) - 1;
        if (begin == thread_local_at)
            before_[begin] += " __attribute__((tls_model(\"global-dynamic\"))) ";
        const std::size_t alignment = thread_local_at + 1;
        if (!is(alignment, "alignas") || !is(alignment + 1, "("))
            return;
        while (begin > 0 && (is(begin - 1, "static") || is(begin - 1, "extern")))
            --begin;
        for (std::size_t i = alignment, end = closing_of(alignment + 1); i <= end; ++i) {
            before_[begin] += std::string(from_[i].gap) + std::string(from_[i].spelling);
            instead_[i] = "";
        }
        before_[begin] += " ";
    }

    tokens assembled()
    {
        tokens out;
        const auto say = [&](std::string text, const token& where, std::string_view gap) {
            made_.push_back(std::move(text));
            out.push_back({token_kind::punctuation, made_.back(), gap, where.file, where.line});
        };
        for (std::size_t i = 0; i <= from_.size(); ++i) {
            const bool last = i == from_.size();
            if (!before_[i].empty())
                say(before_[i], last ? from_.back() : from_[i], last ? "" : from_[i].gap);
            if (last)
                break;
            if (!instead_[i])
                out.push_back(from_[i]);
            else if (!instead_[i]->empty())
                say(*instead_[i], from_[i], from_[i].gap);
        }
        return out;
    }

    const tokens& from_;
    const std::vector<source_file>& files_;
    std::vector<std::string> before_;                 // what is put in before each token
    std::vector<std::optional<std::string>> instead_; // what takes the place of a token
    std::deque<std::string> made_;                    // what the tokens refer to that are not in the source
};

} // namespace

std::string translated(const std::string& host, const std::string& device)
{
    token_list on_device(device);
    std::optional<token_list> on_host;
    tokens joined;
    if (host != device) {
        on_host.emplace(host);
        joined = two_sides(*on_host, on_device).joined();
    }
    const tokens& all = host == device ? on_device.tokens : joined;
    if (all.empty())
        return "\n";
    translator work(all, on_device.files);
    return text_of(work.done(), on_device.files);
}

} // namespace lab::program
