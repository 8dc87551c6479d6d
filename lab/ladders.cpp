// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "ladder.h"

namespace lab {

const std::vector<ladder>& ladders()
{
    static const std::vector<ladder> all{reduce_ladder(), scan_ladder(), histogram_ladder(), exhibits()};
    return all;
}

} // namespace lab
