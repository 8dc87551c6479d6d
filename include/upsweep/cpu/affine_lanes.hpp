// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>

#include <upsweep/cpu/lanes.hpp>
#include <upsweep/cpu/reduce.hpp>
#include <upsweep/cpu/vector.hpp>
#include <upsweep/op.hpp>

// Folds and scans of affine maps, state -> a * state + b, whose results are states: many lanes in lockstep, eight rows at a time.
namespace upsweep::cpu_engine {

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

} // namespace upsweep::cpu_engine
