// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "variables.h"

#include <dwarf.h>
#include <elfutils/libdw.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "debug_info.h"

namespace upsweep::simulator {

namespace {

std::string_view name_of(Dwarf_Die& die)
{
    const char* name = dwarf_diename(&die);
    return name == nullptr ? std::string_view{} : name;
}

std::optional<Dwarf_Word> number(Dwarf_Die& die, unsigned attribute)
{
    Dwarf_Attribute held;
    Dwarf_Word word = 0;
    if (dwarf_attr_integrate(&die, attribute, &held) == nullptr || dwarf_formudata(&held, &word) != 0)
        return {};
    return word;
}

std::optional<Dwarf_Die> referred(Dwarf_Die& die, unsigned attribute)
{
    Dwarf_Attribute held;
    Dwarf_Die target;
    if (dwarf_attr_integrate(&die, attribute, &held) == nullptr || dwarf_formref_die(&held, &target) == nullptr)
        return {};
    return target;
}

// The type without its typedefs, const and volatile.
std::optional<Dwarf_Die> type_of(Dwarf_Die& die)
{
    auto type = referred(die, DW_AT_type);
    while (type) {
        const int tag = dwarf_tag(&*type);
        if (tag != DW_TAG_typedef && tag != DW_TAG_const_type && tag != DW_TAG_volatile_type)
            break;
        type = referred(*type, DW_AT_type);
    }
    return type;
}

template <class F>
void each_child(Dwarf_Die& die, F f)
{
    Dwarf_Die child;
    if (dwarf_child(&die, &child) != 0)
        return;
    do
        f(child);
    while (dwarf_siblingof(&child, &child) == 0);
}

std::size_t size_of(Dwarf_Die& type)
{
    Dwarf_Word size = 0;
    return dwarf_aggregate_size(&type, &size) == 0 ? size : 0;
}

// Appends which element of the array, which member of the struct, and so on, lies at the offset.
void append_element(std::string& text, Dwarf_Die type, std::size_t offset)
{
    for (;;) {
        const int tag = dwarf_tag(&type);
        if (tag == DW_TAG_array_type) {
            auto element = type_of(type);
            if (!element)
                return;
            std::vector<std::size_t> extents;
            each_child(type, [&](Dwarf_Die& dimension) {
                if (dwarf_tag(&dimension) != DW_TAG_subrange_type)
                    return;
                const auto count = number(dimension, DW_AT_count), last = number(dimension, DW_AT_upper_bound);
                extents.push_back(count ? *count : last ? *last + 1 : 0);
            });
            std::size_t stride = size_of(*element);
            for (std::size_t i = 1; i < extents.size(); ++i)
                stride *= extents[i];
            for (std::size_t i = 0; i < extents.size(); ++i) {
                if (stride == 0)
                    return;
                text += "[" + std::to_string(offset / stride) + "]";
                offset %= stride;
                if (i + 1 < extents.size())
                    stride /= std::max<std::size_t>(extents[i + 1], 1);
            }
            type = *element;
            continue;
        }
        if (tag != DW_TAG_structure_type && tag != DW_TAG_class_type && tag != DW_TAG_union_type)
            return;
        std::optional<Dwarf_Die> holder;
        std::size_t begin = 0;
        each_child(type, [&](Dwarf_Die& member) {
            if (holder || (dwarf_tag(&member) != DW_TAG_member && dwarf_tag(&member) != DW_TAG_inheritance))
                return;
            auto its_type = type_of(member);
            const std::size_t at = number(member, DW_AT_data_member_location).value_or(0);
            if (its_type && offset >= at && offset - at < size_of(*its_type)) {
                holder = member;
                begin = at;
            }
        });
        if (!holder)
            return;
        if (dwarf_tag(&*holder) == DW_TAG_member && !name_of(*holder).empty())
            text.append(".").append(name_of(*holder));
        type = *type_of(*holder);
        offset -= begin;
    }
}

// What the name of a symbol says: the name of the variable, and those of the function in which it is static.
struct symbol_name {
    std::string variable, function, mangled_function;
    bool is_piece = false; // of a variable that the compiler has taken apart
};

// "tree<int>(int*)" becomes "tree".
std::string plain_name(std::string_view function)
{
    constexpr std::string_view ending = " const";
    if (function.size() > ending.size() && function.substr(function.size() - ending.size()) == ending)
        function.remove_suffix(ending.size());
    int depth = 0;
    std::size_t begin = 0, end = function.npos;
    for (std::size_t i = function.size(); i-- > 0;) {
        const char c = function[i];
        if (c == ')' || c == '>' || c == '}')
            ++depth;
        if (c == '(' || c == '<' || c == '{') {
            --depth;
            if (depth == 0)
                end = i;
        }
        if (depth == 0 && (c == ':' || c == ' ')) {
            begin = i + 1;
            break;
        }
    }
    return std::string(function.substr(begin, end == function.npos ? end : end - begin));
}

symbol_name parsed(std::string_view symbol)
{
    for (std::string_view head : {"__emutls_v.", "__emutls_t."}) // in which clang keeps thread_local variables
        if (symbol.substr(0, head.size()) == head)
            symbol.remove_prefix(head.size());
    symbol_name found;
    if (const auto dot = symbol.find('.'); dot != symbol.npos) { // tile.0 of an extern "C" function, or a piece
        found.is_piece = symbol.substr(0, 2) == "_Z" && symbol.substr(0, 3) != "_ZZ";
        symbol = symbol.substr(0, dot);
    }
    std::string text = debug_info::demangled(std::string(symbol).c_str());
    int depth = 0;
    std::size_t begin = 0;
    for (std::size_t i = text.size(); i-- > 1;) {
        if (text[i] == '>' || text[i] == ')' || text[i] == '}')
            ++depth;
        if (text[i] == '<' || text[i] == '(' || text[i] == '{')
            --depth;
        if (depth == 0 && text[i] == ':' && text[i - 1] == ':') {
            begin = i + 1;
            break;
        }
    }
    found.variable = text.substr(begin);
    if (symbol.substr(0, 3) == "_ZZ") {
        const auto end = symbol.rfind("E" + std::to_string(found.variable.size()) + found.variable);
        if (end != symbol.npos && end > 3) {
            found.mangled_function = "_Z" + std::string(symbol.substr(3, end - 3));
            found.function = plain_name(std::string_view(text).substr(0, begin - 2));
        }
    }
    return found;
}

class variable_search {
public:
    explicit variable_search(symbol_name wanted) : wanted_(std::move(wanted)) {}

