// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>

#include "byte_input.hpp"

namespace upsweep::files {

// Reads a stream that takes long to compute in a thread of its own, some buffers ahead of who wants the bytes. What the
// stream throws, the reader's read() throws after the bytes before. The thread ends with this object, whether or not all
// bytes were wanted.
class read_ahead final : public byte_stream {
public:
    // `from` must allow interrupts, if it can wait.
    explicit read_ahead(std::unique_ptr<byte_stream> from);
    read_ahead(const read_ahead&) = delete;
    read_ahead& operator=(const read_ahead&) = delete;
    ~read_ahead() override;

    std::size_t read(char* buffer, std::size_t capacity) override;
    void interrupt() override;

private:
    struct buffer {
        std::unique_ptr<char[]> bytes;
        std::size_t size = 0;
    };

    void fill_buffers() noexcept;
    // The oldest full buffer, once there is one; null at the end.
    buffer* wait_for_full();

    std::unique_ptr<byte_stream> from_;
    // In turn: those from number emptied_ to filled_ are full and the reader's, the others are the thread's.
    std::array<buffer, 4> buffers_;
    std::size_t position_ = 0; // in the oldest full buffer

    std::mutex mutex_; // of what follows
    std::condition_variable changed_;
    std::size_t filled_ = 0;
    std::size_t emptied_ = 0;
    bool ended_ = false;
    bool interrupted_ = false;
    std::exception_ptr error_;
    std::thread thread_;
};

} // namespace upsweep::files
