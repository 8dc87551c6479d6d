// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>

#include <upsweep/runtime.h>
#include <upsweep/verb/reduce.hpp>

#include "any_order.hpp"
#include "call.hpp"
#include "converted_lines.hpp"
#include "fold.hpp"
#include "gpu/shapes.hpp"
#include "line_arrays.hpp"
#include "lines_first.hpp"
#include "variance.hpp"

using namespace upsweep;
using namespace upsweep::runtime;

namespace upsweep::runtime {

namespace {

[[noreturn]] void throw_no_gpu()
{
    throw refusal(UPSWEEP_UNREACHABLE, "upsweep", "the CPU does not reach memory of a GPU",
                  "create a context of the GPU");
}

bool is_float(upsweep_dtype dtype) { return dtype >= UPSWEEP_F16; }

[[noreturn]] void throw_undefined(upsweep_op op, upsweep_dtype dtype)
{
    throw error(error_kind::unsupported, upsweep_op_name(op),
                std::string("not defined for elements of type ") + upsweep_dtype_name(dtype),
                is_float(dtype) ? "bit operators are for bool and integers"
                                : "log_sum_exp is for floating-point numbers");
}

// Whether an operator on elements of a type gives the truth of some or of all.
bool is_of_truths(upsweep_op op, upsweep_dtype dtype)
{
    return is_logical(op) || (dtype == UPSWEEP_BOOL && is_idempotent(op));
}

// Logical operators, and those on truths that are the same, by operators on the bytes of elements, which vectors fold at the speed of
// memory: some element is true if one of them has a bit, and all are if the least, as an unsigned word, is not zero. Floating-point numbers
// have two zeros: the one with a sign is the least as a signed word.
class truth_reducer final : public any_reducer {
public:
    truth_reducer(upsweep_op op, upsweep_dtype dtype, cpu target)
        : bytes_(upsweep_dtype_size(dtype)),
          is_any_(op == UPSWEEP_LOGICAL_OR || op == UPSWEEP_MAXIMUM || op == UPSWEEP_BIT_OR),
          needs_elements_(is_extremum(op)), sign_(is_float(dtype) ? std::uint64_t{1} << (8 * bytes_ - 1) : 0)
    {
        const upsweep_dtype word = unsigned_word(bytes_);
        words_ = engine(word).reducer(is_any_ ? UPSWEEP_BIT_OR : UPSWEEP_MINIMUM, target);
        if (!is_any_ && is_float(dtype))
            signed_words_ =
                engine(static_cast<upsweep_dtype>(word - UPSWEEP_U8 + UPSWEEP_I8)).reducer(UPSWEEP_MINIMUM, target);
    }

    // Pieces grow: what decides is found within some three times the elements up to it, and all of them take few calls.
    void feed(const void* in, std::size_t count) override
    {
        constexpr std::size_t first_bytes = std::size_t{1} << 16;
        constexpr std::size_t most_bytes_twice = std::size_t{1} << 20; // stay in the caches until they are folded again
        has_elements_ = has_elements_ || count != 0;
        const auto* data = static_cast<const std::byte*>(in);
        std::size_t piece = first_bytes / bytes_;
        for (std::size_t done = 0; done < count && !is_decided_;) {
            const std::size_t size = std::min(piece, count - done);
            words_->feed(data + done * bytes_, size);
            if (signed_words_ != nullptr)
                signed_words_->feed(data + done * bytes_, size);
            done += size;
            is_decided_ = done < count && truth() == is_any_;
            if (signed_words_ == nullptr || piece < most_bytes_twice / bytes_)
                piece *= 2;
        }
    }

    void result(void* to) override
    {
        if (needs_elements_ && !has_elements_)
            detail::check_fold_exists<minimum>(0);
        const bool answer = truth();
        std::memcpy(to, &answer, sizeof answer);
    }

    bool is_decided() const override { return has_elements_ && truth() == is_any_; }

private:
    // Of what has been fed.
    bool truth() const
    {
        if (!has_elements_)
            return !is_any_;
        const std::uint64_t word = word_of(*words_);
        if (is_any_)
            return (word & ~sign_) != 0;
        return word != 0 && (signed_words_ == nullptr || word_of(*signed_words_) != sign_);
    }
    static std::uint64_t word_of(any_reducer& words)
    {
        std::uint64_t word = 0;
        words.result(&word);
        return word;
    }

