// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <vector>

#include <upsweep/cpu/axis.hpp>
#include <upsweep/cpu/grain_totals.hpp>
#include <upsweep/cpu/lanes.hpp>
#include <upsweep/cpu/line_bundle.hpp>
#include <upsweep/cpu/parallel.hpp>
#include <upsweep/cpu/store.hpp>
#include <upsweep/cpu/vector.hpp>
#include <upsweep/engine.hpp>
#include <upsweep/op.hpp>
#include <upsweep/target.hpp>
#include <upsweep/verb/recurrence.hpp>
#include <upsweep/view.hpp>

// Scans of affine maps, state -> a * state + b, whose results are states. All of it is many lanes in lockstep, eight rows at a time: the
// lanes are lines where there are many of them, and else consecutive aligned blocks of one line. Those are folded first, so that the
// state before each is known, and scanned from the cache.
//
//     many lines                          one line, two of its blocks a lane each
//     lane  0    1    2    3              lane  0        1
//          a00  a01  a02  a03   row 0          a0       a4
//          a10  a11  a12  a13   row 1          a1       a5
namespace upsweep::cpu_engine {

// --- affine maps -----------------------------------------------------------------------------------------------------

template <class V>
struct affine {
    V a;
    V b;
};

// x * y, in which zero times infinity is zero. The processor makes NaN of that, which the products that are not careful do: where none
// of their results is NaN, they are the same.
template <bool Careful, class V>
UPSWEEP_ALWAYS_INLINE inline V product(V x, V y)
{
    const V plain = x * y;
    if constexpr (Careful)
        return ((plain != plain) & (x == x) & (y == y)) ? V{} : plain;
    else
        return plain;
}
template <bool Careful, class V>
UPSWEEP_ALWAYS_INLINE inline V applied(const affine<V>& map, V state)
{
    return product<Careful>(map.a, state) + map.b;
}
template <bool Careful, class V>
UPSWEEP_ALWAYS_INLINE inline affine<V> composed(const affine<V>& first, const affine<V>& then)
{
    return {product<Careful>(then.a, first.a), product<Careful>(then.a, first.b) + then.b};
}

// Whether a lane of a vector is NaN.
template <class Acc>
UPSWEEP_ALWAYS_INLINE inline bool has_nan(vector_t<Acc> v)
{
#if defined(__AVX__)
    if constexpr (std::same_as<Acc, float>)
        return _mm256_movemask_ps((__m256)(v != v)) != 0;
    else
        return _mm256_movemask_pd((__m256d)(v != v)) != 0;
#elif defined(__SSE2__)
    return _mm_movemask_epi8((__m128i)(v != v)) != 0;
#else
    std::array<Acc, vector_bytes / sizeof(Acc)> lanes;
    store_vector(v, lanes.data());
    return std::ranges::any_of(lanes, [](Acc lane) { return lane != lane; });
#endif
}

// One affine map a lane, as two rows.
template <class Acc>
class affine_row {
public:
    affine_row() = default;
    explicit affine_row(std::size_t lanes) : lanes_(lanes), memory_(std::make_unique<Acc[]>(2 * lanes)) {}

    Acc* a() const { return memory_.get(); }
    Acc* b() const { return memory_.get() + lanes_; }

private:
    std::size_t lanes_ = 0;
    std::unique_ptr<Acc[]> memory_;
};

// The fold stacks (fold_order.hpp) of all lanes, as lane_stack (lanes.hpp) has them: digit k of the count stands for a row of maps, the
// totals of 2^k elements, and for a row of states: those after the last of these elements.
template <class Acc>
class affine_stack {
public:
    static constexpr std::size_t at_once = vector_bytes / sizeof(Acc);

    // Of so many lanes, a multiple of at_once, which hold at most `most` elements.
    affine_stack(std::size_t lanes, std::uint64_t most)
        : lanes_(lanes),
          rows_(std::make_unique<Acc[]>(lanes * (3 * static_cast<std::size_t>(std::bit_width(most)) + 1)))
    {
    }

    // Begins anew with these states, or zeros.
    void begin(const Acc* before)
    {
        count_ = 0;
        if (before != nullptr)
            std::copy_n(before, lanes_, rows_.get());
        else
            std::fill_n(rows_.get(), lanes_, Acc{});
    }

    // The states after all elements.
    const Acc* states() const { return count_ == 0 ? rows_.get() : row(std::countr_zero(count_)) + 2 * lanes_; }
    // The maps of a digit that is one.
    const Acc* maps_a(int digit) const { return row(digit); }
    const Acc* maps_b(int digit) const { return row(digit) + lanes_; }

