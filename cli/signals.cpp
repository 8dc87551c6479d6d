// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "signals.hpp"

#include <atomic>
#include <csignal>
#include <cstring>
#include <string_view>

#include <limits.h>
#include <unistd.h>

namespace upsweep::cli {

namespace {

// A signal handler may touch little else than lock-free atomics.
char unfinished_output[PATH_MAX];
std::atomic<bool> has_unfinished_output{false};

void remove_unfinished_output()
{
    if (has_unfinished_output.exchange(false))
        ::unlink(unfinished_output);
}

extern "C" void end_by_signal(int signal)
{
    remove_unfinished_output();
    std::signal(signal, SIG_DFL);
    std::raise(signal); // the parent sees that a signal ended us
}

extern "C" void end_by_bus_error(int)
{
    remove_unfinished_output();
    constexpr std::string_view message =
        "upsweep: an input file became shorter, or its device failed, while it was read; run again\n";
    if (::write(STDERR_FILENO, message.data(), message.size()) < 0)
        ::_exit(1);
    ::_exit(1);
}

} // namespace

void install_signal_handlers()
{
    struct sigaction action {};
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) {
        // A signal that the parent had us ignore (nohup) stays ignored.
        if (::sigaction(signal, nullptr, &action) != 0 || action.sa_handler == SIG_IGN)
            continue;
        action = {};
        action.sa_handler = end_by_signal;
        ::sigaction(signal, &action, nullptr);
    }
    action = {};
    action.sa_handler = SIG_IGN; // a file that grows beyond its limit is an error of write()
    ::sigaction(SIGXFSZ, &action, nullptr);
    action = {};
    action.sa_handler = end_by_bus_error;
    ::sigaction(SIGBUS, &action, nullptr);
}

void set_unfinished_output(const std::string& path)
{
    has_unfinished_output = false;
    if (path.empty() || path.size() >= sizeof unfinished_output)
        return;
    std::memcpy(unfinished_output, path.c_str(), path.size() + 1);
    has_unfinished_output = true;
}

} // namespace upsweep::cli
