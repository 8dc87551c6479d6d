// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "sites.h"

#include <cxxabi.h>
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "debug_info.h"

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

// The functions and variables of a module, by their addresses. libdw looks through all symbols for each address that it is
// asked about.
class symbol_table {
public:
    explicit symbol_table(Dwfl_Module* module)
    {
        const int count = dwfl_module_getsymtab(module);
        for (int i = 1; i < count; ++i) {
            GElf_Sym symbol;
            GElf_Addr address = 0;
            const char* name = dwfl_module_getsym_info(module, i, &symbol, &address, nullptr, nullptr, nullptr);
            const auto type = GELF_ST_TYPE(symbol.st_info);
            if (name != nullptr && (type == STT_FUNC || type == STT_OBJECT) && symbol.st_shndx != SHN_UNDEF)
                entries_.push_back({{name, address}, symbol.st_size, GELF_ST_BIND(symbol.st_info) == STB_GLOBAL});
        }
        // Of several names of one place the last one is found: a global one, if there is one.
        std::ranges::stable_sort(entries_, {}, [](const entry& e) { return std::pair(e.found.begin, e.is_global); });
    }
    debug_info::symbol at(std::uintptr_t address) const
    {
        const auto next = std::ranges::upper_bound(entries_, address, {}, [](const entry& e) { return e.found.begin; });
        if (next == entries_.begin() || address - std::prev(next)->found.begin >= std::prev(next)->size)
            return {};
        return std::prev(next)->found;
    }

private:
    struct entry {
        debug_info::symbol found;
        std::size_t size;
        bool is_global;
    };
    std::vector<entry> entries_;
};

// A report may be made while the program exits, so that nothing of this is ever destroyed.
source_map& map()
{
    static auto& sources = *new source_map;
    return sources;
}

} // namespace

namespace debug_info {

std::mutex& guard()
{
    static auto& one = *new std::mutex;
    return one;
}

Dwfl_Module* module_of(std::uintptr_t address) { return map().module_of(address); }

symbol symbol_at(std::uintptr_t address)
{
    static auto& tables = *new std::unordered_map<Dwfl_Module*, symbol_table>;
    Dwfl_Module* module = module_of(address);
    if (module == nullptr)
        return {};
    return tables.try_emplace(module, module).first->second.at(address);
}

std::string demangled(const char* name)
{
    if (name == nullptr)
        return {};
    int status = 0;
    std::unique_ptr<char, void (*)(void*)> text(abi::__cxa_demangle(name, nullptr, nullptr, &status), std::free);
    return status == 0 ? text.get() : name;
}

// (dwarf_getscopes does not look into namespaces, where clang keeps its functions, nor into classes.)
bool enclosing(Dwarf_Die& die, Dwarf_Addr address, std::vector<Dwarf_Die>& scopes)
{
    Dwarf_Die child;
    if (dwarf_child(&die, &child) != 0)
        return false;
    do {
        const int tag = dwarf_tag(&child);
        const bool has_code =
            tag == DW_TAG_subprogram || tag == DW_TAG_lexical_block || tag == DW_TAG_inlined_subroutine;
        if (!has_code || dwarf_haspc(&child, address) <= 0) {
            // The call operator of a lambda is within the lambda's class, and that within the function around it.
            const bool may_hold_functions = tag == DW_TAG_namespace || tag == DW_TAG_subprogram ||
                                            tag == DW_TAG_lexical_block || tag == DW_TAG_structure_type ||
                                            tag == DW_TAG_class_type;
            if (may_hold_functions && enclosing(child, address, scopes))
                return true;
            continue;
        }
        scopes.push_back(child);
        enclosing(child, address, scopes);
        return true;
    } while (dwarf_siblingof(&child, &child) == 0);
    return false;
}

} // namespace debug_info

