// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
// Lines along an axis, segments, runs of keys, images, recurrences and their histograms, of arrays of any shape, strides and
// types, by the C ABI: each line has the bits of the plain call on its elements alone, side by side, or what a loop finds,
// and nothing else is written. Arrays fill their memory to the last byte, so that a sanitizer sees every step beyond it.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <upsweep/runtime.h>

#include "fuzzed_bytes.hpp"

namespace {

using bytes = std::vector<std::byte>;

class reader : public fuzzed_bytes {
public:
    using fuzzed_bytes::fuzzed_bytes;

    // One of so many numbers from 0 on.
    std::int64_t below(int count) { return byte() % count; }
};

// Element values: any bits, but that a bool is 0 or 1.
void fill(bytes& memory, upsweep_dtype dtype, std::uint8_t seed)
{
    std::uint32_t state = seed + 1U;
    for (std::byte& each : memory) {
        state = state * 1664525U + 1013904223U;
        const std::uint32_t value = state >> 24;
        each = static_cast<std::byte>(dtype == UPSWEEP_BOOL ? value & 1U : value);
    }
}

// An array in memory of its own.
struct laid {
    upsweep_dtype dtype{};
    std::vector<std::int64_t> shape;
    std::vector<std::int64_t> strides; // in elements
    bytes memory;
    std::int64_t origin = 0; // the element with all indices zero, in elements from the lowest one

