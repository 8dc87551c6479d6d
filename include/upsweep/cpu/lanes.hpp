// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <type_traits>

#include <upsweep/cpu/block.hpp>
#include <upsweep/cpu/store.hpp>
#include <upsweep/cpu/vector.hpp>
#include <upsweep/fold_order.hpp>
#include <upsweep/op.hpp>
#include <upsweep/qualifiers.hpp>
#include <upsweep/view.hpp>

// Many lines of one length, folded in lockstep. A line is a lane; elements of the same number, one of each lane, are a row. All
// lanes have folded equally many elements, so one binary counter serves them all, and its digits are rows of totals.
namespace upsweep::cpu_engine {

// Lanes that one loop folds: enough vectors to be worth a loop, so few that some rows of them stay in the first-level cache.
template <class Acc>
inline constexpr std::size_t unit_lanes = std::max<std::size_t>(1, std::bit_floor(256 / sizeof(Acc)));

// Rows that are folded at once, as an aligned block; and of a reduction, where they lie close together, and are folded where they lie.
inline constexpr std::size_t rows_at_once = 8;
inline constexpr std::size_t close_rows_at_once = 32;

template <class Acc>
using lane_row = std::array<Acc, unit_lanes<Acc>>;

// What loops over lanes take at a time: one accumulator, or a vector of them.
template <class Op, class Acc>
struct lane_group {
    using type = Acc;
    static constexpr std::size_t lanes = 1;

    UPSWEEP_ALWAYS_INLINE static type load(const Acc* from) { return *from; }
    template <store_kind>
    UPSWEEP_ALWAYS_INLINE static void store(const type& group, Acc* to)
    {
        *to = group;
    }
    UPSWEEP_ALWAYS_INLINE static type fold(const Op& op, const type& a, const type& b) { return op(a, b); }
};
template <class Op, class Acc>
    requires(takes_vectors<Op> || is_vector_monoid<Op, Acc> ||
             (std::integral<Acc> && !std::same_as<Acc, bool> && detail::is_builtin<Op> && !detail::is_logical<Op>))
struct lane_group<Op, Acc> {
    using type = vector_t<Acc>;
    static constexpr std::size_t lanes = vector_bytes / sizeof(Acc);

