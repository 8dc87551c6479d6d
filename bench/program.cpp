// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "program.hpp"

#include <array>
#include <cstdio>
#include <filesystem>
#include <stdexcept>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace bench {

std::string output_of(const std::string& command)
{
    std::FILE* pipe = popen(command.c_str(), "r");
    if (pipe == nullptr)
        throw std::runtime_error("cannot run " + command);
    std::string output;
    std::array<char, 4096> piece{};
    while (const std::size_t size = std::fread(piece.data(), 1, piece.size(), pipe))
        output.append(piece.data(), size);
    if (pclose(pipe) != 0)
        throw std::runtime_error("failed: " + command);
    return output;
}

mapped_file::mapped_file(const std::string& path, int flags)
{
    const std::size_t size = std::filesystem::file_size(path);
    const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    void* memory = mmap(nullptr, size, PROT_READ, MAP_SHARED | flags, descriptor, 0);
    close(descriptor);
    if (memory == MAP_FAILED)
        throw std::runtime_error("cannot map " + path);
    bytes_ = {static_cast<const std::byte*>(memory), size};
}

mapped_file::~mapped_file() { munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size()); }

} // namespace bench
