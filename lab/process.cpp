// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "process.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <stdexcept>

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

int run_program(const std::vector<std::string>& words, output what)
{
    std::vector<char*> raw;
    for (const auto& w : words)
        raw.push_back(const_cast<char*>(w.c_str()));
    raw.push_back(nullptr);
    const pid_t child = fork();
    if (child < 0)
        throw std::runtime_error("cannot start " + words[0]);
    if (child == 0) {
        if (what == output::hidden) {
            const int nowhere = open("/dev/null", O_WRONLY);
            dup2(nowhere, STDOUT_FILENO);
            dup2(nowhere, STDERR_FILENO);
        }
        execvp(raw[0], raw.data());
        _exit(127);
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (WIFSIGNALED(status))
        return 128 + WTERMSIG(status);
    return WEXITSTATUS(status);
}

} // namespace lab
