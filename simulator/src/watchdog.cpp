// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "watchdog.h"

#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <ctime>

#include "engine.h"

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

namespace upsweep::simulator {

namespace {

constexpr int signal_number = SIGVTALRM;
constexpr double tick = 0.1; // seconds

// Written by the host thread while no timer of its own runs, and by the handler of its signals.
struct watched_thread {
    watched_launch launch;
    std::uint64_t steps_seen = 0;
    const lane* lane_seen = nullptr;
    int ticks = 0; // for which nothing has changed
    std::uintptr_t interrupted = 0;
    bool has_timer = false;
    timer_t timer{};
};
constinit thread_local watched_thread watched;

// What an interrupted thread of a kernel does in place of its loop. It runs on the thread's own stack.
[[noreturn, gnu::noinline]] void leave_the_loop()
{
    lane& self = *running_lane;
    {
        silent_hooks silence;
        running_engine->ran_away(self, watched.interrupted + 1);
    }
    running_engine->abandon(self);
}

void look(int, siginfo_t*, void* raw)
{
    watched_thread& w = watched;
    if (w.launch.steps == nullptr || running_lane == nullptr)
        return;
    if (*w.launch.steps != w.steps_seen || running_lane != w.lane_seen) {
        w.steps_seen = *w.launch.steps;
        w.lane_seen = running_lane;
        w.ticks = 0;
        return;
    }
    const double allowed = running_engine->must_stop() ? 2 * tick : w.launch.seconds;
    if (++w.ticks * tick < allowed)
        return;
#ifdef __x86_64__
    auto& registers = static_cast<ucontext_t*>(raw)->uc_mcontext.gregs;
    const auto at = static_cast<std::uintptr_t>(registers[REG_RIP]);
    const auto stack = static_cast<std::uintptr_t>(registers[REG_RSP]);
    const auto own_stack = reinterpret_cast<std::uintptr_t>(running_lane->stack);
    const bool in_the_program = at >= w.launch.code.begin && at < w.launch.code.end;
    if (!in_the_program || stack - own_stack >= running_engine->opts().stack_bytes)
        return; // in a library, say, whose locks it may hold: perhaps the next time
    constexpr std::uintptr_t red_zone = 128;
    // A function expects its return address at the top of a stack that was aligned before the call.
    registers[REG_RSP] = static_cast<greg_t>(((stack - red_zone) & ~std::uintptr_t{15}) - 8);
    registers[REG_RIP] = static_cast<greg_t>(reinterpret_cast<std::uintptr_t>(&leave_the_loop));
    w.interrupted = at;
    w.ticks = 0;
#else
    (void)raw;
#endif
}

void install_handler()
{
    static const bool installed = [] {
        struct sigaction action {};
        action.sa_sigaction = look;
        action.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;
        sigemptyset(&action.sa_mask);
        return sigaction(signal_number, &action, nullptr) == 0;
    }();
    (void)installed;
}

void set_timer(double seconds)
{
    itimerspec when{};
    when.it_value.tv_nsec = when.it_interval.tv_nsec = static_cast<long>(seconds * 1e9);
    timer_settime(watched.timer, 0, &when, nullptr);
}

} // namespace

watchdog::watchdog(const watched_launch& what)
{
    install_handler();
    watched.launch = what;
    watched.steps_seen = *what.steps;
    watched.lane_seen = nullptr;
    watched.ticks = 0;
    if (!watched.has_timer) {
        sigevent event{};
        event.sigev_notify = SIGEV_THREAD_ID;
        event.sigev_signo = signal_number;
        event.sigev_notify_thread_id = static_cast<int>(syscall(SYS_gettid));
        watched.has_timer = timer_create(CLOCK_THREAD_CPUTIME_ID, &event, &watched.timer) == 0;
    }
    if (watched.has_timer)
        set_timer(tick);
}

watchdog::~watchdog()
{
    if (watched.has_timer)
        set_timer(0);
    watched.launch = {};
}

} // namespace upsweep::simulator
