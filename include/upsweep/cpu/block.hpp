// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <type_traits>

#include <upsweep/cpu/block_moments.hpp>
#include <upsweep/cpu/half.hpp>
#include <upsweep/cpu/vector.hpp>
#include <upsweep/op.hpp>
#include <upsweep/range.hpp>

// One aligned block of 2^k elements on one core. The loops are plain C++ with constant trip counts over arrays that do
// not alias, which compilers turn into vector code of any width; the order of the operands does not depend on that
// width.
namespace upsweep::cpu_engine {

// Elements of the largest block whose up-sweep is kept in the first-level cache: 1024 unless elements are large.
template <class Acc>
inline constexpr std::size_t block_size = std::bit_floor(std::clamp<std::size_t>(8192 / sizeof(Acc), 2, 1024));

// A small block for the remainders, so that an array of a thousand elements does not run element by element.
template <class Acc>
inline constexpr std::size_t small_block_size = std::min<std::size_t>(32, block_size<Acc> / 2);

// Element i as the accumulator; what `in` gives may be a proxy of its value type.
template <class Acc, std::random_access_iterator In>
inline Acc load(In in, std::size_t i)
{
    return convert<Acc>(static_cast<std::iter_value_t<In>>(in[static_cast<std::iter_difference_t<In>>(i)]));
}

// The next Count elements as a loop can index them from `first` on: those of a view, of which each alone would cost
// divisions, are copied side by side.
template <std::size_t Count, class In>
struct block_elements {
    In first;
    explicit block_elements(In in) : first(in) {}
};
template <std::size_t Count, detail::strided_iterator In>
struct block_elements<Count, In> {
    std::array<std::iter_value_t<In>, Count> copied;
    const std::iter_value_t<In>* first = copied.data();
    explicit block_elements(const In& in) { in.read(Count, copied.data()); }
    block_elements(const block_elements&) = delete;
    block_elements& operator=(const block_elements&) = delete;
    ~block_elements() = default;
};

// The next Count elements as accumulators: where they lie if they are that already, else converted into the buffer.
template <std::size_t Count, class Acc, class In>
inline const Acc* load_block(In in, Acc* __restrict buffer)
{
    if constexpr (std::is_pointer_v<In> && std::same_as<std::iter_value_t<In>, Acc>) {
        return in;
    } else if constexpr (std::is_pointer_v<In> && std::same_as<std::iter_value_t<In>, f16> &&
                         std::same_as<Acc, float>) {
        widen<Count>(in, buffer);
        return buffer;
    } else if constexpr (detail::strided_iterator<In> && std::same_as<std::iter_value_t<In>, Acc>) {
        in.read(Count, buffer);
        return buffer;
    } else if constexpr (detail::strided_iterator<In>) {
        return load_block<Count>(block_elements<Count, In>(in).first, buffer);
    } else {
        for (std::size_t j = 0; j < Count; ++j)
            buffer[j] = load<Acc>(in, j);
        return buffer;
    }
}

// Asks for memory that is to be read soon, a few lines at a time between other work, so that the memory is kept busy
// while a core computes on what it has in its cache. Processors ask for lines ahead of those that are read by themselves, but some not far enough: two
// cores of a Xeon add up floats at 70 % of the speed at which they read them without this, and at 95 % with it.
class read_ahead {
public:
    read_ahead() = default;
    template <class T>
    explicit read_ahead(const T* from) : at_(reinterpret_cast<const char*>(from)), element_bytes_(sizeof(T))
    {
    }

    // Asks for the next elements.
    template <std::size_t Elements>
    void advance()
    {
        if (at_ == nullptr)
            return;
        const std::size_t bytes = Elements * element_bytes_;
        for (std::size_t byte = 0; byte < bytes; byte += 64)
            __builtin_prefetch(at_ + byte, 0, 2); // to be read, into the second-level cache
        at_ += bytes;
    }

