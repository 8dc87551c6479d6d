// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "report_file.h"

#include <algorithm>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

namespace lab::program {

namespace sim = upsweep::simulator;
using nlohmann::json;

const std::vector<counter>& all_counters()
{
    using c = sim::counters;
    static const std::vector<counter> all{
        {"instructions", &c::instructions, "warp instructions at memory, barriers and intrinsics", ""},
        {"active_lanes", &c::active_lanes, "lanes that took part in these",
         "smsp__thread_inst_executed.sum, of these instructions"},
        {"possible_lanes", &c::possible_lanes, "lanes that their warps have", ""},
        {"divergent_instructions", &c::divergent, "memory instructions without some lane of the warp", ""},
        {"load_instructions", &c::global_loads, "warp instructions that load from global memory",
         "smsp__sass_inst_executed_op_global_ld.sum"},
        {"store_instructions", &c::global_stores, "warp instructions that store to global memory",
         "smsp__sass_inst_executed_op_global_st.sum"},
        {"global_loads", &c::global_load_accesses, "loads of threads from global memory",
         "smsp__sass_thread_inst_executed_op_global_ld"},
        {"global_stores", &c::global_store_accesses, "stores of threads to global memory",
         "smsp__sass_thread_inst_executed_op_global_st"},
        {"load_transactions", &c::load_transactions, "sectors of 32 bytes that the loads touch",
         "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"},
        {"store_transactions", &c::store_transactions, "sectors of 32 bytes that the stores touch",
         "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum"},
        {"load_bytes", &c::load_bytes, "bytes that the loads ask for", ""},
        {"store_bytes", &c::store_bytes, "bytes that the stores ask for", ""},
        {"load_bytes_moved", &c::load_bytes_moved, "bytes of the sectors of the loads", ""},
        {"store_bytes_moved", &c::store_bytes_moved, "bytes of the sectors of the stores", ""},
        {"shared_load_instructions", &c::shared_loads, "warp instructions that load from shared memory",
         "smsp__inst_executed_op_shared_ld.sum"},
        {"shared_store_instructions", &c::shared_stores, "warp instructions that store to shared memory",
         "smsp__inst_executed_op_shared_st.sum"},
        {"shared_loads", &c::shared_load_accesses, "loads of threads from shared memory", ""},
        {"shared_stores", &c::shared_store_accesses, "stores of threads to shared memory", ""},
        {"shared_wavefronts", &c::shared_wavefronts, "passes of the banks of shared memory",
         "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum"},
        {"bank_conflicts", &c::bank_conflicts, "passes beyond the fewest possible",
         "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum"},
        {"worst_bank", &c::worst_bank, "the most words of one access in one bank", ""},
        {"atomics", &c::atomics, "warp instructions that are atomics", ""},
        {"atomic_accesses", &c::atomic_accesses, "atomics of threads", ""},
        {"atomic_replays", &c::atomic_replays, "lanes whose address another lane of the instruction had before", ""},
        {"worst_address", &c::worst_address, "the most lanes of one instruction at one address", ""},
        {"global_atomics", &c::global_atomic_accesses, "atomics of threads on global memory",
         "smsp__sass_thread_inst_executed_op_global_atom"},
        {"shared_atomics", &c::shared_atomic_accesses, "atomics of threads on shared memory", ""},
        {"barriers", &c::barriers, "barriers of blocks", ""},
        {"warp_barriers", &c::warp_barriers, "__syncwarp", ""},
        {"exchanges", &c::exchanges, "shuffles, votes and the like", ""},
        {"fences", &c::fences, "memory fences of threads", ""},
        {"bulk_copies", &c::bulk_copies, "bulk copies", ""},
    };
    return all;
}

std::vector<kernel_report> by_kernel(const std::vector<sim::launch_report>& launches)
{
    std::vector<kernel_report> all;
    std::vector<std::map<std::pair<std::string, int>, sim::line_report>> lines;
    for (const sim::launch_report& l : launches) {
        auto known = std::find_if(all.begin(), all.end(), [&](const kernel_report& k) { return k.name == l.kernel; });
        if (known == all.end()) {
            kernel_report fresh;
            fresh.name = l.kernel;
            fresh.grid = l.grid;
            fresh.block = l.block;
            fresh.dynamic_shared = l.dynamic_shared;
            fresh.static_shared = l.static_shared;
            all.push_back(std::move(fresh));
            lines.emplace_back();
            known = all.end() - 1;
        }
        ++known->launches;
        known->blocks_run += l.blocks_run;
        known->blocks_total += l.blocks_total;
        known->steps += l.steps;
        known->work += l.work;
        known->seconds += l.seconds;
        known->counts += l.total;
        auto& of_kernel = lines[static_cast<std::size_t>(known - all.begin())];
        for (const sim::line_report& line : l.lines) {
            auto& sum = of_kernel[{line.where.file, line.where.line}];
            sum.where = line.where;
            sum.counts += line.counts;
        }
    }
    for (std::size_t i = 0; i < all.size(); ++i)
        for (auto& [place, line] : lines[i])
            all[i].lines.push_back(std::move(line));
    return all;
}

namespace {

json json_of(const sim::extent& e) { return {e.x, e.y, e.z}; }
sim::extent extent_from(const json& j) { return {j.at(0), j.at(1), j.at(2)}; }

sim::counters counters_from(const json& j)
{
    sim::counters out;
    for (const counter& c : all_counters())
        out.*c.member = j.value(c.name, std::uint64_t{0});
    return out;
}

json json_of(const sim::location& where) { return {{"file", where.file}, {"line", where.line}}; }
sim::location location_from(const json& j)
{
    sim::location out;
    out.file = j.at("file");
    out.line = j.at("line");
    return out;
}

sim::finding finding_from(const json& j)
{
    sim::finding out;
    for (int kind = 0; kind <= static_cast<int>(sim::last_finding_kind); ++kind)
        if (j.at("kind") == name_of(static_cast<sim::finding_kind>(kind)))
            out.kind = static_cast<sim::finding_kind>(kind);
    out.kernel = j.at("kernel");
    out.message = j.at("message");
    out.count = j.at("count");
    out.hazard = j.at("hazard");
    out.variable = j.at("variable");
    out.benign = j.at("benign");
    out.remedy = j.at("remedy");
    out.launch = location_from(j.at("launch"));
    for (const json& p : j.at("parties"))
        out.parties.push_back({location_from(p), extent_from(p.at("block")), extent_from(p.at("thread")), p.at("did")});
    return out;
}

kernel_report kernel_from(const json& j)
{
    kernel_report out;
    out.name = j.at("kernel");
    out.launches = j.at("launches");
    out.grid = extent_from(j.at("grid"));
    out.block = extent_from(j.at("block"));
    out.dynamic_shared = j.at("dynamic_shared");
    out.static_shared = j.at("static_shared");
    out.blocks_run = j.at("blocks_run");
    out.blocks_total = j.at("blocks_total");
    out.steps = j.at("steps");
    out.work = j.at("work");
    out.seconds = j.at("seconds");
    out.counts = counters_from(j.at("counters"));
    for (const json& line : j.at("lines"))
        out.lines.push_back({location_from(line), counters_from(line.at("counters"))});
    return out;
}

} // namespace

json json_of(const sim::counters& counts)
{
    json out = json::object();
    for (const counter& c : all_counters())
        out[c.name] = counts.*c.member;
    return out;
}

json json_of(const sim::finding& found)
{
    json parties = json::array();
    for (const sim::party& p : found.parties) {
        json party = json_of(p.where);
        party.update({{"did", p.did}, {"block", json_of(p.block)}, {"thread", json_of(p.thread)}});
        parties.push_back(std::move(party));
    }
    return {{"kind", name_of(found.kind)},  {"kernel", found.kernel}, {"message", found.message},
            {"count", found.count},         {"hazard", found.hazard}, {"variable", found.variable},
            {"benign", found.benign},       {"remedy", found.remedy}, {"launch", json_of(found.launch)},
            {"parties", std::move(parties)}};
}

json json_of(const run_report& report)
{
    json kernels = json::array(), findings = json::array();
    for (const kernel_report& k : report.kernels) {
        json lines = json::array();
        for (const sim::line_report& line : k.lines) {
            json one = json_of(line.where);
            one["counters"] = json_of(line.counts);
            lines.push_back(std::move(one));
        }
        kernels.push_back({{"kernel", k.name},
                           {"launches", k.launches},
                           {"grid", json_of(k.grid)},
                           {"block", json_of(k.block)},
                           {"dynamic_shared", k.dynamic_shared},
                           {"static_shared", k.static_shared},
                           {"blocks_run", k.blocks_run},
                           {"blocks_total", k.blocks_total},
                           {"steps", k.steps},
                           {"work", k.work},
                           {"seconds", k.seconds},
                           {"counters", json_of(k.counts)},
                           {"lines", std::move(lines)}});
    }
    for (const sim::finding& f : report.findings)
        findings.push_back(json_of(f));
    return {{"schedule", report.schedule},
            {"machine", report.machine},
            {"ended", report.ended},
            {"kernels", std::move(kernels)},
            {"findings", std::move(findings)}};
}

run_report report_from(const json& j)
{
    run_report out;
    out.schedule = j.at("schedule");
    out.machine = j.at("machine");
    out.ended = j.at("ended");
    for (const json& k : j.at("kernels"))
        out.kernels.push_back(kernel_from(k));
    for (const json& f : j.at("findings"))
        out.findings.push_back(finding_from(f));
    return out;
}

void write_report(const run_report& report, const std::filesystem::path& to)
{
    // Names and messages may hold what the program printed or read, in any encoding.
    std::ofstream(to) << json_of(report).dump(-1, ' ', false, json::error_handler_t::replace);
}

std::optional<run_report> read_report(const std::filesystem::path& from)
{
    std::ifstream in(from);
    if (!in)
        return {};
    const json parsed = json::parse(in, nullptr, false);
    if (parsed.is_discarded())
        return {};
    return report_from(parsed);
}

} // namespace lab::program
