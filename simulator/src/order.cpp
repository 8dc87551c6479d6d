// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "order.h"

#include <algorithm>

namespace upsweep::simulator {

bool knowledge::covers(std::uint32_t thread, std::uint64_t block, instant when) const
{
    if (auto whole = blocks.find(block); whole != blocks.end() && epoch_of(when) < whole->second)
        return true;
    auto one = threads.find(thread);
    return one != threads.end() && when <= one->second;
}

bool knowledge::covers_copy(std::uint32_t agent, instant when) const
{
    auto done = copies.find(agent);
    return done != copies.end() && when <= done->second;
}

bool thread_knowledge::covers(std::uint32_t of_thread, std::uint64_t of_block, instant when) const
{
    if (of_thread == thread)
        return when <= own;
    if (of_block == block &&
        (epoch_of(when) < epoch || (of_thread - first_of_warp < 32 && when <= warp[of_thread - first_of_warp])))
        return true;
    return acquired && acquired->covers(of_thread, of_block, when);
}

void knowledge::join(const knowledge& other)
{
    for (auto [thread, when] : other.threads) {
        auto& mine = threads[thread];
        mine = std::max(mine, when);
    }
    for (auto [block, epoch] : other.blocks) {
        auto& mine = blocks[block];
        mine = std::max(mine, epoch);
    }
    for (auto [agent, when] : other.copies) {
        auto& mine = copies[agent];
        mine = std::max(mine, when);
    }
}

known joined(const known& a, const known& b)
{
    if (!a || a == b)
        return b;
    if (!b)
        return a;
    // Lanes of a warp learn the same one after the other, and mostly knew the same before: the last result is kept for them.
    static thread_local struct {
        known a, b, both;
    } latest;
    if (latest.a != a || latest.b != b) {
        auto both = std::make_shared<knowledge>(*a);
        both->join(*b);
        latest = {a, b, std::move(both)};
    }
    return latest.both;
}

} // namespace upsweep::simulator
