// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace upsweep::files {

// A temporary file that remove_temporaries() removes; listed until this is destroyed. The file itself is the caller's.
class listed_temporary {
public:
    explicit listed_temporary(const std::string& path);
    listed_temporary(const listed_temporary&) = delete;
    listed_temporary& operator=(const listed_temporary&) = delete;
    ~listed_temporary();

    struct entry;

private:
    entry* entry_;
};

} // namespace upsweep::files
