// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "signals.hpp"

#include <csignal>
#include <string_view>

#include <unistd.h>
#include <upsweep/files.hpp>

namespace upsweep::cli {

namespace {

extern "C" void end_by_signal(int signal)
{
    files::remove_temporaries();
    std::signal(signal, SIG_DFL);
    std::raise(signal); // the parent sees that a signal ended us
}

extern "C" void end_by_bus_error(int)
{
    files::remove_temporaries();
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
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGQUIT, SIGALRM, SIGXCPU, SIGUSR1, SIGUSR2}) {
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

} // namespace upsweep::cli
