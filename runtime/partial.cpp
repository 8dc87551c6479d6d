// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Partials whose operator and element type are chosen at run time: one instantiation of up::partial, whose totals are
// words of 64 bits that the operator knows how to read.
#include <upsweep/partial.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <upsweep/runtime.h>

#include "call.hpp"
#include "fold.hpp"

using namespace upsweep;
using namespace upsweep::runtime;

namespace {

using word = std::uint64_t;

template <class T>
word word_of(const T& value)
{
    const T canonical = detail::canonical(value);
    word bits = 0;
    std::memcpy(&bits, &canonical, sizeof canonical);
    return bits;
}
template <class T>
T value_of(word bits)
{
    T value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
}

// An operator over words that hold values of the dtype in which it folds elements.
struct operator_over_words {
    upsweep_op op;
    upsweep_dtype element;

    word operator()(word a, word b) const
    {
        return with_typed([&]<class Acc, class Op>(std::type_identity<Acc>, Op f) {
            return word_of<Acc>(f(value_of<Acc>(a), value_of<Acc>(b)));
        });
    }
    template <std::same_as<word>>
    word identity() const
    {
        return with_typed([]<class Acc, class Op>(std::type_identity<Acc>, Op f) {
            return word_of<Acc>(f.template identity<Acc>());
        });
    }
    word of_nothing() const
    {
        return with_typed(
            []<class Acc, class Op>(std::type_identity<Acc>, Op f) { return word_of<Acc>(fold_of_nothing<Acc>(f)); });
    }

    upsweep_dtype accumulator() const { return accumulator_dtype_of(op, element); }
    detail::partial_header header_of_partial() const
    {
        detail::partial_header header;
        header.op = static_cast<std::uint8_t>(op);
        header.element = static_cast<std::uint8_t>(element);
        header.accumulator = static_cast<std::uint8_t>(accumulator());
        header.total_bytes = static_cast<std::uint32_t>(upsweep_dtype_size(accumulator()));
        return header;
    }

private:
    // Calls f(std::type_identity<Acc>{}, Op{}). The operator is known to be defined for the elements.
    template <class F>
    word with_typed(F f) const
    {
        return with_op(op, [&]<class Op>(Op typed) {
            return with_type(accumulator(), [&]<class Acc>(std::type_identity<Acc> type) -> word {
                if constexpr (monoid_over<Op, Acc> && std::same_as<accumulator_t<Op, Acc>, Acc>)
                    return f(type, typed);
                else
                    return 0;
            });
        });
    }
};

// The value of one dtype, at `from`, as a word that holds a value of another.
word converted_word(upsweep_dtype dtype, const void* from, upsweep_dtype to)
{
    return with_type(dtype, [&]<class T>(std::type_identity<T>) {
        T value;
        std::memcpy(&value, from, sizeof value);
        return with_type(to, [&]<class To>(std::type_identity<To>) { return word_of<To>(convert<To>(value)); });
    });
}

// Elements in memory of the host are not worth the way to a GPU where they are fewer. The bits are the same.
constexpr std::uint64_t least_for_gpu = 4096;

operator_over_words checked_operator(upsweep_op op, upsweep_dtype dtype)
{
    check_defined(op, dtype);
    return {op, dtype};
}

} // namespace

struct upsweep_partial {
    operator_over_words op;
    partial<word, operator_over_words> blocks;
};

namespace {

const upsweep_partial& checked(const upsweep_partial* partial)
{
    require(partial != nullptr, "partial", "the partial is a null pointer", "create it first");
    return *partial;
}

// Folds elements without gaps, of one aligned block, to the value of a reduction.
word fold_block(const execution& where, const operator_over_words& op, const elements& block)
{
    const upsweep_dtype result_dtype = result_dtype_of(op.op, op.element);
    word result = 0;
    const bool is_on_gpu = where.gpu != nullptr && block.memory != UPSWEEP_HOST;
    if (is_on_gpu &&
        gpu::reduce_by_type({op.op, op.element, result_dtype, where.host, where.gpu, 0}, block, &result, false))
        return result;
    execution here = where;
    if (!is_on_gpu && block.count < least_for_gpu)
        here.gpu = nullptr;
    here.gpu_memory = std::min(3 * block.count * block.bytes(), std::uint64_t{64} << 20);
    const auto reducer = make_reducer_for(here, op.op, op.element);
    if (is_on_gpu)
        reducer->feed_on_gpu(block);
    else
        reducer->feed(block.data, block.count);
    reducer->result(&result);
    return result;
}

// Adds the aligned blocks of elements without gaps, the first of which has position `first`.
void feed_piece(const execution& where, const elements& in, std::uint64_t first,
                partial<word, operator_over_words>& fed, const operator_over_words& op)
{
    const upsweep_dtype result_dtype = result_dtype_of(op.op, op.element);
    detail::for_each_aligned_block(first, first + in.count, [&](const detail::aligned_block& block) {
        elements part = in;
        part.data += (block.first() - first) * in.bytes();
        part.count = block.end() - block.first();
        part.extents.fill(1);
        part.extents.back() = part.count;
        part.strides.fill(1);
        const word result = fold_block(where, op, part);
        // A result is an accumulator, or one of the elements, which an accumulator holds.
        fed.add(block.level, block.index, converted_word(result_dtype, &result, op.accumulator()));
    });
}

void check_alike(const operator_over_words& a, const operator_over_words& b)
{
    if (a.op != b.op || a.element != b.element)
        throw error(error_kind::invalid_argument, "partial",
                    std::string("one is of ") + upsweep_op_name(a.op) + " of " + upsweep_dtype_name(a.element) +
                        ", the other of " + upsweep_op_name(b.op) + " of " + upsweep_dtype_name(b.element),
                    "merge partials of one operator and type");
}

} // namespace

