// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Chooses which lanes go next. The lanes of a warp that are at the same instruction issue together, those in the deepest call
// and at the lowest program counter first; but lanes that spin let the others of their warp go before them. Among the warps
// of all resident blocks the schedule decides.
#include <dlfcn.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdio>
#include <cstring>
#include <new>
#include <utility>

#include "engine.h"
#include "watchdog.h"

namespace upsweep::simulator {

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

thread_local std::uint32_t last_launch_of_thread = 0;

std::atomic<const char*> requested_stop{nullptr};

} // namespace

const char* stop_request() { return requested_stop.load(std::memory_order_relaxed); }
void request_stop(const char* why) noexcept { requested_stop.store(why, std::memory_order_relaxed); }

engine::engine(const launch_request& launch, const options& opts)
    : launch_(launch), options_(opts), launch_number_(launches++ & ((1u << launch_bits) - 1)),
      stack_bytes_(opts.stack_bytes), random_(opts.schedule.seed), began_(std::chrono::steady_clock::now())
{
    is_unfair_ = opts.schedule.kind == schedule::order::stall || opts.schedule.kind == schedule::order::starve_others;
    threads_ = static_cast<std::uint32_t>(launch.block.count());
    warps_ = (threads_ + opts.machine.warp_width - 1) / opts.machine.warp_width;
    blocks_total_ = launch.grid.count();
    cluster_size_ = static_cast<std::uint32_t>(launch.cluster.count());
    blocks_to_run_ = blocks_total_;
    if (opts.blocks != 0 && !launch.cooperative) // whole clusters
        blocks_to_run_ = std::min(blocks_total_, (opts.blocks + cluster_size_ - 1) / cluster_size_ * cluster_size_);
    told_ = began_;
    last_launch_of_thread = launch_number_;
    const std::size_t page = device_memory::guard;
    shared_next_ = (launch.dynamic_shared + 2 * page - 1) / page * page;
    shared_capacity_ = shared_next_ + opts.machine.shared_opt_in + 64 * page;
    running_engine = this;
    std::uintptr_t variables[4];
    for (std::size_t i = 0; i < 4; ++i)
        variables[i] = reinterpret_cast<std::uintptr_t>(builtin_address(i));
    builtins_ = *std::ranges::min_element(variables);
    builtins_bytes_ = *std::ranges::max_element(variables) + sizeof builtin_thread_index - builtins_;

    std::uint64_t resident = std::max<std::uint64_t>(1, opts.resident_threads / threads_);
    resident = std::min(resident, std::uint64_t{opts.machine.sms} * opts.machine.blocks_per_sm);
    resident = std::max<std::uint64_t>(resident / cluster_size_, 1) * cluster_size_;
    if (launch.cooperative)
        resident = blocks_total_;
    resident = std::min(resident, blocks_to_run_);
    slots_.resize(resident * warps_);
    current_slot_ = static_cast<std::uint32_t>(slots_.size()) - 1;
    ready_bits_.assign((slots_.size() + 63) / 64, 0);
    for (std::uint64_t i = 0; i < resident; ++i) {
        auto made = std::make_unique<block>();
        made->warp_count = warps_;
        made->first_slot = static_cast<std::uint32_t>(i * warps_);
        made->lanes = std::make_unique<lane[]>(threads_ + 2); // run_next looks at the two that follow
        made->warps = std::make_unique<warp[]>(warps_);
        made->stacks = stacks.take(threads_ * stack_stride());
        made->shared_storage = std::make_unique_for_overwrite<std::uint8_t[]>(shared_capacity_ + 1024);
        auto base = reinterpret_cast<std::uintptr_t>(made->shared_storage.get());
        made->shared = reinterpret_cast<std::uint8_t*>((base + 1023) & ~std::uintptr_t{1023});
        made->shared_shadow = std::make_unique<shadow>(shared_capacity_, false);
        blocks_.push_back(std::move(made));
    }
}

std::uint32_t engine::last_launch() { return last_launch_of_thread; }

engine::~engine()
{
    for (auto& b : blocks_)
        stacks.free.emplace_back(b->stacks, threads_ * stack_stride());
    running_engine = nullptr;
    running_lane = nullptr;
}