    // Appends a block of 2^level elements a lane by its total.
    void push(const Acc* a, const Acc* b, int level)
    {
        const int to = level + std::countr_one(count_ >> level);
        const std::uint64_t above = count_ >> to >> 1;
        const Acc* const before = above == 0 ? rows_.get() : row(to + 1 + std::countr_zero(above)) + 2 * lanes_;
        for (std::size_t lane = 0; lane < lanes_; lane += at_once)
            if (push_some<false>(a, b, lane, before, level, to))
                push_some<true>(a, b, lane, before, level, to);
        count_ += std::uint64_t{1} << level;
    }

private:
    // The same of a vector of lanes. Returns true if NaN came up where it may not be due.
    template <bool Careful>
    bool push_some(const Acc* a, const Acc* b, std::size_t lane, const Acc* before, int level, int to)
    {
        affine<vector_t<Acc>> total{load_vector(a + lane), load_vector(b + lane)};
        for (int k = level; k < to; ++k)
            total = composed<Careful>({load_vector(row(k) + lane), load_vector(row(k) + lanes_ + lane)}, total);
        const vector_t<Acc> state = applied<Careful>(total, load_vector(before + lane));
        Acc* const digit = row(to) + lane;
        store_vector<Acc>(total.a, digit);
        store_vector<Acc>(total.b, digit + lanes_);
        store_vector<Acc>(state, digit + 2 * lanes_);
        return !Careful && has_nan<Acc>(total.a + total.b + state);
    }
    Acc* row(int digit) const { return rows_.get() + (1 + 3 * static_cast<std::size_t>(digit)) * lanes_; }

    std::size_t lanes_;
    std::uint64_t count_ = 0;
    std::unique_ptr<Acc[]> rows_; // the states before the first element, then three rows a digit
};

inline constexpr int level_of_tile = level_of<rows_at_once>;

// The total of eight rows of a vector of lanes, and the states after each of the first seven, given those before.
template <bool Careful, class Acc>
struct affine_tile {
    using vector = vector_t<Acc>;
    using map = affine<vector>;

    UPSWEEP_ALWAYS_INLINE affine_tile(const lane_rows<Acc>& a, const lane_rows<Acc>& b, std::size_t lane)
    {
        for (std::size_t r = 0; r < rows_at_once; ++r)
            elements[r] = {load_vector(a.first + static_cast<std::ptrdiff_t>(r) * a.step + lane),
                           load_vector(b.first + static_cast<std::ptrdiff_t>(r) * b.step + lane)};
        for (std::size_t k = 0; k < 4; ++k)
            twos[k] = composed<Careful>(elements[2 * k], elements[2 * k + 1]);
        four = composed<Careful>(twos[0], twos[1]);
        total = composed<Careful>(four, composed<Careful>(twos[2], twos[3]));
    }
    UPSWEEP_ALWAYS_INLINE std::array<vector, rows_at_once - 1> states(vector before) const
    {
        std::array<vector, rows_at_once - 1> after;
        after[0] = applied<Careful>(elements[0], before);
        after[1] = applied<Careful>(twos[0], before);
        after[2] = applied<Careful>(elements[2], after[1]);
        after[3] = applied<Careful>(four, before);
        after[4] = applied<Careful>(elements[4], after[3]);
        after[5] = applied<Careful>(twos[2], after[3]);
        after[6] = applied<Careful>(elements[6], after[5]);
        return after;
    }

    std::array<map, rows_at_once> elements;
    std::array<map, 4> twos;
    map four;
    map total;
};

// Writes the totals of eight rows.
template <bool Careful, class Acc>
bool fold_tile(const lane_rows<Acc>& a, const lane_rows<Acc>& b, std::size_t lanes, const affine_row<Acc>& totals)
{
    vector_t<Acc> check{};
    for (std::size_t lane = 0; lane < lanes; lane += affine_stack<Acc>::at_once) {
        const affine_tile<Careful, Acc> tile(a, b, lane);
        store_vector<Acc>(tile.total.a, totals.a() + lane);
        store_vector<Acc>(tile.total.b, totals.b() + lane);
        check += tile.total.a + tile.total.b;
    }
    return !Careful && has_nan<Acc>(check);
}

// Writes the totals of eight rows and the states after the first seven, given those before. `width`: from one row of states to the next.
template <bool Careful, class Acc>
bool scan_tile(const lane_rows<Acc>& a, const lane_rows<Acc>& b, std::size_t lanes, const Acc* before,
               const affine_row<Acc>& totals, Acc* states, std::size_t width)
{
    vector_t<Acc> check{};
    for (std::size_t lane = 0; lane < lanes; lane += affine_stack<Acc>::at_once) {
        const affine_tile<Careful, Acc> tile(a, b, lane);
        store_vector<Acc>(tile.total.a, totals.a() + lane);
        store_vector<Acc>(tile.total.b, totals.b() + lane);
        const auto after = tile.states(load_vector(before + lane));
        check += tile.total.a + tile.total.b;
        for (std::size_t r = 0; r + 1 < rows_at_once; ++r) {
            check += after[r];
            store_vector<Acc>(Careful ? with_named_nan<plus, Acc>(after[r]) : after[r], states + r * width + lane);
        }
    }
    return !Careful && has_nan<Acc>(check);
}

// What folds or scans lanes of maps, tile by tile.
template <class Acc>
class affine_lanes {
public:
    affine_lanes(std::size_t lanes, std::uint64_t most) : lanes_(lanes), stack_(lanes, most), totals_(lanes) {}

