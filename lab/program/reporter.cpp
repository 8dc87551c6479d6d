// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// This file is linked into a learner's program. It sets the machine and the schedule before main, and writes the report when
// the program ends: after main or exit, after abort, an uncaught exception or a fault, on Ctrl-C, and at the limit of time.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <sys/syscall.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>

#include "report_file.h"
#include "upsweep/simulator/cuda/launch.h"
#include "upsweep/simulator/simulator.h"

namespace {

namespace sim = upsweep::simulator;

std::string setting(const char* name, const char* otherwise)
{
    const char* value = std::getenv(name);
    return value != nullptr ? value : otherwise;
}

// The time that is left of a launch is estimated from the blocks that are done. A terminal has one line of it, which changes.
void show(const sim::launch_progress& now)
{
    constexpr double silent_seconds = 1, first_line = 2, between_lines = 10;
    static double next_line = first_line;
    if (now.seconds < silent_seconds || now.blocks_total == 0)
        return;
    const bool is_terminal = isatty(STDERR_FILENO) != 0;
    if (now.seconds < 2 * silent_seconds)
        next_line = first_line; // of a new launch
    if (!is_terminal && now.seconds < next_line)
        return;
    next_line = now.seconds + between_lines;
    const double left = now.blocks_done == 0 ? 0
                                             : now.seconds / static_cast<double>(now.blocks_done) *
                                                   static_cast<double>(now.blocks_total - now.blocks_done);
    std::fprintf(stderr, "%s%s: %llu of %llu blocks, %.0f s",
                 is_terminal ? "\r\033[K" : "upsweep lab: ", now.kernel.c_str(),
                 static_cast<unsigned long long>(now.blocks_done), static_cast<unsigned long long>(now.blocks_total),
                 now.seconds);
    if (now.blocks_done != 0)
        std::fprintf(stderr, ", about %.0f s left", left);
    std::fputs(is_terminal ? "" : "\n", stderr);
}

class reporter {
public:
    reporter()
    {
        sim::options& options = sim::current_options();
        options.machine = sim::geometry::preset(setting("UPSWEEP_LAB_GEOMETRY", "sm_90"));
        options.schedule.kind = static_cast<sim::schedule::order>(std::stoi(setting("UPSWEEP_LAB_SCHEDULE_KIND", "0")));
        options.schedule.seed = std::stoull(setting("UPSWEEP_LAB_SCHEDULE_SEED", "0"));
        options.blocks = std::stoull(setting("UPSWEEP_LAB_BLOCKS", "0"));
        if (setting("UPSWEEP_LAB_PROGRESS", "0") == "1")
            options.progress = show;
        recorded_.share_with_new_threads();
        report_to_ = setting("UPSWEEP_LAB_REPORT", "");
        owner_ = getpid();
    }
    ~reporter() { write(""); }
    reporter(const reporter&) = delete;
    reporter& operator=(const reporter&) = delete;

