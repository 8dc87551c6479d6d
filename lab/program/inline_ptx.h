// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "declarations.h"
#include "tokens.h"

namespace lab::program {

// The C++ statement, without its semicolon, that does what an asm statement of a kernel does; `statement` is what stands
// between its parentheses. One instruction of those that programs write by hand is simulated. Any other text becomes a call
// that ends the kernel with a finding that shows the text, if it is ever reached.
std::string simulated_ptx(const std::vector<token>& tokens, span statement);

} // namespace lab::program
