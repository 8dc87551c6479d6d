// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// How order passes between threads that no barrier joins. A release, or a fence, collects what a thread knows; the release,
// or the next atomic or volatile write after the fence, leaves it at a flag; and an atomic or volatile read takes it from
// there. It holds at once when the read acquires, and else from the reader's next fence or barrier on.
#include <cstring>

#include "engine.h"

namespace upsweep::simulator {

known engine::everything_known(lane& self)
{
    const warp& w = *self.of;
    auto& order = self.change_order();
    auto all = order.acquired ? std::make_shared<knowledge>(*order.acquired) : std::make_shared<knowledge>();
    const auto first_of_warp = self.global_index() - (self.index - w.first);
    for (std::uint32_t u = 0; u < w.lanes; ++u)
        if (const auto when = w.known[self.index - w.first][u]; epoch_of(when) == w.of->epoch)
            all->threads[first_of_warp + u] = when;
    all->threads[self.global_index()] = make_instant(launch_number_, w.of->epoch, order.local);
    all->blocks[w.of->linear] = w.of->epoch;
    ++order.local;
    return all;
}

void engine::fence(lane& self, device::scope reach)
{
    silent_hooks silence;
    auto& order = self.change_order();
    order.acquired = joined(order.acquired, order.pending);
    order.pending = nullptr;
    order.released = everything_known(self);
    order.released_scope = reach;
    ++sites_[sites_.index_of(self.pending.pc)].counts.fences;
}

void engine::take_from_flag(lane& self, const request& what)
{
    silent_hooks silence;
    auto found = sync_.find(what.address);
    if (found == sync_.end() || !found->second.carried)
        return;
    const auto own_block = self.of->of->linear;
    const bool reaches =
        found->second.block == own_block || (!found->second.narrow && what.scope != device::scope::block);
    if (!reaches) {
        self.change_order().saw_narrow = true;
        return;
    }
    const bool acquires = what.order != device::ordering::relaxed && what.order != device::ordering::release;
    auto& order = self.change_order();
    auto& into = acquires ? order.acquired : order.pending;
    into = joined(into, found->second.carried);
}

void engine::leave_at_flag(lane& self, const request& what)
{
    silent_hooks silence;
    const bool releases = what.order != device::ordering::relaxed && what.order != device::ordering::acquire;
    known carried = releases ? everything_known(self) : self.order().released;
    if (what.plain && !carried) // a store ends what an earlier write carried, and an update passes it on
        sync_.erase(what.address);
    if (!carried)
        return;
    const auto reach = releases ? what.scope : std::min(self.order().released_scope, what.scope);
    auto& flag = sync_[what.address];
    flag.carried = what.plain ? carried : joined(flag.carried, carried);
    flag.block = self.of->of->linear;
    flag.narrow = reach == device::scope::block;
}

void engine::begin_atomic(lane& self, const request& what)
{
    wait_at(self, what);
    take_from_flag(self, what);
}

// A lane that has read a flag may be about to read it once more. It is remembered what it found, until it does something else
// in memory.
void engine::note_poll(lane& self, const request& what, bool changed)
{
    warp& w = *self.of;
    const auto bit = std::uint32_t{1} << (self.index - w.first);
    polled_flag& last = self.polled;
    if (changed || what.size > sizeof last.value) {
        w.polling &= ~bit;
        return;
    }
    w.polling |= bit;
    last = {what.pc, what.address, 0, what.size};
    std::memcpy(&last.value, reinterpret_cast<const void*>(what.address), what.size);
}

// GPUs before Volta run the lanes of a warp in lockstep. A lane that polls a flag in a loop keeps the lane from running that is
// to change it.
void engine::check_lockstep(const lane& self, const request& what)
{
    warp& w = *self.of;
    constexpr int first_with_independent_lanes = 7;
    if (w.polling == 0 || options_.machine.major >= first_with_independent_lanes)
        return;
    write_requests(w);
    each_lane(w.polling & w.live & ~(1u << (self.index - w.first)), [&](std::uint32_t i) {
        const lane& waits = w.of->lanes[w.first + i];
        if (waits.polled.address != what.address || waits.pending.pc != waits.polled.pc)
            return;
        silent_hooks silence;
        const auto other = party_of(self, what.pc, "changes it");
        report(finding_kind::lanes_wait, waits, waits.polled.pc, "keeps reading a flag",
               "a lane waits for another lane of its warp, and a GPU before sm_70 may hang here: its lanes run in "
               "lockstep",
               &other);
    });
}

void engine::end_atomic(lane& self, const request& what, bool changed)
{
    if (changed)
        check_lockstep(self, what);
    note_poll(self, what, changed);
    if (changed) {
        silent_hooks silence;
        no_progress_ = only_reads_ = 0;
        ++changes_;
        self.of->flags.forget();
    }
    if (what.writes)
        leave_at_flag(self, what);
}

} // namespace upsweep::simulator