    std::optional<Dwarf_Die> in(Dwarf_Die& unit)
    {
        look(unit, wanted_.function.empty());
        return found_ ? found_ : elsewhere_;
    }
    bool is_exact() const { return found_.has_value(); }

private:
    void look(Dwarf_Die& die, bool right_scope)
    {
        each_child(die, [&](Dwarf_Die& child) {
            if (found_)
                return;
            switch (dwarf_tag(&child)) {
            case DW_TAG_variable:
                if (name_of(child) == wanted_.variable && type_of(child))
                    (right_scope ? found_ : elsewhere_) = child;
                break;
            case DW_TAG_subprogram: {
                Dwarf_Attribute held;
                const char* linkage = dwarf_attr_integrate(&child, DW_AT_linkage_name, &held) != nullptr
                                          ? dwarf_formstring(&held)
                                          : nullptr;
                // Functions that no other file can call have no mangled name here.
                const bool is_it = linkage != nullptr ? linkage == wanted_.mangled_function
                                                      : plain_name(name_of(child)) == wanted_.function;
                look(child, !wanted_.function.empty() && is_it);
                break;
            }
            case DW_TAG_lexical_block: look(child, right_scope); break;
            case DW_TAG_namespace:
            case DW_TAG_structure_type:
            case DW_TAG_class_type: look(child, wanted_.function.empty()); break;
            default: break;
            }
        });
    }

