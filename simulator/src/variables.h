// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Variables as the source names them: tile[3][5], totals.of_warp[2]. Their names and types are in the debug information.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace upsweep::simulator {

struct variable_name {
    std::string base;    // tile; empty when it was not found
    std::string element; // tile[19]
};

// The element at an offset of a variable that lies, or whose image lies, at an address of the program. The instruction that
// accesses it tells which of several variables of that name it is, if it is in the same function.
variable_name static_variable(const void* place, std::size_t offset, std::uintptr_t pc);
// The variable that holds an address of the program's data, and which element of it this is.
variable_name variable_at(std::uintptr_t address);
// The extern __shared__ array that is declared around an instruction, or in the file, or else in the kernel.
variable_name dynamic_array(std::uintptr_t pc, const void* kernel, std::size_t offset);

} // namespace upsweep::simulator
