// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include <upsweep/runtime.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <cstring>
#include <exception>
#include <functional>
#include <memory>
#include <new>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "call.hpp"
#include "engine.hpp"
#include "gpu/engine.hpp"

using namespace upsweep;
using namespace upsweep::runtime;

namespace {

// Returns the threads of the CPU that the target has. They do all of the work, or bring the elements to the GPU.
cpu cpu_of(upsweep_target target)
{
    require(target.threads >= 0, "upsweep", "the number of threads is negative", "pass 0 for all cores");
    return cpu{target.threads};
}

// Returns the engine for a dtype, which is checked because a caller may pass any integer for it.
const dtype_engine& engine(upsweep_dtype dtype)
{
    const auto number = static_cast<int>(dtype);
    if (number < UPSWEEP_BOOL || number > UPSWEEP_F64)
        throw error(error_kind::invalid_argument, "upsweep", "dtype " + std::to_string(number) + " does not exist",
                    "pass one of enum upsweep_dtype");
    return with_type(dtype, []<class T>(std::type_identity<T>) -> std::reference_wrapper<const dtype_engine> {
        return engine_of<T>();
    });
}

[[noreturn]] void throw_undefined(upsweep_op op, upsweep_dtype dtype)
{
    throw error(error_kind::unsupported, upsweep_op_name(op),
                std::string("not defined for elements of type ") + upsweep_dtype_name(dtype),
                "bit operators are for bool and integers");
}

void convert_elements(upsweep_dtype from, const void* in, upsweep_dtype to, void* out, std::size_t count)
{
    with_type(from, [&]<class From>(std::type_identity<From>) {
        with_type(to, [&]<class To>(std::type_identity<To>) {
            const auto* source = static_cast<const From*>(in);
            auto* destination = static_cast<To*>(out);
            for (std::size_t i = 0; i < count; ++i)
                destination[i] = convert<To>(source[i]);
        });
    });
}

// Whether every value of `from` has a meaning in `to`: a float has none in an integer type, where it may not fit.
bool is_convertible(upsweep_dtype from, upsweep_dtype to)
{
    return from < UPSWEEP_F16 || to >= UPSWEEP_F16 || to == UPSWEEP_BOOL;
}

// A counter on the CPU, which adds the samples of each piece to its counts at once.
template <class Bins>
class cpu_counter final : public any_counter {
public:
    cpu_counter(add_samples<Bins> add, cpu target, Bins bins) : add_(add), target_(target), bins_(std::move(bins))
    {
        const std::size_t count = detail::bin_count(bins_);
        try {
            counts_.resize(count);
        } catch (const std::bad_alloc&) {
            throw error(error_kind::out_of_memory, "histogram",
                        "no memory for " + std::to_string(count * sizeof(std::uint64_t)) + " bytes of counters",
                        "ask for fewer bins");
        }
    }

    void feed(const void* in, std::size_t count) override { add_(target_, in, count, bins_, counts_, out_of_range_); }
    void result(std::span<std::uint64_t> counts, outside& out_of_range) override
    {
        std::ranges::copy(counts_, counts.begin());
        out_of_range = out_of_range_;
    }

private:
    add_samples<Bins> add_;
    cpu target_;
    Bins bins_;
    std::vector<std::uint64_t> counts_;
    outside out_of_range_;
};

// Assigns letters, large and small ones alike, to groups of `group` neighbours in the alphabet. Other bytes are in
// none.
struct letter_groups {
    std::uint64_t group;

