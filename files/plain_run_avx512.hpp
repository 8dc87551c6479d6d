// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include <upsweep/files.hpp>

#include "intrinsics.hpp"
#include "plain_number.hpp"
#include "plain_run_sse41.hpp"

// Text that is nothing but numbers and white space, eight numbers at a time (AVX-512 as Intel's Ice Lake and AMD's Zen 4 have it). As in
// simdjson (Langdale and Lemire, 2019), a first pass finds where words begin and end, from a bit for each byte, and a second one
// converts them: the digits of a word end where 16 bytes of a vector end, and multiplications add up pairs of them, fours, eights.
namespace upsweep::files::avx512 {

#define UPSWEEP_AVX512                                                                                                 \
    __attribute__((                                                                                                    \
        target("avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vbmi2,avx512bitalg,bmi,bmi2,popcnt,fma")))

inline bool is_supported()
{
    static const bool is = __builtin_cpu_supports("avx512vbmi2") && __builtin_cpu_supports("avx512bitalg") &&
                           __builtin_cpu_supports("avx512vbmi") && __builtin_cpu_supports("avx512bw") &&
                           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
    return is;
}

// Where the words of a text begin and end, as offsets from its first byte.
class word_list {
public:
    static constexpr std::size_t window = 64; // bytes of which one call of `add` finds the words
    static constexpr std::size_t capacity = 512;

    std::size_t size() const { return stops_count_; }
    bool has_room() const { return starts_count_ + window / 2 <= capacity; }
    const std::uint32_t* starts() const { return starts_.data(); }
    const std::uint32_t* stops() const { return stops_.data(); }

    // Where the word begins whose end has not been found, or the next one may.
    std::uint32_t rest() const { return starts_count_ > stops_count_ ? starts_[stops_count_] : scanned_; }

    // The words in the next 64 bytes, which begin `offset` bytes after the first.
    UPSWEEP_AVX512 void add(const char* bytes, std::uint32_t offset)
    {
        const __m512i text = _mm512_loadu_si512(bytes);
        const __mmask64 control =
            _mm512_cmple_epu8_mask(_mm512_sub_epi8(text, _mm512_set1_epi8('\t')), _mm512_set1_epi8('\r' - '\t'));
        const std::uint64_t spaces = control | _mm512_cmpeq_epi8_mask(text, _mm512_set1_epi8(' '));
        const std::uint64_t behind_space = (spaces << 1) | is_behind_space_;
        is_behind_space_ = spaces >> 63;
        append(~spaces & behind_space, offset, starts_, starts_count_);
        append(spaces & ~behind_space, offset, stops_, stops_count_);
        scanned_ = offset + window;
    }

    // Forgets the first words.
    void drop(std::size_t words)
    {
        for (std::size_t k = words; k < starts_count_; ++k)
            starts_[k - words] = starts_[k];
        for (std::size_t k = words; k < stops_count_; ++k)
            stops_[k - words] = stops_[k];
        starts_count_ -= words;
        stops_count_ -= words;
    }

private:
    using offsets = std::array<std::uint32_t, capacity + window>;

    // Appends the numbers of the bits that are set, which are every other one at most, each plus `offset`.
    UPSWEEP_AVX512 static void append(std::uint64_t bits, std::uint32_t offset, offsets& to, std::size_t& count)
    {
        const __m512i numbers = _mm512_maskz_compress_epi8(bits, byte_numbers());
        const __m512i base = _mm512_set1_epi32(static_cast<int>(offset));
        std::uint32_t* const at = to.data() + count;
        const auto found = static_cast<std::size_t>(std::popcount(bits));
        _mm512_storeu_si512(at, _mm512_add_epi32(base, _mm512_cvtepu8_epi32(_mm512_castsi512_si128(numbers))));
        if (found > 16)
            _mm512_storeu_si512(at + 16,
                                _mm512_add_epi32(base, _mm512_cvtepu8_epi32(_mm512_extracti32x4_epi32(numbers, 1))));
        count += found;
    }

    UPSWEEP_AVX512 static __m512i byte_numbers()
    {
        alignas(64) static constexpr auto numbers = [] {
            std::array<std::uint8_t, window> all{};
            for (std::size_t k = 0; k < window; ++k)
                all[k] = static_cast<std::uint8_t>(k);
            return all;
        }();
        return _mm512_load_si512(numbers.data());
    }

