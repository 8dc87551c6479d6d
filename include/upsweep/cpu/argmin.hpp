// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <type_traits>
#include <vector>

#include <upsweep/cpu/axis.hpp>
#include <upsweep/cpu/block.hpp>
#include <upsweep/cpu/lanes.hpp>
#include <upsweep/cpu/parallel.hpp>
#include <upsweep/cpu/reduce.hpp>
#include <upsweep/cpu/vector.hpp>
#include <upsweep/engine.hpp>
#include <upsweep/lines.hpp>
#include <upsweep/op.hpp>
#include <upsweep/target.hpp>
#include <upsweep/verb/argmin.hpp>
#include <upsweep/view.hpp>

// Positions of minima and maxima. Of an array the minima of blocks are found by vectors, without positions; where the least is, is looked
// for in the one block that has it. Of lines side by side each lane keeps its least element and its row. Maxima are minima of elements some of
// whose bits are flipped, and unsigned integers are signed ones with the sign flipped: one instantiation serves four searches.
namespace upsweep::cpu_engine {

// The minimum or maximum of some elements, and its position.
template <class T>
struct argument {
    T value{};
    std::size_t index = 0;
};

// What elements are compared as: floating-point numbers, or signed integers, as processors compare them by vectors.
template <class T>
struct searched : std::type_identity<detail::compared_t<T>> {
};
template <std::integral T>
struct searched<T> : std::make_signed<T> {
};
template <>
struct searched<bool> : std::type_identity<std::int8_t> {
};
template <class T>
using searched_t = typename searched<T>::type;

// Unsigned integers are read as signed ones.
template <class T>
concept read_as_signed = std::unsigned_integral<T> && !std::same_as<T, bool>;

// The bits that are flipped in elements of type T, so that the least of them is the one that Op looks for: the sign where unsigned integers are
// compared as signed ones, and for maxima the sign of floating-point numbers, and all bits of integers.
template <class Op, class T>
constexpr auto flip_of()
{
    using number = searched_t<T>;
    using bits = unsigned_t<number>;
    constexpr auto sign = static_cast<bits>(bits{1} << (8 * sizeof(bits) - 1));
    constexpr auto all = std::floating_point<number> ? sign : std::numeric_limits<bits>::max();
    constexpr bits to_signed = read_as_signed<T> ? sign : bits{0};
    return static_cast<bits>(std::same_as<Op, maximum> ? to_signed ^ all : to_signed);
}

// Looks for the first of the least elements, with the bits of `flip` flipped, in blocks and elements that are taken one after the other.
template <class Acc, class In>
class block_search {
public:
    using bits = unsigned_t<Acc>;

    block_search(In in, bits flip) : in_(in), flip_(flip) {}

    template <std::size_t Size>
    void take(std::size_t first)
    {
        take(least_of<Size>(first), first, Size);
    }
    void take_one(std::size_t at) { take(element(at), at, 1); }

    // The position of the first of the equal elements, in the first of the blocks that have one.
    argument<Acc> found() const
    {
        std::size_t at = first_;
        const std::size_t end = first_ + size_;
        while (end - at > small && detail::precedes<minimum>(value_, least_of<small>(at)))
            at += small;
        while (end - at > 1 && detail::precedes<minimum>(value_, element(at)))
            ++at;
        return {value_, at};
    }

    // Elements of the smallest block.
    static constexpr std::size_t small = 4 * vector_bytes / sizeof(Acc);

private:
    Acc element(std::size_t at) const
    {
        return std::bit_cast<Acc>(static_cast<bits>(std::bit_cast<bits>(load<Acc>(in_, at)) ^ flip_));
    }

    template <std::size_t Size>
    Acc least_of(std::size_t first) const
    {
        constexpr std::size_t lanes = vector_bytes / sizeof(Acc);
        std::array<Acc, Size> buffer;
        const Acc* const elements = load_block<Size, Acc>(in_ + static_cast<std::ptrdiff_t>(first), buffer.data());
        auto columns = vector_columns<minimum, Acc, Size>(
            [&](std::size_t i) { return (vector_t<Acc>)((vector_t<bits>)load_vector(elements + i) ^ flip_); });
        if constexpr (sizeof(Acc) >= 4) { // by halves, so that few steps wait for one another
            for (std::size_t half = lanes / 2; half != 0; half /= 2)
                for (std::size_t k = 0; k < half; ++k)
                    columns[k] = minimum{}(columns[k], columns[k + half]);
            return columns[0];
        } else { // compilers fold them by vectors
            Acc least = columns[0];
            for (const Acc& value : columns)
                least = minimum{}(least, value);
            return least;
        }
    }

