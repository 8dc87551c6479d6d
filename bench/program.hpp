// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string>

// What a program does that folds a file: programs that are run, and files that are mapped as they map them.
namespace bench {

// What a command of the shell writes to its standard output; throws std::runtime_error if it fails.
std::string output_of(const std::string& command);

// A file's bytes, mapped anew as a program has to.
class mapped_file {
public:
    explicit mapped_file(const std::string& path, int flags = 0); // of mmap, beside MAP_SHARED
    ~mapped_file();
    mapped_file(const mapped_file&) = delete;
    mapped_file& operator=(const mapped_file&) = delete;

    std::span<const std::byte> bytes() const { return bytes_; }

    template <class T>
    std::span<const T> as() const
    {
        return {reinterpret_cast<const T*>(bytes_.data()), bytes_.size() / sizeof(T)};
    }

private:
    std::span<const std::byte> bytes_;
};

} // namespace bench