    UPSWEEP_ALWAYS_INLINE static type load(const Acc* from) { return load_vector(from); }
    template <store_kind Store>
    UPSWEEP_ALWAYS_INLINE static void store(type group, Acc* to)
    {
        store_vector<Acc, Store>(group, to);
    }
    UPSWEEP_ALWAYS_INLINE static type fold(const Op& op, type a, type b) { return fold_of_vectors<Op, Acc>(op, a, b); }
};

// Rows of a unit of lanes: where the first one lies, and how much further the next.
template <class Acc>
struct lane_rows {
    const Acc* first;
    std::ptrdiff_t step;
};

// Elements 0 to Rows - 1 of a group of lanes.
template <class Op, class Acc, std::size_t Rows>
using group_elements = std::array<typename lane_group<Op, Acc>::type, Rows>;

template <class Op, class Acc, std::size_t Rows>
UPSWEEP_ALWAYS_INLINE inline group_elements<Op, Acc, Rows> load_group(const lane_rows<Acc>& rows, std::size_t lane)
{
    group_elements<Op, Acc, Rows> elements;
    for (std::size_t r = 0; r < Rows; ++r)
        elements[r] = lane_group<Op, Acc>::load(rows.first + static_cast<std::ptrdiff_t>(r) * rows.step + lane);
    return elements;
}

// The total of an aligned block of `Count` elements from element `First` on, by halves.
template <std::size_t First, std::size_t Count, class Acc, class Op, class Elements>
UPSWEEP_ALWAYS_INLINE inline auto group_total(const Elements& elements, const Op& op)
{
    if constexpr (Count == 1)
        return elements[First];
    else
        return lane_group<Op, Acc>::fold(op, group_total<First, Count / 2, Acc>(elements, op),
                                         group_total<First + Count / 2, Count / 2, Acc>(elements, op));
}

// The folds before elements First to First + Count - 1, given the one before the first of them.
template <std::size_t First, std::size_t Count, class Acc, class Op, class Elements, class Group>
UPSWEEP_ALWAYS_INLINE inline void group_folds(const Elements& elements, const Group& before, const Op& op,
                                              Elements& folds)
{
    if constexpr (Count == 1) {
        folds[First] = before;
    } else {
        constexpr std::size_t half = Count / 2;
        const Group middle = lane_group<Op, Acc>::fold(op, before, group_total<First, half, Acc>(elements, op));
        group_folds<First, half, Acc>(elements, before, op, folds);
        group_folds<First + half, half, Acc>(elements, middle, op, folds);
    }
}

// The same of a block that lies at `from`.
template <std::size_t Count, class Acc, class Op>
UPSWEEP_ALWAYS_INLINE inline auto total_of_rows(const Acc* from, std::ptrdiff_t step, const Op& op)
{
    using group = lane_group<Op, Acc>;
    if constexpr (Count == 1) {
        return group::load(from);
    } else {
        const auto left = total_of_rows<Count / 2>(from, step, op);
        return group::fold(op, left,
                           total_of_rows<Count / 2>(from + static_cast<std::ptrdiff_t>(Count / 2) * step, step, op));
    }
}

// The totals of `Rows` rows, lane by lane. Here and below, `lanes` are at most those of a unit, and as many as groups have.
template <std::size_t Rows, class Acc, class Op>
void fold_rows(const lane_rows<Acc>& rows, std::size_t lanes, lane_row<Acc>& totals, const Op& op)
{
    using group = lane_group<Op, Acc>;
    for (std::size_t lane = 0; lane < lanes; lane += group::lanes)
        group::template store<store_kind::cached>(group_total<0, Rows, Acc>(load_group<Op, Acc, Rows>(rows, lane), op),
                                                  totals.data() + lane);
}

// The same of many rows, whose elements are loaded when they are needed: few are in registers at a time.
template <std::size_t Rows, class Acc, class Op>
void fold_many_rows(const lane_rows<Acc>& rows, std::size_t lanes, lane_row<Acc>& totals, const Op& op)
{
    using group = lane_group<Op, Acc>;
    for (std::size_t lane = 0; lane < lanes; lane += group::lanes)
        group::template store<store_kind::cached>(total_of_rows<Rows>(rows.first + lane, rows.step, op),
                                                  totals.data() + lane);
}

// Whether elements are integers that are added up in wider ones: in any order, and most of the way in integers that are just twice as
// wide, of which a vector holds more.
template <class T, class Acc, class Op>
inline constexpr bool adds_narrow_integers = std::same_as<Op, plus>&& std::integral<T> && !std::same_as<T, bool> &&
                                             std::integral<Acc> && sizeof(T) < sizeof(Acc);
template <class T>
using twice_as_wide = std::conditional_t<
    sizeof(T) == 1, std::conditional_t<std::signed_integral<T>, std::int16_t, std::uint16_t>,
    std::conditional_t<sizeof(T) == 2, std::conditional_t<std::signed_integral<T>, std::int32_t, std::uint32_t>,
                       std::conditional_t<std::signed_integral<T>, std::int64_t, std::uint64_t>>>;

// Adds rows of such integers to sums that are twice as wide, which hold those of 256 rows. Row after row, as they lie in memory, and a few at a
// time, so that sums are seldom loaded and stored.
template <class T>
void add_rows(const lane_rows<T>& rows, std::size_t count, std::size_t lanes, twice_as_wide<T>* to)
{
    using sum = twice_as_wide<T>;
    constexpr std::size_t some = vector_bytes / sizeof(sum);
    typedef T elements __attribute__((vector_size(vector_bytes / 2)));
    const auto add = [&](const T* from, auto at_once) {
        std::size_t lane = 0;
        for (; lane + some <= lanes; lane += some) {
            vector_t<sum> sums = load_vector(to + lane);
            for (std::size_t r = 0; r < at_once; ++r) {
                elements row;
                std::memcpy(&row, from + static_cast<std::ptrdiff_t>(r) * rows.step + lane, sizeof row);
                sums += __builtin_convertvector(row, vector_t<sum>);
            }
            store_vector<sum>(sums, to + lane);
        }
        for (; lane < lanes; ++lane)
            for (std::size_t r = 0; r < at_once; ++r)
                to[lane] = static_cast<sum>(to[lane] + (from + static_cast<std::ptrdiff_t>(r) * rows.step)[lane]);
    };
    constexpr std::size_t few = 4;
    std::size_t row = 0;
    for (; row + few <= count; row += few)
        add(rows.first + static_cast<std::ptrdiff_t>(row) * rows.step, std::integral_constant<std::size_t, few>{});
    for (; row < count; ++row)
        add(rows.first + static_cast<std::ptrdiff_t>(row) * rows.step, std::integral_constant<std::size_t, 1>{});
}

// NaN in results has one pattern of bits.
template <class Op, class Acc, class Group>
UPSWEEP_ALWAYS_INLINE inline Group with_named_nan(const Group& fold)
{
    if constexpr (detail::keeps_nan<Op, Acc>) {
        const Group nan = Group{} + detail::quiet_nan<Acc>();
        return fold == fold ? fold : nan;
    } else {
        return fold;
    }
}

// Writes the folds before each of `Rows` rows, or after each, given those before the first and after the last of them, and folds
// of NaN as results have them. `out` may be where the rows are.
template <std::size_t Rows, store_kind Store, class Acc, class Op>
UPSWEEP_NEVER_INLINE void scan_rows(const lane_rows<Acc>& rows, std::size_t lanes, scan_kind kind, const Acc* before,
                                    const Acc* end, Acc* out, std::ptrdiff_t out_step, const Op& op)
{
    using group = lane_group<Op, Acc>;
    // Lines of memory are streamed as a whole: a processor that has parts of many lines to write sends each part by itself.
    constexpr std::size_t line = 64;
    constexpr std::size_t group_bytes = group::lanes * sizeof(Acc);
    constexpr std::size_t groups = Store == store_kind::streamed && line % group_bytes == 0 ? line / group_bytes : 1;
    // The fold before row r > 0 is the exclusive result of row r and the inclusive one of row r - 1. The remaining result, of the first or of the
    // last row, is `before` or `end`.
    const bool is_inclusive = kind == scan_kind::inclusive;
    const Acc* const remaining = is_inclusive ? end : before;
    Acc* const out_of_others = is_inclusive ? out : out + out_step;
    // From the last lanes on, and from the first row on: what is written behind the end of a row is replaced where the next row lies there.
    for (std::size_t lane = lanes; lane > 0;) {
        lane -= groups * group::lanes;
        std::array<group_elements<Op, Acc, Rows>, groups> folds;
        for (std::size_t g = 0; g < groups; ++g)
            group_folds<0, Rows, Acc>(load_group<Op, Acc, Rows>(rows, lane + g * group::lanes),
                                      group::load(before + lane + g * group::lanes), op, folds[g]);
        const auto store = [&](std::size_t g, const auto& fold, Acc* row) {
            group::template store<Store>(with_named_nan<Op, Acc>(fold), row + lane + g * group::lanes);
        };
        const auto store_remaining = [&](Acc* row) {
            for (std::size_t g = 0; g < groups; ++g)
                store(g, group::load(remaining + lane + g * group::lanes), row);
        };
        if (!is_inclusive)
            store_remaining(out);
        for (std::size_t r = 1; r < Rows; ++r)
            for (std::size_t g = 0; g < groups; ++g)
                store(g, folds[g][r], out_of_others + static_cast<std::ptrdiff_t>(r - 1) * out_step);
        if (is_inclusive)
            store_remaining(out + static_cast<std::ptrdiff_t>(Rows - 1) * out_step);
    }
}

// The rows of the fold stacks (fold_order.hpp) of many lanes: one of folds of what lies before them, and then for each digit of the count one of totals of 2^k
// elements and, for a scan, one of folds: of everything up to the end of that block, which is what it goes on from.
struct stack_rows {
    static constexpr std::size_t size(std::uint64_t most)
    {
        return 1 + 2 * static_cast<std::size_t>(std::bit_width(most));
    }
    static constexpr std::size_t totals(int digit) { return 1 + 2 * static_cast<std::size_t>(digit); }
    static constexpr std::size_t folds(int digit) { return totals(digit) + 1; }
    // The folds of all that a count stands for.
    static constexpr std::size_t folds_of(std::uint64_t count)
    {
        return count == 0 ? 0 : folds(std::countr_zero(count));
    }
    // The folds before the block that a digit stands for.
    static constexpr std::size_t folds_before(std::uint64_t count, int digit)
    {
        return folds_of(count >> digit >> 1 << 1 << digit);
    }
    // The digit to which the carry of a block of 2^level elements runs.
    static constexpr int digit_after(std::uint64_t count, int level) { return level + std::countr_one(count >> level); }
};

// The fold stacks of many lanes.
template <class Acc, class Op, bool Scans>
class lane_stack {
public:
    // Of so many lanes, which hold at most `most` elements. What lies before them has the identity as its fold until
    // `folds_before` is written.
    lane_stack(std::size_t lanes, std::uint64_t most, const Op& op)
        : op_(op), lanes_(lanes), rows_(std::make_unique_for_overwrite<Acc[]>(lanes_ * stack_rows::size(most)))
    {
        std::fill_n(rows_.get(), lanes_, op_.template identity<Acc>());
    }

