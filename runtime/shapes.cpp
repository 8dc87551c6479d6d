// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "shapes.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <limits>
#include <numeric>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <upsweep/cpu/lanes.hpp>
#include <upsweep/cpu/parallel.hpp>

#include "any_order.hpp"
#include "call.hpp"
#include "fold.hpp"
#include "word_fold.hpp"

namespace upsweep::runtime {

namespace {

template <std::size_t Bytes>
struct word_of_bytes;
template <>
struct word_of_bytes<1> : std::type_identity<std::uint8_t> {
};
template <>
struct word_of_bytes<2> : std::type_identity<std::uint16_t> {
};
template <>
struct word_of_bytes<4> : std::type_identity<std::uint32_t> {
};
template <>
struct word_of_bytes<8> : std::type_identity<std::uint64_t> {
};
template <class T>
using word_t = typename word_of_bytes<sizeof(T)>::type;

// An operator on the bits of elements of type T, whose fold has their type.
template <class Op, class T>
struct on_bits {
    using word = word_t<T>;
    using accumulator = scan_accumulator_t<Op, T>;

    static accumulator value(word bits) { return convert<accumulator>(std::bit_cast<T>(bits)); }
    static constexpr word bits(const accumulator& value) { return std::bit_cast<word>(as_result<T, Op>(value)); }

    static word fold(word a, word b)
    {
        if constexpr (sub_word_float<T> && detail::is_extremum<Op>)
            return static_cast<word>(a ^ ((a ^ b) & all_bits_if(key(b) > key(a))));
        else if constexpr (std::same_as<T, bool>)
            return fold_truths(a, b);
        else if constexpr (std::same_as<Op, logical_and>)
            return static_cast<word>(all_bits_if(is_true(a)) & all_bits_if(is_true(b)) & bits(accumulator{true}));
        else if constexpr (std::same_as<Op, logical_or>)
            return static_cast<word>((all_bits_if(is_true(a)) | all_bits_if(is_true(b))) & bits(accumulator{true}));
        else
            return bits(Op{}(value(a), value(b)));
    }
    using vector = typename word_fold<word>::vector;
    static vector fold_vectors(vector a, vector b)
    {
        if constexpr (cpu_engine::is_vector_monoid<Op, T>) {
            using elements = cpu_engine::vector_t<T>;
            const auto folds = cpu_engine::apply<Op, T>((elements)a, (elements)b);
            return (vector)cpu_engine::with_named_nan<Op, T>(folds);
        } else if constexpr (detail::is_logical<Op> && !std::same_as<T, bool>) {
            const auto truths = [](vector v) { return (vector)((v & number_bits) != 0); };
            const vector both = std::same_as<Op, logical_and> ? truths(a) & truths(b) : truths((a | b) & number_bits);
            return both & bits(accumulator{true});
        } else {
            constexpr std::size_t lanes = sizeof(vector) / sizeof(word);
            std::array<word, lanes> left, right, folds;
            std::memcpy(left.data(), &a, sizeof a);
            std::memcpy(right.data(), &b, sizeof b);
            for (std::size_t k = 0; k < lanes; ++k)
                folds[k] = fold(left[k], right[k]);
            std::memcpy(&a, folds.data(), sizeof a);
            return a;
        }
    }
    // An integer that is the greater, the more the operator prefers a floating-point number: NaN to all others. There are no
    // branches here and above, which would be a matter of luck.
    static word key(word a)
    {
        constexpr auto sign = static_cast<word>(word{1} << (8 * sizeof(word) - 1));
        constexpr word infinity = bits(std::numeric_limits<float>::infinity());
        const auto ascending = static_cast<word>(a ^ (all_bits_if((a & sign) != 0) | sign));
        const auto preferred = static_cast<word>(ascending ^ all_bits_if(std::same_as<Op, minimum>));
        return static_cast<word>(preferred | all_bits_if(static_cast<word>(a & ~sign) > infinity));
    }
    // Of the bytes 0 and 1.
    static word fold_truths(word a, word b)
    {
        if constexpr (std::same_as<Op, bit_xor>)
            return a ^ b;
        else if constexpr (std::same_as<Op, plus> || std::same_as<Op, maximum> || std::same_as<Op, bit_or> ||
                           std::same_as<Op, logical_or>)
            return a | b;
        else
            return a & b;
    }
    // A number that is not 0, of either sign.
    static bool is_true(word a) { return (a & number_bits) != 0; }
    // All but the sign of a floating-point number.
    static constexpr word number_bits = std::numeric_limits<word>::max() >> (std::integral<T> ? 0 : 1);
    static constexpr word all_bits_if(bool condition) { return static_cast<word>(-static_cast<int>(condition)); }
    static word named(word a) { return bits(value(a)); }
    static word truth(word a) { return is_true(a) ? 1 : 0; }