    std::size_t count() const { return (26 + group - 1) / group; }
    int operator()(std::uint8_t byte) const
    {
        const int letter = (byte | 0x20) - 'a';
        return letter >= 0 && letter < 26 ? letter / static_cast<int>(group) : -1;
    }
};

using letter_bins = bins_by<letter_groups>;

void add_letters(cpu target, const void* in, std::size_t count, const letter_bins& bins,
                 std::span<std::uint64_t> counts, outside& out_of_range)
{
    histogram_accumulate(target, std::span(static_cast<const std::uint8_t*>(in), count), bins, counts, out_of_range);
}

// Counts letters on a GPU. A counter of bytes by value does the work; each of the 256 values is given its group when
// the result is asked for. Bytes that are no letters count as below all bins.
class letters_of_bytes final : public any_counter {
public:
    letters_of_bytes(std::unique_ptr<any_counter> bytes, letter_groups groups)
        : bytes_(std::move(bytes)), groups_(groups)
    {
    }

    void feed(const void* in, std::size_t count) override { bytes_->feed(in, count); }
    void limit_memory(std::uint64_t bytes) override { bytes_->limit_memory(bytes); }
    void result(std::span<std::uint64_t> counts, outside& out_of_range) override
    {
        std::array<std::uint64_t, 256> of_values{};
        outside none;
        bytes_->result(of_values, none);
        std::ranges::fill(counts, 0);
        out_of_range = {};
        for (std::size_t value = 0; value < of_values.size(); ++value) {
            const int group = groups_(static_cast<std::uint8_t>(value));
            (group < 0 ? out_of_range.below : counts[static_cast<std::size_t>(group)]) += of_values[value];
        }
    }

private:
    std::unique_ptr<any_counter> bytes_;
    letter_groups groups_;
};

// A scan on the CPU of elements of another type than its results, or with results of another type than bool of what it
// folds as bool. The threads convert a part of the elements each to the type in which the scan folds, and the CPU
// engine scans the converted elements before the next ones are converted.
class converting_scanner final : public any_scanner {
public:
    converting_scanner(cpu target, std::unique_ptr<cpu_scanner> scan, upsweep_dtype from, upsweep_dtype accumulator,
                       upsweep_dtype out)
        : target_(target), scan_(std::move(scan)), from_(from), accumulator_(accumulator), out_(out)
    {
    }

    void feed(const void* in, void* out, std::size_t count) override
    {
        const std::size_t in_size = upsweep_dtype_size(from_);
        const std::size_t accumulator_size = upsweep_dtype_size(accumulator_);
        const std::size_t out_size = upsweep_dtype_size(out_);
        const auto* from = static_cast<const std::byte*>(in);
        auto* to = static_cast<std::byte*>(out);
        const std::size_t most = part * static_cast<std::size_t>(cpu_engine::thread_count(target_));
        converted_.resize(std::min(most, count) * accumulator_size);
        while (count != 0) {
            const std::size_t size = std::min(most, count);
            convert_in_parts(from_, from, accumulator_, converted_.data(), size);
            if (accumulator_ == UPSWEEP_BOOL && out_ != UPSWEEP_BOOL) {
                scan_->feed(converted_.data(), converted_.data(), size);
                convert_in_parts(accumulator_, converted_.data(), out_, to, size);
            } else {
                scan_->feed_accumulators(converted_.data(), to, size);
            }
            from += size * in_size;
            to += size * out_size;
            count -= size;
        }
    }

private:
    static constexpr std::size_t part = std::size_t{1} << 17; // elements: so many stay in the cache of a thread

    void convert_in_parts(upsweep_dtype from, const std::byte* in, upsweep_dtype to, std::byte* out, std::size_t count)
    {
        const std::size_t in_bytes = part * upsweep_dtype_size(from);
        const std::size_t out_bytes = part * upsweep_dtype_size(to);
        cpu_engine::for_each_index(target_, (count + part - 1) / part, [&](std::size_t k) {
            convert_elements(from, in + k * in_bytes, to, out + k * out_bytes, std::min(part, count - k * part));
        });
    }

    cpu target_;
    std::unique_ptr<cpu_scanner> scan_;
    upsweep_dtype from_;
    upsweep_dtype accumulator_;
    upsweep_dtype out_;
    std::vector<std::byte> converted_;
};

} // namespace

