// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Checks each access before it happens: whether it is inside an allocation or a variable, whether what it reads was ever
// written, and whether it is ordered with the accesses of other threads to the same word.
#include <algorithm>
#include <string>

#include "engine.h"

namespace upsweep::simulator {

class access_checker {
public:
    // The access is made by the lane itself, or by a copy that the lane issues.
    access_checker(engine& grid, lane& who, const request& what, const copy_stamp* copy = nullptr)
        : grid_(grid), who_(who), what_(what), copy_(copy), block_(*who.of->of), thread_(who.global_index()),
          now_(copy ? copy->when : make_instant(grid.launch_number_, block_.epoch, who.order.local)),
          site_(grid.sites_.index_of(what_.pc)),
          atomic_(what_.kind == request_kind::atomic || what_.kind == request_kind::mbarrier_wait),
          writes_(what_.kind == request_kind::write || (what_.kind == request_kind::atomic && what_.writes)),
          reads_(what_.kind != request_kind::write)
    {
    }

    access_result shared()
    {
        block* owner = &block_;
        if (what_.address - reinterpret_cast<std::uintptr_t>(owner->shared) >= grid_.shared_capacity_)
            for (auto& b : grid_.blocks_)
                if (what_.address - reinterpret_cast<std::uintptr_t>(b->shared) < grid_.shared_capacity_)
                    owner = b.get();
        if (owner != &block_ &&
            !(owner->resident && owner->linear / grid_.cluster_size_ == block_.linear / grid_.cluster_size_)) {
            outside("the block whose shared memory this was has ended");
            return access_result::skipped;
        }
        owner_ = owner;
        const std::size_t offset = what_.address - reinterpret_cast<std::uintptr_t>(owner->shared);
        in_shared_ = true;
        const auto [begin, size] = shared_variable_at(offset);
        if (offset - begin + what_.size > size) {
            out_of_bounds(offset - begin, size, begin == 0 ? "dynamic shared memory" : "a shared variable");
            return access_result::skipped;
        }
        words(*owner->shared_shadow, offset);
        return access_result::possible;
    }

    access_result global()
    {
        auto& memory = device_memory::instance();
        allocation*& near = grid_.near_;
        const bool in_arena = memory.contains(what_.address);
        if (near == nullptr || what_.address - reinterpret_cast<std::uintptr_t>(near->base) >= near->size)
            near = in_arena ? memory.find(what_.address) : memory.device_variable(what_.address);
        if (near == nullptr) {
            outside("this is not an address in device memory");
            return in_arena ? access_result::skipped : access_result::fatal;
        }
        const std::size_t offset = what_.address - reinterpret_cast<std::uintptr_t>(near->base);
        if (near->freed) {
            outside("the memory at this address was freed before the launch");
            near = nullptr;
            return access_result::skipped;
        }
        if (offset + what_.size > near->size) {
            out_of_bounds(offset, near->size, "an allocation");
            return access_result::skipped;
        }
        words(*near->shadow, offset);
        return access_result::possible;
    }

private:
    std::pair<std::size_t, std::size_t> shared_variable_at(std::size_t offset) const
    {
        std::pair<std::size_t, std::size_t> best{0, grid_.launch_.dynamic_shared};
        for (const auto& v : grid_.shared_layout_)
            if (offset >= v.offset && v.offset >= best.first)
                best = {v.offset, v.size};
        return best;
    }

    const char* verb() const
    {
        if (copy_ != nullptr)
            return writes_ ? "issues a copy that writes" : "issues a copy that reads";
        if (what_.kind == request_kind::mbarrier_wait)
            return "waits for";
        if (what_.kind == request_kind::atomic)
            return writes_ ? "atomically updates" : "atomically reads";
        return writes_ ? "writes" : "reads";
    }

    void outside(const char* why)
    {
        grid_.report(finding_kind::out_of_bounds, who_, what_.pc, verb(),
                     std::to_string(what_.size) + " bytes: " + why);
    }

    void out_of_bounds(std::size_t offset, std::size_t size, const std::string& of)
    {
        const auto past = offset + what_.size - size;
        grid_.report(finding_kind::out_of_bounds, who_, what_.pc, verb(),
                     std::to_string(what_.size) + " bytes at offset " + std::to_string(offset) + ", " +
                         std::to_string(past) + " past the end of " + of + " of " + std::to_string(size) + " bytes");
    }