    // Writes the report, the first time that it is called.
    void write(const char* ended)
    {
        if (is_written_ || report_to_.empty() || getpid() != owner_)
            return;
        is_written_ = true;
        lab::program::run_report report;
        report.schedule = sim::current_options().schedule.name();
        report.machine = sim::current_options().machine.name;
        report.ended = ended;
        auto launches = recorded_.launches();
        report.findings = recorded_.findings();
        if (auto running = sim::running_launch_report()) {
            report.findings.insert(report.findings.end(), running->findings.begin(), running->findings.end());
            launches.push_back(std::move(*running));
        }
        report.kernels = lab::program::by_kernel(launches);
        lab::program::write_report(report, report_to_);
    }

private:
    sim::recording recorded_;
    std::filesystem::path report_to_;
    pid_t owner_ = 0;
    bool is_written_ = false;
};

// It is made before the objects of the program, and ends after them: what they free is no leak.
[[gnu::init_priority(150)]] reporter at_exit;

[[noreturn]] void leave(int status)
{
    std::fflush(nullptr);
    syscall(SYS_exit_group, status);
    std::abort();
}

const char* name_of(int signal)
{
    switch (signal) {
    case SIGABRT: return "abort";
    case SIGSEGV: return "a segmentation fault";
    case SIGBUS: return "a bus error";
    case SIGFPE: return "an arithmetic error, such as a division by zero";
    case SIGILL: return "an illegal instruction";
    case SIGINT: return "Ctrl-C";
    case SIGHUP: return "the end of its terminal";
    case SIGQUIT: return "SIGQUIT";
    case SIGTERM: return "SIGTERM";
    default: return "a signal";
    }
}

// A fault or abort: the thread cannot go on, and what it holds is what the report is made of. A second fault, in here, ends
// the program at once.
void on_fault(int signal)
{
    at_exit.write(name_of(signal));
    leave(128 + signal);
}

volatile std::sig_atomic_t asked_to_end = 0; // the signal that asked
const char* why_to_end = "";

[[noreturn]] void end_as_asked()
{
    at_exit.write(why_to_end);
    constexpr int status_of_limit = 124; // as timeout(1) has it
    leave(asked_to_end == SIGUSR1 ? status_of_limit : 128 + asked_to_end);
}

// NOLINTNEXTLINE(readability-identifier-naming): the linker's own
extern "C" const char __executable_start, etext; // the linker's names for the ends of the program's own code

// Whether the host's code was interrupted in the program itself, and not in a library, which may hold a lock.
bool is_in_program(const void* context)
{
    const auto at = static_cast<std::uintptr_t>(static_cast<const ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP]);
    return at - reinterpret_cast<std::uintptr_t>(&__executable_start) <
           reinterpret_cast<std::uintptr_t>(&etext) - reinterpret_cast<std::uintptr_t>(&__executable_start);
}

// A kernel is stopped between two of its instructions. The host's code is interrupted wherever it is: if that is no place for
// a report, the timer interrupts it again. A program that stays in a library for long waits there, for input, say.
void on_request(int signal, siginfo_t*, void* context)
{
    constexpr int most_tries = 300;
    constexpr suseconds_t microseconds_between = 2000;
    static int tries = 0;
    if (asked_to_end == 0) {
        asked_to_end = signal;
        why_to_end = signal == SIGUSR1 ? "the limit of time" : name_of(signal);
        sim::request_stop(why_to_end);
    }
    if (sim::cuda::launch_is_running())
        return;
    ++tries;
    if (sim::report_is_possible() && (is_in_program(context) || tries > most_tries))
        end_as_asked();
    const itimerval soon{{0, 0}, {0, microseconds_between}};
    setitimer(ITIMER_REAL, &soon, nullptr);
}

struct handlers {
    handlers()
    {
        static unsigned char stack[256 << 10]; // a thread of a grid has none to spare
        stack_t alternate{};
        alternate.ss_sp = stack;
        alternate.ss_size = sizeof stack;
        sigaltstack(&alternate, nullptr);
        struct sigaction how {};
        sigemptyset(&how.sa_mask);
        how.sa_handler = on_fault;
        how.sa_flags = SA_ONSTACK | static_cast<int>(SA_RESETHAND) | SA_NODEFER;
        for (const int fault : {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL})
            sigaction(fault, &how, nullptr);
        how.sa_sigaction = on_request;
        how.sa_flags = SA_ONSTACK | SA_SIGINFO | SA_RESTART;
        for (const int request : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGALRM})
            sigaction(request, &how, nullptr);
        std::at_quick_exit([] { at_exit.write(""); });
        sim::cuda::after_launches([] {
            if (asked_to_end != 0)
                end_as_asked();
        });
    }
};
[[gnu::init_priority(151)]] handlers installed;

} // namespace

// A program that leaves by one of these functions skips the destructors, but not the report.
extern "C" {
void _exit(int status)
{
    at_exit.write("");
    syscall(SYS_exit_group, status);
    __builtin_unreachable();
}
void _Exit(int status) noexcept { _exit(status); }
}
