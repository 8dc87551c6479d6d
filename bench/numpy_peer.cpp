// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "numpy_peer.hpp"

#include <array>
#include <filesystem>
#include <stdexcept>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

namespace bench {

numpy_peer::numpy_peer(const std::string& python, std::string folder) : folder_(std::move(folder))
{
    std::array<int, 2> to{};
    std::array<int, 2> from{};
    if (pipe2(to.data(), O_CLOEXEC) != 0 || pipe2(from.data(), O_CLOEXEC) != 0)
        throw std::runtime_error("no pipe to Python");
    process_ = fork();
    if (process_ == 0) {
        dup2(to[0], STDIN_FILENO);
        dup2(from[1], STDOUT_FILENO);
        execl(python.c_str(), python.c_str(), NUMPY_PEER, nullptr);
        _exit(127);
    }
    close(to[0]);
    close(from[1]);
    to_ = fdopen(to[1], "w");
    from_ = fdopen(from[0], "r");
    version_ = ask("");
}

numpy_peer::~numpy_peer()
{
    std::fclose(to_);
    std::fclose(from_);
    waitpid(process_, nullptr, 0);
}

void numpy_peer::set(const std::string& name, const std::string& dtype, std::span<const std::byte> elements)
{
    const std::string path = folder_ + "/elements";
    std::FILE* file = std::fopen(path.c_str(), "wb");
    if (file == nullptr || std::fwrite(elements.data(), 1, elements.size(), file) != elements.size() ||
        std::fclose(file) != 0)
        throw std::runtime_error("cannot write " + path);
    run(fmt::format("{} = np.fromfile('{}', '{}')", name, path, dtype));
    std::filesystem::remove(path);
}

void numpy_peer::run(const std::string& statement) { ask("run " + statement); }

double numpy_peer::milliseconds(const std::string& statement, int calls)
{
    return std::stod(ask(fmt::format("time {} {}", calls, statement)));
}

double numpy_peer::value(const std::string& expression) { return std::stod(ask("value " + expression)); }

// Sends a line, unless it is empty, and returns the answer.
std::string numpy_peer::ask(const std::string& line)
{
    if (!line.empty())
        fmt::print(to_, "{}\n", line);
    std::fflush(to_);
    std::string answer;
    for (int c = 0; (c = std::fgetc(from_)) != '\n'; answer += static_cast<char>(c))
        if (c == EOF)
            throw std::runtime_error("Python with NumPy has ended, at: " + (line.empty() ? "its start" : line));
    return answer;
}

} // namespace bench
