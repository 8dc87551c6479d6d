// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// A ladder is a list of kernels that compute the same. Each of its rungs mends a fault of the one before.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace lab {

struct task {
    unsigned n = 4096;
    unsigned block = 256;
    unsigned repetitions = 1; // more than one where it is timed
    unsigned input = 0;       // of those that the ladder has
};

// Applications of the operator and steps as functions of n, where the textbooks give them.
struct cost {
    std::function<double(double)> steps, work;
};

struct rung {
    std::string row;  // by which the lab book calls it: R4, S7, ...
    std::string name; // of the kernel
    std::string idea; // in one line
    // Runs it on the current device against the serial answer; false when the answer is wrong.
    std::function<bool(const task&)> run;
    // Runs it over at most 32 elements that remember where they came from; empty where no elements are combined.
    std::function<void(const task&)> trace = {};
    cost expected = {};
    std::string fault = {}; // of an exhibit: the finding that must be reported
};

// What the kernels of a ladder are given, where their costs depend on it.
struct input {
    std::string name, idea;
};

struct ladder {
    std::string name, title;
    std::vector<rung> rungs;
    std::vector<input> inputs = {}; // none where one stands for all

    // The number of a task's input. Throws std::invalid_argument that tells the names there are.
    unsigned input_named(const std::string& wanted) const;
};

ladder reduce_ladder();
ladder scan_ladder();
ladder histogram_ladder();
ladder segments_ladder();
ladder keys_ladder();
ladder image_ladder();
ladder exhibits();
const std::vector<ladder>& ladders();

// One application of the operator, as the trace saw it: the elements that had been folded into the left and into the right
// operand.
struct combination {
    std::uint64_t interval; // number of barriers before it
    unsigned block, thread;
    std::uint32_t left, right;
};
std::vector<combination>& combinations();

} // namespace lab
