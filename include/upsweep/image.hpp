// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include <upsweep/axis.hpp>
#include <upsweep/op.hpp>
#include <upsweep/view.hpp>

namespace upsweep {

// Writes prefix sums in two dimensions, the last two of a view: out(r, c) is the sum of in(i, j) over all i <= r and j <= c, from which
// the sum over any rectangle follows by three operations (Crow's summed-area tables, 1984). Dimensions before them number images of
// a batch. `out` has the extents of `in` and may be `in`; its type is that in which sums are accumulated, and may be wider than
// the elements' (std::uint32_t for bytes, double for floats).
//
//     up::integral_image(cpu, up::view(pixels, {rows, columns}), up::view(sums, {rows, columns}));
//
// The order of the sums is that of inclusive scans along the rows, of whose results the columns are scanned (docs/fold-order.md). 4 n
// operations; two passes over memory.
template <target Target, class T, std::size_t Rank, class Out>
void integral_image(const Target& target, const view<T, Rank>& in, const view<Out, Rank>& out)
{
    static_assert(Rank >= 2, "an image has two dimensions");
    upsweep::inclusive_scan(target, in, axis{Rank - 1}, out, plus{});
    upsweep::inclusive_scan(target, view<const Out, Rank>(out), axis{Rank - 2}, out, plus{});
}

} // namespace upsweep
