// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// The controls of the simulator: which machine it simulates, in which order it runs blocks and warps, and where its reports
// go. A program that does not include this header runs on the default machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "upsweep/simulator/report.h"

namespace upsweep::simulator {

struct geometry {
    std::string name;
    int major = 9, minor = 0;
    unsigned warp_width = 32;
    unsigned banks = 32;
    unsigned lanes_per_access = 32; // how many lanes the memory serves at once: half a warp on the first GPUs
    unsigned transaction_bytes = 32;
    unsigned threads_per_block = 1024;
    unsigned threads_per_sm = 2048, blocks_per_sm = 32, sms = 132;
    std::size_t shared_per_block = 48 << 10; // without asking for more
    std::size_t shared_opt_in = 227 << 10;   // after cudaFuncSetAttribute
    std::size_t shared_per_sm = 228 << 10;
    std::size_t memory_bytes = std::size_t{16} << 30;

    static geometry preset(std::string_view name); // throws std::invalid_argument, which names the presets
    static const std::vector<std::string>& presets();
};

// Every schedule is fair: a warp that can run runs eventually, whatever other warps do, and so does a lane, whatever other
// lanes of its warp do. A seed always gives the same order.
struct schedule {
    enum class order { in_order, reversed, round_robin, random, stall, starve_others, lanes_apart };
    order kind = order::in_order;
    std::uint64_t seed = 0;
    std::uint64_t block = 0; // the block that `stall` keeps waiting, or that `starve_others` lets run first

    static schedule random(std::uint64_t seed) { return {order::random, seed, 0}; }
    static schedule stall(std::uint64_t block) { return {order::stall, 0, block}; }
    static schedule starve_others(std::uint64_t block) { return {order::starve_others, 0, block}; }
    // As random, and the lanes of a warp drift apart wherever no barrier and no intrinsic holds them together.
    static schedule lanes_apart(std::uint64_t seed) { return {order::lanes_apart, seed, 0}; }
    std::string name() const;
};

// How far a running launch has come.
struct launch_progress {
    std::string kernel;
    std::uint64_t blocks_done = 0, blocks_total = 0; // of the blocks that run
    double seconds = 0;                              // since the launch began
};

struct options {
    simulator::geometry machine = geometry::preset("sm_90");
    simulator::schedule schedule;
    bool check = true;                    // for races, initialisation and bounds; counters are always kept
    std::size_t resident_threads = 16384; // blocks with further threads wait for a place, as they do on a GPU
    std::uint64_t patience = 2'000'000;   // warp instructions without any progress before a livelock is reported
    std::size_t stack_bytes = 64 << 10;
    double lane_seconds =
        5; // of computing without an access or a barrier, after which a thread's loop counts as endless
    std::uint64_t blocks =
        0; // so many, evenly spaced, stand for the whole grid, unless the launch is cooperative; 0: all
    std::function<void(const launch_progress&)> progress; // called about five times a second while a launch runs
};

// Options and reports belong to the calling host thread.
options& current_options();

// What the launch that runs on this host thread has counted and found so far. It may be called from a kernel, too.
std::optional<launch_report> running_launch_report();

// Whether a report can be made at once: not while the simulator's tables are in use, by a call that a signal has interrupted,
// say. It may be called from a signal handler.
bool report_is_possible() noexcept;

// Ends the running launch of each host thread, and every later one, soon after it has begun; `why` becomes the note of their
// reports. It may be called from a signal handler. Null takes the request back.
void request_stop(const char* why) noexcept;

// Collects the reports of this thread's launches, and the findings that belong to no launch, while it lives.
class recording {
public:
    recording();
    ~recording();
    recording(const recording&) = delete;
    recording& operator=(const recording&) = delete;

    const std::vector<launch_report>& launches() const { return launches_; }
    // The findings of the launches and of the host's calls between them, and the device memory that is still allocated.
    std::vector<finding> findings() const;
    void add(launch_report report);
    void add(finding found); // counts one more where the same was found at the same place before
    // From now on, the launches of host threads without a recording of their own are collected, too, and host threads that
    // are new begin with this thread's options.
    void share_with_new_threads();

private:
    mutable std::mutex guard_;
    recording* outer_;
    std::uint64_t first_allocation_;
    std::vector<launch_report> launches_;
    std::vector<finding> host_findings_;
};

// Sets other options for as long as it lives.
class with_options {
public:
    explicit with_options(options next) : saved_(current_options()) { current_options() = std::move(next); }
    ~with_options() { current_options() = std::move(saved_); }
    with_options(const with_options&) = delete;
    with_options& operator=(const with_options&) = delete;

private:
    options saved_;
};

} // namespace upsweep::simulator