    std::size_t lanes() const { return lanes_; }
    const affine_stack<Acc>& stack() const { return stack_; }

    void begin(const Acc* before) { stack_.begin(before); }

    // Appends eight rows.
    void fold(const lane_rows<Acc>& a, const lane_rows<Acc>& b)
    {
        if (fold_tile<false>(a, b, lanes_, totals_))
            fold_tile<true>(a, b, lanes_, totals_);
        stack_.push(totals_.a(), totals_.b(), level_of_tile);
    }
    // The same, and writes the states after each row, `lanes` apart. `end`: the states after the last row, where the stack does not know
    // them.
    void scan(const lane_rows<Acc>& a, const lane_rows<Acc>& b, Acc* states, const Acc* end)
    {
        if (scan_tile<false>(a, b, lanes_, stack_.states(), totals_, states, lanes_))
            scan_tile<true>(a, b, lanes_, stack_.states(), totals_, states, lanes_);
        stack_.push(totals_.a(), totals_.b(), level_of_tile);
        const Acc* const last = end != nullptr ? end : stack_.states();
        for (std::size_t lane = 0; lane < lanes_; lane += affine_stack<Acc>::at_once)
            store_vector<Acc>(with_named_nan<plus, Acc>(load_vector(last + lane)),
                              states + (rows_at_once - 1) * lanes_ + lane);
    }

private:
    std::size_t lanes_;
    affine_stack<Acc> stack_;
    affine_row<Acc> totals_;
};

// --- the two recurrences ---------------------------------------------------------------------------------------------

// A recurrence over some lines: where its coefficients and inputs come from, and what is done with its states. Rows are `lanes` apart,
// which are as many as lines or some more.
template <class Acc, class A, class B, class Out, class H>
class forward_recurrence {
public:
    using accumulator = Acc;
    static constexpr std::size_t arrays = 4;
    using bundle = line_bundle<arrays>;

    struct call {
        const A* a;
        const B* b;
        Out* out;
        const H* before; // or null:
        Acc value;
        store_kind store;
    };

    forward_recurrence(const call& of, const bundle& lines)
        : call_(of), lines_(lines), a_(of.a, lines, 0), b_(of.b, lines, 1), out_(of.out, lines, 2),
          before_(of.before, lines, 3)
    {
    }

    void first_states(Acc* states) const
    {
        std::fill_n(states, lines_.count, call_.value);
        if (call_.before != nullptr)
            before_.read_row(0, states);
    }

    lane_rows<Acc> coefficients(std::size_t row, std::size_t lanes, Acc* to) const
    {
        return a_.read(as_signed(row), lanes, to);
    }
    lane_rows<Acc> inputs(std::size_t row, std::size_t lanes, Acc* to) const
    {
        return b_.read(as_signed(row), lanes, to);
    }
    void write(std::size_t row, std::size_t rows, std::size_t lanes, const Acc* states)
    {
        out_.write(as_signed(row), rows, lanes, states);
    }

    // The same of one line.
    const Acc* line_coefficients(std::size_t first, std::size_t count, Acc* to) const
    {
        return a_.read_line(as_signed(first), count, to);
    }
    const Acc* line_inputs(std::size_t first, std::size_t count, Acc* to) const
    {
        return b_.read_line(as_signed(first), count, to);
    }
    void prefetch_line(std::size_t first, std::size_t count) const
    {
        a_.prefetch_line(first, count);
        b_.prefetch_line(first, count);
    }
    void write_line(std::size_t first, std::size_t count, const Acc* states)
    {
        out_.write_line(first, count, states, call_.store);
    }

private:
    static std::ptrdiff_t as_signed(std::size_t n) { return static_cast<std::ptrdiff_t>(n); }

    const call& call_;
    const bundle& lines_;
    bundled_array<const A, arrays> a_;
    bundled_array<const B, arrays> b_;
    bundled_array<Out, arrays> out_;
    bundled_array<const H, arrays> before_;
};

// The gradient of one, seen from its end: the coefficient of a row is that of the row before, and of the first row it is zero.
template <class Acc, class A, class H, class G, class DA, class DB, class H0, class DH>
class gradient_recurrence {
public:
    using accumulator = Acc;
    static constexpr std::size_t arrays = 7;
    using bundle = line_bundle<arrays>;

    struct call {
        const A* a;
        const H* h;
        const G* out_gradient;
        DA* a_gradient;
        DB* b_gradient;
        const H0* before; // or null:
        Acc value;
        DH* before_gradient; // or null
        store_kind store;
    };

