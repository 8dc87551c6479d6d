// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// The checks of check.cpp for the lanes of a warp together, where they access device memory or the block's shared memory
// inside its bounds, and the words are initialised and ordered in a way that is quickly seen: the other accesses were made by
// an earlier launch, or by the block before its last barrier, or by the lane itself. The lanes for which this does not hold are
// checked one by one.
#include <algorithm>
#include <bit>

#include "engine.h"

namespace upsweep::simulator {

class warp_checker {
public:
    warp_checker(engine& grid, warp& w, const warp_access& all, shadow& state, bool writes, std::uint32_t site)
        : warp_(w), state_(state), writes_(writes), needs_init_(!writes_ && !state.all_initialised),
          since_(make_instant(grid.launch_number_, w.of->epoch, 0)), threads_(grid.threads_),
          first_of_block_(static_cast<std::uint32_t>(w.of->linear * threads_)), first_(first_of_block_ + w.first),
          site_(site), flags_(writes ? stamp_initialised : 0)
    {
        each_lane(all.mask & w.ordered, [&](std::uint32_t i) {
            const auto& order = w.of->lanes[w.first + i].order();
            if (order.local != 0) {
                if (!clocks_differ_)
                    for (auto& clock : clocks_)
                        clock = 0;
                clocks_differ_ = true;
                clocks_[i] = order.local;
            }
            learnt_ = learnt_ || order.acquired;
        });
    }

    // One lane accesses one cell. False, and nothing is done, when others have, and the order is not seen at once.
    [[gnu::always_inline]] bool access_alone(cell& c, std::uint32_t lane)
    {
        if (!written_before(c, lane) || (c.read.flags & stamp_many) != 0 || !ordered(c.read, lane))
            return false;
        (writes_ ? c.write : c.read) = stamp_of(lane);
        return true;
    }

    // The lanes `by` access so many cells from `c` on. False, and nothing is done, when this needs a look at each lane.
    bool access(cell* c, std::uint32_t cells, std::uint32_t by)
    {
        const auto lane = static_cast<std::uint32_t>(std::countr_zero(by));
        const bool single = (by & (by - 1)) == 0;
        if (writes_ && !single)
            return false;
        // Most words that several lanes read are read by several warps.
        if (cells == 1 && !writes_ && (c->read.flags & stamp_many) != 0 && launch_of(c->read.when ^ since_) == 0 &&
            initialised(*c) && (earlier(c->write) || (single && ordered(c->write, lane)))) {
            auto& list = state_.readers[c->read.thread];
            if (const auto lanes = number_of(by); list.count + lanes < reader_list::rarely_looked_through) {
                add(list, by, lanes);
                c->read.when = since_;
                return true;
            }
        }
        for (std::uint32_t i = 0; i < cells; ++i) {
            if (!(single ? written_before(c[i], lane) : initialised(c[i]) && earlier(c[i].write)))
                return false;
            if (!(writes_ ? read_before(c[i], lane) : may_join(c[i], by, lane)))
                return false;
        }
        for (std::uint32_t i = 0; i < cells; ++i)
            if (writes_)
                write(c[i], lane);
            else
                join(c[i], by, lane);
        return true;
    }

private:
    instant now(std::uint32_t lane) const { return clocks_differ_ ? since_ + clocks_[lane] : since_; }
    stamp stamp_of(std::uint32_t lane) const { return {now(lane), first_ + lane, site_, flags_}; }

    // Whether all that the block does in this epoch is ordered after the access.
    template <class Stamp>
    bool earlier(const Stamp& before, std::uint32_t thread) const
    {
        if (launch_of(before.when ^ since_) != 0)
            return true;
        return (before.flags & stamp_copy) == 0 && thread - first_of_block_ < threads_ && before.when < since_;
    }
    bool earlier(const stamp& before) const { return earlier(before, before.thread); }
    bool ordered(const stamp& before, std::uint32_t lane) const
    {
        return earlier(before) || (before.thread == first_ + lane && (before.flags & stamp_copy) == 0);
    }

    bool initialised(const cell& c) const { return !needs_init_ || (c.write.flags & stamp_initialised) != 0; }
    bool written_before(const cell& c, std::uint32_t lane) const { return initialised(c) && ordered(c.write, lane); }

    bool read_before(const cell& c, std::uint32_t lane) const
    {
        if ((c.read.flags & stamp_many) == 0)
            return ordered(c.read, lane);
        const auto& groups = state_.readers[c.read.thread].groups;
        return std::all_of(groups.begin(), groups.end(),
                           [&](const auto& group) { return earlier(group, group.first); });
    }

    void write(cell& c, std::uint32_t lane)
    {
        if ((c.read.flags & stamp_many) != 0) {
            state_.drop_list(c.read.thread);
            c.read = {};
        }
        c.write = stamp_of(lane);
    }

