// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <upsweep/gpu/fold/vector_fold.cuh>
#include <upsweep/gpu/shapes/adjacent.cuh>
#include <upsweep/gpu/shapes/tiled_lines.cuh>
#include <upsweep/lines.hpp>
#include <upsweep/view.hpp>

// Lines that lie side by side as one line, whose elements are units of one element of each and whose operator folds each element of a unit with its
// counterpart. The kernels of lines take them as they take every other element and operator.
//
//     words         elements of one or two bytes. A lane that had one of them would read a byte where the path to the memory has room for a
//                   word of 4 bytes
//     whole units   two to four columns that are all there are: their units lie one behind the other, as the elements of a row do
namespace upsweep::gpu::adjacent_lines {

// Elements narrower than a word, and how many of them share one.
template <class T>
inline constexpr bool is_narrow = sizeof(T) < sizeof(unsigned);
template <class T>
inline constexpr int in_word = is_narrow<T> ? static_cast<int>(sizeof(unsigned) / sizeof(T)) : 1;

// The type in which they are accumulated. Sums of bytes have 32 bits, as long as lines are shorter than this.
template <class Op, class Acc, class T>
using accumulator_in_words =
    adjacent<std::conditional_t<std::integral<T> && sizeof(T) == 1, lane_accumulator_t<Op, Acc, T>, Acc>, in_word<T>>;
inline constexpr std::uint64_t longest_sum_of_bytes = std::uint64_t{1} << 23;

// Whether lines lie side by side such that so many of them share an aligned unit of memory everywhere.
template <int Count, class T, std::size_t Rank>
bool share_units(const view<T, Rank>& lines)
{
    using unit = adjacent<std::remove_const_t<T>, Count>;
    bool share = lines.stride(Rank - 1) == 1 && lines.extent(Rank - 1) % Count == 0 &&
                 reinterpret_cast<std::uintptr_t>(lines.data()) % alignof(unit) == 0;
    for (std::size_t k = 0; k + 1 < Rank; ++k)
        share = share && (lines.extent(k) == 1 || lines.stride(k) % Count == 0);
    return share;
}

// The same memory as lines of such units.
template <int Count, class T, std::size_t Rank>
auto as_units(const view<T, Rank>& lines)
{
    using element = adjacent<std::remove_const_t<T>, Count>;
    using unit = std::conditional_t<std::is_const_v<T>, const element, element>;
    std::array<std::size_t, Rank> extents;
    std::array<std::ptrdiff_t, Rank> strides;
    for (std::size_t k = 0; k < Rank; ++k) {
        extents[k] = lines.extent(k) / (k + 1 == Rank ? Count : 1);
        strides[k] = k + 1 == Rank ? 1 : lines.stride(k) / Count;
    }
    return view<unit, Rank>(reinterpret_cast<unit*>(lines.data()), extents, strides);
}
template <int Count, class T, class Out, std::size_t Rank>
auto as_units(const detail::lines<const T, Out, Rank>& all)
{
    return detail::lines<const adjacent<T, Count>, adjacent<Out, Count>, Rank>{as_units<Count>(all.in),
                                                                               as_units<Count>(all.out)};
}

// Whether lines are folded in words by such an accumulator, which makes results of type Acc: those that share them, if there are so many side by side at
// least, and if the accumulators leave registers for the rest.
template <class Accumulator, class Acc, class T, class Out, std::size_t Rank>
bool lie_in_words(const detail::lines<const T, Out, Rank>& all, std::size_t least)
{
    constexpr int count = in_word<T>;
    const bool fits = std::same_as<typename Accumulator::value_type, Acc> || all.length() < longest_sum_of_bytes;
    return sizeof(Accumulator) <= sizeof(uint4) && fits && all.in.extent(Rank - 1) >= least &&
           share_units<count>(all.in) && share_units<count>(all.out);
}

// Whether scans are faster in words by such an accumulator. One that takes four registers leaves few for other rows: words are faster
// where there are many side by side, or where panels have the whole lanes of warps, and not in small arrays.
template <class Accumulator, class T, class Out, std::size_t Rank>
bool are_scanned_faster_in_words(const detail::lines<const T, Out, Rank>& all)
{
    constexpr std::size_t many_columns = 200;
    constexpr std::size_t some_columns = 60;
    constexpr std::size_t least_of_a_power = 16;
    constexpr std::size_t small_array = std::size_t{1} << 23;
    const std::size_t columns = all.in.extent(Rank - 1);
    if (sizeof(Accumulator) < sizeof(uint4) || columns >= many_columns)
        return true;
    return all.count() * all.length() >= small_array &&
           (columns >= some_columns || (columns >= least_of_a_power && std::has_single_bit(columns)));
}

template <class T, class Out, std::size_t Rank>
auto in_words(const detail::lines<const T, Out, Rank>& all)
{
    return as_units<in_word<T>>(all);
}

// Calls f with the lines as units, if there are two to four of them beside each other and what is accumulated fits into 16 bytes, and with how many a
// unit has. Returns what f returns, or false.
template <class Acc, class T, class Out, std::size_t Rank, class F>
bool with_whole_units(const detail::lines<const T, Out, Rank>& all, F f)
{
    const std::size_t columns = all.in.extent(Rank - 1);
    if (columns < 2 || columns > 4 || all.in.stride(0) != static_cast<std::ptrdiff_t>(columns))
        return false;
    return with_constant<2, 4>(columns, [&]<int Count>(std::integral_constant<int, Count> count) {
        if constexpr (sizeof(Acc) * Count <= sizeof(uint4) && sizeof(T) * Count % sizeof(unsigned) == 0)
            if (share_units<Count>(all.in) && share_units<Count>(all.out))
                return f(as_units<Count>(all), count);
        return false;
    });
}

} // namespace upsweep::gpu::adjacent_lines

namespace upsweep::gpu {

template <class Acc, class T, int Count>
inline constexpr bool
    fits_tiles<adjacent_lines::adjacent<Acc, Count>, adjacent_lines::adjacent<T, Count>> = sizeof(Acc) * Count <=
                                                                                           sizeof(unsigned);

} // namespace upsweep::gpu
