// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// This program stands between the compiler, which finds it through -B, and the assembler. It gives __shared__ variables
// their meaning, for which C++ has no storage class: static, and one for each block. The headers of the simulator spell
// __shared__ as thread_local. g++ takes the address of such a variable by one fixed sequence with a call (the global-dynamic
// model), and this program redirects the call to the simulator, which answers with the copy of the running block; clang
// calls a function that the simulator defines (-femulated-tls). An extern array that is nowhere defined becomes a weak
// symbol, whose address is null: by this the simulator recognises dynamic shared memory.
// Calls of memcpy, memset and memmove are redirected to the simulator as well, because clang calls no hooks for them; and so
// are those of the C library's functions that mean something else in a kernel (simulator/src/device_heap.cpp).
#include <sys/wait.h>
#include <unistd.h>

#include <cctype>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace {

bool starts_with(std::string_view text, std::string_view head) { return text.substr(0, head.size()) == head; }

std::string_view trimmed(std::string_view line)
{
    auto first = line.find_first_not_of(" \t");
    auto last = line.find_last_not_of(" \t\r");
    return first == line.npos ? std::string_view{} : line.substr(first, last - first + 1);
}

std::vector<std::string> read_lines(std::istream& in)
{
    std::vector<std::string> lines;
    for (std::string line; std::getline(in, line);)
        lines.push_back(line);
    return lines;
}

struct symbols {
    std::map<std::string, std::string, std::less<>> sizes;
    std::set<std::string, std::less<>> labels;
};

symbols collect_symbols(const std::vector<std::string>& lines)
{
    symbols found;
    for (const auto& line : lines) {
        auto text = trimmed(line);
        if (starts_with(text, ".size\t") || starts_with(text, ".size ")) {
            auto comma = text.find(',');
            if (comma != text.npos)
                found.sizes.emplace(trimmed(text.substr(6, comma - 6)), trimmed(text.substr(comma + 1)));
        } else if (auto colon = line.find(':');
                   colon != line.npos && !line.empty() && line[0] != '\t' && line[0] != '#') {
            found.labels.insert(line.substr(0, colon));
        }
    }
    return found;
}

// The section of a thread_local variable (.section .tbss.name,"awTG",...) becomes ordinary data: the image of the variable,
// by whose address the simulator finds the copy of each block.
std::string ordinary_section(std::string line)
{
    for (auto [tls, plain] : {std::pair{".tbss", ".bss.upsweep_shared"}, std::pair{".tdata", ".data.upsweep_shared"}})
        if (auto at = line.find(tls); at != line.npos)
            line.replace(at, std::string_view(tls).size(), plain);
    auto open = line.find('"');
    auto close = line.find('"', open + 1);
    if (auto flag = line.find('T', open); open != line.npos && flag < close)
        line.erase(flag, 1);
    return line;
}

std::string with_simulated_calls(std::string line)
{
    for (auto name : {"memcpy", "memset", "memmove", "malloc", "free", "clock", "_Znwm", "_Znam", "_ZdlPv", "_ZdlPvm",
                      "_ZdaPv", "_ZdaPvm"}) {
        auto at = line.find(name);
        if (at == line.npos || at == 0 || (line[at - 1] != '\t' && line[at - 1] != ' '))
            continue;
        auto end = at + std::string_view(name).size();
        if (end == line.size() || line[end] == '@')
            return line.insert(at, "upsweep_simulator_");
    }
    return line;
}

// clang emulates a thread_local variable by a control variable. That of an extern shared array is defined nowhere.
void note_emulated(std::string_view line, const symbols& known, std::set<std::string, std::less<>>& undefined)
{
    const auto begin = line.find("__emutls_v.");
    if (begin == line.npos)
        return;
    auto end = begin;
    while (end < line.size() &&
           (std::isalnum(static_cast<unsigned char>(line[end])) || line[end] == '_' || line[end] == '.'))
        ++end;
    const auto name = line.substr(begin, end - begin);
    if (!starts_with(name, "__emutls_v._ZSt") && known.labels.find(name) == known.labels.end())
        undefined.emplace(name);
}

