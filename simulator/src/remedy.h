// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// What a learner should change: one sentence for each finding, which follows from its kind, from the memory that was
// accessed, and from whether the two threads share a warp, a block or only the grid.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "memory.h"
#include "upsweep/simulator/report.h"

namespace upsweep::simulator {

enum class memory_space : std::uint8_t { none, shared, dynamic_shared, global };
enum class relation : std::uint8_t { none, one_warp, one_block, two_blocks, copy };
enum class cause : std::uint8_t {
    none,
    past_the_end,
    before_the_beginning,
    freed,
    not_device_memory,
    ended_block,
    trap,
    too_much_shared,
    too_much_static_shared,
    exited,
    diverged,
    not_in_own_mask,
    source_takes_no_part
};
enum class data_hazard : std::uint8_t { none, read_after_write, write_after_read, write_after_write };

// What was accessed. It is named only when it is reported.
struct accessed {
    memory_space space = memory_space::none;
    const void* image = nullptr;      // of a shared variable
    const allocation* in = nullptr;   // of global memory
    std::size_t offset = 0, size = 0; // of the access in the variable or allocation; wraps where it begins before that
    std::size_t extent = 0;           // bytes of the variable or allocation

    const void* object() const { return space == memory_space::global ? static_cast<const void*>(in) : image; }
};

// What the checkers know of a finding beyond its text.
struct finding_facts {
    accessed what{};
    relation between{};
    data_hazard hazard{};
    cause why{};
    std::uintptr_t since = 0; // the barrier at which the interval between barriers began; 0: it is the kernel's first
    bool same_value = false;  // whether both threads wrote the same value each time
};

struct noted_finding {
    finding what;
    finding_facts facts;
    std::string variable_without_index{};
};

// What the remedies depend on beside the single findings.
struct remedy_context {
    // Instructions that read a word and then wrote it, in one thread, with no barrier in between and while others wrote it:
    // the read, and the write.
    std::set<std::pair<std::uintptr_t, std::uintptr_t>> updates;
    std::set<std::uintptr_t> repeated;      // instructions that some thread executed more than once
    std::set<std::uintptr_t> barriers;      // of blocks, at which some block was
    std::set<std::uintptr_t> several_warps; // accesses that more than one warp of a block has made
};

// Fills in the remedies. The places of the parties and the variables are known.
void add_remedies(std::vector<noted_finding>& findings, const remedy_context& context);

// For the findings of the host's calls, which have no facts.
std::string general_remedy(const finding& of);

} // namespace upsweep::simulator
