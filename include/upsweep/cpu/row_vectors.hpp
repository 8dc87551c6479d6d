// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#if defined(__AVX2__)
#include <immintrin.h>
#endif

#include <upsweep/cpu/vector.hpp>
#include <upsweep/fold_order.hpp>
#include <upsweep/op.hpp>
#include <upsweep/qualifiers.hpp>

// Scans of rows in vector registers: elements are not transposed, and rows of any length need no code of their own, since the permutations within a
// vector have indices that are computed from the length.
namespace upsweep::cpu_engine {

// Whether the processor permutes a vector by computed indices, and the operator folds vectors.
template <class Op, class T>
#if defined(__AVX2__)
inline constexpr bool has_row_vectors = is_vector_monoid<Op, T> || is_shift_monoid<Op, T>;
#else
inline constexpr bool has_row_vectors = false;
#endif

// The widest vectors that one instruction permutes, of small integers 16 bytes.
#if defined(__AVX512F__)
template <class T>
inline constexpr std::size_t row_vector_bytes = sizeof(T) >= 4 ? 64 : 16;
#else
template <class T>
inline constexpr std::size_t row_vector_bytes = sizeof(T) >= 4 ? 32 : 16;
#endif

template <class T>
struct row_vector {
    static constexpr std::size_t bytes = row_vector_bytes<T>;
    static constexpr std::size_t lanes = bytes / sizeof(T);
    static constexpr std::size_t levels = std::bit_width(lanes) - 1;
    // What is permuted.
    using word = std::conditional_t<sizeof(T) >= 4, std::uint32_t, std::uint8_t>;
    static constexpr std::size_t words_a_lane = bytes / sizeof(word) / lanes;
    using type = typename vector_of_bytes<T, bytes>::type;
    using bits = typename vector_of_bytes<unsigned_t<T>, bytes>::type;
    using words = typename vector_of_bytes<word, bytes>::type;

    UPSWEEP_ALWAYS_INLINE static type load(const T* from)
    {
        type v;
        std::memcpy(&v, from, sizeof v);
        return v;
    }
    UPSWEEP_ALWAYS_INLINE static void store(type v, T* to) { std::memcpy(to, &v, sizeof v); }
    UPSWEEP_ALWAYS_INLINE static type everywhere(T value)
    {
        std::array<T, lanes> all;
        all.fill(value);
        return load(all.data());
    }
    // Word i of the result is word from[i] of v.
    UPSWEEP_ALWAYS_INLINE static type permuted(type v, [[maybe_unused]] words from)
    {
#if defined(__AVX2__)
        if constexpr (bytes == 16)
            return (type)_mm_shuffle_epi8((__m128i)v, (__m128i)from);
#endif
#if defined(__AVX512F__)
        // With a mask of all lanes: g++ 12 warns of what the other form leaves undefined.
        if constexpr (bytes == 64)
            return (type)_mm512_maskz_permutexvar_epi32(0xffff, (__m512i)from, (__m512i)v);
#elif defined(__AVX2__)
        if constexpr (bytes == 32)
            return (type)_mm256_permutevar8x32_epi32((__m256i)v, (__m256i)from);
#endif
        return v;
    }
    // Lanes 1, 2, ... of a and then lane 0 of b.
    UPSWEEP_ALWAYS_INLINE static type shifted(type a, type b)
    {
        if constexpr (lanes == 4)
            return __builtin_shufflevector(a, b, 1, 2, 3, 4);
        else if constexpr (lanes == 8)
            return __builtin_shufflevector(a, b, 1, 2, 3, 4, 5, 6, 7, 8);
        else
            return __builtin_shufflevector(a, b, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16);
    }
};

// Both sweeps within vectors that have rows of `length` elements one behind the other, or a part of one row. In the up-sweep each lane gets of each
// level the total of its block's sibling; in the down-sweep it folds those that lie before it, which the digits of its position in the row name.
template <class Op, class T>
class vector_sweeps {
    using vector = row_vector<T>;
    using type = typename vector::type;
    using bits = typename vector::bits;
    static constexpr std::size_t lanes = vector::lanes;
    static constexpr std::size_t levels = vector::levels;

public:
    // `ends_blocks`: whether the down-sweep leaves out the parts of the block that ends with a lane, whose total is folded in the end.
    vector_sweeps(std::size_t length, bool ends_blocks)
    {
        constexpr std::size_t words = vector::words_a_lane;
        using mask = unsigned_t<T>;
        const mask identity = std::bit_cast<mask>(Op{}.template identity<T>());
        for (std::size_t k = 0; k < levels; ++k)
            for (std::size_t lane = 0; lane < lanes; ++lane) {
                const std::size_t position = lane % length;
                const std::size_t sibling = (lane - position + (position ^ std::size_t{1} << k)) % lanes;
                const std::size_t digits = position & ((std::size_t{2} << k) - 1);
                const bool is_end = digits == (std::size_t{2} << k) - 1;
                const bool is_right = (position >> k & 1) != 0 && !(ends_blocks && is_end);
                for (std::size_t w = 0; w < words; ++w)
                    siblings_[k][lane * words + w] = static_cast<typename vector::word>(sibling * words + w);
                rights_[k][lane] = static_cast<mask>(is_right ? -1 : 0);
                neutral_[k][lane] = is_right ? mask{0} : identity;
                ends_[k][lane] = static_cast<mask>(is_end ? -1 : 0);
            }
    }

