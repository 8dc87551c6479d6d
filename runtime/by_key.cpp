// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Runs of equal keys: reduce and scan by key, run lengths.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <type_traits>

#include <upsweep/by_key.hpp>
#include <upsweep/runtime.h>

#include "call.hpp"
#include "fold.hpp"
#include "gpu/shape_fold.hpp"
#include "gpu/shapes.hpp"
#include "shapes.hpp"

using namespace upsweep;
using namespace upsweep::runtime;

namespace {

using runs_engine = detail::engine<cpu, detail::verb::runs>;

// Calls f with the type as which keys of a dtype are compared: of integers, bits that are equal are equal numbers.
template <class F>
auto with_key_type(upsweep_dtype dtype, F f)
{
    switch (dtype) {
    case UPSWEEP_F16: return f(std::type_identity<f16>{});
    case UPSWEEP_BF16: return f(std::type_identity<bf16>{});
    case UPSWEEP_F32: return f(std::type_identity<float>{});
    case UPSWEEP_F64: return f(std::type_identity<double>{});
    default: break;
    }
    switch (upsweep_dtype_size(dtype)) {
    case 1: return f(std::type_identity<std::uint8_t>{});
    case 2: return f(std::type_identity<std::uint16_t>{});
    case 4: return f(std::type_identity<std::uint32_t>{});
    default: return f(std::type_identity<std::uint64_t>{});
    }
}

std::uint64_t count_runs(const cpu& host, upsweep_dtype dtype, const void* keys, std::uint64_t count)
{
    return with_key_type(dtype, [&]<class Key>(std::type_identity<Key>) {
        return cpu_engine::for_each_piece_of_runs(host, static_cast<const Key*>(keys), count,
                                                  [](const cpu_engine::run_heads&, std::size_t, std::size_t) {})
            .count;
    });
}

// What for_each_ended_run of the CPU's engine calls, from any of its threads, for keys of any type.
struct run_calls {
    std::function<void(std::uint64_t number, std::span<const std::uint64_t> heads)> begun;
    std::function<void(std::uint64_t number, std::span<const std::uint64_t> bounds)> ended;
    std::function<void(std::uint64_t number, std::span<const std::uint64_t> bounds)> long_one;
};
std::uint64_t for_each_ended_run(const cpu& host, upsweep_dtype dtype, const void* keys, std::uint64_t count,
                                 const run_calls& calls)
{
    return with_key_type(dtype, [&]<class Key>(std::type_identity<Key>) {
        return cpu_engine::for_each_ended_run(host, static_cast<const Key*>(keys), count, std::cref(calls.begun),
                                              std::cref(calls.ended),
                                              [&](std::size_t number, std::size_t begin, std::size_t end) {
                                                  calls.long_one(number, std::array<std::uint64_t, 2>{begin, end});
                                              })
            .count;
    });
}

// Returns the number of runs, which there is room for.
std::uint64_t encode(const cpu& host, upsweep_dtype dtype, const void* in, std::uint64_t count, void* values,
                     void* lengths, std::uint64_t room)
{
    std::uint64_t runs = 0;
    with_key_type(dtype, [&]<class Key>(std::type_identity<Key>) {
        runs_engine::encode(host, static_cast<const Key*>(in), count, static_cast<Key*>(values),
                            static_cast<std::uint64_t*>(lengths), room, &runs);
    });
    return runs;
}

template <class F>
void with_word_of_size(std::size_t bytes, F f)
{
    switch (bytes) {
    case 1: return f(std::uint8_t{});
    case 2: return f(std::uint16_t{});
    case 4: return f(std::uint32_t{});
    default: return f(std::uint64_t{});
    }
}

void decode(const cpu& host, std::size_t bytes, const void* values, const void* lengths, std::uint64_t runs, void* out,
            std::uint64_t room)
{
    with_word_of_size(bytes, [&]<class Word>(Word) {
        runs_engine::decode(host, static_cast<const Word*>(values), static_cast<const std::uint64_t*>(lengths), runs,
                            static_cast<Word*>(out), room);
    });
}

// The first keys of runs.
void write_first_keys(std::size_t bytes, const std::byte* keys, std::span<const std::uint64_t> heads, std::byte* out)
{
    with_word_of_size(bytes, [&]<class Word>(Word) {
        const auto* const all = reinterpret_cast<const Word*>(keys);
        std::ranges::transform(heads, reinterpret_cast<Word*>(out), [all](std::uint64_t head) { return all[head]; });
    });
}

struct pairs {
    elements keys;
    elements values;
};

// Returns the number of runs, for which there is room.
std::uint64_t reduce_on_cpu(const char* call, const cpu& host, upsweep_op op, const pairs& in, const pairs& out)
{
    const side_by_side all(host, in.keys);
    const std::uint64_t room = std::min({out.keys.count, out.values.count, in.keys.count});
    if (room < in.keys.count)
        if (const std::uint64_t runs = count_runs(host, in.keys.dtype, all.data(), in.keys.count); runs > room)
            detail::refuse_runs(call, runs, room);
    results_side_by_side firsts(host, out.keys, room);
    const segment_reduction reduction(host, op, in.values, out.values, room);
    const std::uint64_t runs = for_each_ended_run(
        host, in.keys.dtype, all.data(), in.keys.count,
        {[&](std::uint64_t number, std::span<const std::uint64_t> heads) {
             write_first_keys(in.keys.bytes(), all.data(), heads, firsts.data() + number * in.keys.bytes());
         },
         [&](std::uint64_t number, std::span<const std::uint64_t> bounds) { reduction.fold(cpu{1}, bounds, number); },
         [&](std::uint64_t number, std::span<const std::uint64_t> bounds) { reduction.fold(host, bounds, number); }});
    firsts.write(0, runs);
    reduction.finish(runs);
    return runs;
}

void scan_on_cpu(const cpu& host, upsweep_op op, const pairs& in, const elements& out, const scan_start& start)
{
    const side_by_side all(host, in.keys);
    const segment_scan scan(host, op, in.values, out, start, 0, in.values.count);
    (void)for_each_ended_run(host, in.keys.dtype, all.data(), in.keys.count,
                             {[](std::uint64_t, std::span<const std::uint64_t>) {},
                              [&](std::uint64_t, std::span<const std::uint64_t> bounds) { scan.scan(cpu{1}, bounds); },
                              [&](std::uint64_t, std::span<const std::uint64_t> bounds) { scan.scan(host, bounds); }});
    scan.finish();
}

void check_pairs(const char* call, const elements& keys, const elements& values)
{
    if (keys.count != values.count)
        throw error(error_kind::invalid_argument, call,
                    "there are " + std::to_string(keys.count) + " keys and " + std::to_string(values.count) + " values",
                    "give one key a value");
}

void check_lengths(const char* call, const elements& lengths)
{
    if (lengths.dtype != UPSWEEP_I64 && lengths.dtype != UPSWEEP_U64)
        throw error(error_kind::invalid_argument, call,
                    std::string("the lengths are of type ") + upsweep_dtype_name(lengths.dtype),
                    "give integers of 64 bits");
}

constexpr const char* runs_of_gpu = "a GPU finds runs of words of up to 64 bits";

// Runs that a GPU has found, and written as far as there is room, are refused where there are more.
std::uint64_t checked_runs(const char* call, std::uint64_t runs, std::uint64_t room)
{
    if (runs > room)
        detail::refuse_runs(call, runs, room);
    return runs;
}

std::uint64_t reduce_on_gpu(const char* call, const gpu::device& gpu, upsweep_op op, const pairs& in, const pairs& out)
{
    const gpu::shape_fold fold = gpu::reduction_of(op, in.values.dtype);
    const gpu::key_words keys(gpu, in.keys);
    const gpu::converted values(gpu, in.values, fold.as, fold.dtype);
    const gpu::converted_results to_keys(gpu, out.keys, gpu::key_dtype(in.keys.dtype),
                                         gpu::converted_results::written::some);
    const gpu::converted_results to_values(gpu, out.values, fold.result, gpu::converted_results::written::some);
    std::optional<gpu::scratch> aside;
    elements words_out = to_keys.get();
    if (keys.are_floats()) {
        words_out.dtype = keys.get().dtype;
        words_out = aside.emplace(gpu, words_out).get();
    }
    const std::uint64_t runs = gpu::reduce_by_key(gpu, fold, keys.get(), values.get(), words_out, to_values.get());
    const std::uint64_t room = std::min(out.keys.count, out.values.count);
    if (keys.are_floats() && runs != 0) {
        elements lengths = to_keys.get();
        lengths.dtype = UPSWEEP_U64;
        const gpu::scratch not_asked_for(gpu, lengths);
        (void)gpu::encode_runs(gpu, keys.keys(), to_keys.get(), not_asked_for.get());
    }
    to_keys.write_first(std::min(runs, room));
    to_values.write_first(std::min(runs, room));
    return checked_runs(call, runs, room);
}

void scan_on_gpu(const gpu::device& gpu, upsweep_op op, const pairs& in, const elements& out, const scan_start& start)
{
    const gpu::shape_fold fold = gpu::scan_of(op, out.dtype);
    const gpu::key_words keys(gpu, in.keys);
    const gpu::converted values(gpu, in.values, fold.as, fold.dtype);
    const gpu::converted_results to(gpu, out, fold.result);
    const gpu::folded_init init(fold, out.dtype, start.init);
    gpu::scan_by_key(gpu, fold, keys.get(), values.get(), to.get(), {start.kind, init.get()});
    to.write_back();
}

// Refuses outputs that have a place for two of their elements, or that share memory with an input or with one another.
void check_outputs(const char* call, std::span<const elements> inputs, std::span<const elements> outputs)
{
    for (std::size_t k = 0; k < outputs.size(); ++k) {
        check_places(call, outputs[k]);
        for (const elements& in : inputs)
            check_apart(call, in, outputs[k]);
        for (const elements& other : outputs.first(k))
            check_apart(call, other, outputs[k]);
    }
}

} // namespace