block* engine::block_of(std::uint64_t linear)
{
    auto found = by_linear_.find(linear);
    return found == by_linear_.end() ? nullptr : found->second;
}

void engine::lane_main()
{
    engine& self = *running_engine;
    self.launch_.run(self.launch_.arguments);
    self.abandon(*running_lane);
}

void engine::abandon(lane& self)
{
    self.state = lane_state::exited;
    running_lane = &self; // a finding may have silenced the hooks
    upsweep_simulator_switch(&self.context, back_);
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
    b.epoch_began = 0;
    b.barrier = b.wide = {};
    b.mbarriers.clear();
    b.resident = true;
    if (options_.check)
        b.shared_shadow->forget();
    by_linear_[linear] = &b;
    const auto width = options_.machine.warp_width;
    for (std::uint32_t w = 0; w < warps_; ++w) {
        warp& fresh = b.warps[w];
        fresh.of = &b;
        fresh.first = w * width;
        fresh.lanes = std::min(width, threads_ - fresh.first);
        fresh.live = fresh.all();
        fresh.ready = fresh.exchanging = 0;
        fresh.yielded = fresh.turn = fresh.polling = 0;
        fresh.synced_at = fresh.synced_epoch = 0;
        fresh.slot = b.first_slot + (options_.schedule.kind == schedule::order::reversed ? warps_ - 1 - w : w);
        fresh.last.mask = fresh.parked.mask = 0;
        std::ranges::fill(fresh.last_pc, 0);
        std::ranges::fill(fresh.last_address, 0);
        // All lanes begin together.
        fresh.here.mask = fresh.all();
        fresh.here.kind = request_kind::proceed;
        fresh.here.pc = fresh.here.size = fresh.here.depth = 0;
        fresh.flags.forget();
        if (std::exchange(fresh.knows, false))
            std::fill_n(&fresh.known[0][0], 32 * 32, 0);
        slots_[fresh.slot] = &fresh;
        for (std::uint32_t i = 0; i < fresh.lanes; ++i)
            start_lane(b, fresh, fresh.first + i);
        fresh.ordered = fresh.applied = 0;
        set_ready(fresh, fresh.live);
    }
}

void engine::start_lane(block& b, warp& w, std::uint32_t index)
{
    lane& l = b.lanes[index];
    if (l.of == nullptr) { // a lane stays at its place when the next block takes over
        l.of = &w;
        l.index = index;
        l.thread = unfold(index, launch_.block);
        l.number = static_cast<std::uint8_t>(index - w.first);
        l.stack = b.stacks + index * stack_stride();
    }
    l.depth = 0;
    l.state = lane_state::ready;
    l.overflowed = false;
    l.raced_pc = l.raced_address = 0;
    l.applied = 0;
    l.cluster_arrivals = l.cluster_waits = 0;
    if ((w.ordered & l.bit()) != 0)
        l.order_ = {};
    l.context = new_fiber(l.stack + stack_bytes_, &engine::lane_main);
}

void engine::admit_blocks()
{
    for (auto& b : blocks_) {
        if (b->resident || blocks_started_ == blocks_to_run_)
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
        start_block(*b, nth_block(options_.schedule.kind == schedule::order::reversed && cluster_size_ == 1
                                      ? blocks_to_run_ - 1 - next
                                      : next));
        if (stop_request() != nullptr) // all blocks of a cooperative launch start at once, and that may take long
            return;
    }
}

// The blocks of a sample are evenly spaced over the grid, from its first block on.
std::uint64_t engine::nth_block(std::uint64_t n) const
{
    if (blocks_to_run_ == blocks_total_)
        return n;
    const std::uint64_t clusters = blocks_total_ / cluster_size_, run = blocks_to_run_ / cluster_size_;
    return n / cluster_size_ * clusters / run * cluster_size_ + n % cluster_size_;
}

