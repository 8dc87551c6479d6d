// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <type_traits>
#include <utility>

#if defined(__AVX__)
#include <immintrin.h>
#elif defined(__SSE2__)
#include <emmintrin.h>
#endif

#include <upsweep/cpu/log_sum_exp.hpp>
#include <upsweep/fold_order.hpp>
#include <upsweep/op.hpp>

// The bottom levels of the fold order, in vector registers. The code uses the vector types of g++ and clang, which
// compile them to what the machine has: it needs neither intrinsics nor a library, and gives the same results at every
// width.
namespace upsweep::cpu_engine {

#ifdef __AVX__
inline constexpr std::size_t vector_bytes = 32;
#else
inline constexpr std::size_t vector_bytes = 16;
#endif

// nvcc refuses to convert from and to a vector type that is declared within a template, and whose size depends on its arguments. It takes a member of
// a class template.
template <class T, std::size_t Bytes>
struct vector_of_bytes {
    typedef T type __attribute__((vector_size(Bytes)));
};
template <class T>
using vector_t = typename vector_of_bytes<T, vector_bytes>::type;

template <class T>
UPSWEEP_ALWAYS_INLINE inline vector_t<T> load_vector(const T* from)
{
    vector_t<T> v;
    std::memcpy(&v, from, sizeof v);
    return v;
}
// How results are written. Streamed stores go around the caches: the lines of the destination are not read first, which
// saves a scan a third of its traffic where the destination is larger than the last-level cache and is not the source.
enum class store_kind { cached, streamed };

// Streamed stores need addresses that are multiples of this.
inline constexpr std::size_t stream_alignment = 16;

// Streams a vector to an address that is a multiple of its size.
template <class T>
UPSWEEP_ALWAYS_INLINE inline void stream_vector(vector_t<T> v, T* to)
{
#if defined(__AVX__)
    _mm256_stream_si256(reinterpret_cast<__m256i*>(to), (__m256i)v);
#elif defined(__SSE2__)
    _mm_stream_si128(reinterpret_cast<__m128i*>(to), (__m128i)v);
#else
    std::memcpy(to, &v, sizeof v);
#endif
}

template <class T, store_kind Store = store_kind::cached>
UPSWEEP_ALWAYS_INLINE inline void store_vector(vector_t<T> v, T* to)
{
#ifdef __SSE2__
    if constexpr (Store == store_kind::streamed) {
        // All vectors of an array lie at multiples of their size, or none.
        if (sizeof v == stream_alignment || reinterpret_cast<std::uintptr_t>(to) % sizeof v == 0)
            return stream_vector<T>(v, to);
        __m128i units[sizeof v / 16];
        std::memcpy(&units, &v, sizeof v);
        for (std::size_t k = 0; k < std::size(units); ++k)
            _mm_stream_si128(reinterpret_cast<__m128i*>(to) + k, units[k]);
        return;
    }
#endif
    std::memcpy(to, &v, sizeof v);
}

// Orders streamed stores before later ordinary ones: a thread that learns by an ordinary store that they are done sees
// them.
inline void stream_fence()
{
#ifdef __SSE2__
    _mm_sfence();
#endif
}

// Whether the operator can be applied to whole vectors of elements of type T.
template <class Op, class T>
inline constexpr bool is_vector_monoid = std::is_arithmetic_v<T> && (sizeof(T) == 4 || sizeof(T) == 8) &&
                                         (detail::is_arithmetic<Op> || detail::is_extremum<Op> ||
                                          (std::integral<T> && detail::is_bitwise<Op>) ||
                                          (std::floating_point<T> && std::same_as<Op, log_sum_exp>));

// Whether the operator says that it takes vectors of elements, too, as one may that is chosen at run time: what it takes to call
// it is shared by the elements of a vector. Such an operator also says, by is_exact(), whether any order gives the same bits.
template <class Op>
inline constexpr bool takes_vectors = requires
{
    requires Op::takes_vectors;
};

// The unsigned integer type of the same size as T.
template <class T>
using unsigned_t =
    std::conditional_t<sizeof(T) == 1, std::uint8_t,
                       std::conditional_t<sizeof(T) == 2, std::uint16_t,
                                          std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>>>;

// a < b ? a : b, which is one instruction of x86 that compilers do not find.
template <class T, class V>
UPSWEEP_ALWAYS_INLINE inline V lesser(V a, V b)
{
#ifdef __AVX__
    if constexpr (sizeof(V) == sizeof(__m256) && std::same_as<T, float>)
        return (V)_mm256_min_ps((__m256)a, (__m256)b);
    if constexpr (sizeof(V) == sizeof(__m256d) && std::same_as<T, double>)
        return (V)_mm256_min_pd((__m256d)a, (__m256d)b);
#endif
#ifdef __AVX512F__
    if constexpr (sizeof(V) == sizeof(__m512) && std::same_as<T, float>)
        return (V)_mm512_maskz_min_ps(0xffff, (__m512)a, (__m512)b);
    if constexpr (sizeof(V) == sizeof(__m512d) && std::same_as<T, double>)
        return (V)_mm512_maskz_min_pd(0xff, (__m512d)a, (__m512d)b);
#endif
    return a < b ? a : b;
}
template <class T, class V>
UPSWEEP_ALWAYS_INLINE inline V greater(V a, V b)
{
#ifdef __AVX__
    if constexpr (sizeof(V) == sizeof(__m256) && std::same_as<T, float>)
        return (V)_mm256_max_ps((__m256)a, (__m256)b);
    if constexpr (sizeof(V) == sizeof(__m256d) && std::same_as<T, double>)
        return (V)_mm256_max_pd((__m256d)a, (__m256d)b);
#endif
#ifdef __AVX512F__
    if constexpr (sizeof(V) == sizeof(__m512) && std::same_as<T, float>)
        return (V)_mm512_maskz_max_ps(0xffff, (__m512)a, (__m512)b);
    if constexpr (sizeof(V) == sizeof(__m512d) && std::same_as<T, double>)
        return (V)_mm512_maskz_max_pd(0xff, (__m512d)a, (__m512d)b);
#endif
    return a > b ? a : b;
}

// All bits of the lanes in which a or b is NaN: one instruction of x86, too.
template <class T, class V>
UPSWEEP_ALWAYS_INLINE inline auto unordered(V a, V b)
{
    using bits = typename vector_of_bytes<unsigned_t<T>, sizeof(V)>::type;
#ifdef __AVX__
    if constexpr (sizeof(V) == sizeof(__m256) && std::same_as<T, float>)
        return (bits)_mm256_cmp_ps((__m256)a, (__m256)b, _CMP_UNORD_Q);
    if constexpr (sizeof(V) == sizeof(__m256d) && std::same_as<T, double>)
        return (bits)_mm256_cmp_pd((__m256d)a, (__m256d)b, _CMP_UNORD_Q);
#endif
#ifdef __AVX512F__
    if constexpr (sizeof(V) == sizeof(__m512) && std::same_as<T, float>)
        return (bits)_mm512_maskz_set1_epi32(_mm512_cmp_ps_mask((__m512)a, (__m512)b, _CMP_UNORD_Q), -1);
    if constexpr (sizeof(V) == sizeof(__m512d) && std::same_as<T, double>)
        return (bits)_mm512_maskz_set1_epi64(_mm512_cmp_pd_mask((__m512d)a, (__m512d)b, _CMP_UNORD_Q), -1);
#endif
    return (bits)((a != a) | (b != b));
}

// Applies the operator to the lanes of two vectors of elements of type T.
template <class Op, class T, class V>
UPSWEEP_ALWAYS_INLINE inline V apply(V a, V b)
{
    typedef unsigned_t<T> bits __attribute__((vector_size(sizeof(V))));
    if constexpr (std::same_as<Op, plus>) {
        if constexpr (std::integral<T>)
            return (V)((bits)a + (bits)b); // Unsigned sums wrap.
        else
            return a + b;
    } else if constexpr (std::same_as<Op, multiplies>) {
        if constexpr (std::integral<T>)
            return (V)((bits)a * (bits)b);
        else
            return a * b;
    } else if constexpr (std::same_as<Op, bit_and>) {
        return a & b;
    } else if constexpr (std::same_as<Op, bit_or>) {
        return a | b;
    } else if constexpr (std::same_as<Op, bit_xor>) {
        return a ^ b;
    } else if constexpr (std::same_as<Op, log_sum_exp>) {
        return logarithm_of_sum<T>(a, b);
    } else if constexpr (std::integral<T>) {
        return std::same_as<Op, minimum> ? (a < b ? a : b) : (a > b ? a : b);
    } else if constexpr (std::same_as<Op, minimum>) { // op.hpp says how NaN and zeros of either sign compare.
        // Of zeros and of NaN the processor's minimum is the second operand, so that the union of both orders has the sign of
        // -0 and the bits of NaN.
        return (V)((bits)lesser<T>(a, b) | (bits)lesser<T>(b, a));
    } else {
        const auto both = (bits)greater<T>(a, b) & (bits)greater<T>(b, a);
        return (V)(both | unordered<T>(a, b));
    }
}

// Whether levels of the fold order are folded element by element of two arrays, by vectors: with an operator that takes vectors, or one of so
// many instructions that what is done of them in the up-sweep is kept for the down-sweep.
template <class Op, class T>
inline constexpr bool folds_each = takes_vectors<Op> || (is_vector_monoid<Op, T> && std::same_as<Op, log_sum_exp>);

// By one of the operators of vectors.
template <class Op, class T>
UPSWEEP_ALWAYS_INLINE inline vector_t<T> fold_of_vectors([[maybe_unused]] const Op& op, vector_t<T> a, vector_t<T> b)
{
    if constexpr (takes_vectors<Op>)
        return op(a, b);
    else
        return apply<Op, T>(a, b);
}

// out[j] = a[j] (+) b[j].
template <std::size_t Count, class T, class Op>
inline void fold_each(const T* a, const T* b, T* out, const Op& op)
{
    constexpr std::size_t lanes = vector_bytes / sizeof(T);
    constexpr std::size_t whole = Count / lanes * lanes;
    for (std::size_t j = 0; j < whole; j += lanes)
        store_vector<T>(fold_of_vectors<Op, T>(op, load_vector(a + j), load_vector(b + j)), out + j);
    if constexpr (whole < Count) {
        constexpr std::size_t bytes = (Count - whole) * sizeof(T);
        vector_t<T> left{}, right{};
        std::memcpy(&left, a + whole, bytes);
        std::memcpy(&right, b + whole, bytes);
        const vector_t<T> folds = fold_of_vectors<Op, T>(op, left, right);
        std::memcpy(out + whole, &folds, bytes);
    }
}

// Whether vector_columns can fold Count elements: in any order, as it does with integers, and by whole steps of four
// vectors.
template <std::size_t Count, class T, class Op>
inline constexpr bool has_vector_columns =
    std::integral<T> && !std::same_as<T, bool> && Count % (4 * vector_bytes / sizeof(T)) == 0 &&
    (detail::is_arithmetic<Op> || detail::is_extremum<Op> || detail::is_bitwise<Op>);

// Folds Count elements to one vector, lane by lane, where load(i) gives the vector that begins with element i. Four folds are under way
// at a time, which hides the latency of the operation.
template <class Op, class T, std::size_t Count, class Load>
UPSWEEP_ALWAYS_INLINE inline auto vector_columns(Load load)
{
    constexpr std::size_t lanes = vector_bytes / sizeof(T);
    vector_t<T> a = load(0);
    vector_t<T> b = load(lanes);
    vector_t<T> c = load(2 * lanes);
    vector_t<T> d = load(3 * lanes);
    for (std::size_t i = 4 * lanes; i < Count; i += 4 * lanes) {
        a = apply<Op, T>(a, load(i));
        b = apply<Op, T>(b, load(i + lanes));
        c = apply<Op, T>(c, load(i + 2 * lanes));
        d = apply<Op, T>(d, load(i + 3 * lanes));
    }
    std::array<T, lanes> columns;
    store_vector(apply<Op, T>(apply<Op, T>(a, b), apply<Op, T>(c, d)), columns.data());
    return columns;
}

// Whether narrow_sum can sum Count elements of type E.
template <std::size_t Count, class E>
inline constexpr bool has_narrow_sum = std::integral<E> && !std::same_as<E, bool> && sizeof(E) <= 4 && Count <= 1024 &&
                                       Count * sizeof(E) % (2 * vector_bytes) == 0;

// Returns the sum of Count integers that are narrower than their accumulator, without widening each of them. The two
// halves of a lane are summed apart: a lane has two neighbours of 8 or 16 bits, or one integer of 32 bits, whose halves
// weigh 1 and 2^16. No lane overflows within 1024 elements.
template <std::size_t Count, class E>
inline auto narrow_sum(const E* in)
{
    constexpr bool pairs = sizeof(E) < 4;
    constexpr int half = sizeof(E) == 1 ? 8 : 16;
    using lane =
        std::conditional_t<std::signed_integral<E>, std::conditional_t<sizeof(E) == 1, std::int16_t, std::int32_t>,
                           std::conditional_t<sizeof(E) == 1, std::uint16_t, std::uint32_t>>;
    using sum = std::conditional_t<std::signed_integral<E>, std::int64_t, std::uint64_t>;
    using bits = vector_t<unsigned_t<lane>>;
    using vector = vector_t<lane>;

    vector low{}, high{}, low2{}, high2{};
    const auto low_half = [](vector v) {
        return pairs ? (vector)((bits)v << half) >> half : (vector)((bits)v & static_cast<unsigned_t<lane>>(0xffff));
    };
    constexpr std::size_t step = vector_bytes / sizeof(E);
    for (std::size_t i = 0; i < Count; i += 2 * step) {
        vector a, b;
        std::memcpy(&a, in + i, sizeof a);
        std::memcpy(&b, in + i + step, sizeof b);
        low += low_half(a);
        low2 += low_half(b);
        high += a >> half;
        high2 += b >> half;
    }
    sum low_total = 0, high_total = 0;
    for (std::size_t k = 0; k < vector_bytes / sizeof(lane); ++k) {
        low_total += static_cast<sum>(low[k]) + low2[k];
        high_total += static_cast<sum>(high[k]) + high2[k];
    }
    return pairs ? low_total + high_total : low_total + high_total * 65536;
}

// Whether the elements of one vector can be scanned by shifts of the vector: in any order, as integers can, and only where
// squares are not made for them.
template <class Op, class T>
inline constexpr bool is_shift_monoid = std::integral<T> && !std::same_as<T, bool> && sizeof(T) <= 2 &&
                                        (std::same_as<Op, plus> || detail::is_extremum<Op> || detail::is_bitwise<Op>);

// Scans 16 bytes of small integers: Hillis and Steele's scan, whose step k folds each lane with the one 2^k lanes before it.
template <class Op, class T>
class shift_scan {
public:
    typedef T vector __attribute__((vector_size(16)));
    static constexpr std::size_t lanes = sizeof(vector) / sizeof(T);