    offsets starts_;
    offsets stops_;
    std::size_t starts_count_ = 0;
    std::size_t stops_count_ = 0;
    std::uint32_t scanned_ = 0;
    std::uint64_t is_behind_space_ = 1;
};

inline constexpr std::size_t at_once = 8;
inline constexpr std::size_t half_bytes = 16; // what a vector has of each of four words

// Eight words as numbers without their points: value = digits / 10^decimals, with the sign.
struct numbers {
    __m512i digits;
    __m128i decimals; // 16 bits each
    __mmask8 negative;
    bool are_plain; // each is perhaps a minus sign, at most 19 digits after zeros, perhaps a point among them
    bool have_points;
};

UPSWEEP_AVX512 inline std::uint64_t low_half(__m128i bits)
{
    return static_cast<std::uint64_t>(_mm_cvtsi128_si64(bits));
}
UPSWEEP_AVX512 inline std::uint64_t high_half(__m128i bits)
{
    return static_cast<std::uint64_t>(_mm_extract_epi64(bits, 1));
}

// 16 bytes of each of eight words, and 16 bits of each word that tell something of these bytes. The words are in the order
// 0, 2, 4, 6, 1, 3, 5, 7, which brings them into their order when pairs of vectors are packed.
struct half_words {
    __m512i evens; // bytes, less '0'
    __m512i odds;
    __m128i body; // those that belong to the number, without its sign
    __m128i digits;
    __m128i point;
    __m128i minus;
};

UPSWEEP_AVX512 inline __m128i in_order(__m128i words)
{
    return _mm_unpacklo_epi16(words, _mm_unpackhi_epi64(words, words));
}

// The bytes up to the first bit of each word, and to the last where it has none.
UPSWEEP_AVX512 inline __m128i up_to_first(__m128i bits)
{
    return _mm_or_si128(bits, _mm_sub_epi16(bits, _mm_set1_epi16(1)));
}

// Words 0, 2, 4, 6 of `stops`: of each the 16 bytes that end `before` bytes before its last one.
UPSWEEP_AVX512 inline __m512i every_other_word(const char* text, const std::uint32_t* stops, std::size_t before)
{
    const auto bytes = [&](std::size_t k) __attribute__((always_inline))
    {
        return reinterpret_cast<const __m128i*>(text + stops[k] - half_bytes - before);
    };
    __m512i four = _mm512_castsi128_si512(_mm_loadu_si128(bytes(0)));
    four = _mm512_inserti32x4(four, _mm_loadu_si128(bytes(2)), 1);
    four = _mm512_inserti32x4(four, _mm_loadu_si128(bytes(4)), 2);
    return _mm512_inserti32x4(four, _mm_loadu_si128(bytes(6)), 3);
}

// `words` has the bytes that are part of a word, `first` its first byte, if it is here.
UPSWEEP_AVX512 inline half_words read_half(const char* text, const std::uint32_t* stops, std::size_t before,
                                           __m128i words, __m128i first)
{
    const auto in_words = [](__mmask64 evens, __mmask64 odds) __attribute__((always_inline))
    {
        return _mm_set_epi64x(static_cast<long long>(odds), static_cast<long long>(evens));
    };
    const __m512i zero = _mm512_set1_epi8('0');
    const __m512i point = _mm512_set1_epi8('.' - '0');
    const __m512i minus = _mm512_set1_epi8('-' - '0');
    const __m512i ten = _mm512_set1_epi8(10);
    const __m512i evens = _mm512_sub_epi8(every_other_word(text, stops, before), zero);
    const __m512i odds = _mm512_sub_epi8(every_other_word(text, stops + 1, before), zero);
    const __m128i signs =
        _mm_and_si128(first, in_words(_mm512_cmpeq_epi8_mask(evens, minus), _mm512_cmpeq_epi8_mask(odds, minus)));
    const __m128i body = _mm_andnot_si128(signs, words);
    return {evens,
            odds,
            body,
            _mm_and_si128(body, in_words(_mm512_cmplt_epu8_mask(evens, ten), _mm512_cmplt_epu8_mask(odds, ten))),
            _mm_and_si128(body, in_words(_mm512_cmpeq_epi8_mask(evens, point), _mm512_cmpeq_epi8_mask(odds, point))),
            signs};
}

// The numbers of 16 digits that lie in vectors of four words: pairs of digits, fours, and then eights of all eight words in their order.
UPSWEEP_AVX512 inline __m512i numbers_of_digits(__m512i evens, __m512i odds)
{
    const __m512i tens = _mm512_set1_epi16(0x010a);         // 10, 1
    const __m512i hundreds = _mm512_set1_epi32(0x00010064); // 100, 1
    const __m512i fours_of_evens = _mm512_madd_epi16(_mm512_maddubs_epi16(evens, tens), hundreds);
    const __m512i fours_of_odds = _mm512_madd_epi16(_mm512_maddubs_epi16(odds, tens), hundreds);
    const __m512i fours = _mm512_packus_epi32(fours_of_evens, fours_of_odds);
    const __m512i eights = _mm512_madd_epi16(fours, _mm512_set1_epi32(0x00012710)); // 10000, 1
    return _mm512_add_epi64(_mm512_mul_epu32(eights, _mm512_set1_epi64(100000000)), _mm512_srli_epi64(eights, 32));
}

// The digits of four words, each of which moves one byte further where `moved` says so; `before` has the bytes before them.
UPSWEEP_AVX512 inline __m512i closed_up(__m512i digits, __m512i before, std::uint64_t moved)
{
    return _mm512_mask_blend_epi8(moved, digits, _mm512_alignr_epi8(digits, before, half_bytes - 1));
}

// Words of at most 16 bytes, with their signs and points. The digits before a point take its place.
UPSWEEP_AVX512 inline numbers read_short_words(const char* text, const std::uint32_t* stops, __m128i lengths)
{
    const __m128i none = _mm_setzero_si128();
    const __m128i words = _mm_sllv_epi16(_mm_set1_epi16(-1), _mm_sub_epi16(_mm_set1_epi16(half_bytes), lengths));
    const half_words half = read_half(text, stops, 0, words, _mm_and_si128(words, _mm_sub_epi16(none, words)));
    const __m128i up_to_point = up_to_first(half.point);
    const __m128i second_points = _mm_and_si128(half.point, _mm_sub_epi16(half.point, _mm_set1_epi16(1)));
    const __m128i strange =
        _mm_or_si128(_mm_andnot_si128(_mm_or_si128(half.digits, half.point), half.body), second_points);
    const __mmask8 with_point = _mm_test_epi16_mask(half.point, half.point);
    const __m128i moved = _mm_maskz_mov_epi16(with_point, up_to_point);

    const __m512i even_digits = _mm512_maskz_mov_epi8(low_half(half.digits), half.evens);
    const __m512i odd_digits = _mm512_maskz_mov_epi8(high_half(half.digits), half.odds);
    const __m512i zeros = _mm512_setzero_si512();
    const __m128i minus = in_order(half.minus);
    return {numbers_of_digits(closed_up(even_digits, zeros, low_half(moved)),
                              closed_up(odd_digits, zeros, high_half(moved))),
            in_order(_mm_popcnt_epi16(_mm_andnot_si128(up_to_point, half.body))), _mm_test_epi16_mask(minus, minus),
            _mm_testn_epi16_mask(half.digits, half.digits) == 0 && _mm_testz_si128(strange, strange) != 0,
            with_point != 0};
}

// Words of at most 32 bytes, by their last 16 and those before.
UPSWEEP_AVX512 inline numbers read_long_words(const char* text, const std::uint32_t* stops, __m128i lengths)
{
    const __m128i none = _mm_setzero_si128();
    const __m128i all = _mm_set1_epi16(-1);
    const __m128i lengths_of_last = _mm_min_epu16(lengths, _mm_set1_epi16(half_bytes));
    const __m128i lengths_of_first = _mm_sub_epi16(lengths, lengths_of_last);
    const __m128i words_in_last = _mm_sllv_epi16(all, _mm_sub_epi16(_mm_set1_epi16(half_bytes), lengths_of_last));
    const __m128i words_in_first = _mm_sllv_epi16(all, _mm_sub_epi16(_mm_set1_epi16(half_bytes), lengths_of_first));
    const __m128i begins = _mm_and_si128(words_in_first, _mm_sub_epi16(none, words_in_first));
    const __m128i begins_in_last =
        _mm_maskz_mov_epi16(_mm_testn_epi16_mask(words_in_first, words_in_first),
                            _mm_and_si128(words_in_last, _mm_sub_epi16(none, words_in_last)));
    const half_words last = read_half(text, stops, 0, words_in_last, begins_in_last);
    const half_words first = read_half(text, stops, half_bytes, words_in_first, begins);

    const __mmask8 in_last = _mm_test_epi16_mask(last.point, last.point);
    const __mmask8 in_first = _mm_test_epi16_mask(first.point, first.point);
    const __m128i moved_in_last = _mm_maskz_mov_epi16(in_last, up_to_first(last.point));
    const __m128i moved_in_first =
        _mm_mask_mov_epi16(_mm_maskz_mov_epi16(in_first, up_to_first(first.point)), in_last, all);
    const __m128i decimals_in_last = _mm_mask_mov_epi16(_mm_maskz_mov_epi16(in_first, last.body), in_last,
                                                        _mm_andnot_si128(up_to_first(last.point), last.body));
    const __m128i decimals_in_first =
        _mm_maskz_mov_epi16(in_first, _mm_andnot_si128(up_to_first(first.point), first.body));
    const __m128i decimals = _mm_add_epi16(_mm_popcnt_epi16(decimals_in_last), _mm_popcnt_epi16(decimals_in_first));

    const __m512i last_even = _mm512_maskz_mov_epi8(low_half(last.digits), last.evens);
    const __m512i last_odd = _mm512_maskz_mov_epi8(high_half(last.digits), last.odds);
    const __m512i first_even = _mm512_maskz_mov_epi8(low_half(first.digits), first.evens);
    const __m512i first_odd = _mm512_maskz_mov_epi8(high_half(first.digits), first.odds);
    const __m512i zeros = _mm512_setzero_si512();
    const __m512i low = numbers_of_digits(closed_up(last_even, first_even, low_half(moved_in_last)),
                                          closed_up(last_odd, first_odd, high_half(moved_in_last)));
    const __m512i high = numbers_of_digits(closed_up(first_even, zeros, low_half(moved_in_first)),
                                           closed_up(first_odd, zeros, high_half(moved_in_first)));

    const __m128i one = _mm_set1_epi16(1);
    const __m128i points = _mm_add_epi16(_mm_popcnt_epi16(last.point), _mm_popcnt_epi16(first.point));
    const __m128i digits = _mm_or_si128(last.digits, first.digits);
    const __m128i others = _mm_or_si128(_mm_andnot_si128(_mm_or_si128(last.digits, last.point), last.body),
                                        _mm_andnot_si128(_mm_or_si128(first.digits, first.point), first.body));
    constexpr std::uint64_t largest_high = 1799; // 1799 * 10^16 + 10^16 < 2^64
    const bool are_plain = _mm_cmpgt_epu16_mask(points, one) == 0 && _mm_testn_epi16_mask(digits, digits) == 0 &&
                           _mm_testz_si128(others, others) != 0 &&
                           _mm512_cmpgt_epu64_mask(high, _mm512_set1_epi64(largest_high)) == 0;
    const __m128i minus = in_order(_mm_or_si128(last.minus, first.minus));
    return {_mm512_add_epi64(low, _mm512_mullo_epi64(high, _mm512_set1_epi64(10'000'000'000'000'000))),
            in_order(decimals), _mm_test_epi16_mask(minus, minus), are_plain, (in_last | in_first) != 0};
}

// The quotients of eight numbers, rounded once, and of which that is not certain.
struct doubles {
    __m512d values;
    __mmask8 uncertain;
};

// The powers of ten up to 10^22, which a double holds exactly. Those of more decimals are not certain.
UPSWEEP_AVX512 inline __m512d powers_of_ten(__m512i decimals)
{
    const __m512d low =
        _mm512_permutex2var_pd(_mm512_loadu_pd(power_of_ten), decimals, _mm512_loadu_pd(power_of_ten + 8));
    const __m512i from_15 = _mm512_sub_epi64(decimals, _mm512_set1_epi64(15));
    const __m512d high = _mm512_permutexvar_pd(from_15, _mm512_loadu_pd(power_of_ten + 15));
    return _mm512_mask_blend_pd(_mm512_cmpgt_epu64_mask(decimals, _mm512_set1_epi64(15)), low, high);
}

// A quotient of two integers that doubles hold exactly is rounded once. Where they do not hold the digits, the quotient is their nearest
// double's and that of what is left over, which is smaller by 2^53: the sum of both is rounded rightly unless it is in the middle between
// two doubles, nearly.
UPSWEEP_AVX512 inline doubles quotients(const numbers& of)
{
    const __m512i decimals = _mm512_cvtepu16_epi64(of.decimals);
    const __m512d scale = powers_of_ten(decimals);
    const __m512d nearest = _mm512_cvtepu64_pd(of.digits);
    const __m512d quotient = _mm512_div_pd(nearest, scale);
    const __mmask8 are_exact = _mm512_cmple_epu64_mask(of.digits, _mm512_set1_epi64(std::int64_t{1} << 53)) |
                               _mm512_testn_epi64_mask(decimals, decimals);
    doubles result{quotient, 0};
    if (are_exact != 0xff) {
        const __m512d lost = _mm512_cvtepi64_pd(_mm512_sub_epi64(of.digits, _mm512_cvtpd_epu64(nearest)));
        const __m512d remainder = _mm512_fnmadd_pd(quotient, scale, nearest);
        const __m512d correction = _mm512_div_pd(_mm512_add_pd(remainder, lost), scale);
        const __m512d sum = _mm512_add_pd(quotient, correction);
        const __m512d rest = _mm512_sub_pd(correction, _mm512_sub_pd(sum, quotient)); // what rounding the sum has taken
        const __m512i exponent = _mm512_and_si512(_mm512_castpd_si512(sum), _mm512_set1_epi64(0x7ff0000000000000));
        // Below a power of two, doubles are half as far apart.
        const __m512d nearly_half =
            _mm512_mul_pd(_mm512_castsi512_pd(exponent), _mm512_set1_pd(0x1p-53 * (1 - 0x1p-40)));
        const __mmask8 is_power =
            _mm512_testn_epi64_mask(_mm512_castpd_si512(sum), _mm512_set1_epi64(0x000fffffffffffff));
        const __mmask8 is_certain = _mm512_cmp_pd_mask(_mm512_abs_pd(rest), nearly_half, _CMP_LT_OQ) & ~is_power &
                                    _mm512_cmple_epu64_mask(decimals, _mm512_set1_epi64(22));
        result = {_mm512_mask_mov_pd(sum, are_exact, quotient), static_cast<__mmask8>(~(is_certain | are_exact))};
    }
    result.uncertain |= _mm512_cmpgt_epu64_mask(decimals, _mm512_set1_epi64(22));
    result.values = _mm512_mask_xor_pd(result.values, of.negative, result.values, _mm512_set1_pd(-0.0));
    return result;
}

// Writes the numbers, if they are all plain ones of the type.
UPSWEEP_AVX512 inline bool store(const numbers& of, double* values)
{
    const doubles all = quotients(of);
    _mm512_storeu_pd(values, all.values);
    return of.are_plain && all.uncertain == 0;
}
// A double that is rounded to a float has been rounded twice. That differs from rounding once where the double is next to the middle between
// two floats.
UPSWEEP_AVX512 inline bool store(const numbers& of, float* values)
{
    const doubles all = quotients(of);
    constexpr std::int64_t middle = std::int64_t{1} << 28;
    const __m512i rest = _mm512_and_si512(_mm512_castpd_si512(all.values), _mm512_set1_epi64(2 * middle - 1));
    const __m512i from_middle = _mm512_sub_epi64(rest, _mm512_set1_epi64(middle - 1));
    const __mmask8 is_near = _mm512_cmple_epu64_mask(from_middle, _mm512_set1_epi64(2));
    _mm256_storeu_ps(values, _mm512_cvtpd_ps(all.values));
    return of.are_plain && (all.uncertain | is_near) == 0;
}
template <std::integral T>
UPSWEEP_AVX512 inline bool store(const numbers& of, T* values)
{
    constexpr auto highest = static_cast<std::uint64_t>(std::numeric_limits<T>::max());
    constexpr std::uint64_t highest_negated = std::is_signed_v<T> ? highest + 1 : 0;
    const __m512i limits = _mm512_mask_blend_epi64(of.negative, _mm512_set1_epi64(static_cast<long long>(highest)),
                                                   _mm512_set1_epi64(static_cast<long long>(highest_negated)));
    const __m512i all = _mm512_mask_sub_epi64(of.digits, of.negative, _mm512_setzero_si512(), of.digits);
    if constexpr (sizeof(T) == 8)
        _mm512_storeu_si512(values, all);
    else if constexpr (sizeof(T) == 4)
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(values), _mm512_cvtepi64_epi32(all));
    else if constexpr (sizeof(T) == 2)
        _mm_storeu_si128(reinterpret_cast<__m128i*>(values), _mm512_cvtepi64_epi16(all));
    else
        _mm_storel_epi64(reinterpret_cast<__m128i*>(values), _mm512_cvtepi64_epi8(all));
    return of.are_plain && !of.have_points && _mm512_cmple_epu64_mask(of.digits, limits) == 0xff;
}

// Writes the numbers of eight words, if they are plain ones of the type, and begin early enough in the text for whole vectors.
template <class T>
UPSWEEP_AVX512 bool parse_words_at_once(const char* text, const std::uint32_t* starts, const std::uint32_t* stops,
                                        T* values)
{
    const __m256i lengths = _mm256_sub_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(stops)),
                                             _mm256_loadu_si256(reinterpret_cast<const __m256i*>(starts)));
    const __m128i evens_first = _mm_setr_epi8(0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15);
    const __m128i words = _mm_shuffle_epi8(_mm256_cvtusepi32_epi16(lengths), evens_first);
    const bool are_short = _mm_cmpgt_epu16_mask(words, _mm_set1_epi16(half_bytes)) == 0;
    if (are_short && stops[0] >= half_bytes)
        return store(read_short_words(text, stops, words), values);
    const bool are_long = _mm_cmpgt_epu16_mask(words, _mm_set1_epi16(2 * half_bytes)) == 0;
    return are_long && stops[0] >= 2 * half_bytes && store(read_long_words(text, stops, words), values);
}

// Parses words one by one; returns how many. `end` is that of the text.
template <class T>
UPSWEEP_AVX512 std::size_t parse_words(const char* text, const char* end, const std::uint32_t* starts,
                                       const std::uint32_t* stops, std::size_t count, T* values)
{
    constexpr std::ptrdiff_t margin = 32; // which sse41::parse_wide reads, at most
    for (std::size_t k = 0; k < count; ++k) {
        const char* const word = text + starts[k];
        const char* const stop = text + stops[k];
        const bool is_done = end - word >= margin && sse41::parse_wide(word, stop, values[k]);
        if (!is_done && parse_number({word, static_cast<std::size_t>(stop - word)}, values[k]) != number_error::none)
            return k;
    }
    return count;
}

// Parses numbers from `text` on, until one is malformed or the end is near. Returns where the next one may begin.
template <class T>
UPSWEEP_AVX512 const char* parse_run(const char* text, const char* end, T*& values)
{
    constexpr std::ptrdiff_t most_bytes = std::ptrdiff_t{1} << 31; // which offsets of 32 bits reach
    const auto bytes =
        static_cast<std::uint32_t>(std::min(end - text, most_bytes)) / word_list::window * word_list::window;
    word_list words;
    for (std::uint32_t offset = 0; offset != bytes;) {
        for (; offset != bytes && words.has_room(); offset += word_list::window)
            words.add(text + offset, offset);
        std::size_t k = 0;
        const bool is_last = offset == bytes;
        while (k + (is_last ? 1 : at_once) <= words.size()) {
            const std::uint32_t* const starts = words.starts() + k;
            const std::uint32_t* const stops = words.stops() + k;
            const std::size_t count = std::min(at_once, words.size() - k);
            const bool is_done = count == at_once && parse_words_at_once(text, starts, stops, values);
            const std::size_t parsed = is_done ? count : parse_words(text, end, starts, stops, count, values);
            values += parsed;
            k += parsed;
            if (parsed != count)
                return text + words.starts()[k];
        }
        words.drop(k);
    }
    return text + words.rest();
}

#undef UPSWEEP_AVX512

} // namespace upsweep::files::avx512