// Now and then a launch looks whether it is to stop, and tells how far it has come.
void engine::look_around()
{
    if (const char* why = stop_request(); why != nullptr)
        stop(why);
    constexpr auto interval = std::chrono::milliseconds(200);
    if (!options_.progress)
        return;
    const auto now = std::chrono::steady_clock::now();
    if (now - told_ < interval)
        return;
    told_ = now;
    options_.progress(
        {launch_.kernel_name(), blocks_done_, blocks_to_run_, std::chrono::duration<double>(now - began_).count()});
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
    current_slot_ = is_unfair_ ? next : skip_idle(next);
    return slots_[current_slot_];
}

// The ready lanes that have read a flag, and are about to read it again by the same instruction or only to pause before, though
// it has not changed since.
std::uint32_t engine::idle_lanes(warp& w)
{
    std::uint32_t idle = 0;
    write_requests(w);
    each_lane(w.ready & w.polling, [&](std::uint32_t i) {
        const lane& l = w.of->lanes[w.first + i];
        const polled_flag& flag = l.polled;
        const bool again = l.pending.pc == flag.pc && l.pending.address == flag.address;
        if (!again && l.pending.kind != request_kind::other)
            return;
        std::uint64_t value = 0;
        std::memcpy(&value, reinterpret_cast<const void*>(flag.address), flag.size);
        idle |= (value == flag.value ? 1u : 0u) << i;
    });
    return idle;
}

// A warp whose lanes all poll lets the next warp go that does not. It has its turn when all do, and now and then anyhow,
// because it may do more than poll.
std::uint32_t engine::skip_idle(std::uint32_t slot)
{
    constexpr std::uint64_t turn_of_the_idle = 16;
    const auto is_idle = [&](warp& w) { return (w.ready & w.polling) == w.ready && idle_lanes(w) == w.ready; };
    if (!is_idle(*slots_[slot]) || ++idle_turns_ % turn_of_the_idle == 0)
        return slot;
    for (auto other = next_slot(slot + 1); other != slot; other = next_slot(other + 1))
        if (!is_idle(*slots_[other]))
            return other;
    return slot;
}

