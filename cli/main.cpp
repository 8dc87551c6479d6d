// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include <cerrno>
#include <cstdio>
#include <exception>
#include <new>
#include <string>

#include <fcntl.h>
#include <unistd.h>

#include "command.hpp"
#include "failure.hpp"
#include "laboratory.hpp"
#include "signals.hpp"

namespace {

constexpr int data_failed = 1;
constexpr int usage_failed = 2;

// Errors are one line, whatever a library's message or a file's name may hold.
int complain(int status, const std::string& message)
{
    std::fputs(("upsweep: " + upsweep::files::escaped(message) + "\n").c_str(), stderr);
    return status;
}

// A file that is opened would get the number of a standard stream that the caller closed, and receive what is printed.
// /dev/null takes the number instead, opened the wrong way round: to use such a stream is an error as before.
void occupy_closed_streams()
{
    for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
        if (::fcntl(stream, F_GETFD) < 0 && errno == EBADF)
            (void)::open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY); // the least number that is free
}

} // namespace

int main(int argc, char** argv)
{
    namespace cli = upsweep::cli;
    occupy_closed_streams();
    cli::command_line line;
    cli::add_reduce(line);
    cli::add_scan(line);
    cli::add_histogram(line);
    cli::add_runs(line);
    cli::add_info(line);
    cli::add_laboratory(line);

    try {
        if (cli::is_for_laboratory(argc, argv))
            cli::become_laboratory(argv);
        cli::install_signal_handlers();
        return line.run(argc, argv);
    } catch (const cli::usage_error& error) {
        return complain(usage_failed, error.what());
    } catch (const upsweep::files::failure& error) {
        return complain(data_failed, cli::message_of(error));
    } catch (const std::bad_alloc&) {
        return complain(data_failed, "out of memory; free some, or ask for fewer bins");
    } catch (const std::exception& error) {
        return complain(data_failed, error.what());
    }
}