    gradient_recurrence(const call& of, const bundle& lines)
        : call_(of), lines_(lines), a_(of.a, lines, 0), h_(of.h, lines, 1), out_gradient_(of.out_gradient, lines, 2),
          a_gradient_(of.a_gradient, lines, 3), b_gradient_(of.b_gradient, lines, 4), before_(of.before, lines, 5),
          before_gradient_(of.before_gradient, lines, 6)
    {
    }

    void first_states(Acc* states) const { std::fill_n(states, lines_.count, Acc{}); }

    lane_rows<Acc> coefficients(std::size_t row, std::size_t lanes, Acc* to) const
    {
        if (row == 0)
            std::fill_n(to, lanes, Acc{});
        return a_.read(as_signed(row) - 1, lanes, to);
    }
    lane_rows<Acc> inputs(std::size_t row, std::size_t lanes, Acc* to) const
    {
        return out_gradient_.read(as_signed(row), lanes, to);
    }
    void write(std::size_t row, std::size_t rows, std::size_t lanes, const Acc* states)
    {
        b_gradient_.write(as_signed(row), rows, lanes, states);
        products_.resize(std::max(products_.size(), rows_at_once * lanes));
        Acc* const products = products_.data();
        const bool is_end = row + rows == lines_.length;
        if (is_end)
            read_before(products + (rows - 1) * lanes);
        const lane_rows<Acc> h = h_.read(as_signed(row) + 1, lanes, products);
        for (std::size_t r = 0; r < rows; ++r)
            for (std::size_t lane = 0; lane < lines_.count; ++lane)
                products[r * lanes + lane] = named(states[r * lanes + lane] *
                                                   h.first[static_cast<std::ptrdiff_t>(r) * h.step + as_signed(lane)]);
        a_gradient_.write(as_signed(row), rows, lanes, products);
        if (is_end && call_.before_gradient != nullptr)
            for (std::size_t lane = 0; lane < lines_.count; ++lane)
                put_before_gradient(lane, states[(rows - 1) * lanes + lane]);
    }

    const Acc* line_coefficients(std::size_t first, std::size_t count, Acc* to) const
    {
        if (first == 0)
            to[0] = Acc{};
        return a_.read_line(as_signed(first) - 1, count, to);
    }
    const Acc* line_inputs(std::size_t first, std::size_t count, Acc* to) const
    {
        return out_gradient_.read_line(as_signed(first), count, to);
    }
    void prefetch_line(std::size_t first, std::size_t count) const
    {
        a_.prefetch_line(first, count);
        h_.prefetch_line(first, count);
        out_gradient_.prefetch_line(first, count);
    }
    void write_line(std::size_t first, std::size_t count, const Acc* states)
    {
        b_gradient_.write_line(first, count, states, call_.store);
        products_.resize(std::max(products_.size(), count));
        Acc* const products = products_.data();
        const bool is_end = first + count == lines_.length;
        if (is_end)
            read_before(products + count - 1);
        const Acc* const h = h_.read_line(as_signed(first) + 1, count, products);
        for (std::size_t i = 0; i < count; ++i)
            products[i] = named(states[i] * h[i]);
        a_gradient_.write_line(first, count, products, call_.store);
        if (is_end && call_.before_gradient != nullptr)
            put_before_gradient(0, states[count - 1]);
    }

private:
    static std::ptrdiff_t as_signed(std::size_t n) { return static_cast<std::ptrdiff_t>(n); }
    static Acc named(Acc value) { return value == value ? value : detail::quiet_nan<Acc>(); }

    void read_before(Acc* states) const
    {
        std::fill_n(states, lines_.count, call_.value);
        if (call_.before != nullptr)
            before_.read_row(0, states);
    }
    void put_before_gradient(std::size_t lane, Acc state) const
    {
        before_gradient_.at(lane, 0) =
            convert<DH>(named(convert<Acc>(a_.at(lane, as_signed(lines_.length) - 1)) * state));
    }

    const call& call_;
    const bundle& lines_;
    bundled_array<const A, arrays> a_;
    bundled_array<const H, arrays> h_;
    bundled_array<const G, arrays> out_gradient_;
    bundled_array<DA, arrays> a_gradient_;
    bundled_array<DB, arrays> b_gradient_;
    bundled_array<const H0, arrays> before_;
    bundled_array<DH, arrays> before_gradient_;
    std::vector<Acc> products_;
};

// --- lines as lanes, blocks as lanes ---------------------------------------------------------------------------------

// Scans the lines of a bundle in lockstep.
template <class Recurrence>
class lines_as_lanes {
    using accumulator = typename Recurrence::accumulator;

public:
    using bundle = typename Recurrence::bundle;