extern "C" {

upsweep_status upsweep_partial_create(upsweep_op op, upsweep_dtype dtype, upsweep_partial** partial)
{
    return guarded([&] {
        require(partial != nullptr, "partial", "the partial is a null pointer", "pass a pointer to a pointer");
        const operator_over_words over = checked_operator(op, dtype);
        *partial = new upsweep_partial{over, upsweep::partial<word, operator_over_words>(over)};
    });
}

upsweep_status upsweep_partial_feed(upsweep_partial* partial, upsweep_context* context, const upsweep_array* in,
                                    uint64_t first_position)
{
    return guarded([&] {
        checked(partial);
        const elements from = checked_elements("partial", "the input", in);
        const operator_over_words& op = partial->op;
        check_same_dtype("partial", from, op.element);
        detail::check_positions(first_position, from.count);
        const execution where = execution_of(context);
        const in_use taken(where);
        upsweep::partial<word, operator_over_words> fed(op);
        std::uint64_t position = first_position;
        if (where.lies_on_gpu("partial", from)) {
            feed_piece(where, gpu::without_gaps(*where.gpu, from).get(), position, fed, op);
        } else {
            for_each_piece(where.host, from, [&](const std::byte* data, std::uint64_t count) {
                elements piece = from;
                piece.data = const_cast<std::byte*>(data); // It is read alone.
                piece.count = count;
                piece.memory = UPSWEEP_HOST;
                feed_piece(where, piece, position, fed, op);
                position += count;
            });
        }
        partial->blocks.merge(fed);
    });
}

upsweep_status upsweep_partial_merge(upsweep_partial* partial, const upsweep_partial* other)
{
    return guarded([&] {
        check_alike(checked(partial).op, checked(other).op);
        partial->blocks.merge(other->blocks);
    });
}

upsweep_status upsweep_partial_result(const upsweep_partial* partial, void* result)
{
    return guarded([&] {
        require(result != nullptr, "partial", "the result is a null pointer", "pass a pointer to the result");
        const operator_over_words& op = checked(partial).op;
        const bool is_empty = partial->blocks.blocks().empty();
        if (is_empty && (op.op == UPSWEEP_MINIMUM || op.op == UPSWEEP_MAXIMUM))
            detail::check_fold_exists<minimum>(0);
        const word total = is_empty ? op.of_nothing() : partial->blocks.value();
        const upsweep_dtype result_dtype = result_dtype_of(op.op, op.element);
        const word value = converted_word(op.accumulator(), &total, result_dtype);
        std::memcpy(result, &value, upsweep_dtype_size(result_dtype));
    });
}

uint64_t upsweep_partial_count(const upsweep_partial* partial)
{
    return partial != nullptr ? partial->blocks.count() : 0;
}

upsweep_status upsweep_partial_bytes(const upsweep_partial* partial, void* bytes, uint64_t* size)
{
    return guarded([&] {
        require(size != nullptr, "partial", "the size is a null pointer",
                "pass the number of bytes that there is room for");
        const std::vector<std::byte> all = checked(partial).blocks.bytes();
        const std::uint64_t room = std::exchange(*size, all.size());
        if (bytes == nullptr)
            return;
        require(room >= all.size(), "partial", "the room is too small for the bytes",
                "ask for their number first, with a null pointer");
        std::memcpy(bytes, all.data(), all.size());
    });
}

upsweep_status upsweep_partial_of_bytes(const void* bytes, uint64_t size, upsweep_partial** partial)
{
    return guarded([&] {
        require(partial != nullptr, "partial", "the partial is a null pointer", "pass a pointer to a pointer");
        require(bytes != nullptr || size == 0, "partial", "the bytes are a null pointer", "pass their address");
        const std::span all(static_cast<const std::byte*>(bytes), size);
        const detail::partial_header header = detail::header_of_bytes(all);
        if (header.op > UPSWEEP_LOG_SUM_EXP)
            detail::throw_malformed(9, "operator " + std::to_string(header.op) + ", which is not known here");
        if (header.element > UPSWEEP_F64)
            detail::throw_malformed(10, "element type " + std::to_string(header.element) + ", which is not known here");
        const auto over =
            checked_operator(static_cast<upsweep_op>(header.op), static_cast<upsweep_dtype>(header.element));
        *partial = new upsweep_partial{over, upsweep::partial<word, operator_over_words>::from_bytes(all, over)};
    });
}

void upsweep_partial_destroy(upsweep_partial* partial) { delete partial; }

} // extern "C"
