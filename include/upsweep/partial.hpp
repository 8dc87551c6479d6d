// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <upsweep/engine.hpp>
#include <upsweep/error.hpp>
#include <upsweep/numbers.hpp>
#include <upsweep/op.hpp>
#include <upsweep/range.hpp>
#include <upsweep/verb/reduce.hpp>

namespace upsweep {

namespace detail {

// An aligned block of the canonical order: the elements from index * 2^level on, 2^level of them.
struct aligned_block {
    int level;
    std::uint64_t index;

    constexpr std::uint64_t first() const { return index << level; }
    constexpr std::uint64_t end() const { return (index + 1) << level; }
    constexpr bool is_left_sibling_of(const aligned_block& other) const
    {
        return level == other.level && index % 2 == 0 && index + 1 == other.index;
    }
    friend bool operator==(const aligned_block&, const aligned_block&) = default;
};

// Positions of elements are below 2^63, so that the end of every block is a position, too.
inline constexpr std::uint64_t positions = std::uint64_t{1} << 63;

// Calls f(block) for the largest aligned blocks that make up the elements from `first` to `end`, in their order: at
// most 2 * 63 of them.
template <class F>
constexpr void for_each_aligned_block(std::uint64_t first, std::uint64_t end, F f)
{
    while (first != end) {
        const int most = std::bit_width(end - first) - 1;
        const int level = first == 0 ? most : std::min(most, std::countr_zero(first));
        f(aligned_block{level, first >> level});
        first += std::uint64_t{1} << level;
    }
}
inline constexpr std::size_t most_aligned_blocks = 126;

// Calls f(block, total) for the same blocks, with their totals: those of `count` elements of which the first one has
// position `first_position`. Waits for the target.
template <class Acc, class Target, class In, class Op, class F>
void for_each_block_total(const Target& target, In in, std::uint64_t first_position, std::size_t count, const Op& op,
                          F f)
{
    if (count == 0)
        return;
    const std::uint64_t end = first_position + count;
    using totals_of_blocks = std::array<Acc, most_aligned_blocks>;
    const auto totals = returned<Target>::template value<totals_of_blocks>(target, "reduce", [&](totals_of_blocks* to) {
        Acc* total = to->data();
        for_each_aligned_block(first_position, end, [&](const aligned_block& block) {
            engine<Target, verb::reduce>::template fold<Acc>(
                target, in + static_cast<std::ptrdiff_t>(block.first() - first_position), block.end() - block.first(),
                op, total++);
        });
    });
    const Acc* total = totals.data();
    for_each_aligned_block(first_position, end, [&](const aligned_block& block) { f(block, *total++); });
}

inline void check_positions(std::uint64_t first, std::uint64_t count)
{
    if (first > positions || count > positions - first)
        throw error(error_kind::invalid_argument, "partial", "the positions of the elements go beyond 2^63 - 1",
                    "give the position of the first element in its array");
}

[[gnu::cold]] inline std::string elements_text(std::uint64_t first, std::uint64_t end)
{
    return end - first == 1 ? "element " + std::to_string(first) + " is"
                            : "elements " + std::to_string(first) + " to " + std::to_string(end - 1) + " are";
}

[[noreturn, gnu::cold]] inline void throw_malformed(std::uint64_t byte, const std::string& what)
{
    throw error(error_kind::invalid_argument, "partial", "byte " + std::to_string(byte) + ": " + what,
                "pass the bytes of a partial of this operator and type, unchanged");
}

// How a partial begins as bytes, in little-endian order (docs/fold-order.md).
struct partial_header {
    static constexpr std::uint64_t signature = 0x5452415057535055; // "UPSWPART"

