// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
// Arrays of any shape, strides, type and memory are refused and nothing is written, or a loop over their indices finds the
// same result. Skipped is what no caller may pass: elements outside of the memory, of which the library does not know.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <upsweep/runtime.h>

#include "fuzzed_bytes.hpp"

namespace {

constexpr std::int64_t memory_bytes = 4096;
constexpr std::int64_t most_elements = 1 << 14; // of arrays that repeat elements; more would take too long
constexpr int most_dimensions = 64;             // that the library reads

__extension__ using wide = __int128; // holds an extent times a stride

class reader : public fuzzed_bytes {
public:
    using fuzzed_bytes::fuzzed_bytes;

    std::int64_t word()
    {
        std::uint64_t bits = 0;
        for (int k = 0; k < 8; ++k)
            bits = bits << 8 | byte();
        return static_cast<std::int64_t>(bits);
    }
    // Most often a small number, sometimes any.
    std::int64_t number()
    {
        const std::uint8_t kind = byte();
        if (kind < 200)
            return kind % 20;
        if (kind < 225)
            return 200 - kind; // down to -24
        if (kind < 245)
            return byte();
        if (kind < 250)
            return std::int64_t{1} << (byte() % 63);
        return word();
    }
};

// A description with the numbers that it points to, and what the caller knows of it.
struct described {
    upsweep_array array{};
    std::array<std::int64_t, most_dimensions> shape{};
    std::array<std::int64_t, most_dimensions> strides{};

