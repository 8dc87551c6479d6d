// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "neighbours.hpp"

#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstring>
#include <stdexcept>
#include <thread>

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace bench {

namespace {

[[noreturn]] void count_for_ever()
{
    for (volatile unsigned n = 0;;)
        n = n + 1;
}

[[noreturn]] void copy_for_ever()
{
    constexpr std::size_t bytes = std::size_t{256} << 20; // beyond any cache
    void* const memory =
        mmap(nullptr, 2 * bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (memory == MAP_FAILED)
        _exit(1);
    auto* const to = static_cast<char*>(memory);
    for (;;)
        std::memcpy(to, to + bytes, bytes);
}

} // namespace

neighbours::neighbours(work what, int niceness)
{
    for (unsigned core = 0; core < std::thread::hardware_concurrency(); ++core) {
        const pid_t program = fork();
        if (program < 0)
            throw std::runtime_error("cannot start another program");
        if (program == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            (void)!nice(niceness);
            what == work::loop ? count_for_ever() : copy_for_ever();
        }
        programs_.push_back(program);
    }
    constexpr auto until_they_run = std::chrono::milliseconds(500);
    std::this_thread::sleep_for(until_they_run);
}

neighbours::~neighbours()
{
    for (const pid_t program : programs_) {
        kill(program, SIGKILL);
        waitpid(program, nullptr, 0);
    }
}

} // namespace bench