namespace {

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

// Where a function was called that the compiler has put in the place of the call.
location call_of(Dwarf_Die& unit, Dwarf_Die& inlined)
{
    auto value = [&](unsigned attribute) {
        Dwarf_Attribute held;
        Dwarf_Word word = 0;
        if (dwarf_formudata(dwarf_attr(&inlined, attribute, &held), &word) != 0)
            word = 0;
        return word;
    };
    Dwarf_Files* files = nullptr;
    dwarf_getsrcfiles(&unit, &files, nullptr);
    location where;
    if (const char* file = dwarf_filesrc(files, value(DW_AT_call_file), nullptr, nullptr))
        where.file = file;
    where.line = static_cast<int>(value(DW_AT_call_line));
    where.column = static_cast<int>(value(DW_AT_call_column));
    return where;
}

std::string name_of_function(std::uintptr_t address)
{
    return without_signature(debug_info::demangled(debug_info::symbol_at(address).name));
}

location resolve(std::uintptr_t return_address)
{
    location found;
    const Dwarf_Addr address = return_address - 1;
    Dwfl_Module* module = map().module_of(address);
    if (module == nullptr)
        return found;
    found.function = name_of_function(address);
    int line = 0, column = 0;
    if (Dwfl_Line* source = dwfl_module_getsrc(module, address))
        if (const char* file = dwfl_lineinfo(source, nullptr, &line, &column, nullptr, nullptr))
            found.file = file, found.line = line, found.column = column;
    if (!is_simulators_own(found.file))
        return found;

    Dwarf_Addr bias = 0;
    Dwarf_Die* unit = dwfl_module_addrdie(module, address, &bias);
    std::vector<Dwarf_Die> scopes;
    if (unit == nullptr || !debug_info::enclosing(*unit, address - bias, scopes))
        return found;
    // NOLINTNEXTLINE(modernize-loop-convert): clang 14 cannot compile std::views::reverse
    for (auto scope = scopes.rbegin(); scope != scopes.rend(); ++scope) {
        if (dwarf_tag(&*scope) != DW_TAG_inlined_subroutine)
            continue;
        const location call = call_of(*unit, *scope);
        if (call.file.empty() || is_simulators_own(call.file))
            continue;
        found.file = call.file;
        found.line = call.line;
        found.column = call.column;
        break;
    }
    return found;
}

} // namespace

const location& locate(std::uintptr_t return_address)
{
    static auto& known = *new std::unordered_map<std::uintptr_t, location>;
    std::lock_guard lock(debug_info::guard());
    auto found = known.find(return_address);
    if (found == known.end())
        found = known.emplace(return_address, return_address == 0 ? location{} : resolve(return_address)).first;
    return found->second;
}

bool debug_info_is_at_rest()
{
    std::unique_lock lock(debug_info::guard(), std::try_to_lock);
    return lock.owns_lock();
}

const std::string& function_name(const void* entry)
{
    static auto& known = *new std::unordered_map<const void*, std::string>; // each launch asks for its kernel's
    std::lock_guard lock(debug_info::guard());
    auto found = known.find(entry);
    if (found == known.end()) {
        const auto address = reinterpret_cast<std::uintptr_t>(entry);
        const bool has_module = map().module_of(address) != nullptr;
        found = known.emplace(entry, has_module ? name_of_function(address) : "kernel").first;
    }
    return found->second;
}

std::vector<call_level> call_levels(std::uintptr_t return_address)
{
    const location innermost = locate(return_address);
    std::lock_guard lock(debug_info::guard());
    const Dwarf_Addr address = return_address - 1;
    Dwfl_Module* module = map().module_of(address);
    Dwarf_Addr bias = 0;
    Dwarf_Die* unit = module == nullptr ? nullptr : dwfl_module_addrdie(module, address, &bias);
    std::vector<Dwarf_Die> scopes;
    if (unit == nullptr || !debug_info::enclosing(*unit, address - bias, scopes))
        return {};
    std::erase_if(scopes, [](Dwarf_Die& scope) { return dwarf_tag(&scope) == DW_TAG_lexical_block; });
    std::vector<call_level> levels;
    for (std::size_t i = 0; i < scopes.size(); ++i) {
        const location where = i + 1 < scopes.size() ? call_of(*unit, scopes[i + 1]) : innermost;
        if (is_simulators_own(where.file))
            break;
        levels.push_back({dwarf_dieoffset(&scopes[i]), where});
    }
    return levels;
}

std::uintptr_t start_of_function(std::uintptr_t pc)
{
    std::lock_guard lock(debug_info::guard());
    return debug_info::symbol_at(pc).begin;
}

} // namespace upsweep::simulator
