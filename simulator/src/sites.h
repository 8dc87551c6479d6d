// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// The table of the instructions that were issued. They are resolved to source lines only when something is reported.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "upsweep/simulator/report.h"

namespace upsweep::simulator {

// The position of an instruction in the source: the innermost one that is not in a header of the simulator.
const location& locate(std::uintptr_t return_address);
const std::string& function_name(const void* entry);
bool debug_info_is_at_rest(); // whether no thread is reading it

struct allocation;
// The function in which an instruction is, and those that the compiler has put into one another there, outermost first: which
// copy of the function it is, and at which of its lines.
struct call_level {
    std::uint64_t copy;
    location where;
};
std::vector<call_level> call_levels(std::uintptr_t return_address);
std::uintptr_t start_of_function(std::uintptr_t pc); // in which the instruction is; 0 when it is not known

struct site {
    std::uintptr_t pc = 0;
    counters counts;
    allocation* near = nullptr;    // what the instruction accessed last
    std::uint32_t last_warp = ~0u; // the first thread of the warp that accessed memory here last
    bool several_warps = false;    // whether different warps of a block have
    bool guesses = false;          // whether a thread has next updated the same word by an atomic

    void came(std::uint32_t warp)
    {
        several_warps = several_warps || (last_warp != warp && last_warp != ~0u);
        last_warp = warp;
    }
};

class site_table {
public:
    site_table() : buckets_(1024, 0) { sites_.emplace_back(); }

    std::uint32_t index_of(std::uintptr_t pc)
    {
        if (pc == last_pc_)
            return last_;
        auto slot = (pc * 0x9e3779b97f4a7c15u) >> 32 & (buckets_.size() - 1);
        while (buckets_[slot] != 0 && sites_[buckets_[slot]].pc != pc)
            slot = (slot + 1) & (buckets_.size() - 1);
        if (buckets_[slot] == 0) {
            buckets_[slot] = static_cast<std::uint32_t>(sites_.size());
            sites_.emplace_back().pc = pc;
            if (sites_.size() * 2 > buckets_.size()) {
                grow();
                return index_of(pc);
            }
        }
        last_pc_ = pc;
        return last_ = buckets_[slot];
    }
    // The same, or 0 for an instruction that was not issued yet.
    std::uint32_t known(std::uintptr_t pc) const
    {
        if (pc == last_pc_)
            return last_;
        auto slot = (pc * 0x9e3779b97f4a7c15u) >> 32 & (buckets_.size() - 1);
        while (buckets_[slot] != 0 && sites_[buckets_[slot]].pc != pc)
            slot = (slot + 1) & (buckets_.size() - 1);
        return buckets_[slot];
    }
    site& operator[](std::uint32_t index) { return sites_[index]; }
    const site& operator[](std::uint32_t index) const { return sites_[index]; }
    const std::vector<site>& all() const { return sites_; }

private:
    void grow()
    {
        buckets_.assign(buckets_.size() * 4, 0);
        for (std::uint32_t i = 1; i < sites_.size(); ++i) {
            auto slot = (sites_[i].pc * 0x9e3779b97f4a7c15u) >> 32 & (buckets_.size() - 1);
            while (buckets_[slot] != 0)
                slot = (slot + 1) & (buckets_.size() - 1);
            buckets_[slot] = i;
        }
    }

    std::vector<site> sites_;            // number 0 is not used
    std::vector<std::uint32_t> buckets_; // a hash table with open addressing, in which 0 is an empty bucket
    std::uintptr_t last_pc_ = 0;
    std::uint32_t last_ = 0;
};

} // namespace upsweep::simulator