    UPSWEEP_ALWAYS_INLINE static vector load(const T* from)
    {
        vector v;
        std::memcpy(&v, from, sizeof v);
        return v;
    }
    template <store_kind Store>
    UPSWEEP_ALWAYS_INLINE static void store(vector v, T* to)
    {
#ifdef __SSE2__
        if constexpr (Store == store_kind::streamed) {
            _mm_stream_si128(reinterpret_cast<__m128i*>(to), (__m128i)v);
            return;
        }
#endif
        std::memcpy(to, &v, sizeof v);
    }

    // The fold of lanes 0 to i in lane i.
    UPSWEEP_ALWAYS_INLINE static vector inclusive(vector v) { return step<1>(v); }
    // The last lane in all lanes.
    UPSWEEP_ALWAYS_INLINE static vector last_everywhere(vector v)
    {
        return shuffled(
            v, v, [](std::size_t) { return lanes - 1; }, indices{});
    }
    // The last lane of `before`, and then the lanes of v but for its last one.
    UPSWEEP_ALWAYS_INLINE static vector behind(vector before, vector v)
    {
        return shuffled(
            before, v, [](std::size_t i) { return lanes - 1 + i; }, indices{});
    }
    UPSWEEP_ALWAYS_INLINE static vector everywhere(T value) { return vector{} + value; }

private:
    using indices = std::make_index_sequence<lanes>;