    std::uint64_t count() const { return count_; }
    Acc* folds_before() { return rows_.get(); }

    // The folds of all elements and of what lies before them.
    const Acc* folds() const
    {
        if (count_ == 0)
            return rows_.get();
        if constexpr (Scans) {
            return row(stack_rows::folds_of(count_));
        } else {
            const Acc* before = rows_.get();
            for (int k = std::bit_width(count_) - 1; k >= 0; --k)
                if ((count_ >> k & 1) != 0) {
                    Acc* const after = row(stack_rows::folds(0));
                    fold_onto_row(before, row(stack_rows::totals(k)), lanes_, after);
                    before = after;
                }
            return before;
        }
    }
    // The same for lanes of which a block of 2^level elements is pushed, and not yet counted.
    const Acc* folds_after(int level) const { return row(stack_rows::folds(stack_rows::digit_after(count_, level))); }

    // Appends the part of lanes first to first + lanes - 1 of a block of 2^level rows, of which the count is a multiple.
    void push(std::size_t first, std::size_t lanes, lane_row<Acc>& totals, int level)
    {
        const int to = stack_rows::digit_after(count_, level);
        for (int k = level; k < to; ++k)
            fold_onto_row(row(stack_rows::totals(k)) + first, totals.data(), lanes, totals.data());
        std::copy_n(totals.data(), lanes, row(stack_rows::totals(to)) + first);
        if constexpr (Scans)
            fold_onto_row(row(stack_rows::folds_before(count_, to)) + first, totals.data(), lanes,
                          row(stack_rows::folds(to)) + first);
    }
    // Counts the block, when all lanes have been pushed.
    void advance(int level) { count_ += std::uint64_t{1} << level; }

private:
    Acc* row(std::size_t number) const { return rows_.get() + number * lanes_; }

