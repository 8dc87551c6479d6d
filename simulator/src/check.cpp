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
          now_(copy ? copy->when : make_instant(grid.launch_number_, block_.epoch, who.order().local)),
          site_(grid.sites_.index_of(what_.pc)),
          atomic_(what_.kind == request_kind::atomic || what_.kind == request_kind::mbarrier_wait),
          writes_(what_.kind == request_kind::write || (what_.kind == request_kind::atomic && what_.writes)),
          reads_(what_.kind != request_kind::write)
    {
    }

    access_result shared()
    {
        in_shared_ = true;
        block* owner = &block_;
        if (what_.address - reinterpret_cast<std::uintptr_t>(owner->shared) >= grid_.shared_capacity_)
            for (auto& b : grid_.blocks_)
                if (what_.address - reinterpret_cast<std::uintptr_t>(b->shared) < grid_.shared_capacity_)
                    owner = b.get();
        if (owner != &block_ &&
            !(owner->resident && owner->linear / grid_.cluster_size_ == block_.linear / grid_.cluster_size_)) {
            outside("the block whose shared memory this was has ended", cause::ended_block);
            return access_result::skipped;
        }
        owner_ = owner;
        const std::size_t offset = what_.address - reinterpret_cast<std::uintptr_t>(owner->shared);
        const auto [image, begin, size] = shared_variable_at(offset);
        place_ = {begin == 0 ? memory_space::dynamic_shared : memory_space::shared,
                  image,
                  nullptr,
                  offset - begin,
                  what_.size,
                  size};
        if (offset - begin + what_.size > size) {
            out_of_bounds(begin == 0 ? "dynamic shared memory" : "a shared variable");
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
        if (near == nullptr || what_.address - reinterpret_cast<std::uintptr_t>(near->base) >= near->size) {
            near = in_arena ? memory.find(what_.address) : memory.device_variable(what_.address);
            if (in_arena && is_before_another(near))
                return access_result::skipped;
        }
        if (near == nullptr) {
            outside("this is not an address in device memory", cause::not_device_memory);
            return in_arena ? access_result::skipped : access_result::fatal;
        }
        const std::size_t offset = what_.address - reinterpret_cast<std::uintptr_t>(near->base);
        place_ = {memory_space::global, nullptr, near, offset, what_.size, near->size};
        if (near->freed) {
            outside("the memory at this address was freed before the launch", cause::freed);
            near = nullptr;
            return access_result::skipped;
        }
        if (offset + what_.size > near->size) {
            out_of_bounds("an allocation");
            return access_result::skipped;
        }
        words(*near->shadow, offset);
        return access_result::possible;
    }

private:
    shared_variable shared_variable_at(std::size_t offset) const
    {
        shared_variable best{nullptr, 0, grid_.launch_.dynamic_shared};
        for (const auto& v : grid_.shared_layout_)
            if (offset >= v.offset && v.offset >= best.offset)
                best = v;
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

    void outside(const char* text, cause why)
    {
        grid_.report(finding_kind::out_of_bounds, who_, what_.pc, verb(),
                     std::to_string(what_.size) + " bytes: " + text, nullptr, facts_of(why));
    }

    // An address outside of all allocations belongs to the one behind it, if that is nearer than the one before: an index was
    // below 0. This is reported.
    bool is_before_another(const allocation* near)
    {
        const auto past = near == nullptr ? 0 : what_.address - reinterpret_cast<std::uintptr_t>(near->base);
        if (near != nullptr && past < near->size)
            return false;
        const allocation* next = device_memory::instance().first_after(what_.address);
        if (next == nullptr || next->freed)
            return false;
        const std::size_t distance = reinterpret_cast<std::uintptr_t>(next->base) - what_.address;
        if (near != nullptr && past - near->size <= distance)
            return false;
        place_ = {memory_space::global, nullptr, next, ~distance + 1, what_.size, next->size};
        grid_.report(finding_kind::out_of_bounds, who_, what_.pc, verb(),
                     std::to_string(what_.size) + " bytes, " + std::to_string(distance) +
                         " before the beginning of an allocation of " + std::to_string(next->size) + " bytes",
                     nullptr, facts_of(cause::before_the_beginning));
        return true;
    }

    void out_of_bounds(const std::string& of)
    {
        const auto past = place_.offset + what_.size - place_.extent;
        grid_.report(finding_kind::out_of_bounds, who_, what_.pc, verb(),
                     std::to_string(what_.size) + " bytes at offset " + std::to_string(place_.offset) + ", " +
                         std::to_string(past) + " past the end of " + of + " of " + std::to_string(place_.extent) +
                         " bytes",
                     nullptr, facts_of(cause::past_the_end));
    }

    finding_facts facts_of(cause why) const
    {
        finding_facts facts;
        facts.what = place_;
        facts.why = why;
        return facts;
    }

    void words(shadow& state, std::size_t offset)
    {
        if (state.shift != 0 && (what_.size < 4 || (offset & 3) != 0))
            state.split_words();
        state.touch(offset, what_.size);
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
                uninitialised(state, *c);
            if (conflicts(c->write, flags))
                race(state, *c, c->write, true, flags);
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

    // The part of the access that lies in this cell.
    accessed place_of(const shadow& state, const cell& c) const
    {
        accessed part = place_;
        const auto begin_of_access = place_.offset + begin_of_variable();
        const auto begin = static_cast<std::size_t>(&c - state.cells) << state.shift;
        if (begin > begin_of_access)
            part.offset += begin - begin_of_access;
        return part;
    }

    // Where the variable begins in the memory that the shadow stands for.
    std::size_t begin_of_variable() const
    {
        return in_shared_ ? what_.address - reinterpret_cast<std::uintptr_t>(owner_->shared) - place_.offset : 0;
    }

    void uninitialised(const shadow& state, const cell& c)
    {
        finding_facts facts = facts_of(cause::none);
        facts.what = place_of(state, c);
        grid_.report(finding_kind::uninitialised_read, who_, what_.pc, verb(),
                     in_shared_ ? "shared memory that no thread of this block wrote"
                                : "device memory that nobody wrote",
                     nullptr, facts);
    }

    std::uint32_t author() const { return copy_ != nullptr ? copy_->agent : thread_; }

    bool ordered(const stamp& before) const
    {
        if (launch_of(before.when) != launch_of(now_) || before.when == 0)
            return true;
        if (before.flags & stamp_copy)
            return who_.order().acquired && who_.order().acquired->covers_copy(before.thread, before.when);
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
        return who_.order().acquired && who_.order().acquired->covers(before.thread, its_block, before.when);
    }

    // Whether a proxy fence is between a thread's write and the bulk copy that is to see it: by that thread, by the issuer,
    // or by any other thread of the block.
    bool fenced(const stamp& before) const
    {
        if ((before.flags & stamp_copy) || before.when == 0 || launch_of(before.when) != launch_of(now_))
            return true;
        const std::uint64_t its_block = before.thread / grid_.threads_;
        if (!in_shared_) {
            const auto& own = who_.order().fenced_global;
            return own && own->covers(before.thread, its_block, before.when);
        }
        if (its_block == owner_->linear) {
            const auto& fences = owner_->lanes[before.thread % grid_.threads_].order().proxy_fences;
            const auto next = std::lower_bound(fences.begin(), fences.end(), before.when);
            if (next != fences.end() && ordered({*next, before.thread, 0, 0}))
                return true;
        }
        const auto fenced_by = [&](const lane& l) {
            const auto next =
                std::partition_point(l.order().fenced.begin(), l.order().fenced.end(),
                                     [&](const auto& f) { return !f->covers(before.thread, its_block, before.when); });
            return next != l.order().fenced.end() && ordered({(*next)->own, (*next)->thread, 0, 0});
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

    relation relation_to(const stamp& before) const
    {
        if (((before.flags & stamp_copy) != 0) || copy_ != nullptr)
            return relation::copy;
        if (before.thread / grid_.threads_ != block_.linear)
            return relation::two_blocks;
        return same_warp(before) ? relation::one_warp : relation::one_block;
    }

    // The barrier after which both accesses are, as far as the two threads share one.
    std::uintptr_t interval_began(relation between) const
    {
        const warp& w = *who_.of;
        if (between == relation::one_warp && w.synced_epoch == block_.epoch)
            return w.synced_at;
        return between == relation::one_warp || between == relation::one_block ? block_.epoch_began : 0;
    }

    // The instruction by which the thread itself has read the word since the last barrier; 0 if it has not.
    std::uintptr_t own_read(const shadow& state, const cell& c) const
    {
        const auto is_own = [&](const stamp& r) {
            return r.thread == thread_ && (r.flags & (stamp_copy | stamp_many)) == 0 && r.when != 0 &&
                   launch_of(r.when) == launch_of(now_) && epoch_of(r.when) == epoch_of(now_);
        };
        if ((c.read.flags & stamp_many) == 0)
            return is_own(c.read) ? grid_.sites_[c.read.site].pc : 0;
        for (const auto& group : state.readers[c.read.thread].groups)
            if (const auto i = thread_ - group.first; i < 32 && (group.lanes >> i & 1) != 0 && is_own(group.of(i)))
                return grid_.sites_[group.site].pc;
        return 0;
    }

    // The texts are made only for the first finding of its kind and places.
    void race(const shadow& state, const cell& c, const stamp& before, bool it_wrote, std::uint8_t flags)
    {
        const bool by_copy = (before.flags & stamp_copy) != 0;
        const bool too_narrow = !by_copy && ((before.flags & flags & stamp_atomic) != 0 || who_.order().saw_narrow);
        const auto kind = too_narrow ? finding_kind::scope_too_narrow : finding_kind::race;
        finding_facts facts = facts_of(cause::none);
        facts.what = place_of(state, c);
        facts.between = relation_to(before);
        facts.hazard = !it_wrote ? data_hazard::write_after_read
                       : writes_ ? data_hazard::write_after_write
                                 : data_hazard::read_after_write;
        facts.since = interval_began(facts.between);
        const bool both_store =
            it_wrote && writes_ && !atomic_ && copy_ == nullptr && (before.flags & (stamp_atomic | stamp_copy)) == 0;
        facts.same_value = both_store;
        if (!writes_ && !atomic_ && copy_ == nullptr) {
            who_.raced_pc = what_.pc;
            who_.raced_address = what_.address;
        }
        if (writes_ && copy_ == nullptr)
            if (const auto read = own_read(state, c); read != 0)
                grid_.updates_.insert({read, what_.pc});
        const noted_finding* found = grid_.counted_again(kind, what_.pc, grid_.sites_[before.site].pc, facts);
        if (found == nullptr)
            found = &first_race(kind, before, it_wrote, facts);
        if (both_store) {
            const auto begin = std::max(what_.address, what_.address - place_.offset + facts.what.offset);
            const auto end = std::min(what_.address + what_.size, (begin & ~((std::uintptr_t{1} << state.shift) - 1)) +
                                                                      (std::size_t{1} << state.shift));
            grid_.watched_.push_back(
                {&who_, static_cast<std::size_t>(found - grid_.findings_.data()), begin, end - begin});
        }
    }

    noted_finding& first_race(finding_kind kind, const stamp& before, bool it_wrote, const finding_facts& facts)
    {
        const bool by_copy = (before.flags & stamp_copy) != 0;
        const std::string did = !it_wrote                                   ? "read"
                                : (before.flags & stamp_atomic) && !by_copy ? "atomically updated"
                                                                            : "wrote";
        const std::string word = in_shared_ ? "one word of shared memory, " : "one word of global memory, ";
        finding made;
        made.kind = kind;
        if (kind == finding_kind::scope_too_narrow)
            made.message = "the scope of the atomic or fence does not reach a thread of another block";
        else if (by_copy)
            made.message = word + "an asynchronous copy, and no wait for its end";
        else if (in_shared_ && facts.between == relation::one_warp)
            made.message = word + "two lanes of a warp, and nothing that orders them (no __syncwarp)";
        else if (in_shared_)
            made.message = word + "two threads, and no barrier that orders them";
        else
            made.message = word + "two threads, and nothing that orders them";
        made.parties.push_back(grid_.party_of(who_, what_.pc, verb()));
        made.parties.push_back(
            by_copy ? grid_.party_of(grid_.agents_[before.thread], before.site, "issued a copy that " + did)
                    : grid_.party_of(before.thread, before.site, did));
        return grid_.note(std::move(made), facts);
    }

    void check_readers(shadow& state, cell& c, std::uint8_t flags)
    {
        if (c.read.flags & stamp_many) {
            report_first_race(state, c, state.readers[c.read.thread], flags);
            state.drop_list(c.read.thread);
            c.read = {};
        } else if (c.read.when != 0 && conflicts(c.read, flags)) {
            race(state, c, c.read, false, flags);
        }
    }

    void report_first_race(const shadow& state, const cell& c, const reader_list& list, std::uint8_t flags)
    {
        for (const auto& group : list.groups)
            for (auto lanes = group.lanes; lanes != 0; lanes &= lanes - 1)
                if (const auto r = group.of(static_cast<std::uint32_t>(std::countr_zero(lanes))); conflicts(r, flags)) {
                    race(state, c, r, false, flags);
                    return;
                }
    }

    void remember_reader(shadow& state, cell& c, std::uint8_t flags)
    {
        if (c.read.flags & stamp_many) {
            auto& list = state.readers[c.read.thread];
            if (launch_of(c.read.when) != launch_of(now_))
                list.clear();
            if (list.count >= reader_list::rarely_looked_through && (list.count & (list.count - 1)) == 0)
                forget_ordered(list);
            if (list.count < reader_list::most) {
                list.add(mine(flags), 1);
                c.read.when = now_;
            }
        } else if (ordered(c.read)) {
            c.read = {now_, author(), site_, flags};
        } else {
            const auto index = state.new_list();
            auto& list = state.readers[index];
            list.add({c.read.when, c.read.thread, 1, c.read.site, c.read.flags}, 1);
            list.add(mine(flags), 1);
            c.read = {now_, index, 0, stamp_many};
        }
    }

    reader_group mine(std::uint8_t flags) const
    {
        if (copy_ != nullptr)
            return {now_, copy_->agent, 1, site_, flags};
        return {now_, thread_ - (who_.index - who_.of->first), who_.bit(), site_, flags};
    }

    void forget_ordered(reader_list& list)
    {
        const auto own_warp = thread_ - (who_.index - who_.of->first);
        const auto& acquired = who_.order().acquired;
        const instant since = make_instant(grid_.launch_number_, block_.epoch, 0);
        const bool others_stay = list.is_known_full(block_.linear, since, acquired);
        std::erase_if(list.groups, [&](reader_group& group) {
            if (others_stay && group.first != own_warp)
                return false;
            std::uint32_t forgotten = 0;
            if (!acquired && group.first != own_warp) { // threads of another warp are alike
                if (ordered(group.of(static_cast<std::uint32_t>(std::countr_zero(group.lanes)))))
                    forgotten = group.lanes;
            } else {
                each_lane(group.lanes, [&](std::uint32_t i) {
                    if (ordered(group.of(i)))
                        forgotten |= 1u << i;
                });
            }
            if (forgotten == 0)
                return false;
            list.count -= static_cast<std::uint32_t>(std::popcount(forgotten));
            group.lanes &= ~forgotten;
            return group.lanes == 0;
        });
        if (list.count == reader_list::most)
            list.know_full(block_.linear, since, acquired);
    }

    engine& grid_;
    lane& who_;
    const request& what_;
    const copy_stamp* copy_;
    block& block_;
    accessed place_;
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