    // Does not ask for them.
    template <std::size_t Elements>
    void skip()
    {
        if (at_ != nullptr)
            at_ += Elements * element_bytes_;
    }

private:
    const char* at_ = nullptr;
    std::size_t element_bytes_ = 0;
};

// The memory that lies 8 KiB behind what is read now, if that is an array.
template <class In>
read_ahead further_on([[maybe_unused]] In in)
{
    constexpr std::size_t distance = 8192;
    if constexpr (std::is_pointer_v<In>)
        return read_ahead(in + distance / sizeof(std::iter_value_t<In>));
    else
        return {};
}

// Whether the bottom levels of Count elements fill squares of vectors.
template <std::size_t Count, class Acc, class Op>
inline constexpr bool has_squares = [] {
    if constexpr (is_vector_monoid<Op, Acc> && !folds_each<Op, Acc>)
        return Count >= square<Acc>::elements;
    else
        return false;
}();

// The left and the right elements of pairs.
template <std::size_t Pairs, class Acc>
inline void take_pairs_apart(const Acc* in, Acc* lefts, Acc* rights)
{
    for (std::size_t j = 0; j < Pairs; ++j) {
        lefts[j] = in[2 * j];
        rights[j] = in[2 * j + 1];
    }
}

// One level of the up-sweep: out[j] = in[2j] (+) in[2j + 1].
template <std::size_t Count, class Acc, class Op>
inline void fold_pairs(const Acc* __restrict in, Acc* __restrict out, const Op& op)
{
    if constexpr (folds_each<Op, Acc>) {
        std::array<Acc, Count / 2> lefts, rights;
        take_pairs_apart<Count / 2>(in, lefts.data(), rights.data());
        fold_each<Count / 2>(lefts.data(), rights.data(), out, op);
    } else {
        for (std::size_t j = 0; j < Count / 2; ++j)
            out[j] = op(in[2 * j], in[2 * j + 1]);
    }
}

// Several levels at a time, in registers: out[j] is the total of as many elements as a square has rows.
template <std::size_t Count, class Op, class Acc>
inline void fold_squares(const Acc* in, Acc* out, read_ahead& ahead)
{
    using rows = square<Acc>;
    read_ahead lines = ahead; // a copy, in registers
    for (std::size_t i = 0; i < Count; i += rows::elements) {
        lines.advance<rows::elements>();
        store_vector<Acc>(rows::template totals<Op>(in + i), out + i / rows::side);
    }
    ahead = lines;
}

template <std::size_t Count, class Acc, class Op>
inline Acc fold_levels(const Acc* in, Acc* out, Acc* other, const Op& op, read_ahead ahead = {})
{
    if constexpr (Count == 1) {
        return in[0];
    } else if constexpr (has_squares<Count, Acc, Op>) {
        using rows = square<Acc>;
        fold_squares<Count, Op>(in, out, ahead);
        return fold_levels<Count / rows::side>(static_cast<const Acc*>(out), other, out, op);
    } else {
        fold_pairs<Count>(in, out, op);
        return fold_levels<Count / 2>(static_cast<const Acc*>(out), other, out, op);
    }
}

// Where any order gives the same bits: columns accumulate down the rows, one operation an element and no shuffles.
template <std::size_t Count, class Acc, class In, class Op>
inline Acc fold_columns(In in, const Op& op)
{
    using element = std::iter_value_t<In>;
    constexpr bool is_narrow_sum = std::is_pointer_v<In> && sizeof(element) < sizeof(Acc) && std::same_as<Op, plus> &&
                                   has_narrow_sum<Count, element>;
    // Few elements are not worth a buffer, which is written one by one and read by vectors.
    constexpr bool has_columns =
        has_vector_columns<Count, Acc, Op> && ((std::is_pointer_v<In> && std::same_as<element, Acc>) || Count >= 64);
    Acc total = op.template identity<Acc>();
    if constexpr (is_narrow_sum) {
        total = narrow_sum<Count>(in);
    } else if constexpr (has_columns) {
        std::array<Acc, Count> buffer;
        const Acc* const elements = load_block<Count>(in, buffer.data());
        for (Acc value : vector_columns<Op, Acc, Count>([=](std::size_t i) { return load_vector(elements + i); }))
            total = op(total, value);
    } else {
        for (std::size_t j = 0; j < Count; ++j)
            total = op(total, load<Acc>(in, j));
    }
    return total;
}

// The total of elements in any order, by an operator that takes vectors: as above, by two columns of vectors.
template <class Acc, class Op>
inline Acc fold_vectors(const Acc* in, std::size_t count, const Op& op)
{
    constexpr std::size_t lanes = vector_bytes / sizeof(Acc);
    std::array<Acc, 2 * lanes> ends; // of elements that fill no vectors, and neutral ones
    ends.fill(op.template identity<Acc>());
    const std::size_t whole = count / (2 * lanes) * (2 * lanes);
    std::copy(in + whole, in + count, ends.begin());
    vector_t<Acc> left = load_vector(ends.data());
    vector_t<Acc> right = load_vector(ends.data() + lanes);
    for (std::size_t i = 0; i < whole; i += 2 * lanes) {
        left = op(left, load_vector(in + i));
        right = op(right, load_vector(in + i + lanes));
    }
    std::array<Acc, lanes> totals, others;
    store_vector<Acc>(op(left, right), totals.data());
    return fold_levels<lanes>(static_cast<const Acc*>(totals.data()), others.data(), totals.data(), op);
}

// The total of `Count` elements in the canonical order.
template <std::size_t Count, class Acc, class In, class Op>
inline Acc block_total(In in, const Op& op)
{
    if constexpr (detail::strided_iterator<In>) {
        return block_total<Count, Acc>(block_elements<Count, In>(in).first, op);
    } else if constexpr (detail::is_exact<Op, Acc>) {
        return fold_columns<Count, Acc>(in, op);
    } else if constexpr (std::same_as<Op, mean_and_variance> && !std::same_as<std::iter_value_t<In>, Acc>) {
        using number = decltype(Acc{}.mean());
        std::array<number, Count> buffer;
        return total_moments<Count>(load_block<Count>(in, buffer.data()));
    } else {
        std::array<Acc, Count> buffer;
        std::array<Acc, Count / 2> totals;
        return fold_levels<Count>(load_block<Count>(in, buffer.data()), totals.data(), buffer.data(), op);
    }
}

// The same, and asks for as many elements. Integers of a word are folded as fast as lines come, whoever asks for them.
template <std::size_t Count, class Acc, class In, class Op>
inline Acc block_total(In in, const Op& op, read_ahead& ahead)
{
    constexpr bool is_same = std::is_pointer_v<In> && std::same_as<std::iter_value_t<In>, Acc>;
    if constexpr (is_same && !detail::is_exact<Op, Acc> && has_squares<Count, Acc, Op>) {
        std::array<Acc, Count / 2> totals, others;
        const Acc total = fold_levels<Count>(in, totals.data(), others.data(), op, ahead);
        ahead.skip<Count>();
        return total;
    } else {
        if constexpr (!(is_same && has_vector_columns<Count, Acc, Op>))
            ahead.advance<Count>();
        return block_total<Count, Acc>(in, op);
    }
}

// Whether blocks of Count small integers are scanned vector by vector.
template <std::size_t Count, class Acc, class Op>
inline constexpr bool has_shifts = [] {
    if constexpr (is_shift_monoid<Op, Acc>)
        return Count % shift_scan<Op, Acc>::lanes == 0;
    else
        return false;
}();

// Whether a value is NaN that the operator has made.
template <std::size_t Count, class Op, class Acc>
inline bool any_nan([[maybe_unused]] const Acc* values)
{
    bool any = false;
    if constexpr (detail::makes_nan<Op, Acc>)
        for (std::size_t j = 0; j < Count; ++j)
            any |= values[j] != values[j];
    return any;
}

// The scan of one block in two sweeps. up_sweep returns the block's total; down_sweep<Store>, given the folds of all
// elements before the block and up to its end, writes the folds before each element, or after each, to `out`, as `kind`
// says; levels above always write those before (write_folds_before). Each level of the tree hands the totals of its
// blocks to the level above and gets back the folds before them: a left child has its parent's fold, a right child has
// that (+) the total of its left sibling. In the up-sweep, `ahead` advances by the elements of the block: lines that are
// asked for in the down-sweep compete with streamed results for the buffers of a core.
// down_sweep returns false if no result is NaN that the operator has made.
template <std::size_t Count, class Acc, class Op>
class block_scan {
public:
    static constexpr bool can_stream = false;