    lines_as_lanes(const typename Recurrence::call& of, const bundle& lines)
        : lines_(lines), recurrence_(of, lines_), scan_(width(lines.count), lines.length + rows_at_once),
          memory_(4 * rows_at_once * lanes())
    {
    }
    lines_as_lanes(const lines_as_lanes&) = delete;
    lines_as_lanes& operator=(const lines_as_lanes&) = delete;
    ~lines_as_lanes() = default;

    // Goes on with other lines.
    void take(const bundle& lines)
    {
        lines_ = lines;
        if (width(lines.count) == lanes())
            return;
        scan_ = affine_lanes<accumulator>(width(lines.count), lines.length + rows_at_once);
        memory_.assign(4 * rows_at_once * lanes(), {});
    }

    std::size_t lanes() const { return scan_.lanes(); }
    // The states before the lines.
    const accumulator* first_states()
    {
        accumulator* const states = part(3);
        recurrence_.first_states(states);
        return states;
    }

    // The totals of 2^level elements of each line, of eight or more.
    void fold(std::size_t first, int level, const affine_row<accumulator>& totals)
    {
        scan_.begin(nullptr);
        for (std::size_t row = first; row < first + (std::size_t{1} << level); row += rows_at_once)
            scan_.fold(recurrence_.coefficients(row, lanes(), part(0)), recurrence_.inputs(row, lanes(), part(1)));
        std::copy_n(scan_.stack().maps_a(level), lanes(), totals.a());
        std::copy_n(scan_.stack().maps_b(level), lanes(), totals.b());
    }

    // Writes what becomes of the states before `first` in `count` rows. `end`: the states after them, where they are known.
    void scan(std::size_t first, std::size_t count, const accumulator* before, const accumulator* end)
    {
        scan_.begin(before);
        for (std::size_t row = first; row < first + count; row += rows_at_once) {
            const std::size_t rows = std::min(rows_at_once, first + count - row);
            const auto a = recurrence_.coefficients(row, lanes(), part(0));
            const auto b = recurrence_.inputs(row, lanes(), part(1));
            accumulator* const states = part(2);
            scan_.scan(a, b, states, row + rows == first + count && rows == rows_at_once ? end : nullptr);
            recurrence_.write(row, rows, lanes(), states);
        }
    }

private:
    static constexpr std::size_t at_once = affine_stack<accumulator>::at_once;
    static std::size_t width(std::size_t lines) { return (lines + at_once - 1) / at_once * at_once; }
    accumulator* part(std::size_t k) { return memory_.data() + k * rows_at_once * lanes(); }

    bundle lines_;
    Recurrence recurrence_;
    affine_lanes<accumulator> scan_;
    std::vector<accumulator> memory_; // eight rows of coefficients, of inputs and of states; first states
};

// Scans one line, a chunk of it at a time: up to 16 aligned blocks, which are lanes.
template <class Recurrence>
class blocks_as_lanes {
    using accumulator = typename Recurrence::accumulator;
    static constexpr std::size_t lanes_of_chunk = 16;
    static constexpr std::size_t block = 1024 / sizeof(accumulator);
    static constexpr int level_of_block = level_of<block>;
    static constexpr std::size_t small_block = 16;

public:
    using bundle = typename Recurrence::bundle;

    blocks_as_lanes(const typename Recurrence::call& of, const bundle& line)
        : lines_(line), recurrence_(of, lines_), line_(at_once, line.length), blocks_(lanes_of_chunk, block),
          part_(lanes_of_chunk << level_for(line.length)), memory_(5 * part_)
    {
    }
    blocks_as_lanes(const blocks_as_lanes&) = delete;
    blocks_as_lanes& operator=(const blocks_as_lanes&) = delete;
    ~blocks_as_lanes() = default;

    // Goes on with another line of the same length.
    void take(const bundle& line) { lines_ = line; }

    std::size_t lanes() const { return at_once; } // of which one is the line
    const accumulator* first_states()
    {
        recurrence_.first_states(first_states_.data());
        return first_states_.data();
    }

    void fold(std::size_t first, int level, const affine_row<accumulator>& totals)
    {
        line_.begin(nullptr);
        for (std::size_t done = 0; done < std::size_t{1} << level; done += chunk) {
            read_chunk(first + done, level_of_block, lanes_of_chunk);
            fold_blocks(level_of_block, first + done + chunk);
            for (std::size_t k = 0; k < lanes_of_chunk; ++k)
                push_block(k, level_of_block);
        }
        std::copy_n(line_.maps_a(level), at_once, totals.a());
        std::copy_n(line_.maps_b(level), at_once, totals.b());
    }

    void scan(std::size_t first, std::size_t count, const accumulator* before, const accumulator* end)
    {
        line_.begin(before);
        for (const std::size_t stop = first + count; first < stop;) {
            const std::size_t left = stop - first;
            const int level = level_for(left);
            const std::size_t blocks = std::min(lanes_of_chunk, left >> level);
            if (blocks == 0) {
                scan_last(first, left);
                return;
            }
            const bool is_last = blocks << level == left;
            scan_chunk(first, level, blocks, is_last ? end : nullptr);
            first += blocks << level;
        }
    }

