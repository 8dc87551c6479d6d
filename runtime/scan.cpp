// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <upsweep/cpu/parallel.hpp>
#include <upsweep/runtime.h>

#include "call.hpp"
#include "fold.hpp"
#include "shapes.hpp"

using namespace upsweep;
using namespace upsweep::runtime;

namespace upsweep::runtime {

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

} // namespace upsweep::runtime

namespace {

// Whether every value of `from` has a meaning in `to`: a float has none in an integer type, where it may not fit.
bool is_convertible(upsweep_dtype from, upsweep_dtype to)
{
    return from < UPSWEEP_F16 || to >= UPSWEEP_F16 || to == UPSWEEP_BOOL;
}

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

namespace upsweep::runtime {

void check_count_of_scan(const char* call, const elements& in, const elements& out)
{
    if (in.count != out.count)
        throw error(error_kind::invalid_argument, call,
                    "the output has " + std::to_string(out.count) + " elements, the input " + std::to_string(in.count),
                    "make room for one result an element");
}

void check_scan_types(upsweep_op op, upsweep_dtype in_dtype, upsweep_dtype out_dtype)
{
    check_dtype("scan", in_dtype);
    check_defined(op, out_dtype);
    if (!is_convertible(in_dtype, out_dtype))
        throw error(error_kind::unsupported, "scan",
                    std::string("results of type ") + upsweep_dtype_name(out_dtype) + " cannot hold elements of type " +
                        upsweep_dtype_name(in_dtype),
                    "choose a floating-point type for the results");
}

std::unique_ptr<any_scanner> make_scanner_for(const execution& where, upsweep_op op, bool exclusive,
                                              upsweep_dtype in_dtype, upsweep_dtype out_dtype, const void* init)
{
    const scan_kind kind = exclusive ? scan_kind::exclusive : scan_kind::inclusive;
    if (where.gpu != nullptr)
        return gpu::make_scanner({op, in_dtype, out_dtype, kind, init, where.host, where.gpu, where.gpu_memory});

    const upsweep_dtype accumulator = scan_accumulator_dtype(op, out_dtype);
    const bool as_bool = accumulator == UPSWEEP_BOOL && out_dtype != UPSWEEP_BOOL;
    scan_request request{where.host, kind, init};
    bool init_as_bool = false;
    if (as_bool && init != nullptr) {
        convert_elements(out_dtype, init, UPSWEEP_BOOL, &init_as_bool, 1);
        request.init = &init_as_bool;
    }
    std::unique_ptr<cpu_scanner> scan = engine(as_bool ? UPSWEEP_BOOL : out_dtype).scanner(op, request);
    if (in_dtype == out_dtype && !as_bool)
        return scan;
    return std::make_unique<converting_scanner>(where.host, std::move(scan), in_dtype, accumulator, out_dtype);
}

} // namespace upsweep::runtime

namespace {

// The arrays of a scan.
struct input_and_output {
    elements in;
    elements out;
    bool are_on_gpu;
};

input_and_output checked_arrays(const execution& where, const upsweep_array* in, const upsweep_array* out)
{
    const elements from = checked_elements("scan", "the input", in);
    const elements to = checked_elements("scan", "the output", out);
    check_count_of_scan("scan", from, to);
    const bool is_on_gpu = where.lies_on_gpu("scan", from);
    require(is_on_gpu == where.lies_on_gpu("scan", to), "scan", "the input and the output lie in different memories",
            "bring both to the GPU, or to the host");
    check_output("scan", from, to);
    return {from, to, is_on_gpu};
}

// Whether each element lies before the previous one, without gaps.
bool lies_reversed(const elements& of)
{
    return of.count > 1 && of.extents.back() == of.count && of.strides.back() == -1;
}

// Scans elements in memory of the host; those that are not in one piece are gathered, and results scattered, piece by
// piece.
void scan_on_host(const cpu& host, any_scanner& scan, const elements& in, const elements& out)
{
    if (in.is_contiguous() && out.is_contiguous())
        return scan.feed(in.data, out.data, in.count);
    const std::uint64_t most = std::min(gathered_at_once(host, in), in.count);
    std::vector<std::byte> results(most * out.bytes());
    std::uint64_t first = 0;
    for_each_piece(host, in, [&](const std::byte* data, std::uint64_t count) {
        for (std::uint64_t done = 0; done < count;) {
            const std::uint64_t size = std::min(most, count - done);
            scan.feed(data + done * in.bytes(), results.data(), size);
            scatter(host, results.data(), first, size, out);
            first += size;
            done += size;
        }
    });
}

// Scans elements in memory of the GPU by way of the host's: what comes in pieces there.
void scan_by_way_of_host(const execution& where, any_scanner& scan, const elements& in, const elements& out)
{
    constexpr std::uint64_t most = std::uint64_t{1} << 22;
    std::vector<std::byte> piece(std::min(most, in.count) * in.bytes());
    std::vector<std::byte> results(std::min(most, in.count) * out.bytes());
    for (std::uint64_t first = 0; first < in.count; first += most) {
        const std::uint64_t size = std::min(most, in.count - first);
        gpu::copy_and_wait(*where.gpu, piece.data(), in.data + first * in.bytes(), size * in.bytes());
        scan.feed(piece.data(), results.data(), size);
        gpu::copy_and_wait(*where.gpu, out.data + first * out.bytes(), results.data(), size * out.bytes());
    }
}

} // namespace

struct upsweep_scanner {
    execution where;
    upsweep_dtype in;
    upsweep_dtype out;
    std::unique_ptr<any_scanner> scan;
};

extern "C" {

upsweep_status upsweep_scan(upsweep_context* context, upsweep_op op, bool exclusive, const upsweep_array* in,
                            const upsweep_array* out, const void* init)
{
    return guarded([&] {
        const execution where = execution_of(context);
        const in_use taken(where);
        const input_and_output arrays = checked_arrays(where, in, out);
        const auto& [from, to, are_on_gpu] = arrays;
        check_scan_types(op, from.dtype, to.dtype);
        if (from.count == 0)
            return;
        const auto make = [&, &from = from, &to = to] {
            return make_scanner_for(where, op, exclusive, from.dtype, to.dtype, init);
        };
        if (!are_on_gpu)
            return scan_on_host(where.host, *make(), from, to);
        const scan_kind kind = exclusive ? scan_kind::exclusive : scan_kind::inclusive;
        const gpu::scan_request request{op, from.dtype, to.dtype, kind, init, where.host, where.gpu, where.gpu_memory};
        if (lies_reversed(from) && lies_reversed(to) && gpu::scan_by_type(request, from, to))
            return;
        const gpu::without_gaps input(*where.gpu, from);
        const auto output = gpu::without_gaps::to_be_written(*where.gpu, to);
        if (!gpu::scan_by_type(request, input.get(), output.get()) &&
            !scan_as_line(where, op, input.get(), output.get(), {kind, init}))
            make()->scan_on_gpu(input.get(), output.get());
        output.write_back();
    });
}

upsweep_status upsweep_scanner_create(upsweep_context* context, upsweep_op op, bool exclusive, upsweep_dtype in_dtype,
                                      upsweep_dtype out_dtype, const void* init, upsweep_scanner** scanner)
{
    return guarded([&] {
        require(scanner != nullptr, "scan", "the scanner is a null pointer", "pass a pointer to a pointer");
        check_scan_types(op, in_dtype, out_dtype);
        const execution where = execution_of(context);
        const in_use taken(where);
        *scanner = new upsweep_scanner{where, in_dtype, out_dtype,
                                       make_scanner_for(where, op, exclusive, in_dtype, out_dtype, init)};
    });
}

upsweep_status upsweep_scanner_feed(upsweep_scanner* scanner, const upsweep_array* in, const upsweep_array* out)
{
    return guarded([&] {
        require(scanner != nullptr, "scan", "the scanner is a null pointer", "create it first");
        const execution& where = scanner->where;
        const in_use taken(where);
        const input_and_output arrays = checked_arrays(where, in, out);
        check_same_dtype("scan", arrays.in, scanner->in);
        check_same_dtype("scan", arrays.out, scanner->out);
        if (arrays.in.count == 0)
            return;
        if (!arrays.are_on_gpu)
            return scan_on_host(where.host, *scanner->scan, arrays.in, arrays.out);
        const gpu::without_gaps input(*where.gpu, arrays.in);
        const auto output = gpu::without_gaps::to_be_written(*where.gpu, arrays.out);
        scan_by_way_of_host(where, *scanner->scan, input.get(), output.get());
        output.write_back();
    });
}

void upsweep_scanner_destroy(upsweep_scanner* scanner) { delete scanner; }

} // extern "C"