    Acc up_sweep(const Acc* __restrict in, const Op& op, read_ahead& ahead)
    {
        ahead.advance<Count>();
        if constexpr (folds_each<Op, Acc>) {
            std::array<Acc, Count / 2> rights;
            take_pairs_apart<Count / 2>(in, lefts_.data(), rights.data());
            fold_each<Count / 2>(lefts_.data(), rights.data(), pairs_.data(), op);
        } else {
            for (std::size_t j = 0; j < Count / 2; ++j) {
                const Acc left = in[2 * j];
                const Acc right = in[2 * j + 1];
                lefts_[j] = left;
                pairs_[j] = op(left, right);
            }
        }
        read_ahead nothing;
        return above_.up_sweep(pairs_.data(), op, nothing);
    }

    template <store_kind>
    bool down_sweep(scan_kind kind, const Acc& before, const Acc& end, Acc* __restrict out, const Op& op)
    {
        hand_down(before, end, op);
        kind == scan_kind::inclusive ? write<scan_kind::inclusive>(out, op) : write<scan_kind::exclusive>(out, op);
        return any_nan<Count, Op>(out);
    }
    void write_folds_before(const Acc& before, const Acc& end, Acc* __restrict out, const Op& op)
    {
        hand_down(before, end, op);
        write<scan_kind::exclusive>(out, op);
    }

private:
    void hand_down(const Acc& before, const Acc& end, const Op& op)
    {
        above_.write_folds_before(before, end, pairs_.data(), op);
        pairs_[Count / 2] = end;
    }
    template <scan_kind Kind>
    void write(Acc* __restrict out, const Op& op) const
    {
        [[maybe_unused]] std::array<Acc, folds_each<Op, Acc> ? Count / 2 : 0> rights;
        if constexpr (folds_each<Op, Acc>)
            fold_each<Count / 2>(pairs_.data(), lefts_.data(), rights.data(), op);
        for (std::size_t j = 0; j < Count / 2; ++j) {
            const Acc left = pairs_[j];
            Acc right;
            if constexpr (folds_each<Op, Acc>)
                right = rights[j];
            else
                right = op(left, lefts_[j]);
            out[2 * j] = Kind == scan_kind::inclusive ? right : left;
            out[2 * j + 1] = Kind == scan_kind::inclusive ? pairs_[j + 1] : right;
        }
    }

