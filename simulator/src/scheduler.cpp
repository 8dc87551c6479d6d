// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Chooses which lanes go next. The lanes of a warp that are at the same instruction issue together, those in the deepest call
// and at the lowest program counter first; but lanes that spin let the others of their warp go before them. Among the warps
// of all resident blocks the schedule decides.
#include <dlfcn.h>
#include <sys/mman.h>

#include <atomic>
#include <bit>
#include <new>
#include <utility>

#include "engine.h"

namespace upsweep::simulator {

namespace context = boost::context::detail;

namespace {

std::atomic<std::uint32_t> launches{1};

device::index3 unfold(std::uint64_t linear, const extent& of)
{
    return {static_cast<unsigned>(linear % of.x), static_cast<unsigned>(linear / of.x % of.y),
            static_cast<unsigned>(linear / of.x / of.y)};
}

// Stacks are kept for the next launch of the same host thread, because mapping them anew costs more than a small kernel.
struct stack_pool {
    std::vector<std::pair<std::uint8_t*, std::size_t>> free;
    // There is memory below the stack of the first thread, because a frame that is larger than a stack is found only when the
    // thread is in it.
    static constexpr std::size_t below = std::size_t{8} << 20;
    ~stack_pool()
    {
        for (auto [place, bytes] : free)
            munmap(place - below, bytes + below);
    }
    std::uint8_t* take(std::size_t bytes)
    {
        for (auto it = free.begin(); it != free.end(); ++it)
            if (it->second == bytes) {
                auto* place = it->first;
                free.erase(it);
                return place;
            }
        void* place =
            mmap(nullptr, bytes + below, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (place == MAP_FAILED)
            throw std::bad_alloc();
        return static_cast<std::uint8_t*>(place) + below;
    }
};
thread_local stack_pool stacks;

} // namespace

engine::engine(const launch_request& launch, const options& opts)
    : launch_(launch), options_(opts), launch_number_(launches++ & ((1u << launch_bits) - 1)),
      random_(opts.schedule.seed), began_(std::chrono::steady_clock::now())
{
    is_unfair_ = opts.schedule.kind == schedule::order::stall || opts.schedule.kind == schedule::order::starve_others;
    threads_ = static_cast<std::uint32_t>(launch.block.count());
    warps_ = (threads_ + opts.machine.warp_width - 1) / opts.machine.warp_width;
    blocks_total_ = launch.grid.count();
    cluster_size_ = static_cast<std::uint32_t>(launch.cluster.count());
    const std::size_t page = device_memory::guard;
    shared_next_ = (launch.dynamic_shared + 2 * page - 1) / page * page;
    shared_capacity_ = shared_next_ + opts.machine.shared_opt_in + 64 * page;
    running_engine = this;

    std::uint64_t resident = std::max<std::uint64_t>(1, opts.resident_threads / threads_);
    resident = std::min(resident, std::uint64_t{opts.machine.sms} * opts.machine.blocks_per_sm);
    resident = std::max<std::uint64_t>(resident / cluster_size_, 1) * cluster_size_;
    if (launch.cooperative)
        resident = blocks_total_;
    resident = std::min(resident, blocks_total_);
    slots_.resize(resident * warps_);
    current_slot_ = static_cast<std::uint32_t>(slots_.size()) - 1;
    ready_bits_.assign((slots_.size() + 63) / 64, 0);
    for (std::uint64_t i = 0; i < resident; ++i) {
        auto made = std::make_unique<block>();
        made->warp_count = warps_;
        made->first_slot = static_cast<std::uint32_t>(i * warps_);
        made->lanes = std::make_unique<lane[]>(threads_);
        made->warps = std::make_unique<warp[]>(warps_);
        made->stacks = stacks.take(threads_ * opts.stack_bytes);
        made->shared_storage = std::make_unique_for_overwrite<std::uint8_t[]>(shared_capacity_ + 1024);
        auto base = reinterpret_cast<std::uintptr_t>(made->shared_storage.get());
        made->shared = reinterpret_cast<std::uint8_t*>((base + 1023) & ~std::uintptr_t{1023});
        made->shared_shadow = std::make_unique<shadow>(shared_capacity_, false);
        blocks_.push_back(std::move(made));
    }
}

engine::~engine()
{
    for (auto& b : blocks_)
        stacks.free.emplace_back(b->stacks, threads_ * options_.stack_bytes);
    running_engine = nullptr;
    running_lane = nullptr;
}

block* engine::block_of(std::uint64_t linear)
{
    auto found = by_linear_.find(linear);
    return found == by_linear_.end() ? nullptr : found->second;
}

void engine::lane_main(context::transfer_t from)
{
    running_engine->back_ = from.fctx;
    engine& self = *running_engine;
    self.launch_.run(self.launch_.arguments);
    running_lane->state = lane_state::exited;
    context::jump_fcontext(self.back_, nullptr);
}

void engine::abandon(lane& self)
{
    self.state = lane_state::exited;
    context::jump_fcontext(back_, nullptr);
    std::abort(); // nobody resumes a lane that exited
}

void engine::start_block(block& b, std::uint64_t linear)
{
    const extent grid = launch_.grid;
    b.linear = linear;
    builtins_of_ = nullptr;
    b.index = unfold(linear, grid);
    if (cluster_size_ > 1) { // the blocks of a cluster are neighbours in every direction
        const extent c = launch_.cluster, clusters{grid.x / c.x, grid.y / c.y, grid.z / c.z};
        auto of = unfold(linear / cluster_size_, clusters), in = unfold(linear % cluster_size_, c);
        b.index = {of.x * c.x + in.x, of.y * c.y + in.y, of.z * c.z + in.z};
    }
    b.live = threads_;
    b.epoch = 1;
    b.barrier = b.wide = {};
    b.mbarriers.clear();
    b.resident = true;
    if (options_.check)
        b.shared_shadow->forget(shared_next_);
    by_linear_[linear] = &b;
    const auto width = options_.machine.warp_width;
    for (std::uint32_t w = 0; w < warps_; ++w) {
        warp& fresh = b.warps[w];
        fresh.of = &b;
        fresh.first = w * width;
        fresh.lanes = std::min(width, threads_ - fresh.first);
        fresh.live = fresh.all();
        fresh.ready = fresh.exchanging = 0;
        fresh.yielded = fresh.turn = 0;
        fresh.slot = b.first_slot + (options_.schedule.kind == schedule::order::reversed ? warps_ - 1 - w : w);
        fresh.last = {};
        fresh.flags.forget();
        std::fill_n(&fresh.known[0][0], 32 * 32, 0);
        slots_[fresh.slot] = &fresh;
        for (std::uint32_t i = 0; i < fresh.lanes; ++i) {
            lane& l = b.lanes[fresh.first + i];
            l = lane{};
            l.index = fresh.first + i;
            l.of = &fresh;
            l.thread = unfold(l.index, launch_.block);
            l.stack = b.stacks + l.index * options_.stack_bytes;
            // Neighbouring stacks would otherwise share cache sets at the same depth.
            auto* top = l.stack + options_.stack_bytes - std::size_t{l.index % 128} * 64;
            l.context = context::make_fcontext(top, options_.stack_bytes - 16384, &engine::lane_main);
        }
        set_ready(fresh, fresh.live);
    }
}

void engine::admit_blocks()
{
    for (auto& b : blocks_) {
        if (b->resident || blocks_started_ == blocks_total_)
            continue;
        const bool leads = blocks_started_ % cluster_size_ == 0;
        if (leads && cluster_size_ > 1) { // a cluster starts as a whole
            std::uint32_t places = 0;
            for (auto& other : blocks_)
                places += !other->resident;
            if (places < cluster_size_)
                return;
        }
        const auto next = blocks_started_++;
        start_block(*b, options_.schedule.kind == schedule::order::reversed && cluster_size_ == 1
                            ? blocks_total_ - 1 - next
                            : next);
    }
}

void engine::finish_block(block& b)
{
    close_interval(b);
    forget_copies_of(b);
    ++blocks_done_;
    b.resident = false;
    no_progress_ = only_reads_ = 0;
    grid_steps_ = std::max(grid_steps_, block_steps_[b.linear]);
    block_steps_.erase(b.linear);
    by_linear_.erase(b.linear);
    for (std::uint32_t w = 0; w < warps_; ++w)
        slots_[b.first_slot + w] = nullptr;
}

void engine::set_ready(warp& w, std::uint32_t mask)
{
    w.ready |= mask;
    if (w.ready != 0)
        ready_bits_[w.slot / 64] |= std::uint64_t{1} << w.slot % 64;
}

void engine::clear_ready(warp& w, std::uint32_t mask)
{
    w.ready &= ~mask;
    if (w.ready == 0)
        ready_bits_[w.slot / 64] &= ~(std::uint64_t{1} << w.slot % 64);
}

std::uint32_t engine::next_slot(std::uint32_t from) const
{
    const auto words = static_cast<std::uint32_t>(ready_bits_.size());
    if (from >= slots_.size())
        from = 0;
    std::uint32_t word = from / 64;
    std::uint64_t bits = ready_bits_[word] & ~std::uint64_t{0} << from % 64;
    for (std::uint32_t tried = 0; tried <= words; ++tried) {
        if (bits != 0)
            return word * 64 + static_cast<std::uint32_t>(std::countr_zero(bits));
        word = word + 1 == words ? 0 : word + 1;
        bits = ready_bits_[word];
    }
    return ~0u;
}

// An unfair schedule lets one block run last, or first: those that come later wait until those that come earlier only spin.
// A warp that spins without being recognised keeps the others waiting for long, but not for ever.
std::uint32_t engine::next_unfair_slot()
{
    constexpr std::uint64_t longest_wait = 8192, turns_after_it = 1024;
    const bool is_one_first = options_.schedule.kind == schedule::order::starve_others;
    const bool waited_long = turns_waited_ >= longest_wait;
    const std::uint32_t begin = next_slot(current_slot_ + 1);
    quantum_ = 1;
    if (begin == ~0u || no_progress_ > 4 * slots_.size() + 1000)
        return begin;

    std::uint32_t first = ~0u, waits = ~0u;
    std::uint32_t slot = begin;
    do {
        warp& w = *slots_[slot];
        const bool comes_first = (w.of->linear == options_.schedule.block) == is_one_first;
        std::uint32_t& found = comes_first ? first : waits;
        if (found == ~0u && !w.flags.spins(changes_))
            found = slot;
        slot = next_slot(slot + 1);
    } while (slot != begin && (first == ~0u || waited_long));

    quantum_ = 64;
    if (first == ~0u) {
        turns_waited_ = 0;
        quantum_ = 8; // soon after, those that come first may have something to do
    } else if (waits == ~0u || !waited_long || turns_waited_ >= longest_wait + turns_after_it) {
        turns_waited_ = waited_long && waits != ~0u ? 0 : turns_waited_ + 1;
        return first;
    } else {
        ++turns_waited_;
    }
    return waits != ~0u ? waits : begin;
}

warp* engine::next_warp()
{
    using order = schedule::order;
    const auto& how = options_.schedule;
    constexpr std::uint32_t long_turn = 256;
    const bool current_runs = slots_[current_slot_] != nullptr && slots_[current_slot_]->ready != 0;
    if (quantum_ > 0 && current_runs && !polled_) {
        --quantum_;
        return slots_[current_slot_];
    }
    const bool was_polling = std::exchange(polled_, false);
    std::uint32_t next = ~0u;
    switch (how.kind) {
    case order::in_order:
    case order::reversed: {
        // A block keeps its turn across its own barriers: its stacks and shared memory are in the cache.
        const std::uint32_t first = current_slot_ / warps_ * warps_, last = first + warps_ - 1;
        next = next_slot(current_slot_ + 1);
        if ((next < first || next > last) && block_turn_ > 0) {
            const auto again = next_slot(first);
            if (again >= first && again <= last)
                next = again;
        }
        if (next < first || next > last || block_turn_ == 0)
            block_turn_ = long_turn * 16;
        else
            block_turn_ -= std::min(block_turn_, was_polling ? long_turn : 1);
        quantum_ = long_turn;
        break;
    }
    case order::round_robin:
        next = next_slot(current_slot_ + 1);
        quantum_ = 0;
        break;
    case order::random:
    case order::lanes_apart:
        next = next_slot(static_cast<std::uint32_t>(random_() % slots_.size()));
        quantum_ = static_cast<std::uint32_t>(random_() % 12);
        break;
    case order::stall:
    case order::starve_others: next = next_unfair_slot(); break;
    }
    if (next == ~0u)
        return nullptr;
    current_slot_ = next;
    return slots_[next];
}

std::uint32_t engine::choose_lanes(warp& w)
{
    lane* lanes = &w.of->lanes[w.first];
    if (options_.schedule.kind == schedule::order::lanes_apart && random_() % 2 == 0) {
        std::uint32_t nth = static_cast<std::uint32_t>(random_() % std::popcount(w.ready)), mask = w.ready;
        while (nth-- > 0)
            mask &= mask - 1;
        return mask & -mask;
    }
    std::uint32_t chosen = 0, depth = 0;
    std::uintptr_t pc = 0;
    request_kind kind{};
    if ((w.ready & ~w.yielded) == 0)
        w.yielded = 0;
    for (std::uint32_t mask = w.ready & ~w.yielded; mask != 0; mask &= mask - 1) {
        const auto i = static_cast<std::uint32_t>(std::countr_zero(mask));
        const lane& l = lanes[i];
        if (chosen != 0 && l.depth == depth && l.pending.pc == pc && l.pending.kind == kind) {
            chosen |= 1u << i;
        } else if (chosen == 0 || l.depth > depth || (l.depth == depth && l.pending.pc < pc)) {
            chosen = 1u << i;
            depth = l.depth;
            pc = l.pending.pc;
            kind = l.pending.kind;
        }
    }
    return chosen;
}

// The parts of a diverged warp share its turns fairly, as NVIDIA's GPUs since Volta do (independent thread scheduling): if
// a lane waits for another lane of its warp, that one runs eventually. A part that spins yields after each instruction. A
// part that does not seem to spin yields only after so many instructions that the parts of ordinary code have rejoined
// before: lanes that go ahead of the rest of their warp change what is counted.
void engine::take_turns(warp& w, std::uint32_t mask, bool spun)
{
    constexpr std::uint32_t longest_turn = 65536, turn_beside_yielded = 64;
    ++w.turn;
    if (spun || w.turn >= (w.yielded == 0 ? longest_turn : turn_beside_yielded)) {
        w.yielded |= mask;
        w.turn = 0;
    }
}

void engine::resume(lane& l)
{
    running_lane = &l;
    set_builtins(l);
    auto from = context::jump_fcontext(l.context, nullptr);
    l.context = from.fctx;
    running_lane = nullptr;
    if (l.overflowed) {
        report(finding_kind::stack_overflow, l, l.last_pc, "ran out of stack",
               "local variables and calls exceed a thread's stack");
        stop("a thread ran out of stack");
    }
    if (l.state == lane_state::exited)
        exited(l);
}

void engine::resume_all(warp& w, std::uint32_t mask)
{
    lane* lanes = &w.of->lanes[w.first];
    for (; mask != 0; mask &= mask - 1) {
        // Few of hundreds of stacks are in the nearest cache. That of the next lane is fetched while this lane runs.
        if (const auto next = mask & (mask - 1); next != 0) {
            const auto* stack = static_cast<const char*>(lanes[std::countr_zero(next)].context);
            for (std::size_t line = 0; line < 256; line += 64)
                __builtin_prefetch(stack + line);
        }
        resume(lanes[std::countr_zero(mask)]);
        if (stopped_)
            return;
    }
}

void engine::wait()
{
    auto from = context::jump_fcontext(back_, nullptr);
    back_ = from.fctx;
}

void engine::step(warp& w)
{
    const std::uint32_t mask = choose_lanes(w);
    const request& what = w.of->lanes[w.first + static_cast<std::uint32_t>(std::countr_zero(mask))].pending;
    const bool is_write = what.kind == request_kind::write, others_are_ready = w.ready != mask;
    const auto changes_before = changes_;
    ++no_progress_;
    ++only_reads_;
    switch (what.kind) {
    case request_kind::proceed: resume_all(w, mask); break;
    case request_kind::read:
    case request_kind::write:
    case request_kind::transfer:
    case request_kind::atomic:
        issue_memory(w, mask);
        if (!stopped_)
            resume_all(w, mask);
        break;
    case request_kind::exchange:
    case request_kind::warp_barrier: arrive_exchange(w, mask); break;
    case request_kind::barrier: arrive_barrier(w, mask); break;
    case request_kind::mbarrier_wait:
    case request_kind::cluster_wait:
    case request_kind::bulk_wait: arrive_wait(w, mask); break;
    case request_kind::fence:
    case request_kind::other:
        count_issue(w, mask, what.pc);
        for (std::uint32_t m = mask; m != 0; m &= m - 1)
            w.of->lanes[w.first + std::countr_zero(m)].pending.mask = mask;
        if (what.kind == request_kind::other)
            polled_ = true;
        resume_all(w, mask);
        break;
    }
    if (others_are_ready)
        take_turns(w, mask, polled_ && !is_write && changes_ == changes_before);
    else
        w.yielded = w.turn = 0;
}

launch_report engine::run()
{
    admit_blocks();
    while (blocks_done_ < blocks_total_ && !stopped_) {
        if (has_copies() && copy_is_due())
            advance_next_copy();
        warp* next = next_warp();
        if (next == nullptr && has_copies()) {
            advance_next_copy();
            continue;
        }
        if (next == nullptr) {
            report_stuck(finding_kind::deadlock);
            break;
        }
        step(*next);
        while (next->exchanging != 0 && next->ready == 0 && !stopped_ && !will_be_woken(*next))
            settle_exchanges(*next);
        if (no_progress_ > options_.patience || only_reads_ / 50 > options_.patience) {
            report_stuck(finding_kind::livelock);
            break;
        }
        if (next->of->live == 0 && next->of->resident) {
            finish_block(*next->of);
            admit_blocks();
        }
    }
    while (has_copies() && !stopped_)
        advance_next_copy();
    launch_report out;
    out.completed = blocks_done_ == blocks_total_ && !stopped_;
    finish_report(out);
    return out;
}

} // namespace upsweep::simulator
