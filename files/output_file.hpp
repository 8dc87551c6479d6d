// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "temporaries.hpp"

namespace upsweep::files {

// A file that appears whole or not at all: it is written under another name in the same folder and takes its place at
// commit(). Until then the old file stays, so that it may be the input as well. Devices and pipes are written directly.
class output_file {
public:
    explicit output_file(const std::string& path);
    output_file(const output_file&) = delete;
    output_file& operator=(const output_file&) = delete;
    ~output_file(); // without commit(), nothing is left

    const std::string& name() const { return name_; }
    // Whether what was written can be written over.
    bool is_regular() const { return !temporary_.empty(); }

    void write(std::string_view bytes);
    // Writes over bytes from the beginning; the next write() goes on at the end. Only of a regular file.
    void overwrite_front(std::string_view bytes);
    void commit();

private:
    std::string name_;
    std::string target_;    // what name_ leads to, symbolic links followed
    std::string temporary_; // empty where the target is written directly
    std::optional<listed_temporary> listed_;
    int descriptor_ = -1;
};

} // namespace upsweep::files
