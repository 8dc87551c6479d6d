// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>

#include <upsweep/cpu/scan.hpp>
#include <upsweep/lines.hpp>
#include <upsweep/qualifiers.hpp>
#include <upsweep/view.hpp>

namespace upsweep::cpu_engine {

// Where a group folds or scans: elements first to first + count - 1 of each of its lines.
struct line_piece {
    std::size_t first;
    std::size_t count;
};

// What all groups need to know of a call.
template <class Acc, class T, class Out, std::size_t Rank, class Op>
struct line_call {
    static constexpr std::size_t rank = Rank;
    const detail::lines<const T, Out, Rank>& lines;
    const Op& op;
    scan_options<Acc> options; // of a scan
    Out first;                 // result of an exclusive scan, which no fold gives
};

// The first element of a line.
template <class T, std::size_t Rank>
UPSWEEP_NEVER_INLINE T* first_of_line(const view<T, Rank>& in, std::size_t line)
{
    return &in[line];
}

// Copies `count` elements that lie a stride apart side by side, and back. That of a line that lies the other way round compilers turn into vector
// code, if it has a loop of its own.
template <class T>
void gather(const T* __restrict from, std::ptrdiff_t stride, std::size_t count, T* __restrict to)
{
    const auto end = static_cast<std::ptrdiff_t>(count);
    if (stride == -1)
        for (std::ptrdiff_t i = 0; i < end; ++i)
            to[i] = *(from - i);
    else
        for (std::ptrdiff_t i = 0; i < end; ++i)
            to[i] = from[i * stride];
}
template <class T>
void scatter(const T* __restrict from, std::size_t count, T* __restrict to, std::ptrdiff_t stride)
{
    const auto end = static_cast<std::ptrdiff_t>(count);
    if (stride == -1)
        for (std::ptrdiff_t i = 0; i < end; ++i)
            *(to - i) = from[i];
    else
        for (std::ptrdiff_t i = 0; i < end; ++i)
            to[i * stride] = from[i];
}

// Calls f with the beginning of a line.
template <class T, std::size_t Rank, class F>
void with_line(const view<T, Rank>& in, std::size_t line, F f)
{
    T* const first = first_of_line(in, line);
    if (in.stride(0) == 1)
        f(first);
    else
        f(view<T, 1>(first, {in.extent(0)}, {in.stride(0)}).begin());
}

// One value a line. A vector of bool would not have them side by side.
template <class T>
using row_of_values = std::unique_ptr<T[]>;

// Writes the first elements of neighbouring lines.
template <class Out, std::size_t Rank>
UPSWEEP_NEVER_INLINE void write_row(const view<Out, Rank>& out, std::size_t first, std::size_t count,
                                    const Out* elements)
{
    (out.begin() + static_cast<std::ptrdiff_t>(first)).write(count, elements);
}

} // namespace upsweep::cpu_engine