    std::array<Acc, Count / 2> lefts_;
    std::array<Acc, Count / 2 + 1> pairs_; // their totals, then the folds before them
    block_scan<Count / 2, Acc, Op> above_;
};

template <class Acc, class Op>
class block_scan<1, Acc, Op> {
public:
    static constexpr bool can_stream = false;

    Acc up_sweep(const Acc* in, const Op&, read_ahead&) { return in[0]; }

    template <store_kind>
    bool down_sweep(scan_kind kind, const Acc& before, const Acc& end, Acc* out, const Op&)
    {
        out[0] = kind == scan_kind::inclusive ? end : before;
        return any_nan<1, Op>(out);
    }
    void write_folds_before(const Acc& before, const Acc&, Acc* out, const Op&) { out[0] = before; }
};

// Several levels at a time, in registers. `in` must stay until the down-sweep; `out` may be `in`.
template <std::size_t Count, class Acc, class Op>
    requires has_squares<Count, Acc, Op>
class block_scan<Count, Acc, Op> {
    using tile = square<Acc>;

public:
    static constexpr bool can_stream = true;

    Acc up_sweep(const Acc* in, const Op& op, read_ahead& ahead)
    {
        in_ = in;
        fold_squares<Count, Op>(in, rows_.data(), ahead);
        read_ahead nothing;
        return above_.up_sweep(rows_.data(), op, nothing);
    }

