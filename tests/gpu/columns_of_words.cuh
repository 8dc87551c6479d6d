// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "matrices_of_elements.cuh"

namespace upsweep::test {

// Elements that share words: few rows, some, tiles of few words, and blocks of many; widths and beginnings where they share none.
template <class T, class Op>
void expect_words(const Op& op)
{
    using matrices = matrices_of_elements<T>;
    for (const matrices& of :
         {matrices{1, 3, 36}, matrices{2, 15, 8}, matrices{1, 63, 132}, matrices{3, 70, 12}, matrices{1, 700, 76},
          matrices{1, 4200, 8}, matrices{2, 65, 37}, matrices{1, 80, 36, 1}}) {
        of.expect_reductions(op);
        of.expect_scans(op);
    }
}

} // namespace upsweep::test