    std::size_t bytes_;
    bool is_any_;
    bool needs_elements_;
    std::uint64_t sign_;
    std::unique_ptr<any_reducer> words_;
    std::unique_ptr<any_reducer> signed_words_;
    bool has_elements_ = false;
    bool is_decided_ = false; // no other element changes the truth
};

} // namespace

void any_reducer::feed_on_gpu(const elements&) { throw_no_gpu(); }
void any_scanner::scan_on_gpu(const elements&, const elements&) { throw_no_gpu(); }
void any_counter::feed_on_gpu(const elements&) { throw_no_gpu(); }

const dtype_engine& engine(upsweep_dtype dtype)
{
    check_dtype("upsweep", dtype);
    return with_type(dtype, []<class T>(std::type_identity<T>) -> std::reference_wrapper<const dtype_engine> {
        return engine_of<T>();
    });
}

void check_same_dtype(const char* call, const elements& in, upsweep_dtype dtype)
{
    if (in.dtype != dtype)
        throw error(error_kind::invalid_argument, call,
                    std::string("an array of ") + upsweep_dtype_name(in.dtype) + " where one of " +
                        upsweep_dtype_name(dtype) + " is expected",
                    "convert it, or name its type");
}

void check_defined(upsweep_op op, upsweep_dtype dtype)
{
    check_dtype(upsweep_op_name(op) != nullptr ? upsweep_op_name(op) : "upsweep", dtype);
    const bool is_defined = with_op(op, [&]<class Op>(Op) {
        return with_type(dtype, []<class T>(std::type_identity<T>) { return runtime::is_defined<Op, T>; });
    });
    if (!is_defined)
        throw_undefined(op, dtype);
}

std::unique_ptr<any_reducer> make_reducer_for(const execution& where, upsweep_op op, upsweep_dtype dtype)
{
    check_defined(op, dtype);
    if (where.gpu != nullptr)
        return gpu::make_reducer({op, dtype, result_dtype_of(op, dtype), where.host, where.gpu, where.gpu_memory});
    if (is_of_truths(op, dtype))
        return std::make_unique<truth_reducer>(op, dtype, where.host);
    if (op == UPSWEEP_PLUS && dtype == UPSWEEP_BOOL) // Sums of bytes have the bits of sums of truths.
        return engine(UPSWEEP_U8).reducer(op, where.host);
    return engine(dtype).reducer(op, where.host);
}

} // namespace upsweep::runtime

namespace {

// Writes a truth that the first elements of an array with gaps decide. Returns whether they do.
bool write_early_truth(const cpu& host, upsweep_op op, const elements& in, const elements& result)
{
    constexpr std::uint64_t early = 4096;
    if (!is_of_truths(op, in.dtype) || in.is_contiguous() || in.count <= early)
        return false;
    std::array<std::uint64_t, early> first; // room for elements of any type
    gather(host, in, 0, early, reinterpret_cast<std::byte*>(first.data()));
    truth_reducer fold(op, in.dtype, host);
    fold.feed(first.data(), early);
    if (!fold.is_decided())
        return false;
    fold.result(result.data);
    return true;
}

void write_result(const execution& where, std::uint64_t value, const elements& to, bool is_on_gpu)
{
    if (is_on_gpu)
        gpu::write(*where.gpu, to.data, &value, to.bytes());
    else
        std::memcpy(to.data, &value, to.bytes());
}

// Reduces elements to the type of result that the operator has of them.
void reduce_elements(const execution& where, upsweep_op op, const elements& from, const elements& to)
{
    const bool is_on_gpu = where.lies_on_gpu("reduce", from);
    const bool is_result_on_gpu = where.lies_on_gpu("reduce", to);
    if (op == UPSWEEP_MINIMUM || op == UPSWEEP_MAXIMUM)
        detail::check_fold_exists<minimum>(from.count);
    const gpu::reduce_request request{op, from.dtype, to.dtype, where.host, where.gpu, where.gpu_memory};
    if (is_on_gpu && gpu::reduce_by_type(request, from, to.data, is_result_on_gpu))
        return;
    const bool is_on_host = where.gpu == nullptr;
    if (is_on_host && write_early_truth(where.host, op, from, to))
        return;
    const auto equal = is_on_host ? fold_lines_first("reduce", where.host, op, from) : std::nullopt;
    const folded_input whole("reduce", where, equal ? equal->of : from);
    const auto reducer = make_reducer_for(where, op, whole.get().dtype);
    whole.feed(*reducer);
    std::uint64_t value = 0;
    reducer->result(&value);
    write_result(where, value, to, is_result_on_gpu);
}

// Reduces elements that are converted to the type of the result first: of an array without gaps in memory of the host by the CPU, some at a time, and
// otherwise of a copy.
void reduce_converted(const execution& where, upsweep_op op, const elements& from, const elements& to)
{
    if (where.lies_on_gpu("reduce", from)) {
        const gpu::converted copy(*where.gpu, from, to.dtype);
        return reduce_elements(where, op, copy.get(), to);
    }
    const bool is_result_on_gpu = where.lies_on_gpu("reduce", to);
    const side_by_side in_order(where.host, from);
    std::uint64_t value = 0;
    reduce_converted_lines(where.host, op, from.dtype, to.dtype,
                           lines_of("reduce", {{from.count}, {1}}, 0, {in_order.data(), from.bytes()}, {0},
                                    {reinterpret_cast<std::byte*>(&value), to.bytes()}, 1));
    write_result(where, value, to, is_result_on_gpu);
}

} // namespace