    bool is_well_formed() const
    {
        return upsweep_dtype_size(array.dtype) != 0 &&
               (array.memory == UPSWEEP_HOST || array.memory == UPSWEEP_MANAGED) && array.rank >= 0 &&
               array.rank <= most_dimensions && (array.rank == 0 || array.shape != nullptr) &&
               std::ranges::none_of(extents(), [](std::int64_t extent) { return extent < 0; });
    }
    std::span<const std::int64_t> extents() const
    {
        return std::span(shape).first(static_cast<std::size_t>(array.rank));
    }
    bool is_empty() const { return std::ranges::find(extents(), 0) != extents().end(); }
    bool is_aligned() const
    {
        return array.data != nullptr &&
               reinterpret_cast<std::uintptr_t>(array.data) % upsweep_dtype_size(array.dtype) == 0;
    }
};

void read_array(reader& from, std::byte* memory, described& to)
{
    to.shape.fill(1);
    to.strides.fill(1);
    to.array.dtype = static_cast<upsweep_dtype>(from.number() % 128);
    to.array.memory = static_cast<upsweep_memory>(std::max<std::int64_t>(from.number() % 128 - 17, 0));
    to.array.device = from.byte();
    const std::uint8_t rank = from.byte();
    to.array.rank = rank < 250 ? rank % 10 : static_cast<std::int32_t>(from.number());
    const std::uint8_t kind = from.byte();
    const int written = std::clamp(to.array.rank, 0, most_dimensions);
    for (int k = 0; k < written; ++k) {
        to.shape[static_cast<std::size_t>(k)] = from.number();
        to.strides[static_cast<std::size_t>(k)] = from.number();
    }
    const std::int64_t offset = from.byte() * 256 + from.byte();
    // Most often at a place where elements of 8 bytes may lie.
    to.array.data =
        kind % 16 == 1 ? nullptr : memory + offset % memory_bytes / (kind % 8 == 2 ? 1 : 8) * (kind % 8 == 2 ? 1 : 8);
    to.array.shape = kind % 32 == 3 ? nullptr : to.shape.data();
    to.array.strides = kind % 4 == 0 ? nullptr : to.strides.data();
}

enum class use { refused, skipped, right };

// What becomes of an array that is passed as it is: the library must refuse it, the caller may not pass it, or it is right.
// `offsets` are then those of its elements, in bytes, in their order.
use examine(const described& of, const std::byte* memory, std::vector<std::int64_t>& offsets)
{
    if (!of.is_well_formed())
        return use::refused;
    if (of.is_empty())
        return use::right;
    const auto rank = static_cast<std::size_t>(of.array.rank);
    std::array<std::int64_t, most_dimensions> strides{};
    wide count = 1;
    for (std::size_t k = rank; k-- > 0;) {
        strides[k] = of.array.strides != nullptr ? of.strides[k] : static_cast<std::int64_t>(count);
        count *= of.shape[k];
        if (count > INT64_MAX)
            return use::refused;
    }
    const auto size = static_cast<std::int64_t>(upsweep_dtype_size(of.array.dtype));
    wide lowest = 0;
    wide highest = 0;
    for (std::size_t k = 0; k < rank; ++k) {
        constexpr wide most = static_cast<wide>(1) << 61;
        const wide elements = static_cast<wide>(strides[k]) * (of.shape[k] - 1); // whose bytes may be too many to count
        if (elements < -most || elements > most)
            return use::refused;
        (elements < 0 ? lowest : highest) += elements * size;
        if (highest - lowest > most)
            return use::refused;
    }
    if (!of.is_aligned())
        return use::refused;
    const std::int64_t origin = static_cast<const std::byte*>(of.array.data) - memory;
    if (origin + lowest < 0 || origin + highest + size > memory_bytes || count > most_elements)
        return use::skipped;

    std::array<std::int64_t, most_dimensions> index{};
    for (std::int64_t done = 0; done < count; ++done) {
        std::int64_t offset = origin;
        for (std::size_t k = 0; k < rank; ++k)
            offset += index[k] * strides[k] * size;
        offsets.push_back(offset);
        for (std::size_t k = rank; k-- > 0 && ++index[k] == of.shape[k];)
            index[k] = 0;
    }
    return use::right;
}

bool is_integer(upsweep_dtype dtype) { return dtype <= UPSWEEP_U64; }
bool is_signed(upsweep_dtype dtype) { return dtype >= UPSWEEP_I8 && dtype <= UPSWEEP_I64; }

// The integer at this place, as the lower bits of 64.
std::uint64_t integer_at(const std::byte* place, upsweep_dtype dtype)
{
    const std::size_t size = upsweep_dtype_size(dtype);
    std::uint64_t value = 0;
    std::memcpy(&value, place, size);
    const bool is_negative = is_signed(dtype) && (value >> (8 * size - 1) & 1) != 0;
    return is_negative && size < 8 ? value | ~std::uint64_t{0} << (8 * size) : value;
}

// What lies in the memory before a call, so that the loop reads what the library read.
struct image {
    std::array<std::byte, memory_bytes> bytes;