    // The fold before each lane, given that before the vector. `total` becomes the total in all lanes, if the vector is a block.
    template <std::size_t Levels>
    UPSWEEP_ALWAYS_INLINE type exclusive(type before, type& total) const
    {
        type fold = before;
        type block = total;
        sweep<Levels, 0>(total, block, fold);
        return fold;
    }

    // The fold up to each lane, within rows that lie in the vector.
    template <std::size_t Levels>
    UPSWEEP_ALWAYS_INLINE type inclusive(type before, type elements) const
    {
        type fold = before;
        type total = elements;
        type block = elements;
        sweep<Levels, 0>(total, block, fold);
        return apply<Op, T>(fold, block);
    }

private:
    // `block` becomes the total of the largest block that ends with each lane.
    template <std::size_t Levels, std::size_t K>
    UPSWEEP_ALWAYS_INLINE void sweep(type& total, type& block, type& fold) const
    {
        if constexpr (K < Levels) {
            const type sibling = vector::permuted(total, siblings_[K]);
            total = apply<Op, T>(total, sibling); // Operators of vectors commute.
            block = ends_[K] != 0 ? total : block;
            sweep<Levels, K + 1>(total, block, fold);
#ifdef __AVX512F__ // whose operations leave lanes as they are
            fold = rights_[K] != 0 ? apply<Op, T>(fold, sibling) : fold;
#else
            fold = apply<Op, T>(fold, (type)(((bits)sibling & rights_[K]) | neutral_[K]));
#endif
        }
    }

    std::array<typename vector::words, levels> siblings_;
    std::array<bits, levels> rights_;  // lanes that fold their siblings
    std::array<bits, levels> neutral_; // the identity in the others
    std::array<bits, levels> ends_;    // lanes with which a block of the level above ends
};

// Scans rows of one length into a buffer. What lies behind a row there may get any value, and what lies behind it in the input is read.
template <scan_kind Kind, class Op, class T, bool AsksAhead>
class row_scan {
    using vector = row_vector<T>;
    using type = typename vector::type;
    using sweeps = vector_sweeps<Op, T>;
    static constexpr std::size_t lanes = vector::lanes;
    static constexpr std::size_t levels = vector::levels;

public:
    row_scan(std::size_t length, T first)
        : length_(length), first_(first), is_short_(2 * length <= lanes),
          sweeps_(is_short_ ? length : lanes, is_short_ && Kind == scan_kind::inclusive)
    {
    }

    static constexpr std::size_t most_beyond = lanes; // elements

    // Scans rows that have `count` elements together. Returns whether one of the results may be NaN.
    bool operator()(const T* in, std::size_t count, T* out) const
    {
        if (!is_short_)
            return scan_long(in, count, out);
        if constexpr (levels > 3)
            if (length_ > 4)
                return scan_short<3>(in, count, out);
        if constexpr (levels > 2)
            if (length_ > 2)
                return scan_short<2>(in, count, out);
        return scan_short<1>(in, count, out);
    }

private:
    // Each vector has as many rows as fit.
    template <std::size_t Levels>
    bool scan_short(const T* in, std::size_t count, T* out) const
    {
        const sweeps within = sweeps_;
        const std::size_t step = lanes / length_ * length_;
        std::array<T, lanes> firsts; // with which the results of an exclusive scan begin
        firsts.fill(Op{}.template identity<T>());
        if (Kind == scan_kind::exclusive)
            for (std::size_t lane = 0; lane < lanes; lane += length_)
                firsts[lane] = first_;
        const type before = vector::load(firsts.data());
        type sum{};
        for (std::size_t i = 0; i < count; i += step) {
            if constexpr (AsksAhead)
                __builtin_prefetch(in + i + ahead, 0, 2);
            type elements = vector::load(in + i);
            if constexpr (Kind == scan_kind::inclusive)
                put(within.template inclusive<Levels>(before, elements), out + i, sum);
            else
                put(within.template exclusive<Levels>(before, elements), out + i, sum);
        }
        return has_nan(sum);
    }

