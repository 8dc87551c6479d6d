// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "upsweep/simulator/report.h"

#include <sys/mman.h>

#include <algorithm>
#include <map>

#include "engine.h"
#include "variables.h"

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
    case finding_kind::host_access: return "host access to device memory";
    case finding_kind::unsynchronised_access: return "host access before synchronisation";
    case finding_kind::wrong_direction: return "wrong direction of a copy";
    case finding_kind::endless_loop: return "endless loop";
    case finding_kind::lanes_wait: return "lanes wait for one another";
    case finding_kind::launch_in_kernel: return "launch inside a kernel";
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
    std::string text = name_of(kind);
    if (benign)
        text += " (benign)";
    text += (kernel.empty() ? "" : " in " + kernel) + ": ";
    if (!variable.empty())
        text += variable + (hazard.empty() ? ", " : " (" + hazard + "), ");
    text += message;
    if (count > 1)
        text += " (" + std::to_string(count) + " times)";
    for (const auto& p : parties)
        text += "\n    " +
                (kernel.empty() ? std::string("the host ")
                                : "block " + triple(p.block) + " thread " + triple(p.thread) + " ") +
                p.did + " at " + place(p.where);
    if (launch.line != 0)
        text += "\n    launched at " + place(launch);
    if (!remedy.empty())
        text += "\n    remedy: " + remedy;
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

noted_finding* engine::counted_again(finding_kind kind, std::uintptr_t pc, std::uintptr_t other,
                                     const finding_facts& facts)
{
    const auto known =
        finding_index_.find({kind, pc, other, facts.what.object(), facts.between, facts.hazard, facts.why});
    if (known == finding_index_.end())
        return nullptr;
    noted_finding& again = findings_[known->second];
    ++again.what.count;
    again.facts.same_value = again.facts.same_value && facts.same_value;
    return &again;
}

noted_finding& engine::note(finding made, const finding_facts& facts)
{
    const std::uintptr_t pc = made.parties.empty() ? 0 : made.parties[0].pc;
    const std::uintptr_t other = made.parties.size() > 1 ? made.parties[1].pc : 0;
    finding_index_.emplace(
        finding_key{made.kind, pc, other, facts.what.object(), facts.between, facts.hazard, facts.why},
        findings_.size());
    findings_.push_back({std::move(made), facts});
    return findings_.back();
}

void engine::report(finding_kind kind, const lane& who, std::uintptr_t pc, const std::string& did,
                    const std::string& message, const party* other, const finding_facts& facts)
{
    if (counted_again(kind, pc, other != nullptr ? other->pc : 0, facts) != nullptr)
        return;
    finding made;
    made.kind = kind;
    made.message = message;
    made.parties.push_back(party_of(who, pc, did));
    if (other != nullptr)
        made.parties.push_back(*other);
    note(std::move(made), facts);
}

void engine::report(finding_kind kind, const party& who, const std::string& message)
{
    if (counted_again(kind, who.pc, 0, {}) != nullptr)
        return;
    finding made;
    made.kind = kind;
    made.message = message;
    made.parties.push_back(who);
    note(std::move(made), {});
}

void engine::resume_watched(warp& w, std::uint32_t mask)
{
    const auto writes = std::exchange(watched_, {});
    each_lane(mask, [&](std::uint32_t i) {
        if (stopped_)
            return;
        lane& writer = w.of->lanes[w.first + i];
        std::vector<std::vector<std::uint8_t>> before;
        for (const auto& write : writes)
            if (write.writer == &writer) {
                const auto* place = reinterpret_cast<const std::uint8_t*>(write.address);
                before.emplace_back(place, place + write.bytes);
            }
        resume_all(w, 1u << i);
        std::size_t next = 0;
        for (const auto& write : writes)
            if (write.writer == &writer) {
                const auto* place = reinterpret_cast<const std::uint8_t*>(write.address);
                const auto& old = before[next++];
                if (!std::equal(old.begin(), old.end(), place))
                    findings_[write.finding].facts.same_value = false;
            }
    });
}

namespace {

const char* name_of(data_hazard hazard)
{
    switch (hazard) {
    case data_hazard::none: return "";
    case data_hazard::read_after_write: return "RAW";
    case data_hazard::write_after_read: return "WAR";
    case data_hazard::write_after_write: return "WAW";
    }
    return "";
}

} // namespace

void engine::name_variable(noted_finding& of) const
{
    const accessed& what = of.facts.what;
    variable_name named;
    const std::uintptr_t pc = of.what.parties.empty() ? 0 : of.what.parties[0].pc;
    switch (what.space) {
    case memory_space::none: return;
    case memory_space::shared:
        named = static_variable(what.image, what.offset, pc);
        if (named.base.empty())
            named = {"shared memory", "byte " + std::to_string(what.offset) + " of a shared variable"};
        break;
    case memory_space::dynamic_shared:
        named = dynamic_array(pc, launch_.kernel, what.offset);
        if (named.base.empty())
            named = {"dynamic shared memory", "byte " + std::to_string(what.offset) + " of dynamic shared memory"};
        break;
    case memory_space::global: {
        if (what.in == nullptr)
            return;
        if (what.in->device_variable) {
            named = variable_at(reinterpret_cast<std::uintptr_t>(what.in->base) + what.offset);
            break;
        }
        const location& made_at = locate(what.in->made_at);
        const bool same_file = !of.what.parties.empty() && of.what.parties[0].where.file == made_at.file;
        named.base = made_at.line == 0 ? "an allocation"
                     : same_file       ? "the allocation made at line " + std::to_string(made_at.line)
                                       : "the allocation made at " + place(made_at);
        const auto offset = static_cast<std::ptrdiff_t>(what.offset), size = static_cast<std::ptrdiff_t>(what.size);
        named.element = size != 0 && offset % size == 0
                            ? "element " + std::to_string(offset / size) + " of " + named.base
                            : "byte " + std::to_string(offset) + " of " + named.base;
        break;
    }
    }
    of.variable_without_index = named.base;
    of.what.variable = named.element;
}