    explicit image(const std::byte* memory) { std::memcpy(bytes.data(), memory, bytes.size()); }
    bool equals(const std::byte* memory) const { return std::memcmp(bytes.data(), memory, bytes.size()) == 0; }
    // Takes over the elements of an output, about which nothing is known.
    void forget(const std::vector<std::int64_t>& offsets, upsweep_dtype dtype, const std::byte* memory)
    {
        for (const std::int64_t offset : offsets)
            std::memcpy(&bytes[static_cast<std::size_t>(offset)], memory + offset, upsweep_dtype_size(dtype));
    }
    std::uint64_t integer(std::int64_t offset, upsweep_dtype dtype) const
    {
        return integer_at(&bytes[static_cast<std::size_t>(offset)], dtype);
    }
    void write(std::int64_t offset, upsweep_dtype dtype, std::uint64_t value)
    {
        std::memcpy(&bytes[static_cast<std::size_t>(offset)], &value, upsweep_dtype_size(dtype));
    }
};

bool share_bytes(const std::vector<std::int64_t>& a, std::size_t size_of_a, const std::vector<std::int64_t>& b,
                 std::size_t size_of_b)
{
    std::array<bool, memory_bytes> is_taken{};
    for (const std::int64_t offset : a)
        std::fill_n(&is_taken[static_cast<std::size_t>(offset)], size_of_a, true);
    return std::ranges::any_of(b, [&](std::int64_t offset) {
        return std::find(&is_taken[static_cast<std::size_t>(offset)],
                         &is_taken[static_cast<std::size_t>(offset)] + size_of_b,
                         true) != &is_taken[static_cast<std::size_t>(offset)] + size_of_b;
    });
}

bool are_distinct(std::vector<std::int64_t> offsets)
{
    std::ranges::sort(offsets);
    return std::ranges::adjacent_find(offsets) == offsets.end();
}

// Two arrays in one memory, and a call with both.
struct arrays {
    described in;
    described out;
    std::vector<std::int64_t> in_offsets;
    std::vector<std::int64_t> out_offsets;
    bool are_right = false;
};

void try_reduce(const arrays& with, upsweep_op op, std::byte* memory)
{
    image expected(memory);
    const upsweep_array& in = with.in.array;
    const upsweep_array& out = with.out.array;
    const upsweep_status status = upsweep_reduce(nullptr, op, &in, &out);
    if (status != UPSWEEP_OK)
        check(expected.equals(memory));
    upsweep_dtype result = UPSWEEP_F64;
    const bool is_defined = with.are_right && upsweep_reduce_dtype(op, in.dtype, &result) == UPSWEEP_OK;
    const bool is_converted = (op == UPSWEEP_PLUS || op == UPSWEEP_MULTIPLIES) && out.dtype != result &&
                              (out.dtype == UPSWEEP_F32 || out.dtype == UPSWEEP_F64);
    const bool fits = is_defined && (out.dtype == result || is_converted) && with.out_offsets.size() == 1;
    if (status != UPSWEEP_OK) {
        const bool has_value = !with.in_offsets.empty() || (op != UPSWEEP_MINIMUM && op != UPSWEEP_MAXIMUM);
        check(!fits || !has_value || status == UPSWEEP_UNSUPPORTED);
        return;
    }
    check(fits);
    if (op == UPSWEEP_PLUS && is_integer(in.dtype) && !is_converted) {
        std::uint64_t sum = 0;
        for (const std::int64_t offset : with.in_offsets)
            sum += expected.integer(offset, in.dtype);
        expected.write(with.out_offsets[0], out.dtype, sum);
    } else {
        expected.forget(with.out_offsets, out.dtype, memory);
    }
    check(expected.equals(memory));
}

void try_scan(const arrays& with, upsweep_op op, bool exclusive, std::optional<std::uint64_t> init, std::byte* memory)
{
    image expected(memory);
    const image before(memory);
    const upsweep_array& in = with.in.array;
    const upsweep_array& out = with.out.array;
    const upsweep_status status = upsweep_scan(nullptr, op, exclusive, &in, &out, init ? &*init : nullptr);
    const bool fits = with.are_right && with.in_offsets.size() == with.out_offsets.size();
    if (status != UPSWEEP_OK) {
        check(expected.equals(memory));
        check(!fits || op > UPSWEEP_LOG_SUM_EXP || status == UPSWEEP_UNSUPPORTED || status == UPSWEEP_OVERLAP);
        return;
    }
    check(fits && are_distinct(with.out_offsets));
    check((in.dtype == out.dtype && with.in_offsets == with.out_offsets) ||
          !share_bytes(with.in_offsets, upsweep_dtype_size(in.dtype), with.out_offsets, upsweep_dtype_size(out.dtype)));
    if (op == UPSWEEP_PLUS && is_integer(in.dtype) && is_integer(out.dtype) && out.dtype != UPSWEEP_BOOL) {
        std::uint64_t sum = init.value_or(0);
        for (std::size_t i = 0; i < with.in_offsets.size(); ++i) {
            const std::uint64_t next = sum + before.integer(with.in_offsets[i], in.dtype);
            expected.write(with.out_offsets[i], out.dtype, exclusive ? sum : next);
            sum = next;
        }
    } else {
        expected.forget(with.out_offsets, out.dtype, memory);
    }
    check(expected.equals(memory));
}

void try_histogram(const arrays& with, double lo, double hi, std::byte* memory)
{
    image expected(memory);
    const upsweep_array& in = with.in.array;
    const upsweep_array& out = with.out.array;
    upsweep_outside outside{1, 2, 3};
    const upsweep_status status = upsweep_histogram_even(nullptr, &in, lo, hi, &out, &outside);
    if (status != UPSWEEP_OK) {
        check(expected.equals(memory) && outside.below == 1 && outside.above == 2 && outside.nan == 3);
        return;
    }
    check(with.are_right && out.dtype == UPSWEEP_U64 && lo < hi && are_distinct(with.out_offsets));
    check(!share_bytes(with.in_offsets, upsweep_dtype_size(in.dtype), with.out_offsets, sizeof(std::uint64_t)));
    std::uint64_t added = outside.below + outside.above + outside.nan - 6;
    for (const std::int64_t offset : with.out_offsets)
        added += integer_at(memory + offset, UPSWEEP_U64) - expected.integer(offset, UPSWEEP_U64);
    check(added == with.in_offsets.size());
    if (is_integer(in.dtype)) {
        std::uint64_t below = 1;
        std::uint64_t above = 2;
        for (const std::int64_t offset : with.in_offsets) {
            const std::uint64_t bits = expected.integer(offset, in.dtype);
            const double sample =
                is_signed(in.dtype) ? static_cast<double>(static_cast<std::int64_t>(bits)) : static_cast<double>(bits);
            below += sample < lo;
            above += sample > hi;
        }
        check(outside.below == below && outside.above == above && outside.nan == 3);
    }
    expected.forget(with.out_offsets, UPSWEEP_U64, memory);
    check(expected.equals(memory));
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    reader from(std::span(data, size));
    const std::uint8_t call = from.byte();
    const auto op = static_cast<upsweep_op>(from.byte() % 16);
    const std::uint8_t kind = from.byte();
    const std::int64_t init = from.word();

    const std::unique_ptr<std::byte, decltype(&std::free)> memory(
        static_cast<std::byte*>(std::aligned_alloc(64, memory_bytes)), &std::free);
    arrays with;
    read_array(from, memory.get(), with.in);
    read_array(from, memory.get(), with.out);
    if (kind % 8 == 0) { // in place
        with.out.array = with.in.array;
        with.out.shape = with.in.shape;
        with.out.strides = with.in.strides;
    } else if (kind % 8 == 1) { // of the same shape
        with.out.shape = with.in.shape;
        with.out.array.rank = with.in.array.rank;
        with.out.array.shape = with.in.array.shape;
    }
    double lo = static_cast<double>(from.number());
    double hi = static_cast<double>(from.number());
    if (kind >= 250) {
        const std::int64_t bits = from.word();
        std::memcpy(&hi, &bits, sizeof hi);
    }

    // A bool is 0 or 1.
    const bool has_bool = with.in.array.dtype == UPSWEEP_BOOL || with.out.array.dtype == UPSWEEP_BOOL;
    std::uint8_t seed = from.byte();
    for (std::int64_t k = 0; k < memory_bytes; ++k) {
        seed = static_cast<std::uint8_t>(seed * 13U + static_cast<unsigned>(k >> 8) + 41U);
        memory.get()[k] = std::byte{static_cast<std::uint8_t>(has_bool ? seed >> 3 & 1 : seed)};
    }

    const use of_in = examine(with.in, memory.get(), with.in_offsets);
    const use of_out = examine(with.out, memory.get(), with.out_offsets);
    if (of_in == use::skipped || of_out == use::skipped)
        return 0;
    with.are_right = of_in == use::right && of_out == use::right;
    const std::uint64_t first = static_cast<std::uint64_t>(init) & (has_bool ? 1 : ~std::uint64_t{0});
    switch (call % 3) {
    case 0: try_reduce(with, op, memory.get()); break;
    case 1:
        try_scan(with, op, (call & 4) != 0, (call & 8) != 0 ? std::optional(first) : std::nullopt, memory.get());
        break;
    default: try_histogram(with, lo, hi, memory.get());
    }
    return 0;
}
