// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Where the declarations of a source begin and end, which of them are functions, and for which side of CUDA these are.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "tokens.h"

namespace lab::program {

// A range of tokens, by their indices; `end` is the index after the last one.
struct span {
    std::size_t begin = 0, end = 0;
};

struct function_parts {
    span parameters; // between the parentheses
    span body;       // between the braces
    bool is_kernel = false, is_device = false, is_host = false;
};

// One declaration in a namespace or class, or what opens or closes a namespace or class. All of them together are the
// whole source, in order.
struct declaration {
    span tokens;
    std::optional<function_parts> function; // of a definition of a function
};

std::vector<declaration> declarations_of(const std::vector<token>& tokens);

// The name of each parameter, with "..." behind the name of a pack; empty where a parameter has none.
struct parameter {
    std::string name;
    std::size_t place; // the index before which a name can be put in
};
std::vector<parameter> parameters_of(const std::vector<token>& tokens, span parameters);

} // namespace lab::program