    // Elements of the pieces that threads share are whole chunks.
    static constexpr std::size_t chunk = lanes_of_chunk * block;

private:
    static constexpr std::size_t at_once = affine_stack<accumulator>::at_once;
    // Blocks that so many elements make as many of as there are lanes, if they can.
    static int level_for(std::size_t elements)
    {
        if (elements < small_block)
            return level_of_tile;
        const std::size_t size = std::bit_floor(std::max<std::size_t>(elements / lanes_of_chunk, 1));
        return std::countr_zero(std::clamp(size, small_block, block));
    }
    accumulator* part(std::size_t k) { return memory_.data() + k * part_; }

    lane_rows<accumulator> rows(std::size_t part_number, std::size_t row)
    {
        return {part(part_number) + row * lanes_of_chunk, lanes_of_chunk};
    }

    // Brings blocks of 2^level elements side by side.
    void read_chunk(std::size_t first, int level, std::size_t blocks)
    {
        const std::size_t elements = std::size_t{1} << level;
        const accumulator* const a = recurrence_.line_coefficients(first, blocks << level, part(0));
        const accumulator* const b = recurrence_.line_inputs(first, blocks << level, part(1));
        for (std::size_t row = 0; row < elements; row += rows_at_once) {
            transpose(a + row, static_cast<std::ptrdiff_t>(elements), blocks, part(2) + row * lanes_of_chunk,
                      lanes_of_chunk);
            transpose(b + row, static_cast<std::ptrdiff_t>(elements), blocks, part(3) + row * lanes_of_chunk,
                      lanes_of_chunk);
        }
    }
    // Meanwhile the elements from `next` on, which make the next chunk, come from memory.
    void fold_blocks(int level, std::size_t next)
    {
        constexpr std::size_t elements_of_tile = rows_at_once * lanes_of_chunk;
        blocks_.begin(nullptr);
        for (std::size_t row = 0; row < std::size_t{1} << level; row += rows_at_once, next += elements_of_tile) {
            recurrence_.prefetch_line(next, elements_of_tile);
            blocks_.fold(rows(2, row), rows(3, row));
        }
        std::copy_n(blocks_.stack().maps_a(level), lanes_of_chunk, totals_a_.begin());
        std::copy_n(blocks_.stack().maps_b(level), lanes_of_chunk, totals_b_.begin());
    }
    void push_block(std::size_t k, int level)
    {
        std::array<accumulator, at_once> a;
        std::array<accumulator, at_once> b;
        a.fill(totals_a_[k]);
        b.fill(totals_b_[k]);
        line_.push(a.data(), b.data(), level);
    }

    void scan_chunk(std::size_t first, int level, std::size_t blocks, const accumulator* end)
    {
        read_chunk(first, level, blocks);
        fold_blocks(level, first + (blocks << level));
        std::array<accumulator, lanes_of_chunk> before{};
        std::array<accumulator, lanes_of_chunk> after{};
        for (std::size_t k = 0; k < blocks; ++k) {
            before[k] = line_.states()[0];
            push_block(k, level);
            after[k] = line_.states()[0];
        }
        if (end != nullptr)
            after[blocks - 1] = *end;
        const std::size_t elements = std::size_t{1} << level;
        blocks_.begin(before.data());
        std::array<accumulator, rows_at_once * lanes_of_chunk> states;
        for (std::size_t row = 0; row < elements; row += rows_at_once) {
            blocks_.scan(rows(2, row), rows(3, row), states.data(),
                         row + rows_at_once == elements ? after.data() : nullptr);
            for (std::size_t k = 0; k < blocks; k += square<accumulator>::side)
                put_back(states.data() + k, part(4) + (k << level) + row, elements);
        }
        recurrence_.write_line(first, blocks << level, part(4));
    }
    // Eight states of some neighbouring lanes, to where they lie one behind the other. Lanes beyond the blocks have room, too.
    static void put_back(const accumulator* states, accumulator* to, std::size_t elements)
    {
        constexpr std::size_t side = square<accumulator>::side;
        for (std::size_t r = 0; r < rows_at_once; r += side)
            square<accumulator>::transpose(states + r * lanes_of_chunk, lanes_of_chunk, to + r,
                                           static_cast<std::ptrdiff_t>(elements));
    }

    // Fewer than eight elements at the end of the line.
    void scan_last(std::size_t first, std::size_t count)
    {
        std::array<accumulator, rows_at_once * at_once> a{};
        std::array<accumulator, rows_at_once * at_once> b{};
        std::array<accumulator, rows_at_once * at_once> states;
        const accumulator* const coefficients = recurrence_.line_coefficients(first, count, part(0));
        const accumulator* const inputs = recurrence_.line_inputs(first, count, part(1));
        for (std::size_t i = 0; i < count; ++i) {
            a[i * at_once] = coefficients[i];
            b[i * at_once] = inputs[i];
        }
        last_.begin(line_.states());
        last_.scan({a.data(), at_once}, {b.data(), at_once}, states.data(), nullptr);
        for (std::size_t i = 0; i < count; ++i)
            part(4)[i] = states[i * at_once];
        recurrence_.write_line(first, count, part(4));
    }