    // What it is as an operator on words, with what a reduction makes of a fold: one pattern of NaN, and 0 or 1 of truth.
    static word_fold<word> as_words()
    {
        word (*result)(word) = nullptr;
        if constexpr (detail::is_logical<Op>)
            result = truth;
        else if constexpr (!std::integral<T>)
            result = named;
        constexpr bool is_exact = std::integral<T> || detail::is_extremum<Op> || detail::is_logical<Op>;
        return {fold, fold_vectors, is_exact, bits(Op{}.template identity<accumulator>()), result};
    }
};

// Calls f with the operator on words that is defined for the dtype.
template <class F>
auto with_words(upsweep_op op, upsweep_dtype dtype, F f)
{
    return with_type(dtype, [&]<class T>(std::type_identity<T>) {
        return with_op(op, [&]<class Op>(Op) -> decltype(f(word_fold<std::uint8_t>{})) {
            if constexpr (is_defined<Op, T>)
                return f(on_bits<Op, T>::as_words());
            else
                return nullptr;
        });
    });
}

bool is_half_float(upsweep_dtype dtype) { return dtype == UPSWEEP_F16 || dtype == UPSWEEP_BF16; }

// --- line after line ---------------------------------------------------------------------------------------------------------

// Calls f(threads, k) for each of so many lines, which a thread has alone where there are enough of them.
template <class F>
void for_each_line(const cpu& host, std::size_t lines, F f)
{
    constexpr std::size_t at_once = 64;
    const auto threads = static_cast<std::size_t>(cpu_engine::thread_count(host));
    if (lines < 4 * threads) {
        for (std::size_t k = 0; k < lines; ++k)
            f(host, k);
        return;
    }
    const std::size_t in_task = std::clamp<std::size_t>(lines / (8 * threads), 1, at_once);
    cpu_engine::for_each_index(host, (lines + in_task - 1) / in_task, [&](std::size_t task) {
        for (std::size_t k = task * in_task; k < std::min(lines, (task + 1) * in_task); ++k)
            f(cpu{1}, k);
    });
}

// By how many elements the first one of a line lies behind that of line 0.
std::ptrdiff_t offset_of_line(const line_layout& of, const std::array<std::ptrdiff_t, most_dimensions>& strides,
                              std::size_t line)
{
    std::ptrdiff_t offset = 0;
    for (std::size_t k = most_dimensions - 1; k > 0; --k) {
        offset += static_cast<std::ptrdiff_t>(line % of.extents[k]) * strides[k];
        line /= of.extents[k];
    }
    return offset;
}

// Elements of a line side by side, and back.
constexpr std::size_t elements_at_once = std::size_t{1} << 14;

template <std::size_t Bytes>
void copy_strided(const std::byte* from, std::ptrdiff_t from_stride, std::byte* to, std::ptrdiff_t to_stride,
                  std::size_t count)
{
    constexpr auto bytes = static_cast<std::ptrdiff_t>(Bytes);
    for (std::size_t i = 0; i < count; ++i, from += from_stride * bytes, to += to_stride * bytes)
        std::memcpy(to, from, Bytes);
}

void copy_strided(std::size_t bytes, const std::byte* from, std::ptrdiff_t from_stride, std::byte* to,
                  std::ptrdiff_t to_stride, std::size_t count)
{
    switch (bytes) {
    case 1: return copy_strided<1>(from, from_stride, to, to_stride, count);
    case 2: return copy_strided<2>(from, from_stride, to, to_stride, count);
    case 4: return copy_strided<4>(from, from_stride, to, to_stride, count);
    default: return copy_strided<8>(from, from_stride, to, to_stride, count);
    }
}

// Calls f(first, count) for parts of a line that are copied at a time.
template <class F>
void for_each_part_of_line(std::size_t length, F f)
{
    for (std::size_t first = 0; first < length; first += elements_at_once)
        f(first, std::min(elements_at_once, length - first));
}

// By the reducer of whole arrays, a line or a segment after the other.
class one_by_one_reducer final : public shape_reducer {
public:
    one_by_one_reducer(upsweep_op op, upsweep_dtype dtype)
        : op_(op), dtype_(dtype), bytes_(upsweep_dtype_size(dtype)),
          result_bytes_(upsweep_dtype_size(result_dtype_of(op, dtype)))
    {
    }

