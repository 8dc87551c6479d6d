// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "byte_input.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <upsweep/files.hpp>

namespace upsweep::files {

byte_input::byte_input(const std::string& path) : name_(path == "-" ? "standard input" : path)
{
    descriptor_ = path == "-" ? STDIN_FILENO : ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor_ < 0)
        throw system_failure(name_, "cannot be opened", errno);

    struct stat status {};
    if (::fstat(descriptor_, &status) != 0)
        throw system_failure(name_, "cannot be examined", errno);
    if (S_ISDIR(status.st_mode))
        throw failure(name_, {}, {"is a directory; name the files in it"});

    // Files under /proc say that they are regular and empty, and are neither.
    if (!S_ISREG(status.st_mode) || status.st_size == 0)
        return;

    // Standard input may have been read in part by an earlier command of the shell's list.
    const off_t position = path == "-" ? std::max<off_t>(::lseek(descriptor_, 0, SEEK_CUR), 0) : 0;
    mapping_bytes_ = static_cast<std::size_t>(status.st_size);
    mapping_ = ::mmap(nullptr, mapping_bytes_, PROT_READ, MAP_SHARED, descriptor_, 0);
    if (mapping_ == MAP_FAILED) {
        mapping_ = nullptr;
        throw system_failure(name_, "cannot be mapped into memory", errno);
    }
    ::madvise(mapping_, mapping_bytes_, MADV_SEQUENTIAL); // advice only: its failure costs speed, nothing else
    const auto skipped = std::min(static_cast<std::size_t>(position), mapping_bytes_);
    content_ = std::string_view(static_cast<const char*>(mapping_), mapping_bytes_).substr(skipped);
    mapped_ = true;

    // The mapping outlives the descriptor, of which a process has only so many.
    if (descriptor_ != STDIN_FILENO)
        ::close(descriptor_);
    descriptor_ = -1;
}

byte_input::~byte_input()
{
    if (mapping_ != nullptr)
        ::munmap(mapping_, mapping_bytes_);
    if (descriptor_ > STDIN_FILENO)
        ::close(descriptor_);
}

std::string_view byte_input::peek(std::size_t wanted)
{
    if (mapped_)
        return content_.substr(0, wanted);
    const std::size_t available = peeked_.size() - peeked_used_;
    if (available < wanted) {
        peeked_.resize(peeked_used_ + wanted);
        const std::size_t got = read_fully(peeked_.data() + peeked_used_ + available, wanted - available);
        peeked_.resize(peeked_used_ + available + got);
    }
    return std::string_view(peeked_.data(), peeked_.size()).substr(peeked_used_, wanted);
}

std::size_t byte_input::read(char* buffer, std::size_t capacity)
{
    const std::size_t from_peek = std::min(capacity, peeked_.size() - peeked_used_);
    if (from_peek > 0)
        std::memcpy(buffer, peeked_.data() + peeked_used_, from_peek);
    peeked_used_ += from_peek;
    return from_peek + read_fully(buffer + from_peek, capacity - from_peek);
}

std::size_t byte_input::read_fully(char* buffer, std::size_t capacity)
{
    std::size_t done = 0;
    while (done < capacity) {
        const ssize_t got = ::read(descriptor_, buffer + done, capacity - done);
        if (got == 0)
            break;
        if (got < 0) {
            if (errno == EINTR)
                continue;
            throw system_failure(name_, "cannot be read", errno);
        }
        done += static_cast<std::size_t>(got);
    }
    return done;
}

} // namespace upsweep::files