    void fold_onto_row(const Acc* before, const Acc* totals, std::size_t lanes, Acc* to) const
    {
        using group = lane_group<Op, Acc>;
        for (std::size_t lane = 0; lane < lanes; lane += group::lanes)
            group::template store<store_kind::cached>(
                group::fold(op_, group::load(before + lane), group::load(totals + lane)), to + lane);
    }

    Op op_;
    std::size_t lanes_;
    std::uint64_t count_ = 0;
    std::unique_ptr<Acc[]> rows_;
};

// Where neighbouring lines of a view lie, at most as many as a unit has: line `line` and those behind it.
template <class T>
struct line_unit {
    std::size_t line;
    std::size_t lines;
    T* first;              // of row 0, where the lines lie evenly apart; else null
    std::ptrdiff_t stride; // from one line to the next
};

// The unit that begins with a line, of at most `most` lines. Units end where lines no longer lie evenly apart, unless that made
// them very small. Finding where a unit lies takes divisions.
template <class T, std::size_t Rank>
UPSWEEP_NEVER_INLINE line_unit<T> unit_of_lines(const view<T, Rank>& in, std::size_t line, std::size_t most)
{
    constexpr std::size_t few = 8;
    const std::size_t run = in.extent(Rank - 1);
    if (run < few && run != in.size() / in.extent(0))
        return {line, most, nullptr, 0};
    return {line, std::min(most, run - line % run), &in[line], in.stride(Rank - 1)};
}

// Eight elements of each of some lines, as rows, and back. `lines_apart` and `rows_apart` say how far neighbours lie apart.
template <class T, class Acc>
void transpose(const T* lines, std::ptrdiff_t lines_apart, std::size_t count, Acc* rows, std::ptrdiff_t rows_apart)
{
    std::size_t k = 0;
    if constexpr (std::same_as<T, Acc> && std::is_arithmetic_v<T> && (sizeof(T) == 4 || sizeof(T) == 8)) {
        constexpr std::size_t side = square<T>::side;
        for (const std::size_t whole = count / side * side; k < whole; k += side)
            for (std::size_t r = 0; r < rows_at_once; r += side)
                square<T>::transpose(lines + static_cast<std::ptrdiff_t>(k) * lines_apart + r, lines_apart,
                                     rows + static_cast<std::ptrdiff_t>(r) * rows_apart + k, rows_apart);
    }
    for (; k < count; ++k)
        for (std::size_t r = 0; r < rows_at_once; ++r)
            rows[static_cast<std::ptrdiff_t>(r) * rows_apart + static_cast<std::ptrdiff_t>(k)] =
                convert<Acc>(lines[static_cast<std::ptrdiff_t>(k) * lines_apart + static_cast<std::ptrdiff_t>(r)]);
}

// Reads rows of the lines of a view, whose first dimension is the one along which they are folded.
template <class Acc, class T, std::size_t Rank>
class lane_reader {
public:
    using unit = line_unit<const T>;
    using buffer = std::array<lane_row<Acc>, rows_at_once>;