    bundle lines_; // one
    Recurrence recurrence_;
    affine_stack<accumulator> line_;   // of which all lanes are the line
    affine_lanes<accumulator> blocks_; // of a chunk
    affine_lanes<accumulator> last_{at_once, rows_at_once};
    std::array<accumulator, lanes_of_chunk> totals_a_{};
    std::array<accumulator, lanes_of_chunk> totals_b_{};
    std::array<accumulator, at_once> first_states_{};
    // Coefficients and inputs as accumulators, the same side by side, and states, a chunk of each.
    std::size_t part_;
    std::vector<accumulator> memory_;
};

// --- threads ---------------------------------------------------------------------------------------------------------

// Scans a bundle on all threads, as piece_scan (axis.hpp) does: each takes the pieces in the order of their numbers, folds each, and scans it
// from the cache when the states before it are known.
template <class Lanes, class Call>
void scan_in_pieces(const cpu& target, const Call& call, const typename Lanes::bundle& lines, std::size_t length,
                    int level)
{
    using accumulator = decltype(Call::value);
    const std::size_t piece = std::size_t{1} << level;
    grain_totals<affine_row<accumulator>> totals(length >> level);
    for_each_index(target, static_cast<std::size_t>(thread_count(target)), [&](std::size_t) {
        Lanes lanes(call, lines);
        affine_stack<accumulator> learned_totals(lanes.lanes(), length);
        learned_totals.begin(lanes.first_states());
        std::size_t learned = 0;
        std::vector<accumulator> before(lanes.lanes());
        const auto total_of = [&](std::size_t k) {
            affine_row<accumulator> total(lanes.lanes());
            lanes.fold(k * piece, level, total);
            return total;
        };
        const auto learn_next = [&] {
            const affine_row<accumulator>& total = totals.learn(learned++, total_of);
            learned_totals.push(total.a(), total.b(), level);
        };
        for (auto k = totals.take(); k; k = totals.take()) {
            totals.tell(*k, total_of(*k));
            while (learned < *k)
                learn_next();
            std::copy_n(learned_totals.states(), before.size(), before.begin());
            learn_next();
            totals.wait_for_readers(*k);
            lanes.scan(*k * piece, piece, before.data(), learned_totals.states());
        }
        stream_fence();
    });
    if (length % piece == 0)
        return;
    Lanes lanes(call, lines);
    affine_stack<accumulator> all(lanes.lanes(), length);
    all.begin(lanes.first_states());
    for (std::size_t k = 0; k < length >> level; ++k)
        all.push(totals[k].a(), totals[k].b(), level);
    const std::vector<accumulator> before(all.states(), all.states() + lanes.lanes());
    lanes.scan(length / piece * piece, length % piece, before.data(), nullptr);
    stream_fence();
}

// Scans bundles of `most` lines each, each on a thread, or where they are few, each on all of them.
template <class Lanes, class Call, std::size_t N>
void scan_bundles(const cpu& target, const Call& call, const line_grid<N>& grid, std::size_t most, int level_of_piece)
{
    using bundle = typename Lanes::bundle;
    std::vector<std::size_t> begins; // of the bundles, most of which lie evenly apart
    for (std::size_t line = 0; line < grid.count();) {
        constexpr std::size_t few = 8;
        begins.push_back(line);
        const std::size_t even = grid.run() < few ? most : grid.run() - line % grid.run();
        line += std::min({most, grid.count() - line, even});
    }
    const std::size_t bundles = begins.size();
    begins.push_back(grid.count());
    const auto bundle_of = [&](std::size_t k) { return bundle(grid, begins[k], begins[k + 1] - begins[k]); };
    const auto threads = static_cast<std::size_t>(thread_count(target));
    if (threads > 1 && bundles < 4 * threads && grid.length() >> level_of_piece >= 4 * threads) {
        for (std::size_t k = 0; k < bundles; ++k)
            scan_in_pieces<Lanes>(target, call, bundle_of(k), grid.length(), level_of_piece);
        return;
    }
    constexpr std::size_t elements_a_task = std::size_t{1} << 15;
    const std::size_t at_once = std::max<std::size_t>(1, elements_a_task / (most * grid.length()));
    const auto work = [&](std::size_t task) {
        Lanes lanes(call, bundle_of(task * at_once));
        for (std::size_t k = task * at_once; k < std::min(bundles, (task + 1) * at_once); ++k) {
            lanes.take(bundle_of(k));
            lanes.scan(0, grid.length(), lanes.first_states(), nullptr);
        }
        stream_fence();
    };
    if (bundles <= at_once)
        work(0);
    else
        for_each_index(target, (bundles + at_once - 1) / at_once, work);
}

template <class Recurrence, std::size_t N>
void scan_recurrence(const cpu& target, const typename Recurrence::call& call, const line_grid<N>& grid)
{
    using accumulator = typename Recurrence::accumulator;
    constexpr std::size_t few_lines = 8;
    constexpr std::size_t few_elements = 512;
    constexpr std::size_t elements_a_piece = piece_bytes / 4 / sizeof(accumulator); // of each array
    const bool is_long = grid.length() >= few_elements;
    if (grid.count() == 1 || (is_long && (grid.is_along_memory() || grid.count() < few_lines))) {
        using lanes = blocks_as_lanes<Recurrence>;
        static_assert(elements_a_piece % lanes::chunk == 0);
        return scan_bundles<lanes>(target, call, grid, 1, level_of<elements_a_piece>);
    }
    const std::size_t most = grid.is_along_memory() ? 128 / sizeof(accumulator) : 4096 / sizeof(accumulator);
    const auto rows_a_piece =
        std::bit_floor(std::max<std::size_t>(elements_a_piece / std::min(most, grid.count()), 64));
    scan_bundles<lines_as_lanes<Recurrence>>(target, call, grid, most, std::countr_zero(rows_a_piece));
}

} // namespace upsweep::cpu_engine

