// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Counts what a warp instruction costs: transactions, bank conflicts, atomics at one address, idle lanes.
#include <algorithm>
#include <bit>

#include "engine.h"

namespace upsweep::simulator {

namespace {

// Counts the distinct ones among at most a few hundred numbers. Neighbours are often equal, so that each number is first
// compared with the last one.
class distinct {
public:
    bool add(std::uint64_t value)
    {
        if (count_ != 0 && values_[count_ - 1] == value)
            return false;
        for (unsigned slot = value * 0x9e3779b97f4a7c15u >> 56;; slot = (slot + 1) & 255) {
            if (stamps_[slot] != round_) {
                if (count_ == std::size(values_))
                    return false;
                stamps_[slot] = round_;
                table_[slot] = value;
                values_[count_++] = value;
                return true;
            }
            if (table_[slot] == value)
                return false;
        }
    }
    unsigned count() const { return count_; }
    void clear()
    {
        count_ = 0;
        ++round_;
    }

private:
    std::uint64_t values_[192], table_[256];
    std::uint64_t stamps_[256] = {}, round_ = 1;
    unsigned count_ = 0;
};
thread_local distinct seen;

// The mask of the lanes that the memory serves at once, of which this is the first.
std::uint32_t part_mask(std::uint32_t begin, std::uint32_t part)
{
    return static_cast<std::uint32_t>(((std::uint64_t{1} << part) - 1) << begin);
}

bool loads(const request& r) { return r.kind == request_kind::read || (r.kind == request_kind::atomic && !r.writes); }

} // namespace

engine::space engine::space_of(const lane& l, std::uintptr_t address)
{
    const block& own = *l.of->of;
    if (address - reinterpret_cast<std::uintptr_t>(own.shared) < shared_capacity_)
        return space::shared;
    if (device_memory::instance().contains(address))
        return space::global;
    if (in_arguments(address))
        return space::none;
    if (address - reinterpret_cast<std::uintptr_t>(own.stacks) < threads_ * options_.stack_bytes)
        return space::none;
    if (cluster_size_ > 1 && holds_shared(address))
        return space::shared;
    return space::global;
}

bool engine::holds_shared(std::uintptr_t address) const
{
    for (const auto& b : blocks_)
        if (address - reinterpret_cast<std::uintptr_t>(b->shared) < shared_capacity_)
            return true;
    return false;
}

counters& engine::interval_of(const block& b)
{
    const auto index = static_cast<std::size_t>(std::min<std::uint64_t>(b.epoch - 1, 4095));
    if (intervals_.size() <= index)
        intervals_.resize(index + 1);
    return intervals_[index];
}

void engine::count_issue(warp& w, std::uint32_t mask, std::uintptr_t pc)
{
    for (auto* counts : {&sites_[sites_.index_of(pc)].counts, &interval_of(*w.of)}) {
        ++counts->instructions;
        counts->active_lanes += static_cast<unsigned>(std::popcount(mask));
        counts->possible_lanes += w.lanes;
    }
    each_lane(mask, [&](std::uint32_t i) { w.of->lanes[w.first + i].last_pc = pc; });
    w.last.mask = 0;
}

// Whether this is the next piece of a wide load or store, for which the compiler calls several hooks: the source position
// is the same, and every lane goes on at the next byte within 16 aligned ones. Nothing else looks like this, because the
// compiler does not unroll simulated code.
bool engine::continues_vector(warp& w, std::uint32_t mask, bool shared, counters& change)
{
    const lane* lanes = &w.of->lanes[w.first];
    const request& what = lanes[std::countr_zero(mask)].pending;
    vector_access& last = w.last;
    if (what.kind == request_kind::atomic || last.mask != mask || last.kind != what.kind || last.shared != shared ||
        what.pc <= last.pc || what.pc - last.pc > 128)
        return false;
    bool adjoins = true;
    each_lane(mask, [&](std::uint32_t i) {
        const auto address = lanes[i].pending.address;
        adjoins = adjoins && address == last.next[i] && address % 16 != 0;
    });
    if (!adjoins)
        return false;
    const location &here = locate(what.pc), &before = locate(last.pc);
    if (here.line != before.line || here.column != before.column || here.file != before.file)
        return false;
    last.pc = what.pc;
    each_lane(mask, [&](std::uint32_t i) {
        last.next[i] += lanes[i].pending.size;
        last.bytes += lanes[i].pending.size;
        (what.kind == request_kind::read ? change.load_bytes : change.store_bytes) +=
            shared ? 0 : lanes[i].pending.size;
    });
    if (shared) { // passes that the whole access needs in any case are no conflicts
        const auto fewest = (last.bytes + options_.machine.banks * 4 - 1) / (options_.machine.banks * 4);
        const auto conflicts = last.wavefronts > fewest ? last.wavefronts - fewest : 0;
        change.bank_conflicts -= last.conflicts - std::min(conflicts, last.conflicts);
        last.conflicts = std::min(conflicts, last.conflicts);
    }
    return true;
}

void engine::count_global(warp& w, std::uint32_t mask, counters& change)
{
    const lane* lanes = &w.of->lanes[w.first];
    const auto& machine = options_.machine;
    const auto part = machine.lanes_per_access;
    std::uint64_t transactions = 0, bytes = 0;
    for (std::uint32_t begin = 0; begin < w.lanes; begin += part) {
        seen.clear();
        each_lane(mask & part_mask(begin, part), [&](std::uint32_t i) {
            const request& r = lanes[i].pending;
            for (auto t = r.address / machine.transaction_bytes;
                 t <= (r.address + r.size - 1) / machine.transaction_bytes; ++t)
                seen.add(t);
        });
        transactions += seen.count();
        seen.clear();
        each_lane(mask & part_mask(begin, part), [&](std::uint32_t i) {
            if (seen.add(lanes[i].pending.address))
                bytes += lanes[i].pending.size;
        });
    }
    const bool load = loads(lanes[std::countr_zero(mask)].pending);
    const auto accesses = static_cast<unsigned>(std::popcount(mask));
    (load ? change.global_loads : change.global_stores) += 1;
    (load ? change.global_load_accesses : change.global_store_accesses) += accesses;
    (load ? change.load_transactions : change.store_transactions) += transactions;
    (load ? change.load_bytes : change.store_bytes) += bytes;
    (load ? change.load_bytes_moved : change.store_bytes_moved) += transactions * machine.transaction_bytes;
}

void engine::count_shared(warp& w, std::uint32_t mask, std::uintptr_t request::*address, counters& change)
{
    const lane* lanes = &w.of->lanes[w.first];
    const auto& machine = options_.machine;
    const auto part = machine.lanes_per_access;
    std::uint32_t wavefronts = 0, worst = 0, bytes = 0;
    for (std::uint32_t begin = 0; begin < w.lanes; begin += part) {
        std::uint32_t in_bank[64] = {};
        seen.clear();
        each_lane(mask & part_mask(begin, part), [&](std::uint32_t i) {
            const request& r = lanes[i].pending;
            bytes += r.size;
            for (auto word = r.*address / 4; word <= (r.*address + r.size - 1) / 4; ++word)
                if (seen.add(word))
                    ++in_bank[word % machine.banks];
        });
        const auto most = *std::max_element(in_bank, in_bank + machine.banks);
        const auto fewest = (seen.count() + machine.banks - 1) / machine.banks;
        wavefronts += most;
        worst = std::max(worst, most);
        change.bank_conflicts += most - fewest;
        w.last.conflicts = most - fewest;
    }
    w.last.wavefronts = wavefronts;
    const bool load = address == &request::address && loads(lanes[std::countr_zero(mask)].pending);
    (load ? change.shared_loads : change.shared_stores) += 1;
    (load ? change.shared_load_accesses : change.shared_store_accesses) += static_cast<unsigned>(std::popcount(mask));
    change.shared_wavefronts += wavefronts;
    change.worst_bank = worst;
}

void engine::count_atomic(warp& w, std::uint32_t mask, counters& change)
{
    const lane* lanes = &w.of->lanes[w.first];
    std::uint32_t shared_lanes = 0;
    change.atomics = 1;
    change.atomic_accesses = static_cast<unsigned>(std::popcount(mask));
    for (std::uint32_t left = mask; left != 0;) {
        const auto first = static_cast<std::uint32_t>(std::countr_zero(left));
        std::uint32_t same = 0;
        each_lane(left, [&](std::uint32_t i) {
            same |= (lanes[i].pending.address == lanes[first].pending.address ? 1u : 0u) << i;
        });
        const auto hits = static_cast<unsigned>(std::popcount(same));
        change.worst_address = std::max<std::uint64_t>(change.worst_address, hits);
        change.atomic_replays += hits - 1;
        if (space_of(lanes[first], lanes[first].pending.address) == space::shared)
            shared_lanes += hits;
        left &= ~same;
    }
    change.shared_atomic_accesses = shared_lanes;
    change.global_atomic_accesses = change.atomic_accesses - shared_lanes;
}

void engine::note_progress(warp& w, std::uint32_t mask)
{
    lane* lanes = &w.of->lanes[w.first];
    bool fresh = false;
    each_lane(mask, [&](std::uint32_t i) {
        lane& l = lanes[i];
        const request& r = l.pending;
        fresh = fresh || l.last_pc != r.pc || l.last_address != r.address;
        l.last_pc = r.pc;
        l.last_address = r.address;
    });
    const request& what = lanes[std::countr_zero(mask)].pending;
    if (what.kind == request_kind::write || what.kind == request_kind::transfer)
        only_reads_ = 0;
    if (fresh)
        no_progress_ = 0;
    // A warp that reads one flag after the other and does nothing else polls several of them in turn.
    constexpr std::uint32_t long_enough = 16;
    const bool flag = loads(what) && (what.is_volatile || what.kind == request_kind::atomic);
    w.flag_reads = flag ? w.flag_reads + 1 : 0;
    if (!fresh || w.flag_reads > long_enough)
        polled_ = true;
}

void engine::note_flags(warp& w, std::uint32_t mask)
{
    const lane* lanes = &w.of->lanes[w.first];
    const request& what = lanes[std::countr_zero(mask)].pending;
    if (what.kind == request_kind::write || what.kind == request_kind::transfer || (what.plain && what.writes)) {
        ++changes_;
        w.flags.forget();
    } else if (what.is_volatile || what.kind == request_kind::atomic) {
        each_lane(mask, [&](std::uint32_t i) { w.flags.look_at(what.pc, lanes[i].pending.address, what.size); });
        w.flags.looked();
    }
}

void engine::issue_memory(warp& w, std::uint32_t mask)
{
    lane* lanes = &w.of->lanes[w.first];
    const request& what = lanes[std::countr_zero(mask)].pending;
    note_progress(w, mask);
    lane_operations_ += static_cast<unsigned>(std::popcount(mask));
    std::uint32_t in_shared = 0, in_global = 0;
    each_lane(mask, [&](std::uint32_t i) {
        lane& l = lanes[i];
        switch (space_of(l, l.pending.address)) {
        case space::shared: in_shared |= 1u << i; break;
        case space::global: in_global |= 1u << i; break;
        case space::none: return;
        }
        const bool by_the_lane =
            what.kind != request_kind::transfer; // a transfer is checked as a copy, when it is issued
        if (!stopped_ && options_.check && by_the_lane && !check_access(l))
            stop("an access outside device memory");
    });
    const std::uint32_t counted = in_shared | in_global;
    if (stopped_ || counted == 0)
        return;
    if (is_unfair_)
        note_flags(w, counted);

    counters change;
    const bool updates = what.kind == request_kind::atomic && !what.plain;
    if (updates) {
        count_atomic(w, counted, change);
        w.last.mask = 0;
    } else if (!continues_vector(w, counted, in_shared != 0, change)) {
        change.instructions = 1;
        change.active_lanes = static_cast<unsigned>(std::popcount(counted));
        change.possible_lanes = w.lanes;
        change.divergent = counted != w.all();
        if (in_global != 0)
            count_global(w, in_global, change);
        if (in_shared != 0)
            count_shared(w, in_shared, &request::address, change);
        if (what.copied_to != 0)
            count_shared(w, counted, &request::copied_to, change);
        w.last.kind = what.kind;
        w.last.shared = in_shared != 0;
        w.last.pc = what.pc;
        w.last.mask = counted;
        w.last.bytes = 0;
        each_lane(counted, [&](std::uint32_t i) {
            w.last.next[i] = lanes[i].pending.address + lanes[i].pending.size;
            w.last.bytes += lanes[i].pending.size;
        });
    }
    if (updates) {
        change.instructions = 1;
        change.active_lanes = static_cast<unsigned>(std::popcount(counted));
        change.possible_lanes = w.lanes;
    }
    sites_[sites_.index_of(what.pc)].counts += change;
    interval_of(*w.of) += change;
}

} // namespace upsweep::simulator