    template <std::size_t Distance>
    UPSWEEP_ALWAYS_INLINE static vector step(vector v)
    {
        if constexpr (Distance == lanes) {
            return v;
        } else {
            const vector identity = everywhere(Op::template identity<T>());
            const vector before = shuffled(
                identity, v, [](std::size_t i) { return lanes - Distance + i; }, indices{});
            return step<2 * Distance>(apply<Op, T>(before, v));
        }
    }
    template <class From, std::size_t... I>
    UPSWEEP_ALWAYS_INLINE static vector shuffled(vector a, vector b, From, std::index_sequence<I...>)
    {
        return shuffle<static_cast<int>(From{}(I))...>(a, b);
    }
    // nvcc does not expand a pack in the argument list of a builtin.
    template <int A, int B, int C, int D, int E, int F, int G, int H>
    UPSWEEP_ALWAYS_INLINE static vector shuffle(vector a, vector b)
    {
        return __builtin_shufflevector(a, b, A, B, C, D, E, F, G, H);
    }
    template <int A, int B, int C, int D, int E, int F, int G, int H, int I, int J, int K, int L, int M, int N, int O,
              int P>
    UPSWEEP_ALWAYS_INLINE static vector shuffle(vector a, vector b)
    {
        return __builtin_shufflevector(a, b, A, B, C, D, E, F, G, H, I, J, K, L, M, N, O, P);
    }
};

// Folds and scans a square of `side` vectors of `side` lanes; a row, which is a vector, has consecutive elements. In
// the up-sweep `evens` and `odds` split the rows into left and right neighbours, first within units of 16 bytes and
// then across the halves of a vector of 32 bytes. It ends with the total of row r in lane r. In the down-sweep `lower`
// and `upper` undo these steps. Each of the four is a single instruction; a split that kept the elements in their order
// would take three.
template <class T>
class square {
public:
    static constexpr std::size_t side = vector_bytes / sizeof(T);
    static constexpr std::size_t elements = side * side;

