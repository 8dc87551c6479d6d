// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Counts what a warp instruction costs: transactions, bank conflicts, atomics at one address, idle lanes.
#include <algorithm>
#include <bit>
#include <utility>

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
    if (address - reinterpret_cast<std::uintptr_t>(own.stacks) < threads_ * stack_stride())
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
        counts->active_lanes += number_of(mask);
        counts->possible_lanes += w.lanes;
    }
    if (mask == ~0u)
        std::ranges::fill(w.last_pc, pc);
    else
        each_lane(mask, [&](std::uint32_t i) { w.last_pc[i] = pc; });
    w.last.mask = 0;
}

// Whether this is the next piece of a wide load or store, for which the compiler calls several hooks: the source position
// is the same, and every lane goes on at the next byte within 16 aligned ones. Nothing else looks like this, because the
// compiler does not unroll simulated code.
bool engine::continues_vector(warp& w, std::uint32_t mask, bool shared, counters& change)
{
    const lane* lanes = &w.of->lanes[w.first];
    const auto first = static_cast<std::uint32_t>(std::countr_zero(mask));
    const request& what = lanes[first].pending;
    vector_access& last = w.last;
    if (what.kind == request_kind::atomic || last.mask != mask || last.kind != what.kind || last.shared != shared ||
        what.pc <= last.pc || what.pc - last.pc > 128 || what.address != last.next[first])
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
    const lane* lanes = &w.of->lanes[w.first];
    bool fresh = false;
    each_lane(mask, [&](std::uint32_t i) {
        const request& r = lanes[i].pending;
        fresh = fresh || w.last_pc[i] != r.pc || w.last_address[i] != r.address;
        w.last_pc[i] = r.pc;
        w.last_address[i] = r.address;
    });
    const request& what = lanes[std::countr_zero(mask)].pending;
    if (what.kind == request_kind::write || what.kind == request_kind::transfer)
        only_reads_ = no_writes_ = 0;
    if (fresh)
        no_progress_ = 0;
    // A warp that reads one flag after the other and does nothing else polls several of them in turn.
    constexpr std::uint32_t long_enough = 16;
    const bool flag = loads(what) && (what.is_volatile || what.kind == request_kind::atomic);
    if (what.kind != request_kind::atomic && !flag) {
        if (w.polling != 0 && what.kind == request_kind::write)
            each_lane(mask, [&](std::uint32_t i) { check_lockstep(lanes[i], lanes[i].pending); });
        w.polling &= ~mask;
    }
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

bool warp_access::is_as_before(const gathered_lanes& from) const
{
    if (from.mask != mask || from.size != size)
        return false;
    const auto now = from.address[std::countr_zero(mask) & 31];
    std::uintptr_t differ = now & (size - 1);
    if (mask == ~0u)
        for (std::uint32_t i = 0; i < 32; ++i)
            differ |= (from.address[i] - now) ^ distance[i];
    else
        each_lane(mask, [&](std::uint32_t i) { differ |= (from.address[i] - now) ^ distance[i]; });
    return differ == 0;
}

bool warp_access::gather(const gathered_lanes& from)
{
    if (mask != 0 && is_as_before(from)) {
        first = from.address[std::countr_zero(mask)];
        return true;
    }
    mask = 0;
    size = from.size;
    if (size == 0 || size > 16 || (size & (size - 1)) != 0)
        return false;
    first = from.address[std::countr_zero(from.mask)];
    std::uintptr_t ends = first;
    std::intptr_t lower = 0, upper = 0, before = 0;
    bool ascending = true;
    lanes = distinct = 0;
    each_lane(from.mask, [&](std::uint32_t i) {
        const auto from_first = static_cast<std::intptr_t>(from.address[i] - first);
        distance[i] = static_cast<std::uintptr_t>(from_first);
        ++lanes;
        if (distinct != 0 && from_first == before) {
            by[distinct - 1] |= 1u << i;
            return;
        }
        ascending = ascending && (distinct == 0 || from_first > before);
        ends |= from.address[i];
        lower = std::min(lower, from_first);
        upper = std::max(upper, from_first);
        before = from_first;
        address[distinct] = distance[i];
        by[distinct++] = 1u << i;
    });
    if ((ends & (size - 1)) != 0)
        return false;
    if (!ascending) {
        const auto found = std::exchange(distinct, 0);
        std::uint8_t table[64] = {}; // the number of a distinct address and one, by its hash
        for (std::uint32_t i = 0; i < found; ++i) {
            auto slot = (address[i] / 4 * 0x9e3779b97f4a7c15u) >> 58;
            while (table[slot] != 0 && address[table[slot] - 1] != address[i])
                slot = (slot + 1) & 63;
            if (table[slot] != 0) {
                by[table[slot] - 1] |= by[i];
                continue;
            }
            address[distinct] = address[i];
            by[distinct++] = by[i];
            table[slot] = static_cast<std::uint8_t>(distinct);
        }
    }
    mask = from.mask;
    lowest = static_cast<std::uintptr_t>(lower);
    highest = static_cast<std::uintptr_t>(upper);
    words = most_in_bank = transactions = 0;
    return true;
}

// What count_global and count_shared count, for a warp whose lanes the memory serves at once.
void engine::count_at_once(warp& w, warp_access& all, bool load, bool shared, counters& change)
{
    const auto& machine = options_.machine;
    if (!shared) {
        const auto at = all.first % machine.transaction_bytes;
        if (all.transactions == 0 || all.counted_at != at) {
            seen.clear();
            for (std::uint32_t i = 0; i < all.distinct; ++i) {
                const auto address = all.first + all.address[i];
                for (auto t = address / machine.transaction_bytes;
                     t <= (address + all.size - 1) / machine.transaction_bytes; ++t)
                    seen.add(t);
            }
            all.transactions = seen.count();
            all.counted_at = at;
        }
        const std::uint64_t transactions = all.transactions;
        (load ? change.global_loads : change.global_stores) = 1;
        (load ? change.global_load_accesses : change.global_store_accesses) = all.lanes;
        (load ? change.load_transactions : change.store_transactions) = transactions;
        (load ? change.load_bytes : change.store_bytes) = std::uint64_t{all.distinct} * all.size;
        (load ? change.load_bytes_moved : change.store_bytes_moved) = transactions * machine.transaction_bytes;
        return;
    }
    // From another first word on, as many words fall into one bank.
    std::uint32_t words = all.words, most = all.most_in_bank;
    if (words == 0 || all.size < 4) {
        words = most = 0;
        std::uint8_t in_bank[64] = {};
        const auto banks = machine.banks;
        const bool is_power = (banks & (banks - 1)) == 0;
        if (all.size < 4)
            seen.clear();
        for (std::uint32_t i = 0; i < all.distinct; ++i)
            for (auto word = (all.first + all.address[i]) / 4; word <= (all.first + all.address[i] + all.size - 1) / 4;
                 ++word)
                if (all.size >= 4 || seen.add(word)) {
                    ++words;
                    most = std::max<std::uint32_t>(most, ++in_bank[is_power ? word & (banks - 1) : word % banks]);
                }
        all.words = words;
        all.most_in_bank = most;
    }
    const auto fewest = (words + machine.banks - 1) / machine.banks;
    w.last.wavefronts = most;
    w.last.conflicts = most - fewest;
    (load ? change.shared_loads : change.shared_stores) = 1;
    (load ? change.shared_load_accesses : change.shared_store_accesses) = all.lanes;
    change.shared_wavefronts = change.worst_bank = most;
    change.bank_conflicts = most - fewest;
}

// note_progress for the gathered lanes.
void engine::note_gathered(warp& w)
{
    const gathered_lanes& here = w.here;
    const auto first = std::countr_zero(here.mask) & 31;
    bool fresh = w.last_pc[first] != here.pc || w.last_address[first] != here.address[first];
    if (here.mask == ~0u) {
        for (std::uint32_t i = 0; i < 32 && !fresh; ++i)
            fresh = w.last_pc[i] != here.pc || w.last_address[i] != here.address[i];
        std::ranges::fill(w.last_pc, here.pc);
        std::ranges::copy(here.address, w.last_address);
    } else {
        each_lane(here.mask, [&](std::uint32_t i) {
            fresh = fresh || w.last_pc[i] != here.pc || w.last_address[i] != here.address[i];
            w.last_pc[i] = here.pc;
            w.last_address[i] = here.address[i];
        });
    }
    const auto mask = here.mask;
    if (w.polling != 0) {
        if (here.kind == request_kind::write) {
            write_requests(w);
            each_lane(mask, [&](std::uint32_t i) {
                const lane& l = w.of->lanes[w.first + i];
                check_lockstep(l, l.pending);
            });
        }
        w.polling &= ~mask;
    }
    if (here.kind == request_kind::write)
        only_reads_ = no_writes_ = 0;
    if (fresh)
        no_progress_ = 0;
    else
        polled_ = true;
    w.flag_reads = 0;
}

void engine::issue_gathered(warp& w)
{
    const auto mask = w.here.mask;
    if (options_.machine.lanes_per_access >= w.lanes && issue_at_once(w)) {
        w.here.mask = 0;
        return;
    }
    write_requests(w);
    issue_memory(w, mask);
}

// Issues ordinary loads or stores that are all inside the block's shared memory, or all inside one allocation. False, and
// nothing is done, for others.
bool engine::issue_at_once(warp& w)
{
    const gathered_lanes& here = w.here;
    const auto mask = here.mask;
    const auto known_site = sites_.known(here.pc);
    if (known_site >= accesses_.size())
        accesses_.resize(known_site + 1);
    warp_access& all = accesses_[known_site];
    if (!all.gather(here))
        return false;

    auto base = reinterpret_cast<std::uintptr_t>(w.of->shared);
    const bool shared = all.begin() - base < shared_capacity_ && all.end() - all.size - base < shared_capacity_;
    shadow* state = w.of->shared_shadow.get();
    allocation* near = nullptr;
    if (shared) {
        if (!in_one_variable(all, base))
            return false;
    } else {
        auto& memory = device_memory::instance();
        near = sites_[known_site].near;
        const auto is_inside = [&](const allocation* a) {
            return a != nullptr && all.begin() - reinterpret_cast<std::uintptr_t>(a->base) < a->size &&
                   all.end() - reinterpret_cast<std::uintptr_t>(a->base) <= a->size && !a->freed;
        };
        if (!is_inside(near))
            near = is_inside(near_) ? near_ : memory.contains(all.begin()) ? memory.find(all.begin()) : nullptr;
        if (!is_inside(near))
            return false;
        base = reinterpret_cast<std::uintptr_t>(near->base);
        state = near->shadow.get();
    }
    const auto site = sites_.index_of(here.pc);
    sites_[site].near = near;
    const auto kind = here.kind;
    const auto pc = here.pc;
    note_gathered(w);
    lane_operations_ += all.lanes;
    if (shared)
        state->touch(all.begin() - base, all.end() - all.begin());
    if (options_.check)
        check_at_once(w, all, *state, base, site, kind == request_kind::write);
    const auto first = static_cast<std::uint32_t>(std::countr_zero(mask));
    const bool may_continue = w.last.mask == mask && w.last.kind == kind && here.address[first] == w.last.next[first];
    if (is_unfair_ || may_continue) {
        write_requests(w);
        if (is_unfair_)
            note_flags(w, mask);
    }

    counters change;
    if (!may_continue || !continues_vector(w, mask, shared, change)) {
        change.instructions = 1;
        change.active_lanes = all.lanes;
        change.possible_lanes = w.lanes;
        change.divergent = mask != w.all();
        count_at_once(w, all, kind == request_kind::read, shared, change);
        w.last.kind = kind;
        w.last.shared = shared;
        w.last.pc = pc;
        w.last.mask = mask;
        w.last.bytes = all.lanes * all.size;
        if (mask == ~0u)
            for (std::uint32_t i = 0; i < 32; ++i)
                w.last.next[i] = here.address[i] + all.size;
        else
            each_lane(mask, [&](std::uint32_t i) { w.last.next[i] = here.address[i] + all.size; });
    }
    sites_[site].counts += change;
    sites_[site].came(w.first);
    interval_of(*w.of) += change;
    return true;
}

// A read of a word that the lane updates afterwards is only a guess, which the atomic puts right: so begins the loop around atomicCAS
// by which CUDA's guide makes new atomics. What the lane reads in between is not looked at where the guess was found to race.
void engine::note_guesses(warp& w, std::uint32_t mask)
{
    const lane* lanes = &w.of->lanes[w.first];
    each_lane(mask, [&](std::uint32_t i) {
        const std::uintptr_t address = lanes[i].pending.address;
        if (w.last_pc[i] != 0 && w.last_address[i] == address)
            sites_[sites_.index_of(w.last_pc[i])].guesses = true;
        if (lanes[i].raced_address == address)
            sites_[sites_.index_of(lanes[i].raced_pc)].guesses = true;
    });
}

void engine::issue_memory(warp& w, std::uint32_t mask)
{
    lane* lanes = &w.of->lanes[w.first];
    const request& what = lanes[std::countr_zero(mask)].pending;
    if (what.kind == request_kind::atomic && what.writes)
        note_guesses(w, mask);
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
    site& here = sites_[sites_.index_of(what.pc)];
    here.counts += change;
    here.came(w.first);
    interval_of(*w.of) += change;
}

} // namespace upsweep::simulator