void rewrite(const std::vector<std::string>& lines, std::ostream& out)
{
    const symbols known = collect_symbols(lines);
    std::set<std::string, std::less<>> undefined;
    bool inside_sequence = false;
    bool is_guard = false; // of a variable with a constructor, by which its first user constructs it
    for (const auto& line : lines) {
        auto text = trimmed(line);
        if (starts_with(text, ".section") && text.find("@llvm_") != text.npos)
            continue; // GNU as does not know these notes
        note_emulated(line, known, undefined);
        const auto access = line.find("@tlsgd(%rip), %rdi");
        std::string name;
        if (access != line.npos) {
            auto start = line.rfind("leaq", access) + 5;
            name = trimmed(std::string_view(line).substr(start, access - start));
        }
        if (access != line.npos && !starts_with(name, "_ZSt")) { // those of the standard library stay real
            auto size = known.sizes.find(name);
            if (!known.labels.contains(name))
                undefined.insert(name);
            out << "\tmovq\t" << name << "@GOTPCREL(%rip), %rdi\n\tmovl\t$"
                << (size == known.sizes.end() ? "0" : size->second) << ", %esi\n";
            inside_sequence = true;
            is_guard = starts_with(name, "_ZGV");
        } else if (inside_sequence) {
            if (text.find("__tls_get_addr") == text.npos)
                continue;
            out << "\tcall\tupsweep_simulator_" << (is_guard ? "guard" : "shared") << "_address@PLT\n";
            inside_sequence = false;
        } else if (line.find("@dtpoff") != line.npos) {
            out << "\t.quad\t0\n"; // a debugger would look here for the place of the variable, but it has several
        } else if (starts_with(text, ".section") &&
                   (text.find(".tbss") != text.npos || text.find(".tdata") != text.npos)) {
            out << ordinary_section(line) << '\n';
        } else if (starts_with(text, "call") || starts_with(text, "jmp")) {
            out << with_simulated_calls(line) << '\n';
        } else {
            out << line << '\n';
        }
    }
    for (const auto& name : undefined)
        out << "\t.weak\t" << name << '\n';
}

} // namespace

int main(int argc, char** argv)
{
    std::vector<std::string> arguments{"as"};
    std::string input = "-", output = "a.out";
    for (int i = 1; i < argc; ++i) {
        std::string argument = argv[i];
        if (argument == "-o" && i + 1 < argc) {
            output = argv[++i];
            arguments.insert(arguments.end(), {"-o", output});
        } else if (argument == "-I" && i + 1 < argc) {
            arguments.insert(arguments.end(), {"-I", argv[++i]});
        } else if (argument == "-" || argument[0] != '-') {
            input = argument;
        } else {
            arguments.push_back(argument);
        }
    }
    if (argc == 2 && arguments.size() == 2) { // --version, say
        execlp("as", "as", argv[1], static_cast<char*>(nullptr));
        return 127;
    }

    const std::string rewritten = output + ".upsweep.s";
    {
        std::ifstream file;
        if (input != "-")
            file.open(input);
        std::ofstream out(rewritten);
        if ((input != "-" && !file) || !out) {
            std::cerr << "as (upsweep simulator): cannot read " << input << " or write " << rewritten << '\n';
            return 1;
        }
        rewrite(read_lines(input == "-" ? std::cin : file), out);
    }
    arguments.push_back(rewritten);
    std::vector<char*> raw;
    for (auto& argument : arguments)
        raw.push_back(argument.data());
    raw.push_back(nullptr);
    const pid_t child = fork();
    if (child == 0) {
        execvp("as", raw.data());
        _exit(127);
    }
    int status = 1;
    waitpid(child, &status, 0);
    std::remove(rewritten.c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
