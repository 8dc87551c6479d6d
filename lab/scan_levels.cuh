// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launch.cuh"
#include "scan.cuh"

namespace lab {

// S6, level by level: the totals of the tiles are an array like the first one, and are scanned in the same way.
template <class T, class Op>
void scan_levels(const T* in, T* out, unsigned n, unsigned block, Op op)
{
    const unsigned tiles = blocks_for(n, block);
    buffer<T> totals(tiles);
    launch(scan_tiles<T, Op>, tiles, block, 0, in, out, totals.data(), n, op);
    if (tiles == 1)
        return;
    scan_levels(totals.data(), totals.data(), tiles, block, op);
    launch(scan_add_totals<T, Op>, tiles, block, 0, out, totals.data(), n, op);
}

} // namespace lab