    void take(const Acc& value, std::size_t first, std::size_t size)
    {
        if (size_ != 0 && !detail::precedes<minimum>(value, value_))
            return;
        value_ = value;
        first_ = first;
        size_ = size;
    }

    In in_;
    bits flip_;
    Acc value_{};           // the least, flipped
    std::size_t first_ = 0; // the block that has it
    std::size_t size_ = 0;
};

// Of elements begin to end - 1, on the calling thread.
template <class Acc, class In>
argument<Acc> find_serially(In in, std::size_t begin, std::size_t end, unsigned_t<Acc> flip)
{
    read_ahead ahead =
        end - begin >= grain_size<Acc> ? further_on(in + static_cast<std::ptrdiff_t>(begin)) : read_ahead();
    constexpr std::size_t large = block_size<Acc>;
    block_search<Acc, In> search(in, flip);
    constexpr std::size_t small = search.small;
    constexpr std::size_t medium = std::min(large, 8 * small);
    std::size_t i = begin;
    for (; end - i >= large; i += large) {
        ahead.advance<large>();
        search.template take<large>(i);
    }
    for (; end - i >= medium; i += medium)
        search.template take<medium>(i);
    for (; end - i >= small; i += small)
        search.template take<small>(i);
    if (i < end && end - begin >= small) // What was searched before, and is again, precedes nothing.
        search.template take<small>(end - small);
    else
        for (; i < end; ++i)
            search.take_one(i);
    return search.found();
}

// Of all elements, on all threads.
template <class Acc, class In>
argument<Acc> find_in(const cpu& target, In in, std::size_t count, unsigned_t<Acc> flip)
{
    constexpr std::size_t piece = grain_size<Acc>;
    const std::size_t pieces = (count + piece - 1) / piece;
    if (pieces < 4 || thread_count(target) == 1)
        return find_serially<Acc>(in, 0, count, flip);
    std::vector<argument<Acc>> found(pieces);
    for_each_index(target, pieces, [&](std::size_t k) {
        found[k] = find_serially<Acc>(in, k * piece, std::min(count, (k + 1) * piece), flip);
    });
    return *std::ranges::min_element(found, [](const argument<Acc>& a, const argument<Acc>& b) {
        return detail::precedes<minimum>(a.value, b.value); // min_element takes the first of equal ones
    });
}

// Calls f with where the elements begin, an address if they lie side by side.
template <class In, class F>
void with_address(In in, F f)
{
    using element = std::iter_value_t<In>;
    if constexpr (detail::strided_iterator<In>) {
        if (in.is_contiguous())
            return with_address(in.address(), f);
        f(in);
    } else if constexpr (std::is_pointer_v<In> && read_as_signed<element>) {
        f(reinterpret_cast<const searched_t<element>*>(in));
    } else {
        f(in);
    }
}

// An integer for each number with the bits of `flip` flipped, so that the lesser has the lesser integer, NaN the least, and equal ones have
// equal integers.
template <class Acc>
using key_t = std::conditional_t<sizeof(Acc) == 8, std::int64_t, std::int32_t>;
template <class Acc>
UPSWEEP_ALWAYS_INLINE inline vector_t<key_t<Acc>> keys_of(vector_t<Acc> values, key_t<Acc> flip)
{
    using key = key_t<Acc>;
    using keys = vector_t<key>;
    const keys flipped = (keys)values ^ flip;
    if constexpr (std::floating_point<Acc>) {
        constexpr key lowest = std::numeric_limits<key>::min();
        constexpr int sign = 8 * sizeof(key) - 1;
        const keys of_numbers =
            flipped ^ ((flipped >> sign) & ~lowest); // negative ones have all bits but the sign inverted
        return values == values ? of_numbers : keys{} + lowest;
    } else {
        return flipped;
    }
}

// Lanes keep the integers of their elements in the type of those, 32 bits at least, and the rows in as many bits.
template <class T>
using lane_number_t = std::conditional_t<(std::integral<T> && sizeof(T) < 4), std::int32_t, searched_t<T>>;

// Rows that one search numbers: fewer than 2^31.
inline constexpr std::size_t rows_of_search = std::size_t{1} << 30;

// Looks for the first row that has the least element, with the bits of `flip` flipped, in each of some neighbouring lines, in lockstep.
template <class T, std::size_t Rank>
class lane_search {
    using number = lane_number_t<T>;
    using key = key_t<number>;
    using reader = lane_reader<number, T, Rank>;

public:
    lane_search(const view<const T, Rank>& in, std::size_t first, std::size_t count, unsigned_t<searched_t<T>> flip)
        : reader_(in, true), flip_(static_cast<std::make_signed_t<unsigned_t<searched_t<T>>>>(flip))
    {
        for (std::size_t done = 0, slot = 0; done < count;) {
            const auto lines = unit_of_lines(in, first + done, std::min(unit_lanes<number>, count - done));
            const std::size_t lanes = (lines.lines + at_once - 1) / at_once * at_once;
            units_.push_back({lines, lanes, slot});
            done += lines.lines;
            slot += lanes;
        }
        const std::size_t slots = units_.back().slot + units_.back().lanes;
        keys_ = std::make_unique<key[]>(slots);
        rows_ = std::make_unique<key[]>(slots);
        std::fill_n(keys_.get(), slots, std::numeric_limits<key>::max());
    }

