// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "ladder.h"

#include <stdexcept>

namespace lab {

const std::vector<ladder>& ladders()
{
    static const std::vector<ladder> all{reduce_ladder(), scan_ladder(),  histogram_ladder(), segments_ladder(),
                                         keys_ladder(),   image_ladder(), exhibits()};
    return all;
}

unsigned ladder::input_named(const std::string& wanted) const
{
    std::string names;
    for (unsigned i = 0; i < inputs.size(); ++i) {
        if (inputs[i].name == wanted)
            return i;
        names += (names.empty() ? "" : ", ") + inputs[i].name;
    }
    throw std::invalid_argument("the ladder " + name +
                                (inputs.empty() ? " has one input, without a name" : " has the inputs " + names));
}

} // namespace lab