// Finds the places, the variables and the remedies, and makes one finding of those that have one cause: several pairs of
// instructions may come from the same two source lines, and one remedy may mend several lines.
void engine::resolve(std::vector<noted_finding>& findings)
{
    remedy_context context;
    context.updates = updates_;
    const std::uint64_t threads = blocks_started_ * threads_;
    for (const site& s : sites_.all()) {
        const auto& c = s.counts;
        if (c.global_load_accesses + c.global_store_accesses + c.shared_load_accesses + c.shared_store_accesses +
                c.atomic_accesses >
            threads)
            context.repeated.insert(s.pc);
        if (c.barriers > blocks_started_)
            context.repeated.insert(s.pc);
        if (c.barriers != 0)
            context.barriers.insert(s.pc);
        if (s.several_warps)
            context.several_warps.insert(s.pc);
    }
    const std::string kernel = launch_.kernel_name();
    for (noted_finding& f : findings) {
        f.what.kernel = kernel;
        f.what.hazard = name_of(f.facts.hazard);
        if (launch_.launched_at != 0)
            f.what.launch = locate(launch_.launched_at);
        for (party& p : f.what.parties)
            p.where = locate(p.pc);
        name_variable(f);
    }
    add_remedies(findings, context);

    std::vector<noted_finding> merged;
    std::map<std::tuple<finding_kind, relation, data_hazard, cause, bool, std::string, std::string, std::string>,
             std::size_t>
        known;
    for (noted_finding& f : findings) {
        std::string places;
        const bool by_remedy = f.facts.what.space != memory_space::none && !f.what.benign;
        if (!by_remedy || f.what.kind == finding_kind::scope_too_narrow)
            for (const party& p : f.what.parties)
                places += "|" + place(p.where);
        auto [at, fresh] = known.try_emplace({f.what.kind, f.facts.between, f.facts.hazard, f.facts.why, f.what.benign,
                                              f.variable_without_index, f.what.remedy, places},
                                             merged.size());
        if (fresh) {
            merged.push_back(std::move(f));
            continue;
        }
        finding& one = merged[at->second].what;
        one.count += f.what.count;
        for (party& p : f.what.parties) {
            const bool is_new = std::none_of(one.parties.begin(), one.parties.end(), [&](const party& q) {
                return place(p.where) == place(q.where) && p.did == q.did;
            });
            constexpr std::size_t most = 8;
            if (is_new && one.parties.size() < most)
                one.parties.push_back(std::move(p));
        }
    }
    findings = std::move(merged);
}

namespace {

// Reading the debug information takes more stack than a thread of a kernel may have left.
struct errand {
    void (*run)(void*) = nullptr;
    void* what = nullptr;
    fiber back = nullptr;
};
thread_local errand on_large_stack;

void run_errand()
{
    on_large_stack.run(on_large_stack.what);
    fiber finished = nullptr;
    upsweep_simulator_switch(&finished, on_large_stack.back);
}

template <class F>
void on_a_large_stack(F f)
{
    constexpr std::size_t bytes = std::size_t{1} << 20;
    void* const stack =
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (stack == MAP_FAILED)
        return;
    on_large_stack = {[](void* what) { (*static_cast<F*>(what))(); }, &f, nullptr};
    upsweep_simulator_switch(&on_large_stack.back, new_fiber(static_cast<std::uint8_t*>(stack) + bytes, run_errand));
    munmap(stack, bytes);
}

} // namespace

std::optional<launch_report> running_launch_report()
{
    if (running_engine == nullptr)
        return {};
    silent_hooks silence;
    std::optional<launch_report> report;
    on_a_large_stack([&report] { report = running_engine->report_so_far(); });
    return report;
}

bool engine::is_guess(const finding& race)
{
    if (race.kind != finding_kind::race || race.parties.size() != 2)
        return false;
    const auto guesses = [&](const party& one, const party& other) {
        return one.did.starts_with("read") && other.did.starts_with("atomically update") &&
               sites_[sites_.index_of(one.pc)].guesses;
    };
    return guesses(race.parties[0], race.parties[1]) || guesses(race.parties[1], race.parties[0]);
}

launch_report engine::report_so_far()
{
    launch_report out;
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
    out.steps = grid_steps_;
    for (auto& [block, steps] : block_steps_)
        out.steps = std::max(out.steps, steps);
    out.intervals = intervals_;
    out.work = work_;
    out.lane_operations = lane_operations_;
    out.completed = blocks_done_ == blocks_to_run_ && !stopped_;
    out.blocks_run = blocks_done_;
    out.blocks_total = blocks_total_;
    out.note = stop_reason_;
    auto findings = findings_;
    std::erase_if(findings, [&](const auto& f) { return is_guess(f.what); });
    resolve(findings);
    for (auto& f : findings)
        out.findings.push_back(std::move(f.what));
    out.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began_).count();
    return out;
}

} // namespace upsweep::simulator
