// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <atomic>
#include <deque>
#include <mutex>
#include <stdexcept>

#include "host.h"
#include "memory.h"
#include "remedy.h"
#include "upsweep/simulator/simulator.h"

namespace upsweep::simulator {

namespace {

constexpr std::size_t kib = 1024;

geometry machine(std::string name, int major, int minor, unsigned sms, unsigned threads_per_sm, unsigned blocks_per_sm,
                 std::size_t opt_in, std::size_t per_sm)
{
    geometry g;
    g.name = std::move(name);
    g.major = major;
    g.minor = minor;
    g.sms = sms;
    g.threads_per_sm = threads_per_sm;
    g.blocks_per_sm = blocks_per_sm;
    g.shared_opt_in = opt_in * kib;
    g.shared_per_sm = per_sm * kib;
    return g;
}

// The G80 serves half a warp at a time, from 16 banks, and moves global memory in segments of 64 bytes.
geometry g80()
{
    geometry g = machine("g80", 1, 0, 16, 768, 8, 16, 16);
    g.banks = 16;
    g.lanes_per_access = 16;
    g.transaction_bytes = 64;
    g.threads_per_block = 512;
    g.shared_per_block = 16 * kib;
    g.memory_bytes = std::size_t{768} << 20;
    return g;
}

const std::vector<geometry>& known_machines()
{
    static const std::vector<geometry> all{
        g80(),
        machine("sm_70", 7, 0, 80, 2048, 32, 96, 96),
        machine("sm_75", 7, 5, 40, 1024, 16, 64, 64),
        machine("sm_80", 8, 0, 108, 2048, 32, 163, 164),
        machine("sm_86", 8, 6, 84, 1536, 16, 99, 100),
        machine("sm_89", 8, 9, 128, 1536, 24, 99, 100),
        machine("sm_90", 9, 0, 132, 2048, 32, 227, 228),
        machine("sm_100", 10, 0, 148, 2048, 32, 227, 228),
    };
    return all;
}

thread_local recording* innermost = nullptr;
std::atomic<recording*> shared = nullptr; // see share_with_new_threads
std::atomic<const options*> of_new_threads = nullptr;

} // namespace

const std::vector<std::string>& geometry::presets()
{
    static const std::vector<std::string> names = [] {
        std::vector<std::string> list;
        for (const auto& g : known_machines())
            list.push_back(g.name);
        return list;
    }();
    return names;
}

geometry geometry::preset(std::string_view name)
{
    std::string list;
    for (const auto& g : known_machines()) {
        if (g.name == name)
            return g;
        list += (list.empty() ? "" : ", ") + g.name;
    }
    throw std::invalid_argument("no geometry is called '" + std::string(name) + "'; there are " + list);
}

std::string schedule::name() const
{
    switch (kind) {
    case order::in_order: return "in order";
    case order::reversed: return "reversed";
    case order::round_robin: return "round robin";
    case order::random: return "random, seed " + std::to_string(seed);
    case order::stall: return "block " + std::to_string(block) + " stalled";
    case order::starve_others: return "all but block " + std::to_string(block) + " starved";
    case order::lanes_apart: return "lanes apart, seed " + std::to_string(seed);
    }
    return "";
}

// They are never destroyed, because a report that is made while the program exits asks for them.
options& current_options()
{
    static std::mutex& guard = *new std::mutex;
    static std::deque<options>& of_all_threads = *new std::deque<options>;
    static thread_local options* const mine = [] {
        std::lock_guard lock(guard);
        return &of_all_threads.emplace_back(of_new_threads != nullptr ? *of_new_threads.load() : options{});
    }();
    return *mine;
}

bool report_is_possible() noexcept { return device_memory::instance().is_at_rest() && debug_info_is_at_rest(); }

recording* current_recording() { return innermost != nullptr ? innermost : shared.load(); }

void recording::share_with_new_threads()
{
    of_new_threads = &current_options();
    shared = this;
}

recording::recording() : outer_(innermost), first_allocation_(device_memory::instance().next_serial())
{
    innermost = this;
}

recording::~recording()
{
    forget_unchecked_launch();
    innermost = outer_;
    if (auto* mine = this; shared.compare_exchange_strong(mine, nullptr))
        of_new_threads = nullptr;
}

void recording::add(finding found)
{
    std::lock_guard lock(guard_);
    const auto same = [&](const finding& other) {
        return other.kind == found.kind && other.message == found.message &&
               std::equal(other.parties.begin(), other.parties.end(), found.parties.begin(), found.parties.end(),
                          [](const party& a, const party& b) {
                              const bool same_line =
                                  a.where.line != 0 && a.where.line == b.where.line && a.where.file == b.where.file;
                              return (a.pc == b.pc || same_line) && a.did == b.did;
                          });
    };
    if (auto known = std::find_if(host_findings_.begin(), host_findings_.end(), same); known != host_findings_.end()) {
        known->count += found.count;
        return;
    }
    if (found.remedy.empty())
        found.remedy = general_remedy(found);
    host_findings_.push_back(std::move(found));
}

void recording::add(launch_report report)
{
    std::lock_guard lock(guard_);
    launches_.push_back(std::move(report));
}

std::vector<finding> recording::findings() const
{
    std::vector<finding> all = host_findings_;
    for (const auto& l : launches_)
        all.insert(all.end(), l.findings.begin(), l.findings.end());
    if (auto waiting = unchecked_launch())
        all.push_back(*waiting);
    if (!all.empty() && all.back().remedy.empty())
        all.back().remedy = general_remedy(all.back());
    for (const allocation* leaked : device_memory::instance().leaked_since(first_allocation_)) {
        finding f;
        f.kind = finding_kind::leak;
        f.message = std::to_string(leaked->size) + " bytes of device memory were never freed";
        f.parties.push_back({locate(leaked->made_at), {0, 0, 0}, {0, 0, 0}, "allocated", leaked->made_at});
        f.remedy = general_remedy(f);
        all.push_back(std::move(f));
    }
    return all;
}

} // namespace upsweep::simulator
