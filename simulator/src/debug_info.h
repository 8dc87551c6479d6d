// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Access to the debug information of the running program, which is read when something is reported.
#pragma once

#include <elfutils/libdwfl.h>

#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

namespace upsweep::simulator::debug_info {

std::mutex& guard(); // held while any of the following is in use
Dwfl_Module* module_of(std::uintptr_t address);
// The function or variable in which an address lies; without a name if there is none.
struct symbol {
    const char* name = nullptr;
    std::uintptr_t begin = 0;
};
symbol symbol_at(std::uintptr_t address);
std::string demangled(const char* name);
// The functions, blocks and inlined calls around an instruction, outermost first.
bool enclosing(Dwarf_Die& die, Dwarf_Addr address, std::vector<Dwarf_Die>& scopes);

} // namespace upsweep::simulator::debug_info
