// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "byte_input.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <upsweep/files.hpp>

namespace upsweep::files {

namespace {

// What a descriptor gives, which is closed at the end unless it is that of standard input.
class descriptor_stream final : public byte_stream {
public:
    descriptor_stream(std::string name, int descriptor) : name_(std::move(name)), descriptor_(descriptor) {}
    descriptor_stream(const descriptor_stream&) = delete;
    descriptor_stream& operator=(const descriptor_stream&) = delete;
    ~descriptor_stream() override
    {
        if (descriptor_ > STDIN_FILENO)
            ::close(descriptor_);
        if (interrupted_ >= 0)
            ::close(interrupted_);
    }

    std::size_t read(char* buffer, std::size_t capacity) override
    {
        std::size_t done = 0;
        while (done < capacity && !is_interrupted()) {
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

    void allow_interrupt() override
    {
        interrupted_ = ::eventfd(0, EFD_CLOEXEC);
        if (interrupted_ < 0)
            throw system_failure(name_, "cannot be waited for", errno);
    }

    void interrupt() override
    {
        if (interrupted_ >= 0)
            ::eventfd_write(interrupted_, 1);
    }

private:
    // Waits until there is something to read, be it the end, or an interrupt.
    bool is_interrupted() const
    {
        if (interrupted_ < 0)
            return false;
        pollfd waited[] = {{descriptor_, POLLIN, 0}, {interrupted_, POLLIN, 0}};
        while (::poll(waited, std::size(waited), -1) < 0)
            if (errno != EINTR)
                throw system_failure(name_, "cannot be waited for", errno);
        return waited[1].revents != 0;
    }

    std::string name_;
    int descriptor_;
    int interrupted_ = -1;
};

} // namespace

byte_input::byte_input(const std::string& path) : name_(path == "-" ? "standard input" : path)
{
    const int descriptor = path == "-" ? STDIN_FILENO : ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor < 0)
        throw system_failure(name_, "cannot be opened", errno);
    stream_ = std::make_unique<descriptor_stream>(name_, descriptor);

    struct stat status {};
    if (::fstat(descriptor, &status) != 0)
        throw system_failure(name_, "cannot be examined", errno);
    if (S_ISDIR(status.st_mode))
        throw failure(name_, {}, {"is a directory; name the files in it"});

    // Files under /proc say that they are regular and empty, and are neither.
    if (!S_ISREG(status.st_mode) || status.st_size == 0)
        return;

    // Standard input may have been read in part by an earlier command of the shell's list.
    const off_t position = path == "-" ? std::max<off_t>(::lseek(descriptor, 0, SEEK_CUR), 0) : 0;
    const auto bytes = static_cast<std::size_t>(status.st_size);
    void* const mapping = ::mmap(nullptr, bytes, PROT_READ, MAP_SHARED, descriptor, 0);
    // Files under /sys say that they are regular and have a page, and cannot be mapped.
    if (mapping == MAP_FAILED)
        return;
    mapping_ = mapping;
    mapping_bytes_ = bytes;
    ::madvise(mapping_, mapping_bytes_, MADV_SEQUENTIAL); // advice only: its failure costs speed, nothing else
    const auto skipped = std::min(static_cast<std::size_t>(position), mapping_bytes_);
    content_ = std::string_view(static_cast<const char*>(mapping_), mapping_bytes_).substr(skipped);
    mapped_ = true;

    // The mapping outlives the descriptor, of which a process has only so many.
    stream_.reset();
}

byte_input::byte_input(std::string name, opener open, bool rereadable)
    : name_(std::move(name)), open_(std::move(open)), rereadable_(rereadable), stream_(open_())
{
}

byte_input::~byte_input()
{
    stream_.reset(); // what it reads from is a part of open_, or mapped
    if (mapping_ != nullptr)
        ::munmap(mapping_, mapping_bytes_);
}

void byte_input::rewind()
{
    if (!was_read_)
        return;
    stream_.reset();
    peeked_.clear();
    peeked_used_ = 0;
    was_read_ = false;
    stream_ = open_();
}

std::string_view byte_input::peek(std::size_t wanted)
{
    if (mapped_)
        return content_.substr(0, wanted);
    const std::size_t available = peeked_.size() - peeked_used_;
    if (available < wanted) {
        // The first look takes all of a short file: some under /proc/sys give nothing more once they have given a part.
        constexpr std::size_t page_bytes = 4096;
        const std::size_t asked = std::max(wanted, page_bytes);
        peeked_.resize(peeked_used_ + asked);
        const std::size_t got = stream_->read(peeked_.data() + peeked_used_ + available, asked - available);
        peeked_.resize(peeked_used_ + available + got);
    }
    return std::string_view(peeked_.data(), peeked_.size()).substr(peeked_used_, wanted);
}

std::size_t byte_input::read(char* buffer, std::size_t capacity)
{
    was_read_ = true;
    const std::size_t from_peek = std::min(capacity, peeked_.size() - peeked_used_);
    if (from_peek > 0)
        std::memcpy(buffer, peeked_.data() + peeked_used_, from_peek);
    peeked_used_ += from_peek;
    return from_peek + stream_->read(buffer + from_peek, capacity - from_peek);
}

void byte_input::allow_interrupt()
{
    if (stream_ != nullptr)
        stream_->allow_interrupt();
}

void byte_input::interrupt()
{
    if (stream_ != nullptr)
        stream_->interrupt();
}

byte_pieces::byte_pieces(byte_input& from, std::size_t piece_bytes) : from_(from), piece_bytes_(piece_bytes)
{
    from_.rewind();
}

std::string_view byte_pieces::next()
{
    std::string_view piece;
    if (from_.is_mapped()) {
        piece = from_.content().substr(position_, piece_bytes_);
    } else {
        piece_.resize(piece_bytes_);
        piece = {piece_.data(), from_.read(piece_.data(), piece_bytes_)};
    }
    position_ += piece.size();
    return piece;
}

} // namespace upsweep::files