    // Returns the totals of the rows of side * side elements.
    template <class Op>
    UPSWEEP_ALWAYS_INLINE static vector_t<T> totals(const T* in)
    {
        lefts_t lefts; // The down-sweep, which reads them, is not done.
        rows_t rows = load_rows(in);
        up_steps<Op, side>(rows, lefts);
        return rows[0];
    }

    // Writes the fold before each element, or the one after it, to `out`, which may be `in`. `folds` has the fold
    // before each row, `next` is the fold after the last row. The up-sweep is done a second time, which is cheaper than
    // keeping its results. Returns their sum, by lanes, where it is asked for.
    template <class Op, scan_kind Kind, store_kind Store, bool Adds>
    UPSWEEP_ALWAYS_INLINE static vector_t<T> scan(const T* in, vector_t<T> folds, T next, T* out)
    {
        lefts_t lefts;
        rows_t rows = load_rows(in);
        up_steps<Op, side>(rows, lefts);
        rows[0] = folds;
        down_steps<Op, 2>(rows, lefts);
        if constexpr (Kind == scan_kind::inclusive) { // The results are the exclusive ones, shifted by one.
            for_each_row<side - 1>([&](auto v) __attribute__((always_inline)) {
                rows[v] = shifted(rows[v], rows[v + 1], lane_indices{});
            });
            vector_t<T> last{};
            last[0] = next;
            rows[side - 1] = shifted(rows[side - 1], last, lane_indices{});
        }
        for_each_row<side>([&](auto v)
                               __attribute__((always_inline)) { store_vector<T, Store>(rows[v], out + v * side); });
        if constexpr (Adds)
            for_each_row<side - 1>([&](auto v) __attribute__((always_inline)) { rows[v + 1] += rows[v]; });
        return rows[side - 1];
    }