    template <store_kind Store>
    bool down_sweep(scan_kind kind, const Acc& before, const Acc& end, Acc* out, const Op& op)
    {
        hand_down(before, end, op);
        return kind == scan_kind::inclusive ? write<scan_kind::inclusive, Store>(out)
                                            : write<scan_kind::exclusive, Store>(out);
    }
    void write_folds_before(const Acc& before, const Acc& end, Acc* out, const Op& op)
    {
        hand_down(before, end, op);
        write<scan_kind::exclusive, store_kind::cached>(out);
    }

private:
    void hand_down(const Acc& before, const Acc& end, const Op& op)
    {
        above_.write_folds_before(before, end, rows_.data(), op);
        rows_[Count / tile::side] = end;
    }
    template <scan_kind Kind, store_kind Store>
    bool write(Acc* out) const
    {
        constexpr bool adds = detail::makes_nan<Op, Acc>;
        vector_t<Acc> sum{}; // of all results: NaN if one of them is, or if infinities of both signs are
        for (std::size_t i = 0; i < Count; i += tile::elements) {
            const Acc* folds = rows_.data() + i / tile::side;
            const auto some =
                tile::template scan<Op, Kind, Store, adds>(in_ + i, load_vector(folds), folds[tile::side], out + i);
            if constexpr (adds)
                sum += some;
        }
        std::array<Acc, tile::side> sums;
        store_vector<Acc>(sum, sums.data());
        return any_nan<tile::side, Op>(sums.data());
    }

    const Acc* in_ = nullptr;
    std::array<Acc, Count / tile::side + 1> rows_; // their totals, then the folds before them
    block_scan<Count / tile::side, Acc, Op> above_;
};

// Small integers, which are folded in any order: the scan of a vector after the other, of which each needs of the one before
// only the fold of all before itself.
template <std::size_t Count, class Acc, class Op>
    requires has_shifts<Count, Acc, Op>
class block_scan<Count, Acc, Op> {
    using scans = shift_scan<Op, Acc>;

public:
    static constexpr bool can_stream = true;

    Acc up_sweep(const Acc* in, const Op& op, read_ahead& ahead)
    {
        in_ = in;
        ahead.advance<Count>();
        return fold_columns<Count, Acc>(in, op);
    }

    template <store_kind Store>
    bool down_sweep(scan_kind kind, const Acc& before, const Acc&, Acc* out, const Op&)
    {
        kind == scan_kind::inclusive ? write<scan_kind::inclusive, Store>(before, out)
                                     : write<scan_kind::exclusive, Store>(before, out);
        return false;
    }

private:
    template <scan_kind Kind, store_kind Store>
    void write(const Acc& before, Acc* out) const
    {
        auto fold = scans::everywhere(before); // of all before the vector, in each lane
        for (std::size_t i = 0; i < Count; i += scans::lanes) {
            const auto within = scans::inclusive(scans::load(in_ + i));
            const auto after = apply<Op, Acc>(fold, within);
            scans::template store<Store>(Kind == scan_kind::inclusive ? after : scans::behind(fold, after), out + i);
            fold = apply<Op, Acc>(fold, scans::last_everywhere(within));
        }
    }

    const Acc* in_ = nullptr;
};

} // namespace upsweep::cpu_engine