    // Takes rows first to first + count - 1, at most rows_of_search of them. The first is found until another precedes it: nothing is
    // greater than the integer to which it is compared.
    void take(std::size_t first, std::size_t count)
    {
        const std::size_t end = first + count;
        std::size_t row = first;
        for (; row + rows_at_once <= end; row += rows_at_once)
            take_rows<rows_at_once>(row, row - first);
        for (; row < end; ++row)
            take_rows<1>(row, row - first);
    }

    // Calls put(line of those searched, row, key).
    template <class Put>
    void for_each(std::size_t first_line, Put put) const
    {
        for (const unit& u : units_)
            for (std::size_t lane = 0; lane < u.in.lines; ++lane)
                put(u.in.line - first_line + lane, static_cast<std::size_t>(rows_[u.slot + lane]),
                    keys_[u.slot + lane]);
    }

private:
    static constexpr std::size_t at_once = vector_bytes / sizeof(number);
    struct unit {
        line_unit<const T> in;
        std::size_t lanes; // its lines, and as many more as make whole vectors
        std::size_t slot;
    };

    template <std::size_t Rows>
    void take_rows(std::size_t row, std::size_t number_of_row)
    {
        for (const unit& u : units_) {
            const lane_rows<number> rows = reader_.template read<Rows>(u.in, u.lanes, row, buffer_);
            for (std::size_t lane = 0; lane < u.lanes; lane += at_once)
                choose<Rows>(rows.first + lane, rows.step, static_cast<key>(number_of_row), flip_,
                             keys_.get() + u.slot + lane, rows_.get() + u.slot + lane);
        }
    }
    template <std::size_t Rows>
    static void choose(const number* elements, std::ptrdiff_t step, key first, key flip, key* __restrict keys,
                       key* __restrict rows)
    {
        vector_t<key> least = load_vector(keys);
        vector_t<key> where = load_vector(rows);
        for (std::size_t r = 0; r < Rows; ++r) {
            const vector_t<key> here = keys_of<number>(load_vector(elements), flip);
            const auto is_less = here < least;
            where = is_less ? vector_t<key>{} + (first + static_cast<key>(r)) : where;
            least = is_less ? here : least;
            elements += step;
        }
        store_vector<key>(least, keys);
        store_vector<key>(where, rows);
    }