std::unique_ptr<any_reducer> upsweep::runtime::make_reducer_for(upsweep_target target, upsweep_op op,
                                                                upsweep_dtype dtype)
{
    const cpu host = cpu_of(target);
    std::unique_ptr<any_reducer> reducer = engine(dtype).reducer(op, host);
    if (!reducer)
        throw_undefined(op, dtype);
    if (target.place == UPSWEEP_CUDA)
        reducer = gpu::make_reducer({op, dtype, result_dtype_of(op, dtype), host});
    return reducer;
}

struct upsweep_reducer {
    std::unique_ptr<any_reducer> fold;
};

struct upsweep_scanner {
    std::unique_ptr<any_scanner> scan;
};

struct upsweep_counter {
    std::unique_ptr<any_counter> samples;
    std::size_t bins;
};

namespace {

upsweep_scanner make_scanner_for(upsweep_target target, upsweep_op op, bool exclusive, upsweep_dtype in_dtype,
                                 upsweep_dtype out_dtype, const void* init)
{
    const cpu host = cpu_of(target);
    const scan_kind kind = exclusive ? scan_kind::exclusive : scan_kind::inclusive;
    engine(in_dtype); // It throws where the number is no dtype.
    engine(out_dtype);
    const upsweep_dtype accumulator = scan_accumulator_dtype(op, out_dtype);
    const bool as_bool = accumulator == UPSWEEP_BOOL && out_dtype != UPSWEEP_BOOL;
    scan_request request{host, kind, init};
    bool init_as_bool = false;
    if (as_bool && init != nullptr) {
        convert_elements(out_dtype, init, UPSWEEP_BOOL, &init_as_bool, 1);
        request.init = &init_as_bool;
    }
    std::unique_ptr<cpu_scanner> scan = engine(as_bool ? UPSWEEP_BOOL : out_dtype).scanner(op, request);
    if (!scan)
        throw_undefined(op, out_dtype);
    if (!is_convertible(in_dtype, out_dtype))
        throw error(error_kind::unsupported, "scan",
                    std::string("results of type ") + upsweep_dtype_name(out_dtype) + " cannot hold elements of type " +
                        upsweep_dtype_name(in_dtype),
                    "choose a floating-point type for the results");
    if (target.place == UPSWEEP_CUDA)
        return {gpu::make_scanner({op, in_dtype, out_dtype, kind, init, host})};
    if (in_dtype == out_dtype && !as_bool)
        return {std::move(scan)};
    return {std::make_unique<converting_scanner>(host, std::move(scan), in_dtype, accumulator, out_dtype)};
}

// What a histogram counts: its bins, the type of its samples, and the function by which the CPU adds samples to counts.
template <class Bins>
struct counting {
    Bins bins;
    upsweep_dtype dtype;
    add_samples<Bins> add;

