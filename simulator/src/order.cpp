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
}

known joined(const known& a, const known& b)
{
    if (!a || a == b)
        return b;
    if (!b)
        return a;
    auto both = std::make_shared<knowledge>(*a);
    both->join(*b);
    return both;
}

} // namespace upsweep::simulator