std::uint32_t engine::choose_lanes(warp& w)
{
    lane* lanes = &w.of->lanes[w.first];
    std::uint32_t candidates = w.ready;
    if ((w.ready & w.polling) != 0) { // those that only poll let the others go first, except now and then
        constexpr std::uint64_t turn_of_the_idle = 16;
        const auto idle = idle_lanes(w);
        if (idle != 0 && idle != w.ready && ++idle_turns_ % turn_of_the_idle != 0)
            candidates &= ~idle;
    }
    if (options_.schedule.kind == schedule::order::lanes_apart && random_() % 2 == 0) {
        std::uint32_t nth = static_cast<std::uint32_t>(random_() % std::popcount(candidates)), mask = candidates;
        while (nth-- > 0)
            mask &= mask - 1;
        return mask & -mask;
    }
    std::uint32_t chosen = 0, depth = 0;
    std::uintptr_t pc = 0;
    request_kind kind{};
    if ((candidates & ~w.yielded) == 0)
        w.yielded &= ~candidates;
    for (std::uint32_t mask = candidates & ~w.yielded; mask != 0; mask &= mask - 1) {
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

// Lets the lanes go on, one after the other. A lane that waits again hands over to the next one itself.
void engine::resume_all(warp& w, std::uint32_t mask)
{
    if (mask == 0)
        return;
    set_builtins(*w.of);
    turn_of_ = &w.of->lanes[w.first];
    turn_left_ = mask;
    while (turn_left_ != 0 && !stopped_) {
        run_next(back_);
        lane& l = *std::exchange(running_lane, nullptr);
        if (l.overflowed) {
            report(finding_kind::stack_overflow, l, l.last_pc(), "ran out of stack",
                   "local variables and calls exceed a thread's stack");
            stop("a thread ran out of stack");
        }
        if (l.state == lane_state::exited)
            exited(l);
    }
}

void engine::wait_at(lane& self, const request& what)
{
    self.pending = what;
    wait();
}

// wait_at for a lane that is the first at its place, or that has come to another one than the lanes before it.
[[gnu::noinline]] void engine::wait_elsewhere(lane& self, request_kind kind, std::uint32_t size, std::uintptr_t address,
                                              std::uintptr_t pc)
{
    gathered_lanes& here = self.of->here;
    if (here.mask != 0)
        write_requests(*self.of);
    here.mask = self.bit();
    here.depth = self.depth;
    here.size = size;
    here.kind = kind;
    here.pc = pc;
    here.address[self.number] = address;
    wait();
}

// Writes the requests of the gathered and of the parked lanes where those of all others are.
void engine::write_requests(warp& w)
{
    lane* lanes = &w.of->lanes[w.first];
    each_lane(std::exchange(w.here.mask, 0), [&](std::uint32_t i) {
        request& what = lanes[i].pending;
        what = {};
        what.kind = w.here.kind;
        what.size = w.here.size;
        what.pc = w.here.pc;
        if (what.kind != request_kind::proceed && what.kind != request_kind::barrier)
            what.address = w.here.address[i];
    });
    each_lane(std::exchange(w.parked.mask, 0), [&](std::uint32_t i) {
        lanes[i].state = lane_state::waiting;
        lanes[i].pending = {};
        lanes[i].pending.kind = request_kind::barrier;
        lanes[i].pending.pc = w.parked.pc;
    });
}

// Whether choose_lanes would choose the gathered lanes, and none beside them.
bool engine::gathered_go_first(const warp& w) const
{
    const gathered_lanes& here = w.here;
    if (here.mask == 0 || w.yielded != 0 || (w.ready & w.polling) != 0 ||
        options_.schedule.kind == schedule::order::lanes_apart)
        return false;
    bool first = true;
    each_lane(w.ready & ~here.mask, [&](std::uint32_t i) {
        const lane& l = w.of->lanes[w.first + i];
        first = first && (l.depth < here.depth || (l.depth == here.depth && l.pending.pc > here.pc));
    });
    return first;
}

void engine::step(warp& w)
{
    const bool gathered = gathered_go_first(w);
    if (!gathered)
        write_requests(w);
    const std::uint32_t mask = gathered ? w.here.mask : choose_lanes(w);
    const request& what = w.of->lanes[w.first + static_cast<std::uint32_t>(std::countr_zero(mask))].pending;
    const auto kind = gathered ? w.here.kind : what.kind;
    const bool is_write = kind == request_kind::write, others_are_ready = w.ready != mask;
    const auto changes_before = changes_;
    ++no_progress_;
    ++only_reads_;
    ++no_writes_;
    switch (kind) {
    case request_kind::proceed:
        w.here.mask = 0;
        resume_all(w, mask);
        break;
    case request_kind::read:
    case request_kind::write:
    case request_kind::transfer:
    case request_kind::atomic:
        if (gathered)
            issue_gathered(w);
        else
            issue_memory(w, mask);
        if (stopped_)
            break;
        if (watched_.empty())
            resume_all(w, mask);
        else
            resume_watched(w, mask);
        break;
    case request_kind::exchange:
    case request_kind::warp_barrier: arrive_exchange(w, mask); break;
    case request_kind::barrier:
        if (gathered)
            park(w);
        else
            arrive_barrier(w, mask);
        break;
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

void engine::ran_away(lane& self, std::uintptr_t pc)
{
    if (const char* why = stop_request(); why != nullptr) {
        stop(why);
        return;
    }
    char seconds[32];
    std::snprintf(seconds, sizeof seconds, "%.3g", options_.lane_seconds);
    report(finding_kind::endless_loop, self, pc, "runs",
           std::string("a thread has computed for ") + seconds +
               " s and came to no access to memory and to no barrier");
    stop("a thread runs in an endless loop");
}

launch_report engine::run()
{
    const segment code = loaded_segment(reinterpret_cast<std::uintptr_t>(launch_.run));
    const watchdog guard({&steps_, code, options_.lane_seconds});
    admit_blocks();
    constexpr std::uint64_t looks_every = 64;
    look_around();
    while (blocks_done_ < blocks_to_run_ && !stopped_) {
        if (++steps_ % looks_every == 0)
            look_around();
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
    return report_so_far();
}

} // namespace upsweep::simulator
