// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Which warps only spin. A warp that has read its flags once more, and found each of them as it was, goes on like that until
// another one changes a flag. A schedule that keeps a block waiting need not wait for such a warp.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <utility>

namespace upsweep::simulator {

// The flags that a warp has read since it last changed memory itself.
class flags_read {
public:
    // For each instruction of the warp, `look_at` is called once for each lane, and then `looked` once.
    void look_at(std::uintptr_t pc, std::uintptr_t address, std::uint32_t size);
    void looked();
    void forget();
    // Whether the warp spins. `changes` is how often memory has changed; until it changes again, no flag is compared twice.
    bool spins(std::uint64_t changes);

private:
    using value = std::array<std::uint64_t, 2>;
    struct flag {
        std::uint32_t size;
        value found;
        std::uint64_t read_at; // the number of the last instruction that read it
    };
    static value read(std::uintptr_t address, std::uint32_t size);

    std::map<std::pair<std::uintptr_t, std::uintptr_t>, flag> flags_; // by the program counter and the address
    std::uint64_t instructions_ = 0;
    std::uint64_t first_reads_ = 0; // instructions that read a flag for the first time; a round of the loop has no more
    std::uint64_t news_at_ = 0;     // the last instruction that read a flag for the first time, or found it changed
    bool is_first_ = false, is_news_ = false; // whether this instruction has done so, in the lanes seen so far
    bool unchanged_ =
        false; // whether the flags of the last round were unchanged, after `compared_at_` changes of memory
    std::uint64_t compared_at_ = 0;
};

} // namespace upsweep::simulator