namespace upsweep::detail {

template <>
struct engine<cpu, verb::linear_recurrence> {
    template <class Acc, class A, class B, class Out, class H, std::size_t Rank>
    static void scan(const cpu& target, const view<const A, Rank>& a, const view<const B, Rank>& b,
                     const view<Out, Rank>& out, axis along, const state_before<Acc, H, Rank>& before)
    {
        using recurrence = cpu_engine::forward_recurrence<Acc, A, B, Out, H>;
        std::array<std::array<std::ptrdiff_t, recurrence::arrays>, Rank> strides;
        std::array<std::size_t, Rank> extents;
        for (std::size_t k = 0; k < Rank; ++k) {
            extents[k] = a.extent(k);
            strides[k] = {a.stride(k), b.stride(k), out.stride(k), before.strides[k]};
        }
        const bool is_in_place = static_cast<const void*>(out.data()) == static_cast<const void*>(a.data()) ||
                                 static_cast<const void*>(out.data()) == static_cast<const void*>(b.data());
        const typename recurrence::call call{a.data(),    b.data(),     out.data(),
                                             before.data, before.value, store_for(out, is_in_place)};
        cpu_engine::scan_recurrence<recurrence>(target, call,
                                                cpu_engine::line_grid<recurrence::arrays>(extents, along, strides));
    }

    template <class Acc, class A, class H, class G, class DA, class DB, class H0, class DH, std::size_t Rank>
    static void gradient(const cpu& target, const view<const A, Rank>& a, const view<const H, Rank>& h,
                         const view<const G, Rank>& out_gradient, const view<DA, Rank>& a_gradient,
                         const view<DB, Rank>& b_gradient, axis along, const state_before<Acc, H0, Rank>& before,
                         const line_results<DH, Rank>& before_gradient)
    {
        using recurrence = cpu_engine::gradient_recurrence<Acc, A, H, G, DA, DB, H0, DH>;
        std::array<std::array<std::ptrdiff_t, recurrence::arrays>, Rank> strides;
        std::array<std::size_t, Rank> extents;
        for (std::size_t k = 0; k < Rank; ++k) {
            extents[k] = a.extent(k);
            strides[k] = {a.stride(k),          h.stride(k),       out_gradient.stride(k),    a_gradient.stride(k),
                          b_gradient.stride(k), before.strides[k], before_gradient.strides[k]};
        }
        const cpu_engine::line_grid<recurrence::arrays> grid(extents, along, strides);
        if (grid.count() == 0)
            return;
        if (grid.length() == 0) { // Nothing depends on the states.
            for (std::size_t line = 0; before_gradient.data != nullptr && line < grid.count(); ++line)
                before_gradient.data[grid.offsets(line)[6]] = DH{};
            return;
        }
        const typename recurrence::call call{
            a.data(),    h.data(),     out_gradient.data(),  a_gradient.data(),           b_gradient.data(),
            before.data, before.value, before_gradient.data, store_for(b_gradient, false)};
        cpu_engine::scan_recurrence<recurrence>(target, call, grid);
    }

private:
    template <class Out, std::size_t Rank>
    static cpu_engine::store_kind store_for(const view<Out, Rank>& out, bool is_in_place)
    {
        const bool is_large = out.size() * sizeof(Out) >= cpu_engine::stream_threshold && !is_in_place;
        return is_large ? cpu_engine::store_kind::streamed : cpu_engine::store_kind::cached;
    }
};

} // namespace upsweep::detail
