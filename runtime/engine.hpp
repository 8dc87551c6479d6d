// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include <upsweep/bins.hpp>
#include <upsweep/error.hpp>
#include <upsweep/fold_order.hpp>
#include <upsweep/monoids.hpp>
#include <upsweep/numbers.hpp>
#include <upsweep/op.hpp>
#include <upsweep/outside.hpp>
#include <upsweep/runtime.h>
#include <upsweep/target.hpp>
#include <upsweep/types.hpp>

#include "array.hpp"
#include "element_type.hpp"

// The CPU engine behind virtual functions, so that the element type and the operator can be chosen at run time. The
// files under dtypes/ instantiate it for the element types.
namespace upsweep::runtime {

class any_reducer {
public:
    virtual ~any_reducer() = default;
    // Elements in memory of the host, without gaps.
    virtual void feed(const void* in, std::size_t count) = 0;
    // Elements that the GPU reads where they lie. Only of what folds there.
    virtual void feed_on_gpu(const elements& in);
    virtual void result(void* to) = 0;
    // Whether no other elements change the result.
    virtual bool is_decided() const { return false; }
};

class any_scanner {
public:
    virtual ~any_scanner() = default;
    virtual void feed(const void* in, void* out, std::size_t count) = 0;
    // Scans all elements, which the GPU reads where they lie and writes its results where it reaches them. Only of what
    // folds there, and has been fed nothing.
    virtual void scan_on_gpu(const elements& in, const elements& out);
};

class any_counter {
public:
    virtual ~any_counter() = default;
    virtual void feed(const void* in, std::size_t count) = 0;
    virtual void feed_on_gpu(const elements& in);
    // Overwrites both with the numbers of samples, of everything fed so far, in each bin and in none.
    virtual void result(std::span<std::uint64_t> counts, outside& out_of_range) = 0;
    // Adds the numbers of these samples, in order of the stream, to counters in memory of the GPU. Returns false, and does
    // nothing, where the counter cannot do so.
    virtual bool count_on_gpu(const elements&, std::uint64_t*, outside*) { return false; }
};

// A scan on the CPU. feed takes elements of the type of the results, feed_accumulators takes those of the type in which
// the scan folds.
class cpu_scanner : public any_scanner {
public:
    virtual void feed_accumulators(const void* in, void* out, std::size_t count) = 0;
};

struct scan_request {
    cpu target;
    scan_kind kind;
    const void* init; // a value of the type of the results, or null
};

// Both return null where the operator is not defined for the type.
using make_reducer = std::unique_ptr<any_reducer> (*)(upsweep_op op, cpu target);
using make_scanner = std::unique_ptr<cpu_scanner> (*)(upsweep_op op, const scan_request& request);
// Adds the numbers of samples in each bin and in none.
template <class Bins>
using add_samples = void (*)(cpu target, const void* in, std::size_t count, const Bins& bins,
                             std::span<std::uint64_t> counts, outside& out_of_range);

struct dtype_engine {
    make_reducer reducer;
    make_scanner scanner;
    add_samples<even_bins> histogram_even;
    add_samples<edges> histogram_edges;
};

template <class T>
const dtype_engine& engine_of();

// Calls f with the operator object that an upsweep_op stands for.
template <class F>
auto with_op(upsweep_op op, F f)
{
    switch (op) {
    case UPSWEEP_PLUS: return f(plus{});
    case UPSWEEP_MULTIPLIES: return f(multiplies{});
    case UPSWEEP_MINIMUM: return f(minimum{});
    case UPSWEEP_MAXIMUM: return f(maximum{});
    case UPSWEEP_BIT_AND: return f(bit_and{});
    case UPSWEEP_BIT_OR: return f(bit_or{});
    case UPSWEEP_BIT_XOR: return f(bit_xor{});
    case UPSWEEP_LOGICAL_AND: return f(logical_and{});
    case UPSWEEP_LOGICAL_OR: return f(logical_or{});
    case UPSWEEP_LOG_SUM_EXP: return f(log_sum_exp{});
    }
    throw error(error_kind::invalid_argument, "upsweep",
                "operator " + std::to_string(static_cast<int>(op)) + " does not exist", "pass one of enum upsweep_op");
}

// Whether the operator is defined for the type: bit operators are for bool and integers, logarithms for floating-point numbers.
template <class Op, class T>
inline constexpr bool is_defined = std::integral<T> ? !std::same_as<Op, log_sum_exp> : !detail::is_bitwise<Op>;

// The dtypes and operators have the numbers that the library itself knows them by.
static_assert(detail::type_number<bool>() == UPSWEEP_BOOL && detail::type_number<std::int8_t>() == UPSWEEP_I8 &&
              detail::type_number<std::int64_t>() == UPSWEEP_I64 && detail::type_number<std::uint8_t>() == UPSWEEP_U8 &&
              detail::type_number<std::uint64_t>() == UPSWEEP_U64 && detail::type_number<f16>() == UPSWEEP_F16 &&
              detail::type_number<bf16>() == UPSWEEP_BF16 && detail::type_number<float>() == UPSWEEP_F32 &&
              detail::type_number<double>() == UPSWEEP_F64);
static_assert(detail::operator_number<plus> == UPSWEEP_PLUS &&
              detail::operator_number<multiplies> == UPSWEEP_MULTIPLIES &&
              detail::operator_number<minimum> == UPSWEEP_MINIMUM &&
              detail::operator_number<maximum> == UPSWEEP_MAXIMUM &&
              detail::operator_number<bit_and> == UPSWEEP_BIT_AND &&
              detail::operator_number<bit_or> == UPSWEEP_BIT_OR &&
              detail::operator_number<bit_xor> == UPSWEEP_BIT_XOR &&
              detail::operator_number<logical_and> == UPSWEEP_LOGICAL_AND &&
              detail::operator_number<logical_or> == UPSWEEP_LOGICAL_OR &&
              detail::operator_number<log_sum_exp> == UPSWEEP_LOG_SUM_EXP);

template <class T>
inline constexpr auto dtype_of = static_cast<upsweep_dtype>(detail::type_number<T>());

// The type of a reduce's result, and the type in which a reduce of such elements, or a scan with such results, folds.
inline upsweep_dtype result_dtype_of(upsweep_op op, upsweep_dtype dtype)
{
    return with_op(op, [dtype]<class Op>(Op) {
        return with_type(dtype, []<class T>(std::type_identity<T>) { return dtype_of<result_t<Op, T>>; });
    });
}
inline upsweep_dtype accumulator_dtype_of(upsweep_op op, upsweep_dtype dtype)
{
    return with_op(op, [dtype]<class Op>(Op) {
        return with_type(dtype, []<class T>(std::type_identity<T>) { return dtype_of<accumulator_t<Op, T>>; });
    });
}
inline upsweep_dtype scan_accumulator_dtype(upsweep_op op, upsweep_dtype out)
{
    return with_op(op, [out]<class Op>(Op) {
        return with_type(out, []<class T>(std::type_identity<T>) { return dtype_of<scan_accumulator_t<Op, T>>; });
    });
}

// Refuses an operator that is not defined for the dtype, and numbers that are neither.
void check_defined(upsweep_op op, upsweep_dtype dtype);

} // namespace upsweep::runtime