    void words(shadow& state, std::size_t offset)
    {
        if (state.shift != 0 && (what_.size < 4 || (offset & 3) != 0))
            state.split_words();
        cell* first = state.at(offset);
        cell* last = state.at(offset + what_.size - 1);
        std::uint8_t flags = atomic_ ? stamp_atomic : 0;
        if (atomic_ && what_.scope == device::scope::block)
            flags |= stamp_block_scope;
        if (copy_ != nullptr)
            flags |= stamp_copy;
        if (what_.is_volatile)
            flags |= stamp_volatile;
        for (cell* c = first; c <= last; ++c) {
            if (reads_ && !state.all_initialised && (c->write.flags & stamp_initialised) == 0)
                grid_.report(finding_kind::uninitialised_read, who_, what_.pc, verb(),
                             in_shared_ ? "shared memory that no thread of this block wrote"
                                        : "device memory that nobody wrote");
            if (conflicts(c->write, flags))
                race(c->write, (c->write.flags & stamp_atomic) ? "atomically updated" : "wrote", flags);
            else if (copy_ != nullptr && copy_->other_proxy && !fenced(c->write))
                missing_fence(c->write);
            if (writes_) {
                check_readers(state, *c, flags);
                // The word counts as initialised only when the copy is complete.
                const auto there = copy_ == nullptr ? stamp_initialised : c->write.flags & stamp_initialised;
                c->write = {now_, author(), site_, static_cast<std::uint8_t>(flags | there)};
            } else {
                remember_reader(state, *c, flags);
            }
        }
    }

    std::uint32_t author() const { return copy_ != nullptr ? copy_->agent : thread_; }

    bool ordered(const stamp& before) const
    {
        if (launch_of(before.when) != launch_of(now_) || before.when == 0)
            return true;
        if (before.flags & stamp_copy)
            return who_.order.acquired && who_.order.acquired->covers_copy(before.thread, before.when);
        if (before.thread == thread_)
            return true;
        const std::uint64_t its_block = before.thread / grid_.threads_;
        if (its_block == block_.linear) {
            if (epoch_of(before.when) < block_.epoch)
                return true;
            const std::uint32_t index = before.thread - static_cast<std::uint32_t>(its_block * grid_.threads_);
            const warp& w = *who_.of;
            if (index - w.first < w.lanes && before.when <= w.known[who_.index - w.first][index - w.first])
                return true;
        }
        return who_.order.acquired && who_.order.acquired->covers(before.thread, its_block, before.when);
    }

    // Whether a proxy fence is between a thread's write and the bulk copy that is to see it: by that thread, by the issuer,
    // or by any other thread of the block.
    bool fenced(const stamp& before) const
    {
        if ((before.flags & stamp_copy) || before.when == 0 || launch_of(before.when) != launch_of(now_))
            return true;
        const std::uint64_t its_block = before.thread / grid_.threads_;
        if (!in_shared_) {
            const auto& own = who_.order.fenced_global;
            return own && own->covers(before.thread, its_block, before.when);
        }
        if (its_block == owner_->linear) {
            const auto& fences = owner_->lanes[before.thread % grid_.threads_].order.proxy_fences;
            const auto next = std::lower_bound(fences.begin(), fences.end(), before.when);
            if (next != fences.end() && ordered({*next, before.thread, 0, 0}))
                return true;
        }
        const auto fenced_by = [&](const lane& l) {
            const auto next = std::partition_point(l.order.fenced.begin(), l.order.fenced.end(), [&](const auto& f) {
                return !f->covers(before.thread, its_block, before.when);
            });
            return next != l.order.fenced.end() && ordered({(*next)->own, (*next)->thread, 0, 0});
        };
        return fenced_by(who_) || std::any_of(&block_.lanes[0], &block_.lanes[0] + grid_.threads_, fenced_by);
    }

    void missing_fence(const stamp& before)
    {
        auto other = grid_.party_of(before.thread, before.site, "wrote");
        grid_.report(finding_kind::missing_proxy_fence, who_, what_.pc, verb(),
                     in_shared_ ? "an ordinary write to shared memory, and no async_proxy_fence before the bulk copy"
                                : "an ordinary write to global memory of the same launch, and no proxy fence",
                     &other);
    }

    // Whether nothing orders two accesses, of which at least one writes. Atomics are no race with atomics. Nor are volatile
    // accesses with volatile ones, except in the shared memory of a warp, where volatile was once thought to keep the lanes
    // in step.
    bool conflicts(const stamp& before, std::uint8_t flags) const
    {
        if (ordered(before))
            return false;
        const bool atomic_pair = (before.flags & flags & stamp_atomic) != 0;
        if (atomic_pair)
            return narrow(before, flags);
        const auto strong = static_cast<std::uint8_t>(stamp_atomic | stamp_volatile);
        if ((before.flags & strong) == 0 || (flags & strong) == 0)
            return true;
        return in_shared_ && same_warp(before) && (before.flags & flags & stamp_volatile) != 0;
    }