    // Column k of the rows at `in`, which lie in_step apart, becomes row k at `out`: the splits of the up-sweep without folding, of
    // which each puts the even and the odd elements apart.
    UPSWEEP_ALWAYS_INLINE static void transpose(const T* in, std::ptrdiff_t in_step, T* out, std::ptrdiff_t out_step)
    {
        rows_t rows;
        for_each_row<side>([&](auto v) __attribute__((always_inline)) {
            rows[v] = load_vector(in + static_cast<std::ptrdiff_t>(v.value) * in_step);
        });
        split<side, 0, 1>(
            rows, [&](auto row, vector_t<T> elements) __attribute__((always_inline)) {
                store_vector<T>(elements, out + static_cast<std::ptrdiff_t>(row.value) * out_step);
            });
    }
    // The same in registers.
    using rows_t = std::array<vector_t<T>, side>;
    UPSWEEP_ALWAYS_INLINE static rows_t transposed(const rows_t& columns)
    {
        rows_t rows;
        split<side, 0, 1>(
            columns, [&](auto row, vector_t<T> elements) __attribute__((always_inline)) { rows[row] = elements; });
        return rows;
    }

private:
    // The left operands of the up-sweep. Those of the step from 2 k vectors to k are number k to 2 k - 1.
    using lefts_t = std::array<vector_t<T>, side>;
    using lane_indices = std::make_index_sequence<side>;
    static constexpr std::size_t unit = 16 / sizeof(T); // lanes of a 16-byte unit

