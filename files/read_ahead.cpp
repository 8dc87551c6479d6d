// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "read_ahead.hpp"

#include <algorithm>
#include <cstring>

namespace upsweep::files {

namespace {

// All buffers stay in the L2 cache, and to hand one over costs little beside filling it.
constexpr std::size_t buffer_bytes = std::size_t{1} << 18;

} // namespace

read_ahead::read_ahead(std::unique_ptr<byte_stream> from) : from_(std::move(from))
{
    for (buffer& each : buffers_)
        each.bytes = std::make_unique_for_overwrite<char[]>(buffer_bytes);
    thread_ = std::thread([this] { fill_buffers(); });
}

read_ahead::~read_ahead()
{
    interrupt();
    thread_.join();
}

void read_ahead::interrupt()
{
    {
        const std::lock_guard lock(mutex_);
        interrupted_ = true;
    }
    changed_.notify_all();
    from_->interrupt();
}

void read_ahead::fill_buffers() noexcept
{
    try {
        for (bool more = true; more;) {
            buffer* free = nullptr;
            {
                std::unique_lock lock(mutex_);
                changed_.wait(lock, [&] { return interrupted_ || filled_ - emptied_ < buffers_.size(); });
                if (interrupted_)
                    break;
                free = &buffers_[filled_ % buffers_.size()];
            }
            free->size = from_->read(free->bytes.get(), buffer_bytes);
            more = free->size == buffer_bytes;
            {
                const std::lock_guard lock(mutex_);
                ++filled_;
            }
            changed_.notify_all();
        }
    } catch (...) {
        const std::lock_guard lock(mutex_);
        error_ = std::current_exception();
    }
    {
        const std::lock_guard lock(mutex_);
        ended_ = true;
    }
    changed_.notify_all();
}

read_ahead::buffer* read_ahead::wait_for_full()
{
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return interrupted_ || ended_ || filled_ > emptied_; });
    if (interrupted_)
        return nullptr;
    if (filled_ > emptied_)
        return &buffers_[emptied_ % buffers_.size()];
    if (error_ != nullptr)
        std::rethrow_exception(error_);
    return nullptr;
}

std::size_t read_ahead::read(char* buffer, std::size_t capacity)
{
    std::size_t done = 0;
    while (done < capacity) {
        const auto* const full = wait_for_full();
        if (full == nullptr)
            break;
        const std::size_t taken = std::min(capacity - done, full->size - position_);
        if (taken > 0)
            std::memcpy(buffer + done, full->bytes.get() + position_, taken);
        done += taken;
        position_ += taken;
        if (position_ < full->size)
            continue;
        position_ = 0;
        {
            const std::lock_guard lock(mutex_);
            ++emptied_;
        }
        changed_.notify_all();
    }
    return done;
}

} // namespace upsweep::files