    void reduce_lines(const cpu& host, const line_layout& lines) const override
    {
        constexpr std::size_t many_lines = 16;
        const std::ptrdiff_t stride = lines.in_strides[0];
        const bool are_columns = std::abs(lines.in_strides[most_dimensions - 1]) < std::abs(stride);
        if (op_ == UPSWEEP_MULTIPLIES && dtype_ < UPSWEEP_F16 && are_columns && lines.lines() >= many_lines &&
            lines.length() != 0)
            return multiply_rows(host, lines);
        for_each_line(host, lines.lines(), [&](const cpu& threads, std::size_t k) {
            const auto fold = engine(dtype_).reducer(op_, threads);
            const std::byte* const line = lines.in + offset_of_line(lines, lines.in_strides, k) * signed_bytes();
            if (stride == 1) {
                fold->feed(line, lines.length());
            } else {
                std::vector<std::byte> part(std::min(elements_at_once, lines.length()) * bytes_);
                for_each_part_of_line(lines.length(), [&](std::size_t first, std::size_t count) {
                    copy_strided(bytes_, line + static_cast<std::ptrdiff_t>(first) * stride * signed_bytes(), stride,
                                 part.data(), 1, count);
                    fold->feed(part.data(), count);
                });
            }
            const std::ptrdiff_t to = offset_of_line(lines, lines.out_strides, k);
            fold->result(lines.out + to * static_cast<std::ptrdiff_t>(result_bytes_));
        });
    }

    void reduce_segments(const cpu& host, const void* in, std::span<const std::uint64_t> offsets,
                         void* out) const override
    {
        for_each_line(host, offsets.size() - 1, [&](const cpu& threads, std::size_t k) {
            const auto fold = engine(dtype_).reducer(op_, threads);
            fold->feed(static_cast<const std::byte*>(in) + offsets[k] * bytes_, offsets[k + 1] - offsets[k]);
            fold->result(static_cast<std::byte*>(out) + k * result_bytes_);
        });
    }

private:
    // Products of integers, which any order gives: of some rows at a time, which are converted to integers of 64 bits in the caches, and of the products
    // so far, which are the first row. Of many lines so many are taken at a time that rows are few, but several.
    void multiply_rows(const cpu& host, const line_layout& lines) const
    {
        constexpr std::size_t most_lines = std::size_t{1} << 15;
        constexpr std::size_t elements_of_rows = 4 * most_lines;
        const std::size_t count = lines.lines();
        const std::size_t length = lines.length();
        if (count > most_lines) {
            const auto [first, second] = halves_of(lines, bytes_, result_bytes_);
            multiply_rows(host, first);
            return multiply_rows(host, second);
        }
        const std::size_t most_rows = std::min(elements_of_rows / count, length);
        unwritten_memory memory_of_rows;
        unwritten_memory memory_of_products;
        const upsweep_dtype dtype = result_dtype_of(op_, dtype_);
        const elements wide = elements_without_gaps(memory_of_rows, dtype, (most_rows + 1) * count);
        const elements products = elements_without_gaps(memory_of_products, dtype, count);
        const auto multiply = make_shape_reducer(op_, dtype);
        line_layout columns = lines;
        columns.in = wide.data;
        columns.out = products.data;
        columns.in_strides = columns.out_strides = strides_without_gaps(lines);
        columns.in_strides[0] = static_cast<std::ptrdiff_t>(count);
        for (std::size_t first = 0; first < length; first += most_rows) {
            const std::size_t rows = std::min(most_rows, length - first);
            const std::size_t before = first != 0 ? 1 : 0;
            const auto offset = static_cast<std::ptrdiff_t>(first) * lines.in_strides[0] * signed_bytes();
            elements some =
                one_of_each_line(const_cast<std::byte*>(lines.in) + offset, dtype_, lines, lines.in_strides);
            put_before(some, rows, lines.in_strides[0]);
            some.count *= rows;
            elements converted_rows = wide;
            converted_rows.data += before * count * result_bytes_;
            converted_rows.count = converted_rows.extents.back() = some.count;
            convert_for_scan(host, op_, some, 0, some.count, converted_rows);
            if (before != 0)
                std::memcpy(wide.data, products.data, count * result_bytes_);
            columns.extents[0] = rows + before;
            if (first + rows == length) {
                columns.out = lines.out;
                columns.out_strides = lines.out_strides;
            }
            multiply->reduce_lines(host, columns);
        }
    }
    std::ptrdiff_t signed_bytes() const { return static_cast<std::ptrdiff_t>(bytes_); }