    std::size_t bin_count() const { return detail::bin_count(bins); }
    std::unique_ptr<any_counter> gpu_counter(cpu host) const
    {
        if constexpr (std::is_same_v<Bins, letter_bins>)
            return std::make_unique<letters_of_bytes>(gpu::make_byte_counter(host), bins.f);
        else
            return gpu::make_counter({dtype, host}, bins);
    }
};

counting<even_bins> counting_even(upsweep_dtype dtype, const even_bins& bins)
{
    const auto add = engine(dtype).histogram_even;
    detail::check_bins(bins);
    return {bins, dtype, add};
}

counting<edges> counting_edges(upsweep_dtype dtype, const double* edges, std::uint64_t count)
{
    require(edges != nullptr || count == 0, "histogram", "the edges are a null pointer", "pass at least two edges");
    const auto add = engine(dtype).histogram_edges;
    upsweep::edges bins(std::span(edges, count));
    detail::check_bins(bins);
    return {std::move(bins), dtype, add};
}

counting<letter_bins> counting_letters(std::uint64_t group)
{
    require(group >= 1 && group <= 26, "histogram", "a group has 1 to 26 letters", "ask for 4, say");
    const letter_groups groups{group};
    return {letter_bins(groups, groups.count()), UPSWEEP_U8, add_letters};
}

template <class Bins>
upsweep_counter make_counter_for(upsweep_target target, const counting<Bins>& what)
{
    const cpu host = cpu_of(target);
    if (target.place == UPSWEEP_CUDA)
        return {what.gpu_counter(host), what.bin_count()};
    return {std::make_unique<cpu_counter<Bins>>(what.add, host, what.bins), what.bin_count()};
}

void check_counts(const void* counts, const void* out_of_range)
{
    require(counts != nullptr && out_of_range != nullptr, "histogram", "a result is a null pointer",
            "pass room for the counts");
}

// Adds the samples to `counts` and returns how many are in no bin.
template <class Bins>
outside count_at_once(upsweep_target target, const counting<Bins>& what, const void* in, std::uint64_t count,
                      std::uint64_t* counts) // NOLINT(readability-non-const-parameter): they change through the span
{
    check_input("histogram", in, count);
    const cpu host = cpu_of(target);
    const std::span all(counts, what.bin_count());
    outside out_of_range;
    if (target.place != UPSWEEP_CUDA) {
        what.add(host, in, count, what.bins, all, out_of_range);
        return out_of_range;
    }
    const std::unique_ptr<any_counter> counter = what.gpu_counter(host);
    counter->feed(in, count);
    std::vector<std::uint64_t> counted(all.size());
    counter->result(counted, out_of_range);
    std::ranges::transform(all, counted, all.begin(), std::plus{});
    return out_of_range;
}

void add(upsweep_outside& out_of_range, const outside& more)
{
    out_of_range.below += more.below;
    out_of_range.above += more.above;
    out_of_range.nan += more.nan;
}

} // namespace