    // `reads_on`: whether elements behind a row may be read with it, which nobody writes meanwhile.
    lane_reader(const view<const T, Rank>& in, bool reads_on)
        : lines_(in.size() / in.extent(0)), all_(in.size()), step_(in.stride(0)), begin_(in.begin()),
          is_dense_(reads_on && in.is_contiguous())
    {
    }

    std::size_t lines() const { return lines_; }

    // Whether rows up to `end` of a unit, as many lanes, can be read where they lie; and those from a row on.
    bool is_in_place(const unit& of, std::size_t lanes, std::size_t end) const
    {
        const bool is_whole = lanes == of.lines || (is_dense_ && (end - 1) * lines_ + of.line + lanes <= all_);
        return std::same_as<T, Acc> && of.first != nullptr && of.stride == 1 && is_whole;
    }
    lane_rows<T> in_place(const unit& of, std::size_t first) const
    {
        return {of.first + static_cast<std::ptrdiff_t>(first) * step_, step_};
    }
    // Whether many rows stay in the first-level cache while they are read: those of at most a page do, but not where they lie whole halves of it apart,
    // since lines of memory that are so far apart fall into two of the cache's sets.
    bool are_close() const
    {
        constexpr std::ptrdiff_t page = 4096;
        const std::ptrdiff_t bytes = step_ * static_cast<std::ptrdiff_t>(sizeof(T));
        return bytes <= page && bytes >= -page && bytes % (page / 2) != 0;
    }