    upsweep_op op_;
    upsweep_dtype dtype_;
    std::size_t bytes_; // of an element
    std::size_t result_bytes_;
};

class one_by_one_scanner final : public shape_scanner {
public:
    one_by_one_scanner(upsweep_op op, upsweep_dtype in, upsweep_dtype out)
        : op_(op), in_(in), out_(out), in_bytes_(upsweep_dtype_size(in)), out_bytes_(upsweep_dtype_size(out))
    {
    }

    void scan_lines(const cpu& host, const line_layout& lines, const scan_start& start) const override
    {
        const auto in_bytes = static_cast<std::ptrdiff_t>(in_bytes_);
        const auto out_bytes = static_cast<std::ptrdiff_t>(out_bytes_);
        const std::ptrdiff_t in_stride = lines.in_strides[0];
        const std::ptrdiff_t out_stride = lines.out_strides[0];
        for_each_line(host, lines.lines(), [&](const cpu& threads, std::size_t k) {
            const auto scan = scanner(threads, start);
            const std::byte* const from = lines.in + offset_of_line(lines, lines.in_strides, k) * in_bytes;
            std::byte* const to = lines.out + offset_of_line(lines, lines.out_strides, k) * out_bytes;
            if (in_stride == 1 && out_stride == 1)
                return scan->feed(from, to, lines.length());
            std::vector<std::byte> elements(std::min(elements_at_once, lines.length()) * in_bytes_);
            std::vector<std::byte> results(std::min(elements_at_once, lines.length()) * out_bytes_);
            for_each_part_of_line(lines.length(), [&](std::size_t first, std::size_t count) {
                const auto done = static_cast<std::ptrdiff_t>(first);
                copy_strided(in_bytes_, from + done * in_stride * in_bytes, in_stride, elements.data(), 1, count);
                scan->feed(elements.data(), results.data(), count);
                copy_strided(out_bytes_, results.data(), 1, to + done * out_stride * out_bytes, out_stride, count);
            });
        });
    }

    void scan_segments(const cpu& host, const void* in, std::span<const std::uint64_t> offsets, void* out,
                       const scan_start& start) const override
    {
        for_each_line(host, offsets.size() - 1, [&](const cpu& threads, std::size_t k) {
            if (offsets[k] != offsets[k + 1])
                scanner(threads, start)
                    ->feed(static_cast<const std::byte*>(in) + offsets[k] * in_bytes_,
                           static_cast<std::byte*>(out) + offsets[k] * out_bytes_, offsets[k + 1] - offsets[k]);
        });
    }

private:
    std::unique_ptr<any_scanner> scanner(const cpu& threads, const scan_start& start) const
    {
        execution where;
        where.host = threads;
        return make_scanner_for(where, op_, start.kind == scan_kind::exclusive, in_, out_, start.init);
    }

