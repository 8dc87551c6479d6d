// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdio>
#include <span>
#include <string>

#include <sys/types.h>

namespace bench {

// A Python with NumPy that stays up during the whole run, so that it takes part in every round without its start-up.
class numpy_peer {
public:
    numpy_peer(const std::string& python, std::string folder);
    ~numpy_peer();
    numpy_peer(const numpy_peer&) = delete;
    numpy_peer& operator=(const numpy_peer&) = delete;

    const std::string& version() const { return version_; }

    // Gives Python an array of its own with these elements.
    void set(const std::string& name, const std::string& dtype, std::span<const std::byte> elements);
    void run(const std::string& statement);
    double milliseconds(const std::string& statement, int calls);
    double value(const std::string& expression);

private:
    std::string ask(const std::string& line);

    std::string folder_;
    pid_t process_ = 0;
    std::FILE* to_ = nullptr;
    std::FILE* from_ = nullptr;
    std::string version_;
};

} // namespace bench