    std::size_t size() const { return upsweep_dtype_size(dtype); }
    std::size_t rank() const { return shape.size(); }
    std::int64_t count() const
    {
        std::int64_t product = 1;
        for (const std::int64_t extent : shape)
            product *= extent;
        return product;
    }
    upsweep_array describe()
    {
        return {memory.data() + origin * static_cast<std::int64_t>(size()),
                dtype,
                UPSWEEP_HOST,
                0,
                static_cast<std::int32_t>(rank()),
                shape.data(),
                strides.data()};
    }
    // The place of an element by its number in the order of the array.
    std::int64_t place_of(std::int64_t number) const
    {
        std::int64_t place = origin;
        for (std::size_t k = rank(); k-- > 0; number /= shape[k])
            place += number % shape[k] * strides[k];
        return place * static_cast<std::int64_t>(size());
    }
    void read(std::int64_t number, std::byte* to) const
    {
        std::memcpy(to, &memory[static_cast<std::size_t>(place_of(number))], size());
    }
    void write(std::int64_t number, const std::byte* from)
    {
        std::memcpy(&memory[static_cast<std::size_t>(place_of(number))], from, size());
    }
};

// Dimensions in any order in memory, with gaps between them, reversed, and those of an input repeated.
laid read_layout(reader& from, upsweep_dtype dtype, std::vector<std::int64_t> shape, bool is_output)
{
    laid all{dtype, std::move(shape), {}, {}, 0};
    const std::size_t rank = all.rank();
    all.strides.assign(rank, 0);
    std::vector<std::size_t> order(rank);
    for (std::size_t k = 0; k < rank; ++k) {
        order[k] = k;
        std::swap(order[k], order[static_cast<std::size_t>(from.below(static_cast<int>(k) + 1))]);
    }
    std::int64_t step = 1;
    std::int64_t lowest = 0;
    std::int64_t highest = 0;
    for (const std::size_t k : order) {
        const std::uint8_t kind = from.byte();
        if (kind % 4 == 1)
            step += from.below(5);
        const bool is_repeated = !is_output && kind >= 240;
        all.strides[k] = is_repeated ? 0 : kind % 8 >= 6 ? -step : step;
        const std::int64_t reach = std::max<std::int64_t>(all.shape[k] - 1, 0) * all.strides[k];
        (reach < 0 ? lowest : highest) += reach;
        if (!is_repeated)
            step *= std::max<std::int64_t>(all.shape[k], 1);
    }
    all.origin = -lowest;
    all.memory.resize(static_cast<std::size_t>(highest - lowest + 1) * all.size());
    fill(all.memory, dtype, from.byte());
    return all;
}

std::vector<std::int64_t> read_shape(reader& from, int most)
{
    std::vector<std::int64_t> shape(static_cast<std::size_t>(from.below(4)) + 1);
    for (std::int64_t& extent : shape) {
        const std::uint8_t kind = from.byte();
        extent = kind < 10 ? 0 : kind < 230 ? kind % most : kind % 8 == 0 ? 300 : 40;
    }
    while (laid{UPSWEEP_U8, shape, {}, {}, 0}.count() > 4000)
        for (std::int64_t& extent : shape)
            extent = (extent + 1) / 2;
    return shape;
}

upsweep_dtype read_dtype(reader& from) { return static_cast<upsweep_dtype>(from.below(UPSWEEP_F64 + 1)); }
upsweep_op read_op(reader& from) { return static_cast<upsweep_op>(from.below(UPSWEEP_LOGICAL_OR + 1)); }

// A line of an array, side by side: the elements whose numbers are first, first + step and so on.
struct line {
    std::int64_t first;
    std::int64_t step;
    std::int64_t length;
};
// The lines along an axis, in order of the other indices.
std::vector<line> lines_along(const laid& all, std::size_t axis)
{
    std::int64_t inner = 1;
    std::int64_t outer = 1;
    for (std::size_t k = 0; k < all.rank(); ++k)
        (k < axis ? outer : inner) *= k == axis ? 1 : all.shape[k];
    std::vector<line> lines;
    for (std::int64_t o = 0; o < outer; ++o)
        for (std::int64_t i = 0; i < inner; ++i)
            lines.push_back({o * all.shape[axis] * inner + i, inner, all.shape[axis]});
    return lines;
}
bytes gathered(const laid& all, const line& of)
{
    bytes side_by_side(static_cast<std::size_t>(of.length) * all.size() + 1);
    for (std::int64_t i = 0; i < of.length; ++i)
        all.read(of.first + i * of.step, &side_by_side[static_cast<std::size_t>(i) * all.size()]);
    return side_by_side;
}
upsweep_array describe(bytes& memory, upsweep_dtype dtype, const std::int64_t& count)
{
    return {memory.data(), dtype, UPSWEEP_HOST, 0, 1, &count, nullptr};
}

// The plain calls on a line: whether they are carried out, and what they write.
bool reduce_line(upsweep_op op, upsweep_dtype dtype, bytes& elements, std::int64_t count, upsweep_dtype result,
                 std::byte* to)
{
    const upsweep_array in = describe(elements, dtype, count);
    const upsweep_array out{to, result, UPSWEEP_HOST, 0, 0, nullptr, nullptr};
    return upsweep_reduce(nullptr, op, &in, &out) == UPSWEEP_OK;
}
bool scan_line(upsweep_op op, bool exclusive, upsweep_dtype dtype, bytes& elements, std::int64_t count,
               upsweep_dtype result, bytes& to)
{
    to.assign(static_cast<std::size_t>(count) * upsweep_dtype_size(result) + 1, std::byte{0});
    const upsweep_array in = describe(elements, dtype, count);
    const upsweep_array out = describe(to, result, count);
    return upsweep_scan(nullptr, op, exclusive, &in, &out, nullptr) == UPSWEEP_OK;
}

struct folding {
    upsweep_op op;
    upsweep_dtype in;
    upsweep_dtype out;
    bool is_defined;
};
folding read_folding(reader& from)
{
    folding of{read_op(from), read_dtype(from), UPSWEEP_F64, false};
    of.is_defined = upsweep_reduce_dtype(of.op, of.in, &of.out) == UPSWEEP_OK;
    return of;
}

void try_reduce(reader& from)
{
    folding of = read_folding(from);
    laid in = read_layout(from, of.in, read_shape(from, 9), false);
    const auto axis = static_cast<std::size_t>(from.below(static_cast<int>(in.rank())));
    if ((of.op == UPSWEEP_PLUS || of.op == UPSWEEP_MULTIPLIES) && from.byte() % 2 != 0)
        of.out = from.byte() % 2 != 0 ? UPSWEEP_F32 : UPSWEEP_F64;
    std::vector<std::int64_t> shape = in.shape;
    shape[axis] = 1;
    laid out = read_layout(from, of.out, shape, true);
    if (!of.is_defined)
        return;
    laid expected = out;
    bool has_results = true;
    const std::vector<line> lines = lines_along(in, axis);
    for (std::size_t k = 0; k < lines.size(); ++k) {
        bytes elements = gathered(in, lines[k]);
        std::array<std::byte, 8> fold{};
        has_results = reduce_line(of.op, of.in, elements, lines[k].length, of.out, fold.data()) && has_results;
        expected.write(static_cast<std::int64_t>(k), fold.data());
    }
    const upsweep_array source = in.describe();
    const upsweep_array results = out.describe();
    const bool is_done =
        upsweep_reduce_axis(nullptr, of.op, &source, static_cast<std::int32_t>(axis), &results) == UPSWEEP_OK;
    check(is_done == has_results);
    check(!is_done || out.memory == expected.memory);
}

void try_scan(reader& from)
{
    const upsweep_op op = read_op(from);
    const upsweep_dtype dtype = read_dtype(from);
    const bool exclusive = from.byte() % 2 != 0;
    laid in = read_layout(from, dtype, read_shape(from, 9), false);
    laid out = read_layout(from, dtype, in.shape, true);
    const auto axis = static_cast<std::size_t>(from.below(static_cast<int>(in.rank())));
    laid expected = out;
    bool has_results = true;
    for (const line& each : lines_along(in, axis)) {
        bytes elements = gathered(in, each);
        bytes folds;
        has_results = scan_line(op, exclusive, dtype, elements, each.length, dtype, folds) && has_results;
        for (std::int64_t i = 0; i < each.length; ++i)
            expected.write(each.first + i * each.step, &folds[static_cast<std::size_t>(i) * in.size()]);
    }
    const upsweep_array source = in.describe();
    const upsweep_array results = out.describe();
    const upsweep_status status =
        upsweep_scan_axis(nullptr, op, exclusive, &source, static_cast<std::int32_t>(axis), &results, nullptr);
    check(in.count() == 0 || (status == UPSWEEP_OK) == has_results);
    check(status != UPSWEEP_OK || out.memory == expected.memory);
}

// Offsets of segments of an array of so many elements.
std::vector<std::int64_t> read_offsets(reader& from, std::int64_t count)
{
    std::vector<std::int64_t> offsets{std::min<std::int64_t>(from.below(4), count)};
    const std::int64_t segments = from.below(40);
    for (std::int64_t k = 0; k < segments; ++k) {
        const std::uint8_t kind = from.byte();
        const std::int64_t length = kind < 80 ? 0 : kind < 240 ? kind % 7 : kind;
        offsets.push_back(std::min(offsets.back() + length, count));
    }
    return offsets;
}
laid laid_offsets(reader& from, const std::vector<std::int64_t>& offsets)
{
    constexpr std::array<upsweep_dtype, 4> dtypes{UPSWEEP_I32, UPSWEEP_U32, UPSWEEP_I64, UPSWEEP_U64};
    laid all = read_layout(from, dtypes[static_cast<std::size_t>(from.below(4))],
                           {static_cast<std::int64_t>(offsets.size())}, true);
    for (std::size_t k = 0; k < offsets.size(); ++k) // the machine is a little-endian one
        all.write(static_cast<std::int64_t>(k), reinterpret_cast<const std::byte*>(&offsets[k]));
    return all;
}

void try_segments(reader& from)
{
    const folding of = read_folding(from);
    laid in = read_layout(from, of.in, read_shape(from, 9), false);
    const std::vector<std::int64_t> offsets = read_offsets(from, in.count());
    laid bounds = laid_offsets(from, offsets);
    laid folds = read_layout(from, of.out, {static_cast<std::int64_t>(offsets.size()) - 1}, true);
    laid scans = read_layout(from, of.in, {in.count()}, true);
    const bool exclusive = from.byte() % 2 != 0;
    if (!of.is_defined)
        return;
    laid expected_folds = folds;
    laid expected_scans = scans;
    bool has_scans = true;
    bool has_folds = true;
    for (std::size_t k = 0; k + 1 < offsets.size(); ++k) {
        const line segment{offsets[k], 1, offsets[k + 1] - offsets[k]};
        bytes elements = gathered(in, segment);
        std::array<std::byte, 8> fold{};
        bytes some;
        has_scans = scan_line(of.op, exclusive, of.in, elements, segment.length, of.in, some) && has_scans;
        has_folds = reduce_line(of.op, of.in, elements, segment.length, of.out, fold.data()) && has_folds;
        expected_folds.write(static_cast<std::int64_t>(k), fold.data());
        for (std::int64_t i = 0; i < segment.length; ++i)
            expected_scans.write(segment.first + i, &some[static_cast<std::size_t>(i) * in.size()]);
    }
    const upsweep_array source = in.describe();
    const upsweep_array cuts = bounds.describe();
    const upsweep_array of_folds = folds.describe();
    const upsweep_array of_scans = scans.describe();
    check(upsweep_check_offsets(nullptr, &cuts, static_cast<std::uint64_t>(in.count())) == UPSWEEP_OK);
    check(upsweep_segmented_reduce(nullptr, of.op, &source, &cuts, &of_folds) == UPSWEEP_OK);
    check(!has_folds || folds.memory == expected_folds.memory); // empty segments have no minimum by the plain call
    const upsweep_status status = upsweep_segmented_scan(nullptr, of.op, exclusive, &source, &cuts, &of_scans, nullptr);
    check(!has_scans || status == UPSWEEP_OK);
    check(status != UPSWEEP_OK || scans.memory == expected_scans.memory);
}

// Runs of equal keys, which are small numbers, and what is folded and written of each.
void try_runs(reader& from)
{
    const folding of = read_folding(from);
    const std::vector<std::int64_t> shape = read_shape(from, 9);
    laid keys = read_layout(from, UPSWEEP_U16, shape, false);
    const auto kept_bits = static_cast<std::byte>(from.byte() % 2 == 0 ? 1 : 3);
    for (std::byte& each : keys.memory)
        each &= kept_bits;
    laid values = read_layout(from, of.in, shape, false);
    const std::int64_t count = keys.count();
    laid keys_out = read_layout(from, UPSWEEP_U16, {count}, true);
    laid totals = read_layout(from, of.out, {count}, true);
    laid lengths = read_layout(from, UPSWEEP_I64, {count}, true);
    laid again = read_layout(from, UPSWEEP_U16, {count}, true);
    if (!of.is_defined)
        return;
    std::vector<line> runs;
    std::array<std::byte, 2> key{};
    std::array<std::byte, 2> last{};
    for (std::int64_t i = 0; i < count; ++i, last = key) {
        keys.read(i, key.data());
        if (i == 0 || key != last)
            runs.push_back({i, 1, 0});
        ++runs.back().length;
    }
    laid expected_keys = keys_out;
    laid expected_totals = totals;
    laid expected_lengths = lengths;
    laid expected_again = again;
    for (std::size_t k = 0; k < runs.size(); ++k) {
        std::array<std::byte, 8> fold{};
        bytes elements = gathered(values, runs[k]);
        check(reduce_line(of.op, of.in, elements, runs[k].length, of.out, fold.data()));
        keys.read(runs[k].first, key.data());
        expected_keys.write(static_cast<std::int64_t>(k), key.data());
        expected_totals.write(static_cast<std::int64_t>(k), fold.data());
        expected_lengths.write(static_cast<std::int64_t>(k), reinterpret_cast<const std::byte*>(&runs[k].length));
    }
    for (std::int64_t i = 0; i < count; ++i) {
        keys.read(i, key.data());
        expected_again.write(i, key.data());
    }
    std::uint64_t found = 0;
    const upsweep_array of_keys = keys.describe();
    const upsweep_array of_values = values.describe();
    const upsweep_array of_keys_out = keys_out.describe();
    const upsweep_array of_totals = totals.describe();
    const upsweep_array of_lengths = lengths.describe();
    check(upsweep_reduce_by_key(nullptr, of.op, &of_keys, &of_values, &of_keys_out, &of_totals, &found) == UPSWEEP_OK);
    check(found == runs.size() && keys_out.memory == expected_keys.memory && totals.memory == expected_totals.memory);
    check(upsweep_run_length_encode(nullptr, &of_keys, &of_keys_out, &of_lengths, &found) == UPSWEEP_OK);
    check(found == runs.size() && keys_out.memory == expected_keys.memory && lengths.memory == expected_lengths.memory);
    upsweep_array some_keys = keys_out.describe();
    upsweep_array some_lengths = lengths.describe();
    const auto some = static_cast<std::int64_t>(found);
    some_keys.shape = some_lengths.shape = &some;
    const upsweep_array of_again = again.describe();
    check(upsweep_run_length_decode(nullptr, &some_keys, &some_lengths, &of_again) == UPSWEEP_OK);
    check(again.memory == expected_again.memory);
}

std::uint64_t word_at(const laid& all, std::int64_t number)
{
    std::uint64_t value = 0;
    all.read(number, reinterpret_cast<std::byte*>(&value));
    return value;
}

void try_image(reader& from)
{
    std::vector<std::int64_t> shape = read_shape(from, 9);
    shape.resize(std::max<std::size_t>(shape.size(), 2), 5);
    laid in = read_layout(from, from.byte() % 2 != 0 ? UPSWEEP_U8 : UPSWEEP_U64, shape, false);
    laid out = read_layout(from, UPSWEEP_U64, shape, true);
    laid expected = out;
    const std::int64_t columns = shape.back();
    const std::int64_t rows = shape[shape.size() - 2];
    std::vector<std::uint64_t> above(static_cast<std::size_t>(columns));
    for (std::int64_t i = 0, row = 0; i < in.count(); ++row) {
        if (row % rows == 0)
            std::ranges::fill(above, 0);
        std::uint64_t sum = 0;
        for (std::int64_t c = 0; c < columns; ++c, ++i) {
            sum += word_at(in, i);
            above[static_cast<std::size_t>(c)] += sum;
            expected.write(i, reinterpret_cast<const std::byte*>(&above[static_cast<std::size_t>(c)]));
        }
    }
    const upsweep_array source = in.describe();
    const upsweep_array results = out.describe();
    check(upsweep_integral_image(nullptr, &source, &results) == UPSWEEP_OK);
    check(out.memory == expected.memory);
}

// Coefficients and inputs by which doubles stay whole numbers that they hold exactly.
void try_recurrence(reader& from)
{
    const std::vector<std::int64_t> shape = read_shape(from, 9);
    laid a = read_layout(from, UPSWEEP_F64, shape, false);
    laid b = read_layout(from, UPSWEEP_F64, shape, false);
    laid out = read_layout(from, UPSWEEP_F64, shape, true);
    const auto axis = static_cast<std::size_t>(from.below(static_cast<int>(a.rank())));
    const bool backward = from.byte() % 2 != 0;
    std::uint8_t seed = from.byte();
    for (laid* each : {&a, &b})
        for (std::size_t i = 0; i < each->memory.size(); i += sizeof(double)) {
            seed = static_cast<std::uint8_t>(seed * 13U + 41U);
            const double value = each == &a ? (seed >> 4) % 3 - 1 : (seed >> 3) % 16;
            std::memcpy(&each->memory[i], &value, sizeof value);
        }
    laid expected = out;
    for (const line& each : lines_along(a, axis)) {
        double state = 0;
        for (std::int64_t i = 0; i < each.length; ++i) {
            const std::int64_t at = each.first + (backward ? each.length - 1 - i : i) * each.step;
            double of_a = 0;
            double of_b = 0;
            a.read(at, reinterpret_cast<std::byte*>(&of_a));
            b.read(at, reinterpret_cast<std::byte*>(&of_b));
            state = of_a * state + of_b;
            state += 0.0; // no -0, whose sign is that of a product
            expected.write(at, reinterpret_cast<const std::byte*>(&state));
        }
    }
    const upsweep_array of_a = a.describe();
    const upsweep_array of_b = b.describe();
    const upsweep_array results = out.describe();
    check(upsweep_linear_recurrence(nullptr, &of_a, &of_b, nullptr, static_cast<std::int32_t>(axis), backward,
                                    &results) == UPSWEEP_OK);
    for (std::int64_t i = 0; i < out.count(); ++i) {
        double found = 0;
        out.read(i, reinterpret_cast<std::byte*>(&found));
        found += 0.0;
        out.write(i, reinterpret_cast<const std::byte*>(&found));
    }
    check(out.memory == expected.memory);
}

// Bins that are the same by either call.
struct some_bins {
    double lo;
    double hi;
    std::int64_t count;
    std::vector<double> edges; // if not empty

