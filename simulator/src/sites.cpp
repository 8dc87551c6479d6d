// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "sites.h"

#include <cxxabi.h>
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <mutex>

namespace upsweep::simulator {

namespace {

// Reads the debug information of the running program and of what it loads later.
class source_map {
public:
    source_map()
    {
        static char* search_path = nullptr;
        static const Dwfl_Callbacks callbacks{dwfl_linux_proc_find_elf, dwfl_standard_find_debuginfo, nullptr,
                                              &search_path};
        session_ = dwfl_begin(&callbacks);
        refresh();
    }
    ~source_map() { dwfl_end(session_); }

    Dwfl_Module* module_of(std::uintptr_t address)
    {
        auto* module = dwfl_addrmodule(session_, address);
        if (module == nullptr) {
            refresh();
            module = dwfl_addrmodule(session_, address);
        }
        return module;
    }

private:
    void refresh()
    {
        dwfl_report_begin_add(session_);
        dwfl_linux_proc_report(session_, getpid());
        dwfl_report_end(session_, nullptr, nullptr);
    }
    Dwfl* session_;
};

std::mutex guard;

source_map& map()
{
    static source_map sources;
    return sources;
}

std::string demangled(const char* name)
{
    if (name == nullptr)
        return {};
    int status = 0;
    std::unique_ptr<char, void (*)(void*)> text(abi::__cxa_demangle(name, nullptr, nullptr, &status), std::free);
    return status == 0 ? text.get() : name;
}

// "void f<int>(int*)" becomes "f<int>".
std::string without_signature(std::string name)
{
    int depth = 0;
    for (std::size_t i = name.size(); i-- > 0;) {
        if (name[i] == ')')
            ++depth;
        if (name[i] == '(' && --depth == 0) {
            name.resize(i);
            break;
        }
    }
    depth = 0;
    for (std::size_t i = name.size(); i-- > 0;) {
        if (name[i] == '>' || name[i] == ')')
            ++depth;
        if (name[i] == '<' || name[i] == '(')
            --depth;
        if (name[i] == ' ' && depth == 0)
            return name.substr(i + 1);
    }
    return name;
}

bool is_simulators_own(const std::string& file)
{
    return file.find("simulator/include/") != file.npos || file.find("/upsweep/simulator/") != file.npos ||
           file.find("/upsweep/lab/include/") != file.npos || // the folder of the installed headers
           file.find("/usr/include/c++/") != file.npos;
}

// The functions, blocks and inlined calls around an instruction, outermost first. (dwarf_getscopes does not look into
// namespaces, where clang keeps its functions.)
bool enclosing(Dwarf_Die& die, Dwarf_Addr address, std::vector<Dwarf_Die>& scopes)
{
    Dwarf_Die child;
    if (dwarf_child(&die, &child) != 0)
        return false;
    do {
        const int tag = dwarf_tag(&child);
        if (tag == DW_TAG_namespace && enclosing(child, address, scopes))
            return true;
        if (tag != DW_TAG_subprogram && tag != DW_TAG_lexical_block && tag != DW_TAG_inlined_subroutine)
            continue;
        if (dwarf_haspc(&child, address) <= 0)
            continue;
        scopes.push_back(child);
        enclosing(child, address, scopes);
        return true;
    } while (dwarf_siblingof(&child, &child) == 0);
    return false;
}

location resolve(std::uintptr_t return_address)
{
    location found;
    const Dwarf_Addr address = return_address - 1;
    Dwfl_Module* module = map().module_of(address);
    if (module == nullptr)
        return found;
    found.function = without_signature(demangled(dwfl_module_addrname(module, address)));
    int line = 0, column = 0;
    if (Dwfl_Line* source = dwfl_module_getsrc(module, address))
        if (const char* file = dwfl_lineinfo(source, nullptr, &line, &column, nullptr, nullptr))
            found.file = file, found.line = line, found.column = column;
    if (!is_simulators_own(found.file))
        return found;

    Dwarf_Addr bias = 0;
    Dwarf_Die* unit = dwfl_module_addrdie(module, address, &bias);
    std::vector<Dwarf_Die> scopes;
    if (unit == nullptr || !enclosing(*unit, address - bias, scopes))
        return found;
    Dwarf_Files* files = nullptr;
    dwarf_getsrcfiles(unit, &files, nullptr);
    // NOLINTNEXTLINE(modernize-loop-convert): clang 14 cannot compile std::views::reverse
    for (auto scope = scopes.rbegin(); scope != scopes.rend(); ++scope) {
        if (dwarf_tag(&*scope) != DW_TAG_inlined_subroutine)
            continue;
        auto value = [&](unsigned attribute) {
            Dwarf_Attribute held;
            Dwarf_Word word = 0;
            if (dwarf_formudata(dwarf_attr(&*scope, attribute, &held), &word) != 0)
                word = 0;
            return word;
        };
        const char* file = dwarf_filesrc(files, value(DW_AT_call_file), nullptr, nullptr);
        if (file == nullptr || is_simulators_own(file))
            continue;
        found.file = file;
        found.line = static_cast<int>(value(DW_AT_call_line));
        found.column = static_cast<int>(value(DW_AT_call_column));
        break;
    }
    return found;
}

} // namespace

const location& locate(std::uintptr_t return_address)
{
    static std::unordered_map<std::uintptr_t, location> known;
    std::lock_guard lock(guard);
    auto found = known.find(return_address);
    if (found == known.end())
        found = known.emplace(return_address, return_address == 0 ? location{} : resolve(return_address)).first;
    return found->second;
}

std::string function_name(const void* entry)
{
    std::lock_guard lock(guard);
    const auto address = reinterpret_cast<Dwarf_Addr>(entry);
    Dwfl_Module* module = map().module_of(address);
    return module == nullptr ? "kernel" : without_signature(demangled(dwfl_module_addrname(module, address)));
}

} // namespace upsweep::simulator
