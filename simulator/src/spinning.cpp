// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "spinning.h"

#include <algorithm>
#include <cstring>

namespace upsweep::simulator {

flags_read::value flags_read::read(std::uintptr_t address, std::uint32_t size)
{
    value found{};
    std::memcpy(found.data(), reinterpret_cast<const void*>(address), std::min<std::size_t>(size, sizeof found));
    return found;
}

void flags_read::look_at(std::uintptr_t pc, std::uintptr_t address, std::uint32_t size)
{
    const flag now{size, read(address, size), instructions_ + 1};
    const auto [known, is_first] = flags_.try_emplace({pc, address}, now);
    is_first_ = is_first_ || is_first;
    is_news_ = is_news_ || is_first || known->second.found != now.found;
    known->second = now;
}

void flags_read::looked()
{
    ++instructions_;
    if (is_first_)
        ++first_reads_;
    if (is_news_)
        news_at_ = instructions_;
    is_first_ = is_news_ = unchanged_ = false;
}

void flags_read::forget()
{
    if (instructions_ != 0)
        *this = {};
}

bool flags_read::spins(std::uint64_t changes)
{
    if (instructions_ == news_at_ || instructions_ - news_at_ < first_reads_)
        return false;
    if (!unchanged_ || compared_at_ != changes) {
        // Flags that were not read again belong to an earlier loop.
        unchanged_ = std::all_of(flags_.begin(), flags_.end(), [&](const auto& known) {
            return known.second.read_at <= news_at_ ||
                   read(known.first.second, known.second.size) == known.second.found;
        });
        compared_at_ = changes;
    }
    return unchanged_;
}

} // namespace upsweep::simulator