    std::uint64_t magic = signature;
    std::uint8_t version = 1;
    std::uint8_t op = number_of_users;
    std::uint8_t element = number_of_users;
    std::uint8_t accumulator = number_of_users;
    std::uint32_t total_bytes = 0; // of one total, without the padding to a multiple of 8
    std::uint64_t blocks = 0;
};
static_assert(sizeof(partial_header) == 24);

// A total as partials hold it: NaN has one pattern of bits, whatever it came from, so that equal partials have equal
// bytes. (A GPU and a CPU differ in it, for one.)
template <class T>
T canonical(const T& total)
{
    if constexpr (std::is_floating_point_v<T> || sub_word_float<T>) {
        const auto number = convert<double>(total);
        return number == number ? total : quiet_nan<T>();
    } else {
        return total;
    }
}

// The header of a partial, but for the number of its blocks. Where the operator and the type are chosen at run time, the
// operator has this function.
template <class T, class Acc, class Op>
partial_header partial_header_of(const Op& op)
{
    partial_header header;
    if constexpr (requires { op.header_of_partial(); }) {
        header = op.header_of_partial();
    } else {
        header.op = operator_number<Op>;
        header.element = type_number<T>();
        header.accumulator = type_number<Acc>();
        header.total_bytes = sizeof(Acc);
    }
    return header;
}

inline partial_header header_of_bytes(std::span<const std::byte> bytes)
{
    partial_header header;
    if (bytes.size() < sizeof header)
        throw_malformed(bytes.size(), "cut off, where the first " + std::to_string(sizeof header) +
                                          " bytes of a partial are its header");
    std::memcpy(&header, bytes.data(), sizeof header);
    if (header.magic != partial_header::signature)
        throw_malformed(0, "not the signature UPSWPART");
    return header;
}

// Says where two headers differ; the one that was read comes second.
[[gnu::cold]] inline void check_header(const partial_header& wanted, const partial_header& read)
{
    const auto check = [](std::uint64_t byte, auto expected, auto found, const char* what) {
        if (expected != found)
            throw_malformed(byte, std::string(what) + ' ' + std::to_string(found) + " where " +
                                      std::to_string(expected) + " is expected");
    };
    check(8, wanted.version, read.version, "format version");
    check(9, wanted.op, read.op, "operator");
    check(10, wanted.element, read.element, "element type");
    check(11, wanted.accumulator, read.accumulator, "type of totals");
    check(12, wanted.total_bytes, read.total_bytes, "bytes of a total");
}

} // namespace detail

// The fold of some elements of an array as a value: the totals of the aligned blocks of the canonical order that these
// elements make up (docs/fold-order.md). Partials of parts of an array, folded by whatever thread, device or machine,
// are merged in any order, and the result has the bits of up::reduce over the whole. T is the type of the elements.
//
//     up::partial all = up::reduce_partial(cpu, first_part, 0, up::plus{});
//     all.merge(up::reduce_partial(gpu, second_part, first_part.size(), up::plus{}));
//     float total = all.value();
//
// Memory: a contiguous range of n elements takes at most 2 log2 n totals.
template <class T, class Op = plus>
class partial {
public:
    using accumulator = typename detail::reduce_accumulator<Op, T>::type;

    // The total of the elements index * 2^level to (index + 1) * 2^level - 1.
    struct block : detail::aligned_block {
        accumulator total;
    };

    // A partial of no elements.
    explicit partial(Op op = {}) : op_(std::move(op)) {}

    // Adds the total of an aligned block. Blocks may be added in any order; invalid_argument where one overlaps what
    // has been added, or goes beyond position 2^63 - 1.
    void add(int level, std::uint64_t index, const accumulator& total)
    {
        if (level < 0 || level > 63 || index >= detail::positions >> level)
            throw error(error_kind::invalid_argument, "partial", "there is no such block of elements",
                        "levels are 0 to 63 and positions below 2^63");
        merge_blocks({{{level, index}, detail::canonical(total)}});
    }

    // Adds the elements of another partial. The two must have no element in common: else nothing is changed, and the
    // error (invalid_argument) names one of the positions. Any order of merging gives the same bits. Linear in the
    // number of blocks.
    void merge(const partial& other) { merge_blocks(other.blocks_); }

    // How many elements have been folded.
    std::uint64_t count() const
    {
        std::uint64_t count = 0;
        for (const block& each : blocks_)
            count += each.end() - each.first();
        return count;
    }

    // The blocks, ascending; no two of them make up a larger one.
    std::span<const block> blocks() const { return blocks_; }

    // The fold of all elements, which must be those from position 0 on without a gap: else invalid_argument names the
    // first positions that are missing. The fold of no elements is as up::reduce says.
    result_t<Op, T> value() const
    {
        detail::check_fold_exists<Op>(blocks_.size());
        if (blocks_.empty())
            return as_result<result_t<Op, T>, Op>(fold_of_nothing<accumulator>(op_));
        std::uint64_t next = 0;
        accumulator fold = op_.template identity<accumulator>();
        for (const block& each : blocks_) {
            if (each.first() != next)
                throw error(error_kind::invalid_argument, "partial",
                            detail::elements_text(next, each.first()) + " missing",
                            "merge the partial that has folded them");
            fold = op_(fold, each.total);
            next = each.end();
        }
        return as_result<result_t<Op, T>, Op>(fold);
    }

    // The partial as bytes, the same ones on every machine (docs/fold-order.md): equal partials have equal bytes. Totals
    // of a type of the user are written as they lie in memory.
    std::vector<std::byte> bytes() const
    {
        detail::partial_header header = detail::partial_header_of<T, accumulator>(op_);
        header.blocks = blocks_.size();
        std::vector<std::byte> bytes(sizeof header + blocks_.size() * entry_bytes);
        std::memcpy(bytes.data(), &header, sizeof header);
        std::byte* entry = bytes.data() + sizeof header;
        for (const block& each : blocks_) {
            const auto level = static_cast<std::uint64_t>(each.level);
            std::memcpy(entry, &level, sizeof level);
            std::memcpy(entry + 8, &each.index, sizeof each.index);
            std::memcpy(entry + 16, &each.total, sizeof each.total);
            entry += entry_bytes;
        }
        return bytes;
    }