extern "C" {

upsweep_status upsweep_reduce_by_key(upsweep_context* context, upsweep_op op, const upsweep_array* keys,
                                     const upsweep_array* values, const upsweep_array* keys_out,
                                     const upsweep_array* totals_out, uint64_t* runs)
{
    constexpr const char* call = "reduce_by_key";
    return guarded([&] {
        const elements of_keys = checked_elements(call, "the array of keys", keys);
        const elements of_values = checked_elements(call, "the array of values", values);
        const elements to_keys = checked_elements(call, "the output of keys", keys_out);
        const elements to_totals = checked_elements(call, "the output of totals", totals_out);
        require(runs != nullptr, call, "the number of runs is a null pointer", "pass a pointer to a number");
        check_defined(op, of_values.dtype);
        check_same_dtype(call, to_keys, of_keys.dtype);
        check_same_dtype(call, to_totals, result_dtype_of(op, of_values.dtype));
        check_pairs(call, of_keys, of_values);
        const execution where = execution_of(context);
        const in_use taken(where);
        const bool is_on_gpu = lie_on_gpu(call, where, {of_keys, of_values, to_keys, to_totals});
        check_outputs(call, std::array{of_keys, of_values}, std::array{to_keys, to_totals});
        if (is_on_gpu) {
            check_has_no_gaps(call, to_keys);
            check_has_no_gaps(call, to_totals);
            *runs = reduce_on_gpu(call, *where.gpu, op, {of_keys, of_values}, {to_keys, to_totals});
            return;
        }
        *runs =
            of_keys.count != 0 ? reduce_on_cpu(call, where.host, op, {of_keys, of_values}, {to_keys, to_totals}) : 0;
    });
}

upsweep_status upsweep_scan_by_key(upsweep_context* context, upsweep_op op, bool exclusive, const upsweep_array* keys,
                                   const upsweep_array* values, const upsweep_array* out, const void* init)
{
    constexpr const char* call = "scan_by_key";
    return guarded([&] {
        const elements of_keys = checked_elements(call, "the array of keys", keys);
        const elements of_values = checked_elements(call, "the array of values", values);
        const elements to = checked_elements(call, "the output", out);
        check_scan_types(op, of_values.dtype, to.dtype);
        check_pairs(call, of_keys, of_values);
        check_count_of_scan(call, of_values, to);
        const execution where = execution_of(context);
        const in_use taken(where);
        const bool is_on_gpu = lie_on_gpu(call, where, {of_keys, of_values, to});
        check_output(call, of_values, to);
        check_apart(call, of_keys, to);
        if (of_values.count == 0)
            return;
        const scan_kind kind = exclusive ? scan_kind::exclusive : scan_kind::inclusive;
        if (is_on_gpu) {
            const scan_init first(op, to.dtype, init);
            return scan_on_gpu(*where.gpu, op, {of_keys, of_values}, to, {kind, first.get()});
        }
        scan_on_cpu(where.host, op, {of_keys, of_values}, to, {kind, init});
    });
}

upsweep_status upsweep_run_length_encode(upsweep_context* context, const upsweep_array* in,
                                         const upsweep_array* values_out, const upsweep_array* lengths_out,
                                         uint64_t* runs)
{
    constexpr const char* call = "run_length_encode";
    return guarded([&] {
        const elements from = checked_elements(call, "the input", in);
        const elements to_values = checked_elements(call, "the output of values", values_out);
        const elements to_lengths = checked_elements(call, "the output of lengths", lengths_out);
        require(runs != nullptr, call, "the number of runs is a null pointer", "pass a pointer to a number");
        check_same_dtype(call, to_values, from.dtype);
        check_lengths(call, to_lengths);
        const execution where = execution_of(context);
        const in_use taken(where);
        const bool is_on_gpu = lie_on_gpu(call, where, {from, to_values, to_lengths});
        const cpu& host = where.host;
        check_outputs(call, std::array{from}, std::array{to_values, to_lengths});
        const std::uint64_t room = std::min(to_values.count, to_lengths.count);
        if (is_on_gpu) {
            check_has_no_gaps(call, to_values);
            check_has_no_gaps(call, to_lengths);
            const upsweep_dtype compared = gpu::key_dtype(from.dtype);
            const gpu::converted all(*where.gpu, from, compared);
            const gpu::converted_results values(*where.gpu, to_values, compared);
            const auto found = gpu::encode_runs(*where.gpu, all.get(), values.get(), to_lengths);
            values.write_first(std::min(found.count, room));
            must_be_done(call, found.is_done, runs_of_gpu);
            *runs = checked_runs(call, found.count, room);
            return;
        }

        const side_by_side all(host, from);
        if (room >= from.count && to_values.is_contiguous() && to_lengths.is_contiguous()) {
            *runs = encode(host, from.dtype, all.data(), from.count, to_values.data, to_lengths.data, room);
            return;
        }
        const std::uint64_t found = count_runs(host, from.dtype, all.data(), from.count);
        if (found > room)
            detail::refuse_runs(call, found, room);
        if (found != 0) {
            results_side_by_side values(host, to_values, found);
            results_side_by_side lengths(host, to_lengths, found);
            (void)encode(host, from.dtype, all.data(), from.count, values.data(), lengths.data(), found);
            values.write(0, found);
            lengths.write(0, found);
        }
        *runs = found;
    });
}

upsweep_status upsweep_run_length_decode(upsweep_context* context, const upsweep_array* values,
                                         const upsweep_array* lengths, const upsweep_array* out)
{
    constexpr const char* call = "run_length_decode";
    return guarded([&] {
        const elements of_values = checked_elements(call, "the array of values", values);
        const elements of_lengths = checked_elements(call, "the array of lengths", lengths);
        const elements to = checked_elements(call, "the output", out);
        check_same_dtype(call, to, of_values.dtype);
        check_lengths(call, of_lengths);
        if (of_values.count != of_lengths.count)
            throw error(error_kind::invalid_argument, call,
                        "there are " + std::to_string(of_values.count) + " values and " +
                            std::to_string(of_lengths.count) + " lengths",
                        "give one length a value");
        const execution where = execution_of(context);
        const in_use taken(where);
        const bool is_on_gpu = lie_on_gpu(call, where, {of_values, of_lengths, to});
        const cpu& host = where.host;
        check_outputs(call, std::array{of_values, of_lengths}, std::array{to});
        if (is_on_gpu) {
            check_has_no_gaps(call, to);
            const gpu::without_gaps all_values(*where.gpu, of_values);
            const gpu::without_gaps all_lengths(*where.gpu, of_lengths);
            return must_be_done(call, gpu::decode_runs(*where.gpu, all_values.get(), all_lengths.get(), to),
                                runs_of_gpu);
        }

        const side_by_side from(host, of_values);
        const side_by_side of_runs(host, of_lengths);
        results_side_by_side results(host, to, to.count);
        decode(host, to.bytes(), from.data(), of_runs.data(), of_values.count, results.data(), to.count);
        const auto* const each = reinterpret_cast<const std::uint64_t*>(of_runs.data());
        results.write(0, std::accumulate(each, each + of_values.count, std::uint64_t{0}));
    });
}

} // extern "C"