    upsweep_op op_;
    upsweep_dtype in_;
    upsweep_dtype out_;
    std::size_t in_bytes_;
    std::size_t out_bytes_;
};

std::unique_ptr<shape_reducer> make_sums_of(upsweep_dtype dtype)
{
    switch (dtype) {
    case UPSWEEP_BOOL: return make_sums<std::uint8_t>(false); // of the bytes 0 and 1
    case UPSWEEP_I64: return make_sums<std::uint64_t>(true);
    default: break;
    }
    return with_type(dtype, []<class T>(std::type_identity<T>) -> std::unique_ptr<shape_reducer> {
        if constexpr (std::same_as<T, bool> || std::same_as<T, std::int64_t>)
            return nullptr;
        else
            return make_sums<T>(false);
    });
}

std::unique_ptr<shape_scanner> make_running_sums_of(upsweep_dtype dtype)
{
    return with_type(dtype, []<class T>(std::type_identity<T>) {
        if constexpr (std::integral<T>)
            return make_running_sums<
                word_t<T>>(); // two's complement: the sums of signed integers are those of unsigned ones
        else
            return make_running_sums<T>();
    });
}

template <class T>
void name_nans(void* elements, std::size_t count)
{
    auto* const all = static_cast<T*>(elements);
    std::replace_if(
        all, all + count, [](const T& x) { return convert<float>(x) != convert<float>(x); }, detail::quiet_nan<T>());
}

void name_nans(upsweep_dtype dtype, void* elements, std::size_t count)
{
    switch (dtype) {
    case UPSWEEP_F16: return name_nans<f16>(elements, count);
    case UPSWEEP_BF16: return name_nans<bf16>(elements, count);
    case UPSWEEP_F32: return name_nans<float>(elements, count);
    case UPSWEEP_F64: return name_nans<double>(elements, count);
    default: return;
    }
}

} // namespace

std::size_t line_layout::lines() const
{
    return std::accumulate(extents.begin() + 1, extents.end(), std::size_t{1}, std::multiplies<>{});
}

std::pair<line_layout, line_layout> halves_along(std::size_t dimension, const line_layout& lines, std::size_t in_bytes,
                                                 std::size_t out_bytes)
{
    const std::size_t extent = lines.extents[dimension];
    const auto half = static_cast<std::ptrdiff_t>(extent / 2);
    line_layout first = lines;
    line_layout second = lines;
    first.extents[dimension] = extent / 2;
    second.extents[dimension] -= first.extents[dimension];
    second.in += half * lines.in_strides[dimension] * static_cast<std::ptrdiff_t>(in_bytes);
    second.out += half * lines.out_strides[dimension] * static_cast<std::ptrdiff_t>(out_bytes);
    return {first, second};
}

std::pair<line_layout, line_layout> halves_of(const line_layout& lines, std::size_t in_bytes, std::size_t out_bytes)
{
    const auto longest = std::max_element(lines.extents.begin() + 1, lines.extents.end());
    return halves_along(static_cast<std::size_t>(longest - lines.extents.begin()), lines, in_bytes, out_bytes);
}

std::array<std::ptrdiff_t, most_dimensions> strides_without_gaps(const line_layout& lines)
{
    std::array<std::ptrdiff_t, most_dimensions> strides{};
    std::size_t behind = 1;
    for (std::size_t k = most_dimensions; k-- > 1; behind *= lines.extents[k])
        strides[k] = static_cast<std::ptrdiff_t>(behind);
    return strides;
}

elements one_of_each_line(std::byte* data, upsweep_dtype dtype, const line_layout& lines,
                          const std::array<std::ptrdiff_t, most_dimensions>& strides)
{
    elements all;
    all.data = data;
    all.dtype = dtype;
    all.count = lines.lines();
    all.extents.fill(1);
    all.strides.fill(1);
    for (std::size_t k = most_dimensions; k-- > 1;)
        put_before(all, lines.extents[k], strides[k]);
    return all;
}

void shape_reducer::mean_of_lines(const cpu&, const line_layout&) const
{
    throw error(error_kind::unsupported, "mean", "the operator is not a sum", "report this as a fault of the library");
}

std::unique_ptr<shape_reducer> make_shape_reducer(upsweep_op op, upsweep_dtype dtype)
{
    if (op == UPSWEEP_PLUS)
        return make_sums_of(dtype);
    if (is_extremum(op) && dtype == UPSWEEP_F32)
        return make_extrema<float>(op);
    if (is_extremum(op) && dtype == UPSWEEP_F64)
        return make_extrema<double>(op);
    if (is_extremum(op) && dtype < UPSWEEP_F16 && dtype != UPSWEEP_BOOL)
        return with_type(dtype, [op]<class T>(std::type_identity<T>) {
            return make_integer_extrema<word_t<T>>(op, std::is_signed_v<T>);
        });
    const bool widens = (op == UPSWEEP_MULTIPLIES || op == UPSWEEP_LOG_SUM_EXP) && upsweep_dtype_size(dtype) < 8 &&
                        dtype != UPSWEEP_F32;
    if (widens)
        return std::make_unique<one_by_one_reducer>(op, dtype);
    return with_words(op, dtype, []<class Word>(const word_fold<Word>& of) { return make_word_reducer(of); });
}

shape_scan make_shape_scanner(upsweep_op op, upsweep_dtype in, upsweep_dtype out)
{
    const bool takes_elements = in == out && (!is_logical(op) || out == UPSWEEP_BOOL);
    const bool widens = op == UPSWEEP_MULTIPLIES || op == UPSWEEP_LOG_SUM_EXP || (op == UPSWEEP_PLUS && in != out);
    if (is_half_float(out) && widens)
        return {std::make_unique<one_by_one_scanner>(op, in, out), true};
    if (op == UPSWEEP_PLUS && out != UPSWEEP_BOOL)
        return {make_running_sums_of(out), takes_elements};
    if (is_extremum(op) && out == UPSWEEP_F32)
        return {make_running_extrema<float>(op), takes_elements};
    if (is_extremum(op) && out == UPSWEEP_F64)
        return {make_running_extrema<double>(op), takes_elements};
    auto scanner = with_words(op, out, []<class Word>(const word_fold<Word>& of) { return make_word_scanner(of); });
    return {std::move(scanner), takes_elements && out < UPSWEEP_F16};
}

void convert_for_scan(const cpu& host, upsweep_op op, const elements& all_in, std::uint64_t first, std::uint64_t count,
                      const elements& all_out)
{
    constexpr std::size_t part = std::size_t{1} << 14;
    const bool are_all = count == all_in.count && count == all_out.count;
    const auto ordered = are_all ? in_order_of_output(all_in, all_out) : std::pair(all_in, all_out);
    const elements& in = ordered.first;
    const elements& out = ordered.second;
    const bool are_copied = in.dtype == out.dtype && (!is_logical(op) || in.dtype == UPSWEEP_BOOL);
    const bool reads_in_place = in.is_contiguous();
    const bool writes_in_place = out.is_contiguous();
    const std::uint64_t at_once = reads_in_place && writes_in_place
                                      ? std::max<std::uint64_t>(count, 1)
                                      : std::min(gathered_at_once(host, reads_in_place ? out : in), count);
    std::vector<std::byte> from(reads_in_place ? 0 : at_once * in.bytes());
    std::vector<std::byte> to(writes_in_place ? 0 : at_once * out.bytes());
    for (const std::uint64_t end = first + count; first < end; first += at_once) {
        const std::uint64_t some = std::min(at_once, end - first);
        if (!reads_in_place)
            gather(host, in, first, some, from.data());
        const std::byte* const all_elements = reads_in_place ? in.data + first * in.bytes() : from.data();
        std::byte* const all_results = writes_in_place ? out.data + first * out.bytes() : to.data();
        cpu_engine::for_each_index(host, (some + part - 1) / part, [&](std::size_t k) {
            const std::size_t begin = k * part;
            const std::size_t size = std::min<std::size_t>(part, some - begin);
            const std::byte* const elements = all_elements + begin * in.bytes();
            std::byte* const results = all_results + begin * out.bytes();
            if (are_copied) {
                if (results != elements) // of a scan in place
                    std::memcpy(results, elements, size * in.bytes());
                name_nans(out.dtype, results, size);
            } else if (is_logical(op)) {
                std::array<std::byte, part> truths;
                convert_elements(in.dtype, elements, UPSWEEP_BOOL, truths.data(), size);
                convert_elements(UPSWEEP_BOOL, truths.data(), out.dtype, results, size);
            } else {
                convert_elements(in.dtype, elements, out.dtype, results, size);
                name_nans(out.dtype, results, size);
            }
        });
        if (!writes_in_place)
            scatter(host, to.data(), first, some, out);
    }
}

scan_init::scan_init(upsweep_op op, upsweep_dtype dtype, const void* init) : is_given_(init != nullptr)
{
    if (!is_given_)
        return;
    std::memcpy(&value_, init, upsweep_dtype_size(dtype));
    if (is_logical(op)) {
        bool truth = false;
        convert_elements(dtype, &value_, UPSWEEP_BOOL, &truth, 1);
        convert_elements(UPSWEEP_BOOL, &truth, dtype, &value_, 1);
    }
    name_nans(dtype, &value_, 1);
}

side_by_side::side_by_side(const cpu& host, const elements& of) : data_(of.data)
{
    if (of.count == 0 || of.is_contiguous())
        return;
    copy_ = std::make_unique_for_overwrite<std::byte[]>(of.count * of.bytes());
    gather(host, of, 0, of.count, copy_.get());
    data_ = copy_.get();
}

converted::converted(const cpu& host, const elements& from, upsweep_dtype to) : dtype_(to)
{
    if (from.dtype == to) {
        data_ = lie_.emplace(host, from).data();
        return;
    }
    const elements all = elements_without_gaps(copy_, to, from.count);
    convert_for_scan(host, UPSWEEP_PLUS, from, 0, from.count, all);
    data_ = copy_.get();
}

results_side_by_side::results_side_by_side(const cpu& host, const elements& of, std::uint64_t count, bool keeps)
    : host_(host), of_(of), data_(of.data)
{
    if (count == 0 || of.is_contiguous())
        return;
    aside_.resize(count * of.bytes());
    if (keeps)
        gather(host, of, 0, count, aside_.data());
    data_ = aside_.data();
}

void results_side_by_side::write(std::uint64_t first, std::uint64_t count) const
{
    if (!aside_.empty())
        scatter(host_, aside_.data() + first * of_.bytes(), first, count, of_);
}

elements elements_without_gaps(unwritten_memory& memory, upsweep_dtype dtype, std::uint64_t count)
{
    memory = std::make_unique_for_overwrite<std::byte[]>(count * upsweep_dtype_size(dtype));
    elements all;
    all.data = memory.get();
    all.dtype = dtype;
    all.count = count;
    all.extents.fill(1);
    all.strides.fill(1);
    all.extents.back() = count;
    return all;
}

const cpu& host_of(const char* call, const execution& where)
{
    if (where.gpu != nullptr)
        throw refusal(UPSWEEP_UNSUPPORTED, call, "a GPU does not fold rows, columns, segments and runs yet",
                      "pass a context of the CPU, or NULL");
    return where.host;
}

bool lie_on_gpu(const char* call, const execution& where, std::initializer_list<elements> arrays)
{
    std::size_t on_gpu = 0;
    for (const elements& each : arrays)
        on_gpu += where.lies_on_gpu(call, each) ? 1 : 0;
    if (where.gpu != nullptr && on_gpu != arrays.size())
        throw refusal(UPSWEEP_UNSUPPORTED, call, "a GPU folds rows, columns, segments and runs in its own memory alone",
                      "bring all arrays there, or pass a context of the CPU");
    return where.gpu != nullptr;
}

void must_be_done(const char* call, bool is_done, const char* what_there_is)
{
    if (!is_done)
        throw refusal(UPSWEEP_UNSUPPORTED, call, what_there_is,
                      "convert or copy the array, or bring it to the host and pass a context of the CPU");
}

void check_has_no_gaps(const char* call, const elements& out)
{
    if (out.count != 0 && !out.is_contiguous())
        throw refusal(UPSWEEP_UNSUPPORTED, call, "a GPU writes what it finds to arrays without gaps alone",
                      "pass outputs whose elements lie side by side");
}

} // namespace upsweep::runtime