    explicit some_bins(reader& from) : lo(static_cast<double>(from.below(8)) - 4), hi(lo + 1), count(from.below(9) + 1)
    {
        hi += static_cast<double>(from.byte());
        if (from.byte() % 2 != 0)
            for (std::int64_t k = 0; k <= count; ++k)
                edges.push_back(lo + static_cast<double>(k * k));
    }
};
// What the plain call counts of a line.
void count_line(const some_bins& bins, upsweep_dtype dtype, bytes& elements, std::int64_t count, bytes& counts,
                upsweep_outside& outside)
{
    const upsweep_array in = describe(elements, dtype, count);
    counts.assign(static_cast<std::size_t>(bins.count) * 8, std::byte{0});
    outside = {0, 0, 0};
    const upsweep_array to = describe(counts, UPSWEEP_U64, bins.count);
    check((bins.edges.empty() ? upsweep_histogram_even(nullptr, &in, bins.lo, bins.hi, &to, &outside)
                              : upsweep_histogram_edges(nullptr, &in, bins.edges.data(), bins.edges.size(), &to,
                                                        &outside)) == UPSWEEP_OK);
}
bool equal(const std::vector<upsweep_outside>& a, const std::vector<upsweep_outside>& b)
{
    return std::ranges::equal(a, b, [](const upsweep_outside& x, const upsweep_outside& y) {
        return x.below == y.below && x.above == y.above && x.nan == y.nan;
    });
}

void try_histogram_axis(reader& from)
{
    laid in = read_layout(from, read_dtype(from), read_shape(from, 9), false);
    const auto axis = static_cast<std::size_t>(from.below(static_cast<int>(in.rank())));
    const some_bins bins(from);
    std::vector<std::int64_t> shape = in.shape;
    shape[axis] = bins.count;
    laid out = read_layout(from, UPSWEEP_U64, shape, true);
    laid expected = out;
    const std::vector<line> lines = lines_along(in, axis);
    const std::vector<line> of_counts = lines_along(out, axis);
    std::vector<upsweep_outside> outside(lines.size(), {7, 8, 9});
    std::vector<upsweep_outside> expected_outside(lines.size());
    for (std::size_t k = 0; k < lines.size(); ++k) {
        bytes elements = gathered(in, lines[k]);
        bytes counts;
        count_line(bins, in.dtype, elements, lines[k].length, counts, expected_outside[k]);
        for (std::int64_t bin = 0; bin < bins.count; ++bin)
            expected.write(of_counts[k].first + bin * of_counts[k].step, &counts[static_cast<std::size_t>(bin) * 8]);
    }
    const upsweep_array source = in.describe();
    const upsweep_array results = out.describe();
    const auto along = static_cast<std::int32_t>(axis);
    check((bins.edges.empty()
               ? upsweep_histogram_axis_even(nullptr, &source, along, bins.lo, bins.hi, &results, outside.data(),
                                             lines.size())
               : upsweep_histogram_axis_edges(nullptr, &source, along, bins.edges.data(), bins.edges.size(), &results,
                                              outside.data(), lines.size())) == UPSWEEP_OK);
    check(out.memory == expected.memory && equal(outside, expected_outside));
}

void try_segmented_histogram(reader& from)
{
    laid in = read_layout(from, read_dtype(from), read_shape(from, 9), false);
    const std::vector<std::int64_t> offsets = read_offsets(from, in.count());
    laid bounds = laid_offsets(from, offsets);
    const some_bins bins(from);
    const std::size_t segments = offsets.size() - 1;
    const std::size_t bytes_of_segment = static_cast<std::size_t>(bins.count) * 8;
    bytes counts(segments * bytes_of_segment, std::byte{0xa5});
    bytes expected;
    std::vector<upsweep_outside> outside(segments, {7, 8, 9});
    std::vector<upsweep_outside> expected_outside(segments);
    for (std::size_t k = 0; k < segments; ++k) {
        bytes elements = gathered(in, {offsets[k], 1, offsets[k + 1] - offsets[k]});
        bytes of_segment;
        count_line(bins, in.dtype, elements, offsets[k + 1] - offsets[k], of_segment, expected_outside[k]);
        expected.insert(expected.end(), of_segment.begin(), of_segment.end());
    }
    const upsweep_array source = in.describe();
    const upsweep_array cuts = bounds.describe();
    const std::int64_t counters = static_cast<std::int64_t>(segments) * bins.count;
    const upsweep_array to = describe(counts, UPSWEEP_U64, counters);
    check((bins.edges.empty()
               ? upsweep_segmented_histogram_even(nullptr, &source, &cuts, bins.lo, bins.hi, &to, outside.data(),
                                                  segments)
               : upsweep_segmented_histogram_edges(nullptr, &source, &cuts, bins.edges.data(), bins.edges.size(), &to,
                                                   outside.data(), segments)) == UPSWEEP_OK);
    check(counts == expected && equal(outside, expected_outside));
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    reader from(std::span(data, size));
    switch (from.below(8)) {
    case 0: try_reduce(from); break;
    case 1: try_scan(from); break;
    case 2: try_segments(from); break;
    case 3: try_runs(from); break;
    case 4: try_image(from); break;
    case 5: try_recurrence(from); break;
    case 6: try_histogram_axis(from); break;
    default: try_segmented_histogram(from);
    }
    return 0;
}