    bool same_warp(const stamp& before) const
    {
        const auto width = grid_.options_.machine.warp_width;
        return ((before.flags & stamp_copy) == 0 && copy_ == nullptr) &&
               before.thread / grid_.threads_ == block_.linear &&
               before.thread % grid_.threads_ / width == who_.index / width;
    }

    bool narrow(const stamp& before, std::uint8_t flags) const
    {
        return ((before.flags | flags) & stamp_block_scope) != 0 && before.thread / grid_.threads_ != block_.linear;
    }

    void race(const stamp& before, const char* did, std::uint8_t flags)
    {
        if (before.flags & stamp_copy) {
            auto other =
                grid_.party_of(grid_.agents_[before.thread], before.site, std::string("issued a copy that ") + did);
            grid_.report(finding_kind::race, who_, what_.pc, verb(),
                         in_shared_ ? "one word of shared memory, an asynchronous copy, and no wait for its end"
                                    : "one word of global memory, an asynchronous copy, and no wait for its end",
                         &other);
            return;
        }
        auto other = grid_.party_of(before.thread, before.site, did);
        const bool too_narrow = (before.flags & flags & stamp_atomic) != 0 || who_.order.saw_narrow;
        if (too_narrow) {
            grid_.report(finding_kind::scope_too_narrow, who_, what_.pc, verb(),
                         "the scope of the atomic or fence does not reach a thread of another block", &other);
            return;
        }
        const bool in_step = same_warp(before);
        grid_.report(
            finding_kind::race, who_, what_.pc, verb(),
            in_shared_
                ? (in_step
                       ? "one word of shared memory, two lanes of a warp, and nothing that orders them (no __syncwarp)"
                       : "one word of shared memory, two threads, and no barrier that orders them")
                : "one word of global memory, two threads, and nothing that orders them",
            &other);
    }

    void check_readers(shadow& state, cell& c, std::uint8_t flags)
    {
        if (c.read.flags & stamp_many) {
            auto& list = state.readers[c.read.thread];
            for (const stamp& r : list)
                if (conflicts(r, flags)) {
                    race(r, "read", flags);
                    break;
                }
            list.clear();
            state.unused_readers.push_back(c.read.thread);
            c.read = {};
        } else if (c.read.when != 0 && conflicts(c.read, flags)) {
            race(c.read, "read", flags);
        }
    }

    void remember_reader(shadow& state, cell& c, std::uint8_t flags)
    {
        const stamp mine{now_, author(), site_, flags};
        constexpr std::size_t most = 256; // so many readers of one word are remembered
        if (c.read.flags & stamp_many) {
            auto& list = state.readers[c.read.thread];
            if (!list.empty() && launch_of(list.back().when) != launch_of(now_))
                list.clear();
            if (list.size() >= 64 && (list.size() & (list.size() - 1)) == 0)
                std::erase_if(list, [&](const stamp& r) { return ordered(r); });
            if (list.size() < most)
                list.push_back(mine);
        } else if (ordered(c.read)) {
            c.read = mine;
        } else {
            if (state.unused_readers.empty()) {
                state.unused_readers.push_back(static_cast<std::uint32_t>(state.readers.size()));
                state.readers.emplace_back();
            }
            const auto index = state.unused_readers.back();
            state.unused_readers.pop_back();
            state.readers[index] = {c.read, mine};
            c.read = {now_, index, 0, stamp_many};
        }
    }

    engine& grid_;
    lane& who_;
    const request& what_;
    const copy_stamp* copy_;
    block& block_;
    const block* owner_ = nullptr; // the block whose shared memory is accessed
    const std::uint32_t thread_;
    const instant now_;
    const std::uint32_t site_;
    const bool atomic_, writes_, reads_;
    bool in_shared_ = false;
};

bool engine::check_access(lane& l)
{
    access_checker checker(*this, l, l.pending);
    const auto result = space_of(l, l.pending.address) == space::shared ? checker.shared() : checker.global();
    return result != access_result::fatal;
}

access_result engine::check_copy(lane& issuer, const request& what, const copy_stamp& by)
{
    access_checker checker(*this, issuer, what, &by);
    return space_of(issuer, what.address) == space::shared ? checker.shared() : checker.global();
}

} // namespace upsweep::simulator