    // Whether nothing orders an access, which is not `earlier`, before those of the lanes.
    template <class Stamp>
    bool unordered(const Stamp& before, std::uint32_t thread) const
    {
        return (before.flags & stamp_copy) == 0 && !learnt_ && (!warp_.knows || thread - first_ >= warp_.lanes);
    }

    bool may_join(const cell& c, std::uint32_t by, std::uint32_t lane)
    {
        if ((c.read.flags & stamp_many) == 0)
            return ordered(c.read, lane) || unordered(c.read, c.read.thread);
        auto& list = state_.readers[c.read.thread];
        if (launch_of(c.read.when ^ since_) != 0)
            return true;
        if (list.count == reader_list::most)
            return forgets_nothing(list);
        const auto last = list.count + number_of(by) - 1;
        const auto passes = [&](std::uint32_t full) { return list.count <= full && full <= last; };
        return last < reader_list::most && !passes(reader_list::rarely_looked_through) &&
               !passes(2 * reader_list::rarely_looked_through); // see access_checker::remember_reader
    }

    // Whether a full list has nobody whose reading is ordered before those of the lanes.
    bool forgets_nothing(reader_list& list) const
    {
        if (learnt_)
            return false;
        const bool is_known = list.is_known_full(warp_.of->linear, since_, nullptr);
        for (const auto& group : list.groups)
            if (group.first - first_ < warp_.lanes ||
                (!is_known && ((group.flags & stamp_copy) != 0 || earlier(group, group.first))))
                return false;
        list.know_full(warp_.of->linear, since_, nullptr);
        return true;
    }

    void join(cell& c, std::uint32_t by, std::uint32_t lane)
    {
        if ((c.read.flags & stamp_many) != 0) {
            auto& list = state_.readers[c.read.thread];
            if (launch_of(c.read.when ^ since_) != 0)
                list.clear();
            if (list.count < reader_list::most) {
                add(list, by, number_of(by));
                c.read.when = since_;
            }
            return;
        }
        const bool alone = ordered(c.read, lane);
        if (alone && (by & (by - 1)) == 0) {
            c.read = stamp_of(lane);
            return;
        }
        const auto index = state_.new_list();
        auto& list = state_.readers[index];
        if (!alone)
            list.add({c.read.when, c.read.thread, 1, c.read.site, c.read.flags}, 1);
        add(list, by, number_of(by));
        c.read = {since_, index, 0, stamp_many};
    }

    void add(reader_list& list, std::uint32_t by, std::uint32_t lanes) const
    {
        if (!clocks_differ_)
            list.append({since_, first_, by, site_, flags_}, lanes);
        else
            each_lane(by, [&](std::uint32_t i) { list.add({now(i), first_, 1u << i, site_, flags_}, 1); });
    }

    warp& warp_;
    shadow& state_;
    const bool writes_, needs_init_;
    const instant since_;                                  // the beginning of the block's epoch
    const std::uint32_t threads_, first_of_block_, first_; // the first thread of the block, and of the warp
    const std::uint32_t site_;
    const std::uint8_t flags_;
    bool clocks_differ_ = false,
         learnt_ = false; // whether some lane has released, or knows more than its barriers tell
    std::uint64_t clocks_[32];
};

bool engine::in_one_variable(const warp_access& all, std::uintptr_t base)
{
    const std::size_t begin = all.begin() - base, end = all.end() - base;
    if (begin >= near_begin_ && end <= near_end_)
        return true;
    near_begin_ = 0;
    near_end_ = launch_.dynamic_shared;
    for (const auto& v : shared_layout_)
        if (begin >= v.offset && v.offset >= near_begin_) {
            near_begin_ = v.offset;
            near_end_ = v.offset + v.size;
        }
    return end <= near_end_;
}

void engine::check_at_once(warp& w, const warp_access& all, shadow& state, std::uintptr_t base, std::uint32_t site,
                           bool writes)
{
    if (state.shift != 0 && all.size < 4)
        state.split_words();
    warp_checker checker(*this, w, all, state, writes, site);
    const auto cells = std::max(1u, all.size >> state.shift);
    std::uint32_t one_by_one = 0;
    for (std::uint32_t i = 0; i < all.distinct; ++i) {
        cell* c = state.at(all.first - base + all.address[i]);
        const auto by = all.by[i];
        if (cells == 1 && (by & (by - 1)) == 0 &&
            checker.access_alone(*c, static_cast<std::uint32_t>(std::countr_zero(by))))
            continue;
        if (!checker.access(c, cells, by))
            one_by_one |= by;
    }
    if (one_by_one != 0)
        write_requests(w);
    each_lane(one_by_one, [&](std::uint32_t i) { check_access(w.of->lanes[w.first + i]); });
}

} // namespace upsweep::simulator