    // The partial whose bytes these are. invalid_argument, with the number of the byte, for bytes that are cut off or
    // too many, of another operator, type or version of the format, or not as bytes() writes them.
    static partial from_bytes(std::span<const std::byte> bytes, Op op = {})
    {
        const detail::partial_header header = detail::header_of_bytes(bytes);
        detail::check_header(detail::partial_header_of<T, accumulator>(op), header);
        if (header.blocks > (bytes.size() - sizeof header) / entry_bytes)
            detail::throw_malformed(bytes.size(), "cut off, where " + std::to_string(header.blocks) + " blocks of " +
                                                      std::to_string(entry_bytes) + " bytes follow byte 23");
        if (const std::uint64_t end = sizeof header + header.blocks * entry_bytes; end != bytes.size())
            detail::throw_malformed(end, "more bytes than the partial has");

        partial read(std::move(op));
        read.blocks_.reserve(header.blocks);
        for (std::uint64_t at = sizeof header; at != bytes.size(); at += entry_bytes)
            read.append(block_of(bytes.subspan(at, entry_bytes), at, header), at);
        return read;
    }

private:
    static constexpr std::size_t entry_bytes = 16 + (sizeof(accumulator) + 7) / 8 * 8;
    static_assert(std::is_trivially_copyable_v<accumulator>, "totals are copied as bytes");
    static_assert(std::endian::native == std::endian::little, "the bytes of a partial are little-endian");

    // The block whose bytes begin at byte number `at`.
    static block block_of(std::span<const std::byte> entry, std::uint64_t at, const detail::partial_header& header)
    {
        std::uint64_t level = 0;
        block read{};
        std::memcpy(&level, entry.data(), sizeof level);
        std::memcpy(&read.index, entry.data() + 8, sizeof read.index);
        if (level > 63)
            detail::throw_malformed(at, "level " + std::to_string(level) + ", where the largest is 63");
        read.level = static_cast<int>(level);
        if (read.index >= detail::positions >> read.level)
            detail::throw_malformed(at + 8, "a block beyond position 2^63 - 1");
        if (header.accumulator == detail::type_number<bool>() && entry[16] > std::byte{1})
            detail::throw_malformed(at + 16, "a bool that is neither 0 nor 1");
        std::memcpy(&read.total, entry.data() + 16, sizeof read.total);
        read.total = detail::canonical(read.total);
        for (std::size_t i = 16 + header.total_bytes; i < entry_bytes; ++i)
            if (entry[i] != std::byte{0})
                detail::throw_malformed(at + i, "padding that is not zero");
        return read;
    }

    // Appends a block that has been read; blocks must be ascending, and as large as they can be.
    void append(const block& next, std::uint64_t at)
    {
        if (!blocks_.empty()) {
            const block& last = blocks_.back();
            if (next.first() < last.end())
                detail::throw_malformed(at, "a block that does not lie behind the one before it");
            if (last.is_left_sibling_of(next))
                detail::throw_malformed(at, "a block that has not been folded with the one before it");
        }
        blocks_.push_back(next);
    }

    void merge_blocks(const std::vector<block>& others)
    {
        std::vector<block> all;
        all.reserve(blocks_.size() + others.size());
        std::ranges::merge(blocks_, others, std::back_inserter(all), {}, &block::first, &block::first);
        for (std::size_t i = 1; i < all.size(); ++i)
            if (all[i].first() < all[i - 1].end())
                throw error(error_kind::invalid_argument, "partial",
                            detail::elements_text(all[i].first(), std::min(all[i].end(), all[i - 1].end())) +
                                " in both partials",
                            "fold every element once");
        fold_siblings(all);
        blocks_ = std::move(all);
    }

    // Folds each two blocks that make up a larger one, in one pass: what is before `kept` has been folded.
    void fold_siblings(std::vector<block>& blocks) const
    {
        std::size_t kept = 0;
        for (const block& next : blocks) {
            block last = next;
            for (; kept != 0 && blocks[kept - 1].is_left_sibling_of(last); --kept)
                last = {{last.level + 1, last.index / 2}, detail::canonical(op_(blocks[kept - 1].total, last.total))};
            blocks[kept++] = last;
        }
        blocks.erase(blocks.begin() + static_cast<std::ptrdiff_t>(kept), blocks.end());
    }

    Op op_;
    std::vector<block> blocks_; // ascending; no two of them are siblings
};

// Folds elements of an array whose first one has the position `first_position` there. The call waits for the fold.
// invalid_argument where positions go beyond 2^63 - 1.
//
// n - 1 operations and one pass over the input, in as many calls of the engine as n elements there make up aligned
// blocks: one where a power of two of them begins at a multiple of it, and at most 2 log2 n.
template <target Target, input_range R, class Op = plus>
[[nodiscard]] auto reduce_partial(const Target& target, R&& in, std::uint64_t first_position, Op op = {})
{
    using element = std::ranges::range_value_t<R>;
    using part = partial<element, Op>;
    using accumulator = typename part::accumulator;
    const std::size_t count = detail::size_of(in);
    detail::check_positions(first_position, count);
    part result(op);
    detail::for_each_block_total<accumulator>(target, detail::first_of(in), first_position, count, op,
                                              [&](const detail::aligned_block& block, const accumulator& total) {
                                                  result.add(block.level, block.index, total);
                                              });
    return result;
}

} // namespace upsweep