    // Calls f(0), ..., f(Count - 1) with compile-time constants, so that the rows stay in registers.
    template <std::size_t Count, class F>
    UPSWEEP_ALWAYS_INLINE static void for_each_row(F f)
    {
        // clang-format 14 does not know lambdas with attributes.
        // clang-format off
        [&]<std::size_t... V>(std::index_sequence<V...>) __attribute__((always_inline)) {
            (f(std::integral_constant<std::size_t, V>{}), ...);
        }(std::make_index_sequence<Count>{});
        // clang-format on
    }

    UPSWEEP_ALWAYS_INLINE static rows_t load_rows(const T* in)
    {
        rows_t rows;
        for_each_row<side>([&](auto v) __attribute__((always_inline)) { rows[v] = load_vector(in + v * side); });
        return rows;
    }

    template <class Op, std::size_t Vectors>
    UPSWEEP_ALWAYS_INLINE static void up_steps(rows_t& rows, lefts_t& lefts)
    {
        if constexpr (Vectors > 1) {
            constexpr bool across = is_across(Vectors);
            for_each_row<Vectors / 2>([&](auto v) __attribute__((always_inline)) {
                const vector_t<T> left = evens<across>(rows[2 * v], rows[2 * v + 1], lane_indices{});
                const vector_t<T> right = odds<across>(rows[2 * v], rows[2 * v + 1], lane_indices{});
                lefts[Vectors / 2 + v] = left;
                rows[v] = apply<Op, T>(left, right);
            });
            up_steps<Op, Vectors / 2>(rows, lefts);
        }
    }

    template <class Op, std::size_t Vectors>
    UPSWEEP_ALWAYS_INLINE static void down_steps(rows_t& rows, const lefts_t& lefts)
    {
        constexpr bool across = is_across(Vectors);
        for_each_row<Vectors / 2>([&](auto reversed) __attribute__((always_inline)) {
            constexpr std::size_t v = Vectors / 2 - 1 - reversed; // A row becomes two, so the last one goes first.
            const vector_t<T> left = rows[v];
            const vector_t<T> right = apply<Op, T>(left, lefts[Vectors / 2 + v]);
            rows[2 * v] = lower<across>(left, right, lane_indices{});
            rows[2 * v + 1] = upper<across>(left, right, lane_indices{});
        });
        if constexpr (Vectors < side)
            down_steps<Op, 2 * Vectors>(rows, lefts);
    }

    // Integers are shuffled as floating-point numbers, because x86 has the shuffle of two operands for those only.
    // There is a function for each number of lanes, because nvcc does not expand a pack in the argument list of a
    // builtin.
    using view = vector_t<std::conditional_t<sizeof(T) == sizeof(float), float, double>>;
    template <int A, int B>
    UPSWEEP_ALWAYS_INLINE static vector_t<T> shuffle(vector_t<T> a, vector_t<T> b)
    {
        return (vector_t<T>)__builtin_shufflevector((view)a, (view)b, A, B);
    }
    template <int A, int B, int C, int D>
    UPSWEEP_ALWAYS_INLINE static vector_t<T> shuffle(vector_t<T> a, vector_t<T> b)
    {
        return (vector_t<T>)__builtin_shufflevector((view)a, (view)b, A, B, C, D);
    }
    template <int A, int B, int C, int D, int E, int F, int G, int H>
    UPSWEEP_ALWAYS_INLINE static vector_t<T> shuffle(vector_t<T> a, vector_t<T> b)
    {
        return (vector_t<T>)__builtin_shufflevector((view)a, (view)b, A, B, C, D, E, F, G, H);
    }