    // Rows first to first + Rows - 1 of a unit as accumulators, as many lanes as whole groups have: where they lie, or from the
    // buffer.
    template <std::size_t Rows>
    lane_rows<Acc> read(const unit& of, std::size_t lanes, std::size_t first, buffer& to) const
    {
        if constexpr (std::same_as<T, Acc>)
            if (is_in_place(of, lanes, first + Rows))
                return in_place(of, first);
        copy<Rows>(of, lanes, first, to);
        return {to[0].data(), unit_lanes<Acc>};
    }

private:
    template <std::size_t Rows>
    UPSWEEP_NEVER_INLINE void copy(const unit& of, std::size_t lanes, std::size_t first, buffer& to) const
    {
        const T* const from = of.first != nullptr ? of.first + static_cast<std::ptrdiff_t>(first) * step_ : nullptr;
        if (Rows == rows_at_once && from != nullptr && step_ == 1 && of.stride != 1)
            transpose(from, of.stride, of.lines, to[0].data(), unit_lanes<Acc>);
        else
            for (std::size_t r = 0; r < Rows; ++r)
                read_row(of, first + r, to[r].data());
        if (lanes != of.lines) // so that lanes beyond have elements, whatever they are
            for (std::size_t r = 0; r < Rows; ++r)
                std::fill(to[r].begin() + static_cast<std::ptrdiff_t>(of.lines),
                          to[r].begin() + static_cast<std::ptrdiff_t>(lanes), to[r][0]);
    }
    void read_row(const unit& of, std::size_t row, Acc* to) const
    {
        if (of.first == nullptr) {
            std::array<T, unit_lanes<Acc>> elements;
            (begin_ + static_cast<std::ptrdiff_t>(row * lines_ + of.line)).read(of.lines, elements.data());
            return convert_row(elements.data(), of.lines, to);
        }
        const T* const from = of.first + static_cast<std::ptrdiff_t>(row) * step_;
        if (of.stride == 1)
            return convert_row(from, of.lines, to);
        for (std::size_t k = 0; k < of.lines; ++k)
            to[k] = convert<Acc>(from[static_cast<std::ptrdiff_t>(k) * of.stride]);
    }
    static void convert_row(const T* from, std::size_t count, Acc* to)
    {
        if (count == unit_lanes<Acc>) {
            if (const Acc* const row = load_block<unit_lanes<Acc>>(from, to); row != to)
                std::copy_n(row, count, to);
        } else {
            std::transform(from, from + count, to, [](const T& x) { return convert<Acc>(x); });
        }
    }

    std::size_t lines_;
    std::size_t all_;
    std::ptrdiff_t step_;
    typename view<const T, Rank>::iterator begin_;
    bool is_dense_;
};

// Writes rows of results to the lines of a view.
template <class Acc, class Out, std::size_t Rank>
class lane_writer {
public:
    using unit = line_unit<Out>;

    explicit lane_writer(const view<Out, Rank>& out)
        : lines_(out.size() / out.extent(0)), step_(out.stride(0)), begin_(out.begin())
    {
    }

    // Rows first to first + count - 1, at most eight, from rows of a unit.
    void write(const unit& to, std::size_t first, std::size_t count, const Acc* rows) const
    {
        if (count == rows_at_once && to.first != nullptr && step_ == 1 && to.stride != 1) {
            Out* const lines = to.first + static_cast<std::ptrdiff_t>(first);
            if constexpr (std::same_as<Acc, Out>)
                return put_back(rows, lines, to.stride, to.lines);
        }
        for (std::size_t r = 0; r < count; ++r)
            write_row(to, first + r, rows + r * unit_lanes<Acc>);
    }

private:
    static void put_back(const Acc* rows, Out* lines, std::ptrdiff_t stride, std::size_t count)
    {
        std::size_t k = 0;
        if constexpr (std::is_arithmetic_v<Acc> && (sizeof(Acc) == 4 || sizeof(Acc) == 8)) {
            constexpr std::size_t side = square<Acc>::side;
            for (; k + side <= count; k += side)
                for (std::size_t r = 0; r < rows_at_once; r += side)
                    square<Acc>::transpose(rows + r * unit_lanes<Acc> + k, unit_lanes<Acc>,
                                           lines + static_cast<std::ptrdiff_t>(k) * stride + r, stride);
        }
        for (; k < count; ++k)
            for (std::size_t r = 0; r < rows_at_once; ++r)
                lines[static_cast<std::ptrdiff_t>(k) * stride + static_cast<std::ptrdiff_t>(r)] =
                    rows[r * unit_lanes<Acc> + k];
    }
    void write_row(const unit& to, std::size_t row, const Acc* results) const
    {
        if (to.first == nullptr)
            return store_results(results, begin_ + static_cast<std::ptrdiff_t>(row * lines_ + to.line), to.lines);
        Out* const out = to.first + static_cast<std::ptrdiff_t>(row) * step_;
        if (to.stride == 1)
            return store_results(results, out, to.lines);
        for (std::size_t k = 0; k < to.lines; ++k)
            out[static_cast<std::ptrdiff_t>(k) * to.stride] = convert<Out>(results[k]);
    }

    std::size_t lines_;
    std::ptrdiff_t step_;
    typename view<Out, Rank>::iterator begin_;
};

} // namespace upsweep::cpu_engine
