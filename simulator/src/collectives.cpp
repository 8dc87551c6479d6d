// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Where lanes wait for one another: the intrinsics of a warp, whose mask names who must come, and the barriers of a
// block, a cluster and a grid.
#include <algorithm>
#include <bit>
#include <string>
#include <utility>

#include "engine.h"

namespace upsweep::simulator {

namespace {

const char* spelling(const request& what)
{
    using device::exchange;
    if (what.kind == request_kind::warp_barrier)
        return "__syncwarp";
    switch (what.exchange) {
    case exchange::shuffle_index: return "__shfl_sync";
    case exchange::shuffle_up: return "__shfl_up_sync";
    case exchange::shuffle_down: return "__shfl_down_sync";
    case exchange::shuffle_xor: return "__shfl_xor_sync";
    case exchange::ballot: return "__ballot_sync";
    case exchange::all: return "__all_sync";
    case exchange::any: return "__any_sync";
    case exchange::match_any: return "__match_any_sync";
    case exchange::match_all: return "__match_all_sync";
    default: return "__reduce_sync";
    }
}

const char* where_it_waits(request_kind kind)
{
    switch (kind) {
    case request_kind::barrier: return "waits at the barrier";
    case request_kind::exchange: return "waits at another intrinsic";
    case request_kind::warp_barrier: return "waits at __syncwarp";
    case request_kind::mbarrier_wait: return "waits for an mbarrier";
    case request_kind::cluster_wait: return "waits for its cluster";
    case request_kind::bulk_wait: return "waits for its bulk stores";
    default: return "is elsewhere";
    }
}

finding_facts because(cause why)
{
    finding_facts facts;
    facts.why = why;
    return facts;
}

// Where a thread was last. One that returned before it touched any memory was at the start of the kernel.
std::uintptr_t last_place_of(const lane& gone, const launch_request& launch, std::uintptr_t waits_at)
{
    if (gone.last_pc() != 0)
        return gone.last_pc();
    const auto start =
        launch.kernel != nullptr ? reinterpret_cast<std::uintptr_t>(launch.kernel) : start_of_function(waits_at);
    return start == 0 ? waits_at : start + 1;
}

} // namespace

void engine::arrive_exchange(warp& w, std::uint32_t mask)
{
    lane* lanes = &w.of->lanes[w.first];
    each_lane(mask, [&](std::uint32_t i) {
        lanes[i].state = lane_state::waiting;
        const auto named = lanes[i].pending.mask;
        if ((named >> i & 1) == 0) {
            report(finding_kind::missing_lane, lanes[i], lanes[i].pending.pc,
                   std::string("calls ") + spelling(lanes[i].pending),
                   "a lane calls the intrinsic with a mask that does not name the lane itself", nullptr,
                   because(cause::not_in_own_mask));
            lanes[i].pending.mask = 1u << i;
        }
    });
    clear_ready(w, mask);
    w.exchanging |= mask;
    for (std::uint32_t left = mask; left != 0;) {
        const auto i = static_cast<std::uint32_t>(std::countr_zero(left));
        left &= ~lanes[i].pending.mask & ~(1u << i);
        try_exchange(w, i, false);
        if (stopped_)
            return;
    }
}

// Performs the intrinsic at which a lane waits when every lane has come that its mask names. If `settle`, it is performed
// without the lanes that can no longer come, and these are reported.
bool engine::try_exchange(warp& w, std::uint32_t lane_id, bool settle)
{
    lane* lanes = &w.of->lanes[w.first];
    const request& what = lanes[lane_id].pending;
    std::uint32_t arrived = 0, missing = 0;
    each_lane(what.mask & w.all(), [&](std::uint32_t i) {
        const request& other = lanes[i].pending;
        const bool same = (w.exchanging >> i & 1) != 0 && other.kind == what.kind && other.mask == what.mask &&
                          (what.kind == request_kind::warp_barrier || other.exchange == what.exchange);
        (same ? arrived : missing) |= 1u << i;
    });
    const std::uint32_t gone = missing & ~w.live;
    if (!settle && (missing & ~gone) != 0)
        return false;
    const std::uint32_t named = what.kind == request_kind::warp_barrier ? missing & ~gone : missing;
    if (named != 0) {
        write_requests(w);
        const lane& absent = lanes[std::countr_zero(named)];
        const bool exited = absent.state == lane_state::exited;
        auto other = party_of(absent, exited ? last_place_of(absent, launch_, what.pc) : absent.pending.pc,
                              exited ? "exited" : where_it_waits(absent.pending.kind));
        report(finding_kind::missing_lane, lanes[lane_id], what.pc, std::string("waits at ") + spelling(what),
               "lane " + std::to_string(std::countr_zero(named)) +
                   (exited ? " has exited, but" : " has diverged, but") + " the mask of " + spelling(what) +
                   " names it",
               &other, because(exited ? cause::exited : cause::diverged));
    }
    perform_exchange(w, arrived);
    return true;
}

// Whether some lane waits for a copy or for another warp. When it goes on, it may still come to the intrinsic.
bool engine::will_be_woken(const warp& w)
{
    bool found = false;
    each_lane(w.live & ~w.exchanging, [&](std::uint32_t i) {
        const lane& l = w.of->lanes[w.first + i];
        const auto kind = l.pending.kind;
        found = found || (l.state == lane_state::waiting &&
                          (kind == request_kind::mbarrier_wait || kind == request_kind::cluster_wait ||
                           kind == request_kind::bulk_wait));
    });
    return found;
}

void engine::settle_exchanges(warp& w)
{
    for (std::uint32_t i = 0; i < w.lanes; ++i)
        if ((w.exchanging >> i & 1) != 0 && try_exchange(w, i, false))
            return;
    if (w.exchanging != 0)
        try_exchange(w, static_cast<std::uint32_t>(std::countr_zero(w.exchanging)), true);
}

void engine::perform_exchange(warp& w, std::uint32_t mask)
{
    using device::exchange;
    lane* lanes = &w.of->lanes[w.first];
    const request what = lanes[std::countr_zero(mask)].pending;
    count_issue(w, mask, what.pc);
    auto& site = sites_[sites_.index_of(what.pc)].counts;
    if (what.kind == request_kind::warp_barrier) {
        ++site.warp_barriers;
        ++interval_of(*w.of).warp_barriers;
        order_warp(w, mask);
    } else {
        ++site.exchanges;
        ++interval_of(*w.of).exchanges;
        std::uint32_t votes = 0;
        std::uint64_t folded = what.value;
        bool same = true;
        each_lane(mask, [&](std::uint32_t i) {
            const auto value = lanes[i].pending.value;
            if (value != 0)
                votes |= 1u << i;
            same = same && value == what.value;
            if (i == static_cast<std::uint32_t>(std::countr_zero(mask)))
                return;
            const auto a = static_cast<std::uint32_t>(folded), b = static_cast<std::uint32_t>(value);
            switch (what.exchange) {
            case exchange::add_unsigned: folded = a + b; break;
            case exchange::min_unsigned: folded = std::min(a, b); break;
            case exchange::max_unsigned: folded = std::max(a, b); break;
            case exchange::min_signed:
                folded =
                    static_cast<std::uint32_t>(std::min(static_cast<std::int32_t>(a), static_cast<std::int32_t>(b)));
                break;
            case exchange::max_signed:
                folded =
                    static_cast<std::uint32_t>(std::max(static_cast<std::int32_t>(a), static_cast<std::int32_t>(b)));
                break;
            case exchange::bit_and: folded = a & b; break;
            case exchange::bit_or: folded = a | b; break;
            case exchange::bit_xor: folded = a ^ b; break;
            default: break;
            }
        });
        each_lane(mask, [&](std::uint32_t i) {
            lane& l = lanes[i];
            const auto& r = l.pending;
            const auto width = static_cast<std::uint32_t>(r.width), segment = i & ~(width - 1);
            std::uint32_t from = i;
            switch (r.exchange) {
            case exchange::shuffle_index: from = segment | (static_cast<std::uint32_t>(r.operand) & (width - 1)); break;
            case exchange::shuffle_up:
                from = i - segment >= static_cast<std::uint32_t>(r.operand) ? i - static_cast<std::uint32_t>(r.operand)
                                                                            : i;
                break;
            case exchange::shuffle_down:
                from = i + static_cast<std::uint32_t>(r.operand) < segment + width
                           ? i + static_cast<std::uint32_t>(r.operand)
                           : i;
                break;
            case exchange::shuffle_xor:
                from = (i ^ static_cast<std::uint32_t>(r.operand)) < segment + width
                           ? i ^ static_cast<std::uint32_t>(r.operand)
                           : i;
                break;
            case exchange::ballot: l.result = {votes, 0}; return;
            case exchange::all: l.result = {votes == mask, 0}; return;
            case exchange::any: l.result = {votes != 0, 0}; return;
            case exchange::match_all: l.result = {same ? mask : 0, same}; return;
            case exchange::match_any: {
                std::uint32_t equal = 0;
                each_lane(mask, [&](std::uint32_t j) { equal |= (lanes[j].pending.value == r.value ? 1u : 0u) << j; });
                l.result = {equal, 0};
                return;
            }
            default: l.result = {folded, 0}; return;
            }
            if ((mask >> from & 1) == 0) {
                report(finding_kind::missing_lane, l, r.pc, std::string("calls ") + spelling(r),
                       "reads the value of lane " + std::to_string(from) + ", which takes no part", nullptr,
                       because(cause::source_takes_no_part));
                from = i;
            }
            l.result = {lanes[from].pending.value, 0};
        });
    }
    w.exchanging &= ~mask;
    w.polling &= ~mask;
    each_lane(mask, [&](std::uint32_t i) {
        lanes[i].state = lane_state::ready;
        lanes[i].pending.kind = request_kind::proceed;
    });
    set_ready(w, mask);
    only_reads_ = 0;
    resume_all(w, mask);
}

// After __syncwarp, every lane of the mask is ordered after all that any of these lanes did or knew.
void engine::order_warp(warp& w, std::uint32_t mask)
{
    lane* lanes = &w.of->lanes[w.first];
    w.synced_at = lanes[std::countr_zero(mask)].pending.pc;
    w.synced_epoch = w.of->epoch;
    std::uint64_t latest[32] = {};
    known together;
    w.knows = true;
    each_lane(mask, [&](std::uint32_t i) {
        for (std::uint32_t u = 0; u < w.lanes; ++u)
            latest[u] = std::max(latest[u], w.known[i][u]);
        auto& order = lanes[i].change_order();
        latest[i] = std::max(latest[i], make_instant(launch_number_, w.of->epoch, order.local));
        ++order.local;
        if (order.pending)
            order.acquired = joined(order.acquired, order.pending);
        if (order.acquired)
            together = joined(together, order.acquired);
    });
    each_lane(mask, [&](std::uint32_t i) {
        std::copy_n(latest, w.lanes, w.known[i]);
        auto& order = lanes[i].change_order();
        order.pending = nullptr;
        if (together)
            order.acquired = together;
    });
}

// arrive_barrier for the gathered lanes.
void engine::park(warp& w)
{
    block& b = *w.of;
    const auto mask = w.here.mask;
    const auto first = static_cast<std::uint32_t>(std::countr_zero(mask));
    if ((b.barrier.arrived != 0 && b.barrier.first_pc != w.here.pc) ||
        (w.parked.mask != 0 && (w.parked.pc != w.here.pc || w.parked.depth != w.here.depth))) {
        write_requests(w);
        return arrive_barrier(w, mask);
    }
    w.here.mask = 0;
    w.parked = {w.parked.mask | mask, w.here.depth, w.here.pc};
    count_issue(w, mask, w.here.pc);
    if (b.barrier.arrived == 0) {
        b.barrier = {};
        b.barrier.first_pc = w.here.pc;
        b.barrier.first_lane = w.first + first;
    }
    b.barrier.arrived += number_of(mask);
    clear_ready(w, mask);
    try_barrier(b);
}

void engine::arrive_barrier(warp& w, std::uint32_t mask)
{
    block& b = *w.of;
    lane* lanes = &b.lanes[w.first];
    const request what = lanes[std::countr_zero(mask)].pending;
    count_issue(w, mask, what.pc);
    auto& state = what.level == device::barrier_level::block ? b.barrier : b.wide;
    if (state.arrived == 0) {
        state = {};
        state.first_pc = what.pc;
        state.first_lane = w.first + static_cast<std::uint32_t>(std::countr_zero(mask));
    } else if (what.pc != state.first_pc && !state.reported) {
        const location &here = locate(what.pc), &there = locate(state.first_pc);
        if (here.line != there.line || here.file != there.file) {
            state.reported = true;
            auto other = party_of(b.lanes[state.first_lane], state.first_pc, "waits at the barrier here");
            report(finding_kind::barrier_divergence, lanes[std::countr_zero(mask)], what.pc,
                   "waits at the barrier here", "threads of one block wait at different barriers", &other);
        }
    }
    each_lane(mask, [&](std::uint32_t i) {
        lanes[i].state = lane_state::waiting;
        state.votes += lanes[i].pending.operand != 0;
    });
    state.arrived += static_cast<std::uint32_t>(std::popcount(mask));
    clear_ready(w, mask);
    if (what.level == device::barrier_level::block)
        try_barrier(b);
    else
        try_wide_barrier(what.level, b.linear / cluster_size_);
}

void engine::try_barrier(block& b)
{
    if (b.barrier.arrived == 0 || b.barrier.arrived != b.live)
        return;
    if (b.live != threads_ && !b.barrier.reported) {
        for (std::uint32_t i = 0; i < threads_; ++i) {
            const lane& gone = b.lanes[i];
            if (gone.state != lane_state::exited)
                continue;
            auto other = party_of(gone, last_place_of(gone, launch_, b.barrier.first_pc), "exited without it");
            report(finding_kind::barrier_divergence, b.lanes[b.barrier.first_lane], b.barrier.first_pc,
                   "waits at the barrier",
                   std::to_string(threads_ - b.live) + " threads of the block exited and never reach the barrier",
                   &other, because(cause::exited));
            break;
        }
    }
    complete_barrier(b, b.barrier, nullptr);
}

void engine::try_wide_barrier(device::barrier_level level, std::uint64_t cluster)
{
    const bool whole_grid = level == device::barrier_level::grid;
    auto concerned = [&](const block& b) { return b.resident && (whole_grid || b.linear / cluster_size_ == cluster); };
    if (whole_grid && blocks_started_ != blocks_to_run_)
        return;
    for (auto& b : blocks_)
        if (concerned(*b) && b->live != 0 && b->wide.arrived != b->live)
            return;
    auto all = std::make_shared<knowledge>();
    for (auto& b : blocks_) {
        if (!concerned(*b))
            continue;
        all->blocks[b->linear] = b->epoch + 1;
        for (std::uint32_t i = 0; i < threads_; ++i)
            if (const auto& acquired = b->lanes[i].order().acquired)
                all->join(*acquired);
    }
    for (auto& b : blocks_)
        if (concerned(*b) && b->wide.arrived != 0)
            complete_barrier(*b, b->wide, all);
}

void engine::complete_barrier(block& b, barrier_state& state, const known& also)
{
    close_interval(b);
    ++sites_[sites_.index_of(state.first_pc)].counts.barriers;
    ++interval_of(b).barriers;
    known together = also;
    const knowledge* before = nullptr; // what the last thread knew, which is mostly what the next one knows
    for (std::uint32_t i = 0; i < warps_; ++i)
        each_lane(b.warps[i].ordered, [&](std::uint32_t j) {
            const auto& order = b.lanes[b.warps[i].first + j].order();
            if (order.pending)
                together = joined(together, order.pending);
            if (order.acquired && order.acquired != together && order.acquired.get() != before)
                together = joined(together, order.acquired);
            before = order.acquired.get();
        });
    ++b.epoch;
    b.epoch_began = state.first_pc;
    no_progress_ = only_reads_ = 0;
    const bool of_block = &state == &b.barrier;
    for (std::uint32_t i = 0; i < warps_; ++i) {
        warp& w = b.warps[i];
        std::uint32_t here = 0;
        if (of_block && w.parked.mask != 0) {
            if (w.parked.mask == w.live) { // all go on together
                here = std::exchange(w.parked.mask, 0);
                w.here.mask = here;
                w.here.kind = request_kind::proceed;
                w.here.size = 0;
                w.here.pc = w.parked.pc;
                w.here.depth = w.parked.depth;
            } else {
                write_requests(w);
            }
        }
        each_lane(w.live & ~w.ready & ~here & ~w.parked.mask, [&](std::uint32_t j) {
            lane& l = b.lanes[w.first + j];
            if (l.state != lane_state::waiting || l.pending.kind != request_kind::barrier ||
                (l.pending.level == device::barrier_level::block) != of_block)
                return;
            here |= 1u << j;
            l.state = lane_state::ready;
            l.pending.kind = request_kind::proceed;
            switch (l.pending.vote) {
            case device::barrier_vote::none: break;
            case device::barrier_vote::count: l.result.predicate = static_cast<int>(state.votes); break;
            case device::barrier_vote::all: l.result.predicate = state.votes == state.arrived; break;
            case device::barrier_vote::any: l.result.predicate = state.votes != 0; break;
            }
        });
        each_lane(together ? here : here & w.ordered, [&](std::uint32_t j) {
            auto& order = b.lanes[w.first + j].change_order();
            order.local = 0;
            order.pending = nullptr;
            order.acquired = together;
        });
        w.polling &= ~here;
        if (here != 0)
            set_ready(w, here);
    }
    state.arrived = 0;
}

// The interval between two barriers takes as many steps as its busiest thread applies operators.
void engine::close_interval(block& b)
{
    std::uint64_t longest = 0;
    for (std::uint32_t i = 0; i < warps_; ++i)
        each_lane(std::exchange(b.warps[i].applied, 0), [&](std::uint32_t j) {
            const auto applied = std::exchange(b.lanes[b.warps[i].first + j].applied, 0);
            longest = std::max(longest, applied);
            work_ += applied;
        });
    if (longest != 0)
        block_steps_[b.linear] += longest;
}

void engine::exited(lane& l)
{
    warp& w = *l.of;
    block& b = *w.of;
    l.state = lane_state::exited;
    const auto bit = 1u << (l.index - w.first);
    w.live &= ~bit;
    clear_ready(w, bit);
    --b.live;
    only_reads_ = 0;
    if (stopped_)
        return;
    report_unfinished_copies(l);
    try_barrier(b);
    if (const auto cluster = b.linear / cluster_size_; !clusters_.empty() && clusters_.contains(cluster)) {
        auto& state = clusters_[cluster];
        state.arrived -= l.cluster_arrivals > state.phase;
        try_cluster(cluster);
    }
    if (b.wide.arrived != 0) {
        const auto& waiting = b.lanes[b.wide.first_lane].pending;
        try_wide_barrier(waiting.level, b.linear / cluster_size_);
    }
}

void engine::report_stuck(finding_kind kind)
{
    struct group {
        const lane* first;
        std::uint64_t threads;
    };
    std::vector<std::pair<std::uintptr_t, group>> places;
    std::uint64_t stuck = 0;
    for (auto& b : blocks_) {
        if (!b->resident)
            continue;
        for (std::uint32_t i = 0; i < warps_; ++i)
            write_requests(b->warps[i]);
        for (std::uint32_t i = 0; i < threads_; ++i) {
            const lane& l = b->lanes[i];
            if (l.state == lane_state::exited)
                continue;
            ++stuck;
            const auto pc = l.pending.pc != 0 ? l.pending.pc : l.last_pc();
            auto found = std::find_if(places.begin(), places.end(), [&](auto& p) { return p.first == pc; });
            if (found == places.end())
                places.push_back({pc, {&l, 1}});
            else
                ++found->second.threads;
        }
    }
    if (places.empty())
        return;
    if (blocks_to_run_ != blocks_total_) {
        stop("the blocks of the sample wait for blocks that do not run in it");
        return;
    }
    finding stuck_here;
    stuck_here.kind = kind;
    stuck_here.message = std::to_string(stuck) + " threads cannot go on" +
                         (blocks_started_ < blocks_to_run_ ? "; " + std::to_string(blocks_to_run_ - blocks_started_) +
                                                                 " blocks wait for a place on the machine"
                                                           : "");
    for (std::size_t i = 0; i < std::min<std::size_t>(places.size(), 8); ++i) {
        const auto& [pc, who] = places[i];
        std::string waits;
        switch (who.first->pending.kind) {
        case request_kind::barrier:
        case request_kind::exchange:
        case request_kind::warp_barrier: waits = where_it_waits(who.first->pending.kind); break;
        case request_kind::mbarrier_wait:
        case request_kind::cluster_wait:
        case request_kind::bulk_wait: waits = what_it_lacks(*who.first); break;
        default: waits = "keeps reading here"; break;
        }
        if (who.threads > 1)
            waits += ", with " + std::to_string(who.threads - 1) + (who.threads == 2 ? " other" : " others");
        stuck_here.parties.push_back(party_of(*who.first, pc, std::move(waits)));
    }
    note(std::move(stuck_here), {});
    stop(kind == finding_kind::deadlock ? "deadlock" : "livelock");
}

} // namespace upsweep::simulator