    // Returns lanes 1, 2, ... of a and then lane 0 of b.
    template <std::size_t... I>
    UPSWEEP_ALWAYS_INLINE static vector_t<T> shifted(vector_t<T> a, vector_t<T> b, std::index_sequence<I...>)
    {
        return shuffle<static_cast<int>(I + 1)...>(a, b);
    }

    // Calls put(number, elements) for elements First, First + Stride, ... of the rows from which `rows` were split.
    template <std::size_t Vectors, std::size_t First, std::size_t Stride, class Put>
    UPSWEEP_ALWAYS_INLINE static void split(const std::array<vector_t<T>, Vectors>& rows, const Put& put)
    {
        if constexpr (Vectors == 1) {
            put(std::integral_constant<std::size_t, First>{}, rows[0]);
        } else {
            constexpr bool across = is_across(Vectors);
            std::array<vector_t<T>, Vectors / 2> lefts;
            std::array<vector_t<T>, Vectors / 2> rights;
            for_each_row<Vectors / 2>([&](auto v) __attribute__((always_inline)) {
                lefts[v] = evens<across>(rows[2 * v], rows[2 * v + 1], lane_indices{});
                rights[v] = odds<across>(rows[2 * v], rows[2 * v + 1], lane_indices{});
            });
            split<Vectors / 2, First, 2 * Stride>(lefts, put);
            split<Vectors / 2, First + Stride, 2 * Stride>(rights, put);
        }
    }

    // Whether the step from so many vectors crosses the 16-byte halves: the last one of the up-sweep does.
    static constexpr bool is_across(std::size_t vectors) { return vector_bytes == 32 && vectors == 2; }

    template <bool Across, std::size_t... I>
    UPSWEEP_ALWAYS_INLINE static vector_t<T> evens(vector_t<T> a, vector_t<T> b, std::index_sequence<I...>)
    {
        return shuffle<split_index(I, 0, Across)...>(a, b);
    }
    template <bool Across, std::size_t... I>
    UPSWEEP_ALWAYS_INLINE static vector_t<T> odds(vector_t<T> a, vector_t<T> b, std::index_sequence<I...>)
    {
        return shuffle<split_index(I, 1, Across)...>(a, b);
    }
    template <bool Across, std::size_t... I>
    UPSWEEP_ALWAYS_INLINE static vector_t<T> lower(vector_t<T> left, vector_t<T> right, std::index_sequence<I...>)
    {
        return shuffle<join_index(I, 0, Across)...>(left, right);
    }
    template <bool Across, std::size_t... I>
    UPSWEEP_ALWAYS_INLINE static vector_t<T> upper(vector_t<T> left, vector_t<T> right, std::index_sequence<I...>)
    {
        return shuffle<join_index(I, 1, Across)...>(left, right);
    }

    // Which lane of a and b, numbered one behind the other, goes to lane i. Within each unit these are the even or odd
    // lanes of a, then those of b; across the halves they are the lower or upper half of a, then that of b.
    static constexpr int split_index(std::size_t i, std::size_t odd, bool across)
    {
        const std::size_t half = across ? side / 2 : unit / 2;
        const std::size_t within = i % (2 * half);
        const std::size_t base = i - within;
        const std::size_t from = across ? odd * half + within % half : base + 2 * (within % half) + odd;
        return static_cast<int>(within < half ? from : side + from);
    }

    // Which lane of left and right goes to lane i: the inverse of split_index.
    static constexpr int join_index(std::size_t i, std::size_t high, bool across)
    {
        const std::size_t half = across ? side / 2 : unit / 2;
        const std::size_t within = i % (2 * half);
        const std::size_t base = i - within;
        if (across)
            return static_cast<int>(within < half ? high * half + within : side + high * half + within - half);
        const std::size_t from = base + high * half + within / 2;
        return static_cast<int>(within % 2 == 0 ? from : side + from);
    }
};

} // namespace upsweep::cpu_engine
