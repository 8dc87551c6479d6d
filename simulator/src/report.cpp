// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "upsweep/simulator/report.h"

#include <algorithm>
#include <map>

#include "engine.h"

namespace upsweep::simulator {

counters& counters::operator+=(const counters& o)
{
    instructions += o.instructions, active_lanes += o.active_lanes, possible_lanes += o.possible_lanes,
        divergent += o.divergent;
    global_loads += o.global_loads, global_stores += o.global_stores;
    global_load_accesses += o.global_load_accesses, global_store_accesses += o.global_store_accesses;
    load_transactions += o.load_transactions, store_transactions += o.store_transactions;
    load_bytes += o.load_bytes, store_bytes += o.store_bytes;
    load_bytes_moved += o.load_bytes_moved, store_bytes_moved += o.store_bytes_moved;
    shared_loads += o.shared_loads, shared_stores += o.shared_stores;
    shared_load_accesses += o.shared_load_accesses, shared_store_accesses += o.shared_store_accesses;
    shared_wavefronts += o.shared_wavefronts, bank_conflicts += o.bank_conflicts;
    worst_bank = std::max(worst_bank, o.worst_bank), worst_address = std::max(worst_address, o.worst_address);
    atomics += o.atomics, atomic_accesses += o.atomic_accesses, atomic_replays += o.atomic_replays;
    global_atomic_accesses += o.global_atomic_accesses, shared_atomic_accesses += o.shared_atomic_accesses;
    barriers += o.barriers, warp_barriers += o.warp_barriers, exchanges += o.exchanges, fences += o.fences;
    bulk_copies += o.bulk_copies;
    return *this;
}

double counters::efficiency() const
{
    const auto moved = load_bytes_moved + store_bytes_moved;
    return moved == 0 ? 1.0 : static_cast<double>(load_bytes + store_bytes) / static_cast<double>(moved);
}

const char* name_of(finding_kind kind)
{
    switch (kind) {
    case finding_kind::race: return "race";
    case finding_kind::scope_too_narrow: return "scope too narrow";
    case finding_kind::uninitialised_read: return "uninitialised read";
    case finding_kind::out_of_bounds: return "out of bounds";
    case finding_kind::misaligned: return "misaligned access";
    case finding_kind::barrier_divergence: return "barrier divergence";
    case finding_kind::missing_lane: return "missing lane";
    case finding_kind::deadlock: return "deadlock";
    case finding_kind::livelock: return "livelock";
    case finding_kind::leak: return "leaked memory";
    case finding_kind::failed_launch: return "failed launch";
    case finding_kind::unchecked_launch: return "unchecked launch";
    case finding_kind::invalid_free: return "invalid free";
    case finding_kind::stack_overflow: return "stack overflow";
    case finding_kind::assertion: return "failed assertion";
    case finding_kind::missing_proxy_fence: return "missing proxy fence";
    case finding_kind::unfinished_copy: return "unfinished copy";
    case finding_kind::mbarrier_misuse: return "misused mbarrier";
    }
    return "";
}

namespace {

std::string triple(const extent& e)
{
    return "(" + std::to_string(e.x) + "," + std::to_string(e.y) + "," + std::to_string(e.z) + ")";
}

std::string place(const location& where)
{
    return where.file.empty() ? std::string("?") : where.file + ":" + std::to_string(where.line);
}

} // namespace

std::string finding::text() const
{
    std::string text = std::string(name_of(kind)) + (kernel.empty() ? "" : " in " + kernel) + ": " + message;
    if (count > 1)
        text += " (" + std::to_string(count) + " times)";
    for (const auto& p : parties)
        text +=
            "\n    block " + triple(p.block) + " thread " + triple(p.thread) + " " + p.did + " at " + place(p.where);
    return text;
}

party engine::party_of(const lane& who, std::uintptr_t pc, std::string did) const
{
    const auto b = who.of->of->index;
    return {{}, {b.x, b.y, b.z}, {who.thread.x, who.thread.y, who.thread.z}, std::move(did), pc};
}

party engine::party_of(std::uint32_t global_thread, std::uint32_t site, std::string did) const
{
    auto unfold = [](std::uint64_t linear, const extent& of) {
        return extent{static_cast<unsigned>(linear % of.x), static_cast<unsigned>(linear / of.x % of.y),
                      static_cast<unsigned>(linear / of.x / of.y)};
    };
    return {{},
            unfold(global_thread / threads_, launch_.grid),
            unfold(global_thread % threads_, launch_.block),
            std::move(did),
            sites_[site].pc};
}

void engine::report(finding_kind kind, const lane& who, std::uintptr_t pc, const std::string& did,
                    const std::string& message, const party* other)
{
    const std::uint64_t key = (pc * 31 + (other ? other->pc : 0)) * 31 + static_cast<std::uint64_t>(kind);
    auto [at, fresh] = finding_index_.try_emplace(key, findings_.size());
    if (!fresh) {
        ++findings_[at->second].count;
        return;
    }
    finding made;
    made.kind = kind;
    made.message = message;
    made.parties.push_back(party_of(who, pc, did));
    if (other != nullptr)
        made.parties.push_back(*other);
    findings_.push_back(std::move(made));
}

void engine::report(finding_kind kind, const party& who, const std::string& message)
{
    const std::uint64_t key = who.pc * 961 + static_cast<std::uint64_t>(kind);
    auto [at, fresh] = finding_index_.try_emplace(key, findings_.size());
    if (!fresh) {
        ++findings_[at->second].count;
        return;
    }
    finding made;
    made.kind = kind;
    made.message = message;
    made.parties.push_back(who);
    findings_.push_back(std::move(made));
}

void engine::finish_report(launch_report& out)
{
    out.kernel = launch_.kernel_name();
    out.grid = launch_.grid;
    out.block = launch_.block;
    out.dynamic_shared = launch_.dynamic_shared;
    for (const auto& v : shared_layout_)
        out.static_shared += v.size;
    std::map<std::pair<std::string, int>, line_report> lines;
    for (const site& s : sites_.all()) {
        if (s.pc == 0)
            continue;
        out.total += s.counts;
        const location& where = locate(s.pc);
        auto& line = lines[{where.file, where.line}];
        line.where = where;
        line.counts += s.counts;
    }
    for (auto& [key, line] : lines)
        out.lines.push_back(std::move(line));
    for (auto& [block, steps] : block_steps_)
        grid_steps_ = std::max(grid_steps_, steps);
    out.intervals = std::move(intervals_);
    out.steps = grid_steps_;
    out.work = work_;
    out.lane_operations = lane_operations_;
    // Several pairs of instructions may come from the same two source lines. They become one finding, with the sum of their
    // counts.
    std::map<std::string, std::size_t> merged;
    for (finding& f : findings_) {
        f.kernel = out.kernel;
        std::string key = name_of(f.kind);
        for (party& p : f.parties) {
            p.where = locate(p.pc);
            key += "|" + place(p.where);
        }
        auto [at, fresh] = merged.try_emplace(key, out.findings.size());
        if (fresh)
            out.findings.push_back(std::move(f));
        else
            out.findings[at->second].count += f.count;
    }
    out.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began_).count();
}

} // namespace upsweep::simulator