    symbol_name wanted_;
    std::optional<Dwarf_Die> found_, elsewhere_;
};

std::optional<Dwarf_Die> declaration_of(Dwfl_Module* module, const symbol_name& wanted)
{
    std::optional<Dwarf_Die> found;
    Dwarf_Addr bias = 0;
    for (Dwarf_Die* unit = nullptr; (unit = dwfl_module_nextcu(module, unit, &bias)) != nullptr;) {
        variable_search search(wanted);
        auto here = search.in(*unit);
        if (!here)
            continue;
        found = here;
        if (search.is_exact())
            break;
    }
    return found;
}

// The arrays without a length that are declared in a scope and not defined there: extern __shared__ int tile[].
void add_open_arrays(Dwarf_Die& scope, std::map<std::string, Dwarf_Die, std::less<>>& into)
{
    each_child(scope, [&](Dwarf_Die& child) {
        const int tag = dwarf_tag(&child);
        if (tag == DW_TAG_lexical_block || tag == DW_TAG_namespace)
            add_open_arrays(child, into);
        bool declared = false;
        Dwarf_Attribute held;
        if (tag != DW_TAG_variable || dwarf_attr_integrate(&child, DW_AT_declaration, &held) == nullptr ||
            dwarf_formflag(&held, &declared) != 0 || !declared)
            return;
        const char* file = dwarf_decl_file(&child);
        auto type = type_of(child);
        if (type && dwarf_tag(&*type) == DW_TAG_array_type &&
            (file == nullptr || std::string_view(file).substr(0, 13) != "/usr/include/"))
            into.emplace(name_of(child), child);
    });
}

// The compilation unit of an instruction, and the scopes around it.
std::pair<Dwarf_Die*, std::vector<Dwarf_Die>> scopes_around(std::uintptr_t pc)
{
    Dwfl_Module* module = debug_info::module_of(pc);
    Dwarf_Addr bias = 0;
    Dwarf_Die* unit = module == nullptr ? nullptr : dwfl_module_addrdie(module, pc, &bias);
    std::vector<Dwarf_Die> scopes;
    if (unit != nullptr)
        debug_info::enclosing(*unit, pc - bias, scopes);
    return {unit, scopes};
}

std::optional<Dwarf_Die> variable_in(Dwarf_Die& scope, const std::string& name)
{
    std::optional<Dwarf_Die> found;
    each_child(scope, [&](Dwarf_Die& child) {
        if (!found && dwarf_tag(&child) == DW_TAG_lexical_block)
            found = variable_in(child, name);
        if (found || dwarf_tag(&child) != DW_TAG_variable || name_of(child) != name)
            return;
        auto type = type_of(child); // a pointer of this name would be another variable
        if (type && dwarf_tag(&*type) != DW_TAG_pointer_type && dwarf_tag(&*type) != DW_TAG_reference_type)
            found = child;
    });
    return found;
}

// The variable of this name in the innermost function around an instruction that has one.
std::optional<Dwarf_Die> declaration_around(std::uintptr_t pc, const std::string& name)
{
    auto [unit, scopes] = scopes_around(pc);
    // NOLINTNEXTLINE(modernize-loop-convert): clang 14 cannot compile std::views::reverse
    for (auto scope = scopes.rbegin(); scope != scopes.rend(); ++scope) {
        if (auto found = variable_in(*scope, name))
            return found;
        if (auto origin = referred(*scope, DW_AT_abstract_origin))
            if (auto found = variable_in(*origin, name))
                return found;
    }
    return {};
}

std::optional<Dwarf_Die> open_array_around(std::uintptr_t pc)
{
    auto [unit, scopes] = scopes_around(pc);
    if (unit == nullptr)
        return {};
    std::map<std::string, Dwarf_Die, std::less<>> arrays;
    // NOLINTNEXTLINE(modernize-loop-convert): clang 14 cannot compile std::views::reverse
    for (auto scope = scopes.rbegin(); scope != scopes.rend() && arrays.empty(); ++scope) {
        add_open_arrays(*scope, arrays);
        if (auto origin = referred(*scope, DW_AT_abstract_origin); origin && arrays.empty())
            add_open_arrays(*origin, arrays);
    }
    if (arrays.empty())
        add_open_arrays(*unit, arrays);
    if (arrays.size() != 1) // among several nobody knows which one it is
        return {};
    return arrays.begin()->second;
}

variable_name element_at(const std::string& base, std::optional<Dwarf_Die> declaration, std::size_t offset)
{
    variable_name named{base, base};
    auto type = declaration ? type_of(*declaration) : std::nullopt;
    if (type)
        append_element(named.element, *type, offset);
    else if (offset != 0)
        named.element = "byte " + std::to_string(offset) + " of " + base;
    return named;
}

// The declaration is sought once for each symbol, because it means reading much of the debug information.
const std::pair<std::string, std::optional<Dwarf_Die>>& declaration_at(std::uintptr_t address,
                                                                       const std::string& symbol)
{
    static auto& known = *new std::map<std::string, std::pair<std::string, std::optional<Dwarf_Die>>, std::less<>>;
    auto found = known.find(symbol);
    if (found == known.end()) {
        const symbol_name wanted = parsed(symbol);
        found =
            known.emplace(symbol, std::pair(wanted.variable, declaration_of(debug_info::module_of(address), wanted)))
                .first;
    }
    return found->second;
}

} // namespace

variable_name static_variable(const void* place, std::size_t offset, std::uintptr_t pc)
{
    std::lock_guard lock(debug_info::guard());
    const auto address = reinterpret_cast<std::uintptr_t>(place);
    const auto found = debug_info::symbol_at(address);
    if (found.name == nullptr)
        return {};
    const std::string symbol = found.name;
    const std::size_t inside = address - found.begin;
    const symbol_name wanted = parsed(symbol);
    if (wanted.is_piece)
        return {wanted.variable, wanted.variable};
    if (pc != 0 && !wanted.function.empty())
        if (auto declaration = declaration_around(pc - 1, wanted.variable))
            return element_at(wanted.variable, declaration, offset + inside);
    const auto& [name, declaration] = declaration_at(address, symbol);
    return element_at(name, declaration, offset + inside);
}

variable_name variable_at(std::uintptr_t address)
{
    return static_variable(reinterpret_cast<const void*>(address), 0, 0);
}

variable_name dynamic_array(std::uintptr_t pc, const void* kernel, std::size_t offset)
{
    std::lock_guard lock(debug_info::guard());
    auto declaration = open_array_around(pc - 1);
    if (!declaration && kernel != nullptr)
        declaration = open_array_around(reinterpret_cast<std::uintptr_t>(kernel));
    if (!declaration)
        return {};
    return element_at(std::string(name_of(*declaration)), declaration, offset);
}

} // namespace upsweep::simulator