    reader reader_;
    key flip_; // with the sign of the elements' bits
    std::vector<unit> units_;
    std::unique_ptr<key[]> keys_;
    std::unique_ptr<key[]> rows_;
    typename reader::buffer buffer_;
};

// Lines in lockstep, in groups and pieces that threads share.
template <class T, class Index, std::size_t Rank>
void find_in_lanes(const cpu& target, const detail::lines<const T, Index, Rank>& of, unsigned_t<searched_t<T>> flip)
{
    using number = lane_number_t<T>;
    using key = key_t<number>;
    const std::size_t lines = of.count();
    const std::size_t length = of.length();
    const line_cuts cuts =
        cut_lines(target, lines, length, unit_lanes<number>, 16 * unit_lanes<number>, 4 * piece_bytes / sizeof(number));
    const std::size_t rows_a_piece = cuts.pieces != 0 ? cuts.piece() : std::min(length, rows_of_search);
    const std::size_t pieces = (length + rows_a_piece - 1) / rows_a_piece;
    const auto size_of_group = [&](std::size_t group) {
        return std::min(cuts.lines_a_group, lines - group * cuts.lines_a_group);
    };
    const bool is_cut = pieces > 1;
    const auto keys = std::make_unique_for_overwrite<key[]>(is_cut ? pieces * lines : 0);
    const auto rows = std::make_unique_for_overwrite<std::size_t[]>(is_cut ? pieces * lines : 0);
    for_each_index(target, pieces * cuts.groups, [&](std::size_t task) {
        const std::size_t piece = task / cuts.groups;
        const std::size_t first = task % cuts.groups * cuts.lines_a_group;
        const std::size_t count = size_of_group(task % cuts.groups);
        const std::size_t first_row = piece * rows_a_piece;
        lane_search<T, Rank> search(of.in, first, count, flip);
        search.take(first_row, std::min(rows_a_piece, length - first_row));
        if (is_cut) {
            search.for_each(first, [&](std::size_t line, std::size_t row, key least) {
                keys[piece * lines + first + line] = least;
                rows[piece * lines + first + line] = first_row + row;
            });
        } else {
            const auto found = std::make_unique_for_overwrite<Index[]>(count);
            search.for_each(first,
                            [&](std::size_t line, std::size_t row, key) { found[line] = static_cast<Index>(row); });
            write_row(of.out, first, count, found.get());
        }
    });
    for_each_index(target, is_cut ? cuts.groups : 0, [&](std::size_t group) {
        const std::size_t first = group * cuts.lines_a_group;
        const std::size_t count = size_of_group(group);
        const auto found = std::make_unique_for_overwrite<Index[]>(count);
        for (std::size_t line = 0; line < count; ++line) {
            std::size_t best = first + line;
            for (std::size_t at = best + lines; at < pieces * lines; at += lines)
                best = keys[at] < keys[best] ? at : best;
            found[line] = static_cast<Index>(rows[best]);
        }
        write_row(of.out, first, count, found.get());
    });
}

// Of each line.
template <class T, class Index, std::size_t Rank>
void find_in_lines(const cpu& target, const detail::lines<const T, Index, Rank>& of, unsigned_t<searched_t<T>> flip)
{
    constexpr std::size_t few_elements = 256;
    constexpr std::size_t elements_a_task = std::size_t{1} << 14;
    constexpr std::size_t many_elements = std::size_t{1} << 20; // of a line that all threads search
    if (!goes_line_by_line(of.in, 8, few_elements))
        return find_in_lanes(target, of, flip);
    const std::size_t lines_a_task = std::max<std::size_t>(1, elements_a_task / of.length());
    const std::size_t tasks = (of.count() + lines_a_task - 1) / lines_a_task;
    const bool shares_lines =
        of.length() >= many_elements && tasks < 4 * static_cast<std::size_t>(thread_count(target));
    const auto find_line = [&](const cpu& threads, std::size_t line) {
        with_line(of.in, line, [&](auto in) {
            of.out[line] = static_cast<Index>(find_in<searched_t<T>>(threads, in, of.length(), flip).index);
        });
    };
    if (shares_lines)
        for (std::size_t line = 0; line < of.count(); ++line)
            find_line(target, line);
    else
        for_each_index(target, tasks, [&](std::size_t task) {
            for (std::size_t line = task * lines_a_task; line < std::min(of.count(), (task + 1) * lines_a_task); ++line)
                find_line(cpu{1}, line);
        });
}

} // namespace upsweep::cpu_engine

namespace upsweep::detail {

template <>
struct engine<cpu, verb::argument> {
    template <class Op, class In, class Index>
    static void find(const cpu& target, In first, std::size_t count, Index* result)
    {
        using element = std::iter_value_t<In>;
        using number = cpu_engine::searched_t<element>;
        cpu_engine::with_address(first, [&](auto in) {
            *result = static_cast<Index>(
                cpu_engine::find_in<number>(target, in, count, cpu_engine::flip_of<Op, element>()).index);
        });
    }
};

template <>
struct engine<cpu, verb::argument_lines> {
    template <class Op, class T, class Index, std::size_t Rank>
    static void find(const cpu& target, const lines<const T, Index, Rank>& of)
    {
        const auto flip = cpu_engine::flip_of<Op, T>();
        if constexpr (cpu_engine::read_as_signed<T>) {
            using number = cpu_engine::searched_t<T>;
            std::array<std::size_t, Rank> extents;
            std::array<std::ptrdiff_t, Rank> strides;
            for (std::size_t k = 0; k < Rank; ++k) {
                extents[k] = of.in.extent(k);
                strides[k] = of.in.stride(k);
            }
            const view<const number, Rank> in(reinterpret_cast<const number*>(of.in.data()), extents, strides);
            cpu_engine::find_in_lines(target, lines<const number, Index, Rank>{in, of.out}, flip);
        } else {
            cpu_engine::find_in_lines(target, of, flip);
        }
    }
};

} // namespace upsweep::detail
