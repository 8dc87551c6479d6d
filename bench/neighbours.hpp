// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <vector>

namespace bench {

// Other programs, one for each core of this machine, which run for as long as this object lives. What they do, and how nice they
// are to others, is what a user's machine does beside a fold.
class neighbours {
public:
    enum class work { loop, copy };

    neighbours(work what, int niceness);
    ~neighbours();
    neighbours(const neighbours&) = delete;
    neighbours& operator=(const neighbours&) = delete;

private:
    std::vector<pid_t> programs_;
};

} // namespace bench
