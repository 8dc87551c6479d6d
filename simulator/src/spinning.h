// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Who only spins. A warp that has read its flags once more, and found each of them as it was, goes on like that until
// somebody changes one: a schedule that keeps a block waiting need not wait for it.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <utility>

namespace upsweep::simulator {

// The flags that a warp has read since it last changed anything itself.
class flags_read {
public:
    // An instruction of a warp is one call of look_at for each of its lanes, and one of looked.
    void look_at(std::uintptr_t pc, std::uintptr_t address, std::uint32_t size);
    void looked();
    void forget();
    // Whether it spins. `changes` counts the changes of memory: nothing is compared again while there is none.
    bool spins(std::uint64_t changes);

private:
    using value = std::array<std::uint64_t, 2>;
    struct flag {
        std::uint32_t size;
        value found;
        std::uint64_t read_at; // the number of the instruction
    };
    static value read(std::uintptr_t address, std::uint32_t size);

    std::map<std::pair<std::uintptr_t, std::uintptr_t>, flag> flags_; // by instruction and address
    std::uint64_t instructions_ = 0;
    std::uint64_t first_reads_ = 0; // instructions that read a flag for the first time: a round takes no more than that
    std::uint64_t news_at_ = 0;     // the last instruction that read a flag for the first time, or found it changed
    bool is_first_ = false, is_news_ = false; // what this instruction has read so far
    bool unchanged_ = false;                  // the flags of the last round, after `compared_at_` changes of memory
    std::uint64_t compared_at_ = 0;
};

} // namespace upsweep::simulator
