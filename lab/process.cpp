// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "process.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <thread>
#include <utility>

namespace lab {

namespace fs = std::filesystem;

scratch_folder::scratch_folder()
{
    std::string name = (fs::temp_directory_path() / "upsweep-lab-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr)
        throw std::runtime_error("cannot make a folder in " + fs::temp_directory_path().string());
    path = name;
}

scratch_folder::~scratch_folder()
{
    std::error_code ignored;
    fs::remove_all(path, ignored);
}

namespace {

volatile std::sig_atomic_t asked_to_end = 0;
constexpr int requests[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
struct sigaction before[std::size(requests)];

pid_t start(const std::vector<std::string>& words, const redirections& where, bool in_own_group)
{
    std::vector<char*> raw;
    for (const auto& w : words)
        raw.push_back(const_cast<char*>(w.c_str()));
    raw.push_back(nullptr);
    const pid_t child = fork();
    if (child < 0)
        throw std::runtime_error("cannot start " + words[0]);
    if (child != 0)
        return child;
    if (in_own_group)
        setpgid(0, 0);
    const auto redirect = [](const fs::path& to, int descriptor) {
        if (!to.empty())
            dup2(open(to.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), descriptor);
    };
    redirect(where.output, STDOUT_FILENO);
    redirect(where.error, STDERR_FILENO);
    if (where.output_to_error)
        dup2(STDERR_FILENO, STDOUT_FILENO);
    execvp(raw[0], raw.data());
    _exit(127);
}

} // namespace

patience_with_signals::patience_with_signals()
{
    asked_to_end = 0;
    struct sigaction how {};
    sigemptyset(&how.sa_mask);
    how.sa_handler = [](int signal) { asked_to_end = signal; };
    for (std::size_t i = 0; i < std::size(requests); ++i)
        sigaction(requests[i], &how, &before[i]);
}

patience_with_signals::~patience_with_signals()
{
    for (std::size_t i = 0; i < std::size(requests); ++i)
        sigaction(requests[i], &before[i], nullptr);
}

int patience_with_signals::asked() { return asked_to_end; }

std::string contents_of(const fs::path& file)
{
    std::ifstream in(file, std::ios::binary);
    if (!in)
        throw std::runtime_error("cannot read " + file.string());
    std::ostringstream text;
    text << in.rdbuf();
    return std::move(text).str();
}

pid_t start_program(const std::vector<std::string>& words, const redirections& where)
{
    return start(words, where, false);
}

int status_of_shell(int waited) { return WIFSIGNALED(waited) ? 128 + WTERMSIG(waited) : WEXITSTATUS(waited); }

int run_program(const std::vector<std::string>& words, const redirections& where)
{
    const pid_t group = start(words, where, true);
    int status = 0;
    while (waitpid(group, &status, WNOHANG) == 0) {
        if (asked_to_end != 0)
            kill(-group, SIGKILL);
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    // What the program has started may still write, until it is gone, too.
    while (asked_to_end != 0 && kill(-group, SIGKILL) == 0)
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
    return status_of_shell(status);
}

} // namespace lab
