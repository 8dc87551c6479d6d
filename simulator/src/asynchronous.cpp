// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Split barriers and asynchronous copies. The accesses of a copy are checked when it is issued, as those of an agent that
// knows what the issuer knew; no thread is ordered after them until it has waited for the copy. The schedule chooses one
// moment at which the bytes are read, and a later one at which they are written.
#include <algorithm>
#include <bit>
#include <cstring>

#include "engine.h"

namespace upsweep::simulator {

namespace {

constexpr std::uint32_t most_arrivals = (1u << 20) - 1, most_bytes = (1u << 20) - 1;
constexpr std::uint32_t named_barriers = 16; // that a block has
constexpr std::uint64_t mark_of_an_mbarrier = 0x6d62617272696572;

void remove(std::vector<std::uint64_t>& from, std::uint64_t number)
{
    from.erase(std::find(from.begin(), from.end(), number));
}

bool none_up_to(const std::vector<std::uint64_t>& numbers, std::uint64_t last)
{
    return numbers.empty() || *std::min_element(numbers.begin(), numbers.end()) > last;
}

std::string counted(std::int64_t n, const char* what) { return std::to_string(n) + " " + what + (n == 1 ? "" : "s"); }

} // namespace

bool bulk_stores::done(std::uint32_t may_be_pending, bool only_reads) const
{
    const auto last = waited(may_be_pending);
    return none_up_to(unread, last) && (only_reads || none_up_to(unwritten, last));
}

void engine::refuse(lane& self, finding_kind kind, std::uintptr_t pc, const std::string& did, const std::string& why)
{
    report(kind, self, pc, did, why);
    stop(why);
    abandon(self);
}

// What a thread knows now, its own accesses up to here among it.
thread_knowledge engine::known_to(lane& self)
{
    const warp& w = *self.of;
    thread_knowledge taken;
    taken.block = w.of->linear;
    taken.epoch = w.of->epoch;
    taken.thread = self.global_index();
    taken.first_of_warp = taken.thread - (self.index - w.first);
    taken.own = make_instant(launch_number_, w.of->epoch, self.change_order().local++);
    std::copy_n(w.known[self.index - w.first], w.lanes, taken.warp);
    taken.acquired = self.order().acquired;
    return taken;
}

// Arriving releases: all who wait for the phase come to know what the thread knew.
void engine::gather(const thread_knowledge& one, gathering& into)
{
    auto& all = *into.all;
    if (one.acquired && one.acquired != into.last) {
        all.join(*one.acquired);
        into.last = one.acquired;
    }
    if (one.first_of_warp != into.last_warp || !std::ranges::equal(one.warp, into.last_row)) {
        for (std::uint32_t u = 0; u < 32; ++u)
            if (const auto when = one.warp[u]; epoch_of(when) == one.epoch)
                all.threads[one.first_of_warp + u] = std::max(all.threads[one.first_of_warp + u], when);
        into.last_warp = one.first_of_warp;
        std::ranges::copy(one.warp, into.last_row);
    }
    auto& own = all.threads[one.thread];
    own = std::max(own, one.own);
    auto& epoch = all.blocks[one.block];
    epoch = std::max(epoch, one.epoch);
}

void engine::wake(std::vector<lane*>& waiting)
{
    for (lane* l : waiting) {
        l->state = lane_state::ready; // to look again: when its turn comes, the phase may be another one
        set_ready(*l->of, 1u << (l->index - l->of->first));
    }
    waiting.clear();
    no_progress_ = only_reads_ = 0;
}

mbarrier& engine::mbarrier_at(lane& self, block& owner, std::uintptr_t address, std::uintptr_t pc, const char* did)
{
    silent_hooks silence;
    auto found = owner.mbarriers.find(address);
    if (found == owner.mbarriers.end())
        refuse(self, finding_kind::mbarrier_misuse, pc, did,
               address - reinterpret_cast<std::uintptr_t>(owner.shared) < shared_capacity_
                   ? "no thread has initialised an mbarrier here"
               : &owner == self.of->of ? "this is not an mbarrier in the block's own shared memory"
                                       : "this is not an mbarrier in the block that receives the bytes");
    if (std::memcmp(reinterpret_cast<const void*>(address), &found->second.mark, sizeof found->second.mark) != 0)
        refuse(self, finding_kind::mbarrier_misuse, pc, did, "the mbarrier's memory was overwritten");
    return found->second;
}

void engine::mbarrier_init(lane& self, std::uintptr_t address, std::uint32_t arrivals, std::uintptr_t pc)
{
    silent_hooks silence;
    block& own = *self.of->of;
    constexpr auto did = "initialises an mbarrier";
    if (address - reinterpret_cast<std::uintptr_t>(own.shared) >= shared_capacity_)
        refuse(self, finding_kind::mbarrier_misuse, pc, did, "an mbarrier lies in the block's own shared memory");
    if (address % 8 != 0)
        refuse(self, finding_kind::misaligned, pc, did, "an mbarrier lies at a multiple of 8 bytes");
    if (arrivals == 0 || arrivals > most_arrivals)
        refuse(self, finding_kind::mbarrier_misuse, pc, did,
               "an mbarrier expects between 1 and " + std::to_string(most_arrivals) + " arrivals, not " +
                   std::to_string(arrivals));
    auto& made = own.mbarriers[address];
    if (!made.waiting.empty() || !made.in_flight.empty())
        refuse(self, finding_kind::mbarrier_misuse, pc, did,
               "threads still wait for this mbarrier, or copies are on their way to it");
    made = {};
    made.agent = static_cast<std::uint32_t>(agents_.size());
    agents_.push_back(self.global_index());
    made.mark = mark_of_an_mbarrier ^ address ^ made.agent;
    made.expected = made.pending = arrivals;
    made.made_at = pc;
    std::memcpy(reinterpret_cast<void*>(address), &made.mark, sizeof made.mark);
}

unsigned engine::mbarrier_arrive(lane& self, std::uintptr_t address, std::uint32_t bytes, std::uintptr_t pc)
{
    silent_hooks silence;
    constexpr auto did = "arrives";
    auto& m = mbarrier_at(self, *self.of->of, address, pc, did);
    if (m.pending == 0)
        refuse(self, finding_kind::mbarrier_misuse, pc, did,
               "all " + counted(m.expected, "arrival") + " of this phase have come before");
    if (m.bytes + bytes > most_bytes)
        refuse(self, finding_kind::mbarrier_misuse, pc, did,
               "an mbarrier expects at most " + std::to_string(most_bytes) + " bytes a phase");
    gather(known_to(self), m.gathered);
    const auto parity = static_cast<unsigned>(m.phase & 1);
    m.bytes += bytes;
    --m.pending;
    complete_phase(m);
    return parity;
}

// A named barrier is treated as an mbarrier without copies, with its number in place of an address.
unsigned engine::named_arrive(lane& self, std::uint32_t id, std::uint32_t threads, std::uintptr_t pc)
{
    silent_hooks silence;
    constexpr auto did = "arrives at a named barrier";
    if (id >= named_barriers)
        refuse(self, finding_kind::barrier_divergence, pc, did,
               "a block has barriers 0 to " + std::to_string(named_barriers - 1) + ", not " + std::to_string(id));
    if (threads == 0 || threads % options_.machine.warp_width != 0 || threads > threads_)
        refuse(self, finding_kind::barrier_divergence, pc, did,
               "a barrier is for whole warps of the block, not for " + counted(threads, "thread"));
    auto& m = self.of->of->mbarriers[id];
    if (m.pending == m.expected) {
        m.expected = m.pending = threads;
        m.made_at = pc;
    } else if (m.expected != threads) {
        refuse(self, finding_kind::barrier_divergence, pc, did,
               "it is for " + counted(threads, "thread") + ", but others wait here for " + std::to_string(m.expected));
    }
    gather(known_to(self), m.gathered);
    const auto parity = static_cast<unsigned>(m.phase & 1);
    --m.pending;
    if (m.pending == 0)
        ++sites_[sites_.index_of(pc)].counts.barriers;
    complete_phase(m);
    return parity;
}

void engine::complete_phase(mbarrier& m)
{
    if (m.pending != 0 || m.bytes != 0)
        return;
    // A copy that no thread expected may still be on its way. Waiting for the phase then tells nothing of the copies after it.
    const auto first = std::min_element(m.in_flight.begin(), m.in_flight.end());
    m.done = first == m.in_flight.end() ? m.copies : *first - 1;
    if (m.copies != 0)
        m.gathered.all->copies[m.agent] = make_copy_instant(launch_number_, m.done);
    m.completed = std::make_shared<knowledge>(*m.gathered.all);
    m.gathered.last = m.completed;
    ++m.phase;
    m.pending = m.expected;
    wake(m.waiting);
}

void engine::mbarrier_passed(lane& self, std::uintptr_t address)
{
    silent_hooks silence;
    auto& m = self.of->of->mbarriers.at(address);
    if (!m.completed)
        return; // it has waited for the phase before the first one, which counts as complete
    // What the thread itself knew is part of what a named barrier has gathered.
    auto& acquired = self.change_order().acquired;
    acquired = address < named_barriers ? m.completed : joined(acquired, m.completed);
    m.known = std::max(m.known, m.done);
}

void engine::cluster_arrive(lane& self, std::uintptr_t pc)
{
    silent_hooks silence;
    if (self.cluster_arrivals != self.cluster_waits)
        refuse(self, finding_kind::barrier_divergence, pc, "arrives at the cluster's barrier",
               "a thread arrives twice and has not waited in between");
    ++self.cluster_arrivals;
    const auto cluster = self.of->of->linear / cluster_size_;
    auto& state = clusters_[cluster];
    gather(known_to(self), state.gathered);
    ++state.arrived;
    try_cluster(cluster);
}

void engine::try_cluster(std::uint64_t cluster)
{
    auto found = clusters_.find(cluster);
    if (found == clusters_.end())
        return;
    split_barrier& state = found->second;
    std::uint64_t live = 0;
    for (std::uint64_t b = cluster * cluster_size_; b < (cluster + 1) * cluster_size_; ++b)
        if (const block* member = block_of(b))
            live += member->live;
    if (state.arrived == 0 || state.arrived != live)
        return;
    state.completed = std::make_shared<knowledge>(*state.gathered.all);
    ++state.phase;
    state.arrived = 0;
    wake(state.waiting);
}

void engine::cluster_passed(lane& self)
{
    silent_hooks silence;
    ++self.cluster_waits;
    auto& acquired = self.change_order().acquired;
    acquired = joined(acquired, clusters_[self.of->of->linear / cluster_size_].completed);
}

// Lanes of a warp come to a wait: for the phase of an mbarrier, for the cluster, or for their own stores.
void engine::arrive_wait(warp& w, std::uint32_t mask)
{
    std::uint32_t pass = 0, fresh = 0;
    for (std::uint32_t left = mask; left != 0; left &= left - 1) {
        const auto i = static_cast<std::uint32_t>(std::countr_zero(left));
        lane& l = w.of->lanes[w.first + i];
        const request& what = l.pending;
        if (!what.waited) {
            fresh |= 1u << i;
            if (what.kind == request_kind::mbarrier_wait && what.address >= named_barriers && options_.check)
                check_access(l);
        }
        if (may_pass(l)) {
            pass |= 1u << i;
            continue;
        }
        l.state = lane_state::waiting;
        l.pending.waited = true;
        if (what.kind == request_kind::mbarrier_wait)
            w.of->mbarriers.at(what.address).waiting.push_back(&l);
        else if (what.kind == request_kind::cluster_wait)
            clusters_[w.of->linear / cluster_size_].waiting.push_back(&l);
        else
            stores_[&l].waiting.push_back(&l);
    }
    if (fresh != 0)
        count_issue(w, fresh, w.of->lanes[w.first + static_cast<std::uint32_t>(std::countr_zero(fresh))].pending.pc);
    clear_ready(w, mask & ~pass);
    if (pass != 0)
        no_progress_ = only_reads_ = 0;
    resume_all(w, pass);
}

bool engine::may_pass(const lane& l)
{
    const request& what = l.pending;
    if (what.kind == request_kind::mbarrier_wait)
        return (l.of->of->mbarriers.at(what.address).phase & 1) != static_cast<std::uint64_t>(what.operand);
    if (what.kind == request_kind::cluster_wait)
        return clusters_[l.of->of->linear / cluster_size_].phase >= l.cluster_arrivals;
    auto own = stores_.find(&l);
    return own == stores_.end() || own->second.done(static_cast<std::uint32_t>(what.operand), what.value != 0);
}

std::string engine::what_it_lacks(const lane& l)
{
    const request& what = l.pending;
    if (what.kind == request_kind::cluster_wait)
        return "waits for the other threads of the cluster to arrive";
    if (what.kind == request_kind::bulk_wait)
        return "waits for its bulk stores";
    const auto& m = l.of->of->mbarriers.at(what.address);
    if (what.address < named_barriers)
        return "waits at barrier " + std::to_string(what.address) + " of the block, which lacks " +
               std::to_string(m.pending) + " of " + counted(m.expected, "thread");
    const location& made = locate(m.made_at);
    return "waits for parity " + std::to_string(what.operand) + " of the mbarrier initialised at line " +
           std::to_string(made.line) + ", whose phase " + std::to_string(m.phase) + " lacks " +
           std::to_string(m.pending) + " of " + counted(m.expected, "arrival") + " and " + counted(m.bytes, "byte");
}

void engine::start_copy(lane& self, bulk_copy copy, std::uintptr_t pc)
{
    const char* did = copy.store ? "issues a bulk store" : "issues a bulk load";
    if (copy.source % 16 != 0 || copy.target % 16 != 0 || copy.bytes % 16 != 0 || copy.bytes == 0)
        refuse(self, finding_kind::misaligned, pc, did,
               "a bulk copy moves a multiple of 16 bytes between addresses that are multiples of 16, not " +
                   std::to_string(copy.bytes) + " bytes between addresses " + std::to_string(copy.source % 16) +
                   " and " + std::to_string(copy.target % 16) + " bytes past one");
    const auto shared = copy.store ? copy.source : copy.target, global = copy.store ? copy.target : copy.source;
    copy.of = self.of->of;
    if (shared - reinterpret_cast<std::uintptr_t>(copy.of->shared) >= shared_capacity_ ||
        space_of(self, global) != space::global)
        refuse(self, finding_kind::out_of_bounds, pc, did,
               "a bulk copy goes between the block's own shared memory and global memory");

    const copy_stamp source{copy.agent, make_copy_instant(launch_number_, copy.number), true};
    const copy_stamp target{copy.agent + copy.store, source.when, true};
    agents_[source.agent] = agents_[target.agent] = self.global_index();
    if (options_.check) {
        request access;
        access.pc = pc;
        access.size = copy.bytes;
        access.kind = request_kind::read;
        access.address = copy.source;
        const auto reads = check_copy(self, access, source);
        access.kind = request_kind::write;
        access.address = copy.target;
        const auto writes = check_copy(self, access, target);
        if (reads == access_result::fatal || writes == access_result::fatal) {
            stop("a bulk copy outside device memory");
            abandon(self);
        }
        copy.possible = reads == access_result::possible && writes == access_result::possible;
    }

    const auto segment = options_.machine.transaction_bytes, row = options_.machine.banks * 4;
    const auto transactions = (global % segment + copy.bytes + segment - 1) / segment;
    for (auto* counts : {&sites_[sites_.index_of(pc)].counts, &interval_of(*copy.of)}) {
        ++counts->bulk_copies;
        (copy.store ? counts->store_transactions : counts->load_transactions) += transactions;
        (copy.store ? counts->store_bytes : counts->load_bytes) += copy.bytes;
        (copy.store ? counts->store_bytes_moved : counts->load_bytes_moved) += transactions * segment;
        counts->shared_wavefronts += (copy.bytes + row - 1) / row;
    }
    ++lane_operations_;
    add_copy(self, std::move(copy));
}

// A copy counts at an mbarrier when it ends. The initialisation of the mbarrier must be ordered before it.
void engine::check_mbarrier(lane& self, const mbarrier& m, std::uintptr_t address, std::uintptr_t pc)
{
    if (!options_.check)
        return;
    request access;
    access.pc = pc;
    access.size = sizeof m.mark;
    access.kind = request_kind::read;
    access.address = address;
    check_copy(self, access, {m.agent, make_copy_instant(launch_number_, m.copies), true});
}

void engine::bulk_load(lane& self, std::uintptr_t target, std::uintptr_t source, std::uint32_t bytes,
                       std::uintptr_t barrier, std::uintptr_t pc)
{
    silent_hooks silence;
    auto& m = mbarrier_at(self, *self.of->of, barrier, pc, "issues a bulk load");
    bulk_copy copy;
    copy.source = source;
    copy.target = target;
    copy.bytes = bytes;
    copy.agent = m.agent;
    copy.number = ++m.copies;
    copy.barrier = &m;
    m.copied_at = pc;
    check_mbarrier(self, m, barrier, pc);
    m.in_flight.push_back(copy.number);
    start_copy(self, std::move(copy), pc);
}

void engine::bulk_store(lane& self, std::uintptr_t target, std::uintptr_t source, std::uint32_t bytes,
                        std::uintptr_t pc)
{
    silent_hooks silence;
    auto& own = stores_[&self];
    if (own.agent == 0) {
        own.agent = static_cast<std::uint32_t>(agents_.size());
        agents_.insert(agents_.end(), 2, self.global_index());
    }
    bulk_copy copy;
    copy.store = true;
    copy.source = source;
    copy.target = target;
    copy.bytes = bytes;
    copy.agent = own.agent;
    copy.number = ++own.issued;
    copy.issuer = &self;
    own.issued_at = pc;
    own.unread.push_back(copy.number);
    own.unwritten.push_back(copy.number);
    start_copy(self, std::move(copy), pc);
}

void engine::bulk_commit(lane& self)
{
    silent_hooks silence;
    if (auto own = stores_.find(&self); own != stores_.end())
        own->second.commit();
}

void engine::bulk_passed(lane& self, std::uint32_t may_be_pending, bool only_reads)
{
    silent_hooks silence;
    auto found = stores_.find(&self);
    if (found == stores_.end())
        return;
    auto& own = found->second;
    const auto last = own.waited(may_be_pending);
    if (last == 0)
        return;
    own.read = std::max(own.read, last);
    auto learnt = std::make_shared<knowledge>();
    learnt->copies[own.agent] = make_copy_instant(launch_number_, last);
    if (!only_reads)
        learnt->copies[own.agent + 1] = make_copy_instant(launch_number_, last);
    auto& acquired = self.change_order().acquired;
    acquired = joined(acquired, std::move(learnt));
}

void engine::proxy_fence(lane& self, bool global_too)
{
    silent_hooks silence;
    constexpr std::size_t kept = 64, kept_whole = 8;
    auto record = std::make_shared<const thread_knowledge>(known_to(self));
    auto& fences = self.change_order().proxy_fences;
    if (fences.size() == kept)
        fences.erase(fences.begin());
    fences.push_back(record->own);
    if (global_too)
        self.change_order().fenced_global = record;
    auto& whole = self.change_order().fenced;
    if (whole.size() == kept_whole)
        whole.erase(whole.begin());
    whole.push_back(std::move(record));
    ++sites_[sites_.index_of(self.pending.pc)].counts.fences;
}

// The block of the cluster whose shared memory holds an address, while it runs.
block* engine::running_neighbour(const lane& self, std::uintptr_t address)
{
    const auto cluster = self.of->of->linear / cluster_size_;
    for (auto& b : blocks_)
        if (address - reinterpret_cast<std::uintptr_t>(b->shared) < shared_capacity_)
            return b->resident && b->linear / cluster_size_ == cluster ? b.get() : nullptr;
    return nullptr;
}

// The bytes of a transfer come out of registers, and reach shared memory by the same proxy as ordinary stores do. When it
// counts at the mbarrier it releases what its thread knew: in PTX, the complete-tx of st.async has release semantics at the
// scope of the cluster.
void engine::transfer(lane& self, std::uintptr_t target, device::bits value, std::uintptr_t barrier, std::uintptr_t pc)
{
    silent_hooks silence;
    constexpr auto did = "issues a transfer";
    if (target % sizeof value != 0)
        refuse(self, finding_kind::misaligned, pc, did,
               "it goes to an address that is a multiple of 16, not " + counted(target % sizeof value, "byte") +
                   " past one");
    block* receiver = running_neighbour(self, target);
    if (receiver == nullptr)
        refuse(self, finding_kind::out_of_bounds, pc, did,
               holds_shared(target) ? "the block whose shared memory this was has ended"
                                    : "it goes to the shared memory of a block of the cluster");
    auto& m = mbarrier_at(self, *receiver, barrier, pc, did);
    bulk_copy copy;
    copy.read = true;
    copy.target = target;
    copy.bytes = sizeof value;
    copy.agent = m.agent;
    copy.number = ++m.copies;
    copy.of = receiver;
    copy.barrier = &m;
    copy.data.resize(sizeof value);
    std::memcpy(copy.data.data(), &value, sizeof value);
    m.copied_at = pc;
    m.in_flight.push_back(copy.number);
    agents_[m.agent] = self.global_index();
    check_mbarrier(self, m, barrier, pc);
    if (options_.check) {
        request access;
        access.pc = pc;
        access.size = copy.bytes;
        access.kind = request_kind::write;
        access.address = target;
        const copy_stamp by{m.agent, make_copy_instant(launch_number_, copy.number), false};
        copy.possible = check_copy(self, access, by) == access_result::possible;
    }
    copy.releases = std::make_unique<thread_knowledge>(known_to(self));
    add_copy(self, std::move(copy));
}

void engine::add_copy(const lane& issuer, bulk_copy copy)
{
    const bool is_one_first = options_.schedule.kind == schedule::order::starve_others;
    const bool is_kept_back = is_unfair_ && (issuer.of->of->linear == options_.schedule.block) != is_one_first;
    no_progress_ = only_reads_ = no_writes_ = 0;
    (is_kept_back ? late_copies_ : copies_).push_back(std::move(copy));
}

// A schedule advances copies soon, in the order of their issue; or at once; or at random; or as late as possible, when no
// warp makes progress, or all that do so have only read for long, as a warp does that polls many flags. A copy that wakes no lane does not count as progress, so
// that the next one need not wait as long.
bool engine::copy_is_due()
{
    using order = schedule::order;
    const std::uint64_t long_enough = 4 * slots_.size() + 1000;
    if (no_progress_ > long_enough || no_writes_ > 16 * long_enough)
        return true;
    switch (options_.schedule.kind) {
    case order::in_order: return ++copy_turn_ % 16 == 0;
    case order::reversed: return false;
    case order::round_robin: return true;
    case order::random:
    case order::lanes_apart: return random_() % 16 == 0;
    case order::stall:
    case order::starve_others: return !copies_.empty();
    }
    return true;
}

// A copy has two turns: it is read in the first one, and written in the second.
void engine::advance_next_copy()
{
    using order = schedule::order;
    const auto kind = options_.schedule.kind;
    copy_queue& queue = copies_.empty() ? late_copies_ : copies_;
    const bool is_random = kind == order::random || kind == order::lanes_apart;
    const std::size_t which = kind == order::reversed ? queue.size() - 1 : is_random ? random_() % queue.size() : 0;
    if (!queue[which].read) {
        read_copy(queue[which]);
        return;
    }
    if (is_random) // where the order has no meaning, the copy changes places with the last one, and no other one moves
        std::swap(queue[which], queue.back());
    const bool is_last = is_random || which + 1 == queue.size();
    bulk_copy next = std::move(is_last ? queue.back() : queue.front());
    if (is_last)
        queue.pop_back();
    else
        queue.pop_front();
    finish_copy(std::move(next));
}

void engine::read_copy(bulk_copy& copy)
{
    ++changes_;
    copy.read = true;
    if (copy.possible) {
        const auto* from = reinterpret_cast<const std::uint8_t*>(copy.source);
        copy.data.assign(from, from + copy.bytes);
    }
    if (auto found = stores_.find(copy.issuer); found != stores_.end() && found->second.agent == copy.agent) {
        remove(found->second.unread, copy.number);
        wake(found->second.waiting);
    }
}

void engine::finish_copy(bulk_copy copy)
{
    ++changes_;
    only_reads_ = 0;
    if (copy.possible) {
        std::memcpy(reinterpret_cast<void*>(copy.target), copy.data.data(), copy.bytes);
        if (copy.store)
            device_memory::instance().host_wrote(reinterpret_cast<void*>(copy.target), copy.bytes);
        else
            copy.of->shared_shadow->initialise(copy.target - reinterpret_cast<std::uintptr_t>(copy.of->shared),
                                               copy.bytes);
    }
    if (auto found = stores_.find(copy.issuer); found != stores_.end() && found->second.agent == copy.agent) {
        remove(found->second.unwritten, copy.number);
        wake(found->second.waiting);
    }
    if (copy.barrier != nullptr) {
        remove(copy.barrier->in_flight, copy.number);
        copy.barrier->bytes -= copy.bytes;
        if (copy.releases)
            gather(*copy.releases, copy.barrier->gathered);
        complete_phase(*copy.barrier);
    }
}

// When a block ends, another one takes over its shared memory. Copies that are still on their way to it, or from it, come too
// late.
void engine::forget_copies_of(block& b)
{
    for (const auto& [address, m] : b.mbarriers)
        if (m.copies > m.known)
            report(finding_kind::unfinished_copy,
                   party_of(agents_[m.agent], sites_.index_of(m.copied_at), "issued a copy"),
                   "the block ends and no thread has waited for a copy into its shared memory");
    for (copy_queue* queue : {&copies_, &late_copies_}) {
        std::erase_if(*queue, [&](const bulk_copy& c) { return c.of == &b && !c.store; });
        for (bulk_copy& c : *queue)
            if (c.of == &b && !c.read)
                read_copy(c);
    }
}

void engine::report_unfinished_copies(const lane& l)
{
    if (auto own = stores_.empty() ? stores_.end() : stores_.find(&l); own != stores_.end()) {
        if (own->second.issued > own->second.read)
            report(finding_kind::unfinished_copy, l, own->second.issued_at, "issued a bulk store",
                   "the thread exits and has not waited until its store was read from shared memory");
        stores_.erase(own);
    }
    if (auto own = pipelines_.empty() ? pipelines_.end() : pipelines_.find(&l); own != pipelines_.end()) {
        if (!own->second.pending.empty())
            report(finding_kind::unfinished_copy, l, own->second.issued_at, "issued an asynchronous copy",
                   "the thread exits and has not waited for its copy into shared memory");
        pipelines_.erase(own);
    }
}

void engine::pipeline_copy(lane& self, std::uintptr_t target, std::uintptr_t source, std::uint32_t bytes,
                           std::uintptr_t pc)
{
    silent_hooks silence;
    constexpr auto did = "issues an asynchronous copy";
    if ((bytes != 4 && bytes != 8 && bytes != 16) || source % bytes != 0 || target % bytes != 0)
        refuse(self, finding_kind::misaligned, pc, did,
               "it copies 4, 8 or 16 bytes between addresses that are multiples of that");
    if (target - reinterpret_cast<std::uintptr_t>(self.of->of->shared) >= shared_capacity_)
        refuse(self, finding_kind::out_of_bounds, pc, did, "it copies into the block's own shared memory");
    auto& own = pipelines_[&self];
    if (own.agent == 0) {
        own.agent = static_cast<std::uint32_t>(agents_.size());
        agents_.push_back(self.global_index());
    }
    own.issued_at = pc;
    pipeline::copy made{target, source, pc, bytes, ++own.issued, true, false};
    if (options_.check) {
        request access;
        access.pc = pc;
        access.size = bytes;
        access.kind = request_kind::write;
        access.address = target;
        const copy_stamp by{own.agent, make_copy_instant(launch_number_, made.number), false};
        made.possible = check_copy(self, access, by) == access_result::possible;
    }
    own.pending.push_back(made);
}

void engine::pipeline_commit(lane& self)
{
    silent_hooks silence;
    auto& own = pipelines_[&self];
    own.commit();
    using order = schedule::order;
    const auto kind = options_.schedule.kind;
    const bool at_once = kind == order::random || kind == order::lanes_apart
                             ? random_() % 2 == 0
                             : kind != order::reversed && kind != order::stall;
    if (at_once)
        for (auto& copy : own.pending)
            carry_out(copy);
}

// What a thread has waited for counts as written by the thread at this moment.
void engine::pipeline_wait(lane& self, std::uint32_t may_be_pending)
{
    silent_hooks silence;
    auto& own = pipelines_[&self];
    const auto last = own.waited(may_be_pending);
    const auto now = make_instant(launch_number_, self.of->of->epoch, self.order().local);
    auto& state = *self.of->of->shared_shadow;
    std::erase_if(own.pending, [&](pipeline::copy& copy) {
        if (copy.number > last)
            return false;
        carry_out(copy);
        const auto offset = copy.target - reinterpret_cast<std::uintptr_t>(self.of->of->shared);
        if (options_.check && copy.possible)
            for (cell* c = state.at(offset); c <= state.at(offset + copy.bytes - 1); ++c)
                if ((c->write.flags & stamp_copy) && c->write.thread == own.agent)
                    c->write = {now, self.global_index(), sites_.index_of(copy.pc), stamp_initialised};
        return true;
    });
}

void engine::carry_out(pipeline::copy& copy)
{
    if (copy.possible && !copy.carried_out)
        std::memcpy(reinterpret_cast<void*>(copy.target), reinterpret_cast<const void*>(copy.source), copy.bytes);
    copy.carried_out = true;
}

} // namespace upsweep::simulator