    // What a scan of long rows has in registers. The last result of an inclusive scan of a vector is the fold before the vector behind it, or the
    // fold of the row, and so each vector is written when that is known.
    struct state {
        sweeps within;
        type sum{};
        type waiting{};     // folds before the elements of the vector before
        type after{};       // the fold behind it
        T* place = nullptr; // where its results go
    };

    // Rows that are longer than half a vector: blocks of four vectors, whose totals are folded as by a fold stack, and then the others.
    bool scan_long(const T* const in, const std::size_t count, T* const out) const
    {
        constexpr std::size_t block = 4 * lanes;
        const type identity = vector::everywhere(Op{}.template identity<T>());
        const std::size_t length = length_;
        const std::size_t vectors = length / lanes;
        const std::size_t rest_levels = std::bit_width(length % lanes);
        state s{sweeps_};
        s.place = out;
        constexpr std::size_t most_levels = 16; // of blocks, for longer rows than there are
        std::array<type, most_levels> totals;
        std::array<type, most_levels> befores; // the folds before these blocks
        for (std::size_t row = 0; row < count; row += length) {
            const T* from = in + row;
            T* to = out + row;
            type before = identity;
            for (std::size_t blocks = 0; 4 * blocks + 4 <= vectors; ++blocks) {
                type start = before;
                type total = scan_block<4>(s, from, before, to);
                std::size_t level = 0;
                for (; (blocks >> level & 1) != 0; ++level) {
                    total = apply<Op, T>(totals[level], total);
                    start = befores[level];
                }
                totals[level] = total;
                befores[level] = start;
                s.after = before = apply<Op, T>(start, total);
                from += block;
                to += block;
            }
            if ((vectors & 2) != 0) {
                s.after = before = apply<Op, T>(before, scan_block<2>(s, from, before, to));
                from += 2 * lanes;
                to += 2 * lanes;
            }
            if ((vectors & 1) != 0) {
                s.after = before = apply<Op, T>(before, scan_block<1>(s, from, before, to));
                from += lanes;
                to += lanes;
            }
            if (rest_levels != 0)
                scan_rest<levels>(s, rest_levels, from, before, to);
            if (Kind == scan_kind::exclusive)
                out[row] = first_;
        }
        if (Kind == scan_kind::inclusive)
            put(vector::shifted(s.waiting, s.after), s.place, s.sum);
        return has_nan(s.sum);
    }

    // Returns the total of so many vectors.
    template <std::size_t Vectors>
    UPSWEEP_ALWAYS_INLINE static type scan_block(state& s, const T* in, type before, T* out)
    {
        if constexpr (Vectors == 1) {
            return scan_vector<levels>(s, in, before, out);
        } else {
            constexpr std::size_t half = Vectors / 2;
            const type left = scan_block<half>(s, in, before, out);
            s.after = apply<Op, T>(before, left);
            return apply<Op, T>(left, scan_block<half>(s, in + half * lanes, s.after, out + half * lanes));
        }
    }

    // The last elements of a row, less than a vector, by as many levels as their number has digits.
    template <std::size_t Levels>
    UPSWEEP_ALWAYS_INLINE static void scan_rest(state& s, std::size_t rest_levels, const T* in, type before, T* out)
    {
        if constexpr (Levels > 1)
            if (rest_levels < Levels)
                return scan_rest<Levels - 1>(s, rest_levels, in, before, out);
        scan_vector<Levels>(s, in, before, out);
    }

    template <std::size_t Levels>
    UPSWEEP_ALWAYS_INLINE static type scan_vector(state& s, const T* in, type before, T* out)
    {
        if constexpr (AsksAhead) // here, since g++ 12 drops the call of a function that does nothing else
            __builtin_prefetch(in + ahead, 0, 2);
        type total = vector::load(in);
        const type folds = s.within.template exclusive<Levels>(before, total);
        if constexpr (Kind == scan_kind::inclusive) {
            put(vector::shifted(s.waiting, s.after), s.place, s.sum);
            s.waiting = folds;
            s.place = out;
        } else {
            put(folds, out, s.sum);
        }
        return total;
    }

    UPSWEEP_ALWAYS_INLINE static void put(type folds, T* out, type& sum)
    {
        vector::store(folds, out);
        if constexpr (detail::keeps_nan<Op, T>)
            sum += folds;
    }
    static bool has_nan(type sum)
    {
        if constexpr (!detail::keeps_nan<Op, T>)
            return false;
        std::array<T, lanes> sums;
        vector::store(sum, sums.data());
        return std::any_of(sums.begin(), sums.end(), [](T x) { return x != x; });
    }

    static constexpr std::size_t ahead = 8192 / sizeof(T); // elements, as in further_on

    std::size_t length_;
    T first_; // result of an exclusive scan
    bool is_short_;
    sweeps sweeps_;
};

} // namespace upsweep::cpu_engine