struct upsweep_reducer {
    execution where;
    upsweep_dtype dtype;
    std::unique_ptr<any_reducer> fold;
};

extern "C" {

upsweep_status upsweep_reduce(upsweep_context* context, upsweep_op op, const upsweep_array* in,
                              const upsweep_array* result)
{
    return guarded([&] {
        const elements from = checked_elements("reduce", "the input", in);
        const elements to = checked_elements("reduce", "the result", result);
        check_defined(op, from.dtype);
        const bool are_converted = is_converted_first(op, from.dtype, to.dtype);
        if (!are_converted)
            check_same_dtype("reduce", to, result_dtype_of(op, from.dtype));
        require(to.count == 1, "reduce", "the result has not one element", "pass an array of one element");
        const execution where = execution_of(context);
        const in_use taken(where);
        if (are_converted)
            return reduce_converted(where, op, from, to);
        reduce_elements(where, op, from, to);
    });
}

upsweep_status upsweep_reducer_create(upsweep_context* context, upsweep_op op, upsweep_dtype dtype,
                                      upsweep_reducer** reducer)
{
    return guarded([&] {
        require(reducer != nullptr, "reduce", "the reducer is a null pointer", "pass a pointer to a pointer");
        const execution where = execution_of(context);
        const in_use taken(where);
        *reducer = new upsweep_reducer{where, dtype, make_reducer_for(where, op, dtype)};
    });
}

upsweep_status upsweep_reducer_create_variance(upsweep_dtype dtype, double correction, upsweep_reducer** reducer)
{
    return guarded([&] {
        require(reducer != nullptr, "variance", "the reducer is a null pointer", "pass a pointer to a pointer");
        check_dtype("variance", dtype);
        const execution where = execution_of(nullptr);
        *reducer = new upsweep_reducer{where, dtype, variance_engine_for(dtype).reducer(correction, where.host)};
    });
}

upsweep_status upsweep_reducer_feed(upsweep_reducer* reducer, const upsweep_array* in)
{
    return guarded([&] {
        require(reducer != nullptr, "reduce", "the reducer is a null pointer", "create it first");
        const elements from = checked_elements("reduce", "the input", in);
        check_same_dtype("reduce", from, reducer->dtype);
        const in_use taken(reducer->where);
        folded_input("reduce", reducer->where, from).feed(*reducer->fold);
    });
}

upsweep_status upsweep_reducer_result(const upsweep_reducer* reducer, void* result)
{
    return guarded([&] {
        require(reducer != nullptr && result != nullptr, "reduce", "a null pointer was passed",
                "pass room for the result");
        const in_use taken(reducer->where);
        reducer->fold->result(result);
    });
}

void upsweep_reducer_destroy(upsweep_reducer* reducer) { delete reducer; }

} // extern "C"