extern "C" {

const char* upsweep_version(void) { return UPSWEEP_VERSION; }

const char* upsweep_cpu_isa(void) { return UPSWEEP_CPU_ISA; }

int32_t upsweep_cpu_threads(void) { return cpu_engine::thread_count(cpu{}); }

const char* upsweep_gpu_name(void)
{
    thread_local std::string name;
    return guarded([] { name = gpu::device_name(); }) == UPSWEEP_OK ? name.c_str() : nullptr;
}

uint64_t upsweep_dtype_size(upsweep_dtype dtype)
{
    static constexpr std::uint64_t sizes[] = {1, 1, 2, 4, 8, 1, 2, 4, 8, 2, 2, 4, 8};
    const auto k = static_cast<std::size_t>(dtype);
    return k < std::size(sizes) ? sizes[k] : 0;
}

const char* upsweep_dtype_name(upsweep_dtype dtype)
{
    static constexpr const char* names[] = {"bool", "i8",  "i16", "i32",  "i64", "u8", "u16",
                                            "u32",  "u64", "f16", "bf16", "f32", "f64"};
    const auto k = static_cast<std::size_t>(dtype);
    return k < std::size(names) ? names[k] : nullptr;
}

const char* upsweep_op_name(upsweep_op op)
{
    static constexpr const char* names[] = {"plus",   "multiplies", "minimum",     "maximum",   "bit_and",
                                            "bit_or", "bit_xor",    "logical_and", "logical_or"};
    const auto k = static_cast<std::size_t>(op);
    return k < std::size(names) ? names[k] : nullptr;
}

upsweep_status upsweep_reduce_dtype(upsweep_op op, upsweep_dtype dtype, upsweep_dtype* result_dtype)
{
    return guarded([&] {
        require(result_dtype != nullptr, "reduce", "the result is a null pointer", "pass a pointer to a dtype");
        make_reducer_for({UPSWEEP_CPU, 1}, op, dtype);
        *result_dtype = result_dtype_of(op, dtype);
    });
}

upsweep_status upsweep_reduce(upsweep_target target, upsweep_op op, upsweep_dtype dtype, const void* in, uint64_t count,
                              void* result)
{
    return guarded([&] {
        check_input("reduce", in, count);
        require(result != nullptr, "reduce", "the result is a null pointer", "pass a pointer to the result");
        const auto reducer = make_reducer_for(target, op, dtype);
        reducer->feed(in, count);
        reducer->result(result);
    });
}

upsweep_status upsweep_scan(upsweep_target target, upsweep_op op, bool exclusive, upsweep_dtype in_dtype,
                            const void* in, upsweep_dtype out_dtype, void* out, uint64_t count, const void* init)
{
    return guarded([&] {
        check_input("scan", in, count);
        check_input("scan", out, count);
        // The scan may see converted copies of the elements, which overlap with nothing, so the spans are checked here.
        const auto* in_bytes = static_cast<const std::byte*>(in);
        const auto* out_bytes = static_cast<const std::byte*>(out);
        const bool same = in == out && in_dtype == out_dtype;
        const bool apart = out_bytes + count * upsweep_dtype_size(out_dtype) <= in_bytes ||
                           in_bytes + count * upsweep_dtype_size(in_dtype) <= out_bytes;
        require(same || apart || count == 0, "scan", "input and output overlap without being the same span",
                "scan in place or into a span of its own");
        make_scanner_for(target, op, exclusive, in_dtype, out_dtype, init).scan->feed(in, out, count);
    });
}

upsweep_status upsweep_reducer_create(upsweep_target target, upsweep_op op, upsweep_dtype dtype,
                                      upsweep_reducer** reducer)
{
    return guarded([&] {
        require(reducer != nullptr, "reduce", "the reducer is a null pointer", "pass a pointer to a pointer");
        *reducer = new upsweep_reducer{make_reducer_for(target, op, dtype)};
    });
}

upsweep_status upsweep_reducer_feed(upsweep_reducer* reducer, const void* in, uint64_t count)
{
    return guarded([&] {
        require(reducer != nullptr, "reduce", "the reducer is a null pointer", "create it first");
        check_input("reduce", in, count);
        reducer->fold->feed(in, count);
    });
}

upsweep_status upsweep_reducer_result(const upsweep_reducer* reducer, void* result)
{
    return guarded([&] {
        require(reducer != nullptr && result != nullptr, "reduce", "a null pointer was passed",
                "pass room for the result");
        reducer->fold->result(result);
    });
}

upsweep_status upsweep_reducer_limit_gpu_memory(upsweep_reducer* reducer, uint64_t bytes)
{
    return guarded([&] {
        require(reducer != nullptr, "reduce", "the reducer is a null pointer", "create it first");
        reducer->fold->limit_memory(bytes);
    });
}

void upsweep_reducer_destroy(upsweep_reducer* reducer) { delete reducer; }

upsweep_status upsweep_scanner_create(upsweep_target target, upsweep_op op, bool exclusive, upsweep_dtype in_dtype,
                                      upsweep_dtype out_dtype, const void* init, upsweep_scanner** scanner)
{
    return guarded([&] {
        require(scanner != nullptr, "scan", "the scanner is a null pointer", "pass a pointer to a pointer");
        *scanner = new upsweep_scanner(make_scanner_for(target, op, exclusive, in_dtype, out_dtype, init));
    });
}

upsweep_status upsweep_scanner_feed(upsweep_scanner* scanner, const void* in, void* out, uint64_t count)
{
    return guarded([&] {
        require(scanner != nullptr, "scan", "the scanner is a null pointer", "create it first");
        check_input("scan", in, count);
        check_input("scan", out, count);
        scanner->scan->feed(in, out, count);
    });
}

upsweep_status upsweep_scanner_limit_gpu_memory(upsweep_scanner* scanner, uint64_t bytes)
{
    return guarded([&] {
        require(scanner != nullptr, "scan", "the scanner is a null pointer", "create it first");
        scanner->scan->limit_memory(bytes);
    });
}

void upsweep_scanner_destroy(upsweep_scanner* scanner) { delete scanner; }

upsweep_status upsweep_histogram_even(upsweep_target target, upsweep_dtype dtype, const void* in, uint64_t count,
                                      double lo, double hi, uint64_t bins, uint64_t* counts, upsweep_outside* outside)
{
    return guarded([&] {
        check_counts(counts, outside);
        add(*outside, count_at_once(target, counting_even(dtype, {lo, hi, bins}), in, count, counts));
    });
}

upsweep_status upsweep_histogram_edges(upsweep_target target, upsweep_dtype dtype, const void* in, uint64_t count,
                                       const double* edges, uint64_t edge_count, uint64_t* counts,
                                       upsweep_outside* outside)
{
    return guarded([&] {
        check_counts(counts, outside);
        add(*outside, count_at_once(target, counting_edges(dtype, edges, edge_count), in, count, counts));
    });
}

upsweep_status upsweep_histogram_letters(upsweep_target target, const void* text, uint64_t bytes, uint64_t group,
                                         uint64_t* counts, uint64_t* others)
{
    return guarded([&] {
        check_counts(counts, others);
        *others += count_at_once(target, counting_letters(group), text, bytes, counts).below;
    });
}

upsweep_status upsweep_counter_create_even(upsweep_target target, upsweep_dtype dtype, double lo, double hi,
                                           uint64_t bins, upsweep_counter** counter)
{
    return guarded([&] {
        require(counter != nullptr, "histogram", "the counter is a null pointer", "pass a pointer to a pointer");
        *counter = new upsweep_counter(make_counter_for(target, counting_even(dtype, {lo, hi, bins})));
    });
}

upsweep_status upsweep_counter_create_edges(upsweep_target target, upsweep_dtype dtype, const double* edges,
                                            uint64_t edge_count, upsweep_counter** counter)
{
    return guarded([&] {
        require(counter != nullptr, "histogram", "the counter is a null pointer", "pass a pointer to a pointer");
        *counter = new upsweep_counter(make_counter_for(target, counting_edges(dtype, edges, edge_count)));
    });
}

upsweep_status upsweep_counter_create_letters(upsweep_target target, uint64_t group, upsweep_counter** counter)
{
    return guarded([&] {
        require(counter != nullptr, "histogram", "the counter is a null pointer", "pass a pointer to a pointer");
        *counter = new upsweep_counter(make_counter_for(target, counting_letters(group)));
    });
}

upsweep_status upsweep_counter_feed(upsweep_counter* counter, const void* in, uint64_t count)
{
    return guarded([&] {
        require(counter != nullptr, "histogram", "the counter is a null pointer", "create it first");
        check_input("histogram", in, count);
        counter->samples->feed(in, count);
    });
}

upsweep_status upsweep_counter_result(const upsweep_counter* counter, uint64_t* counts, upsweep_outside* outside)
{
    return guarded([&] {
        require(counter != nullptr, "histogram", "the counter is a null pointer", "create it first");
        check_counts(counts, outside);
        upsweep::outside out_of_range;
        counter->samples->result(std::span(counts, counter->bins), out_of_range);
        *outside = {out_of_range.below, out_of_range.above, out_of_range.nan};
    });
}

upsweep_status upsweep_counter_limit_gpu_memory(upsweep_counter* counter, uint64_t bytes)
{
    return guarded([&] {
        require(counter != nullptr, "histogram", "the counter is a null pointer", "create it first");
        counter->samples->limit_memory(bytes);
    });
}

void upsweep_counter_destroy(upsweep_counter* counter) { delete counter; }

} // extern "C"
