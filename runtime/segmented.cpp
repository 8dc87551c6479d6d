// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Reduce and scan of segments of an array.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <upsweep/runtime.h>
#include <upsweep/segmented.hpp>

#include "any_order.hpp"
#include "call.hpp"
#include "fold.hpp"
#include "gpu/shape_fold.hpp"
#include "gpu/shapes.hpp"
#include "segment_bounds.hpp"
#include "shapes.hpp"

using namespace upsweep;
using namespace upsweep::runtime;

namespace upsweep::runtime {

segment_reduction::segment_reduction(const cpu& host, upsweep_op op, const elements& in, const elements& out,
                                     std::uint64_t most)
    : host_(host), op_(op), out_(out), from_(host, in), reducer_(make_shape_reducer(op, in.dtype)),
      result_bytes_(out.bytes())
{
    if (is_logical(op) && in.bytes() != out.bytes()) {
        truths_ = elements_without_gaps(memory_, unsigned_word(in.bytes()), most);
        result_bytes_ = in.bytes();
        results_ = static_cast<std::byte*>(truths_->data);
    } else {
        results_ = to_.emplace(host, out, most).data();
    }
}

void segment_reduction::fold(const cpu& host, std::span<const std::uint64_t> offsets, std::uint64_t first) const
{
    reducer_->reduce_segments(host, from_.data(), offsets, results_ + first * result_bytes_);
}

void segment_reduction::finish(std::uint64_t segments) const
{
    if (truths_)
        convert_for_scan(host_, op_, *truths_, 0, segments, out_);
    else
        to_->write(0, segments);
}

segment_scan::segment_scan(const cpu& host, upsweep_op op, const elements& in, const elements& out,
                           const scan_start& start, std::uint64_t first, std::uint64_t count)
    : init_(op, out.dtype, start.init), start_{start.kind, init_.get()},
      scan_(make_shape_scanner(op, in.dtype, out.dtype)), first_(first), count_(count)
{
    if (!scan_.takes_elements)
        convert_for_scan(host, op, in, first, count, out);
    results_ = to_.emplace(host, out, out.count, !scan_.takes_elements).data();
    from_ = scan_.takes_elements ? in_.emplace(host, in).data() : results_;
}

void segment_scan::scan(const cpu& host, std::span<const std::uint64_t> offsets) const
{
    scan_.scanner->scan_segments(host, from_, offsets, results_, start_);
}

void segment_scan::finish() const { to_->write(first_, count_); }

} // namespace upsweep::runtime

namespace {

void check_segments(const char* call, const elements& bounds, const elements& out)
{
    check_are_offsets(call, bounds);
    if (out.count != bounds.count - 1)
        throw error(error_kind::invalid_argument, call,
                    "the output has " + std::to_string(out.count) + " elements, and there are " +
                        std::to_string(bounds.count - 1) + " segments",
                    "make room for one result a segment");
}

void reduce_on_gpu(const gpu::device& gpu, const gpu::shape_fold& fold, const elements& in, const elements& bounds,
                   const elements& out)
{
    const gpu::converted from(gpu, in, fold.as, fold.dtype);
    const gpu::converted offsets(gpu, bounds, UPSWEEP_U64);
    const gpu::converted_results to(gpu, out, fold.result);
    gpu::reduce_segments(gpu, fold, from.get(), offsets.get(), to.get());
    to.write_back();
}

void scan_on_gpu(const gpu::device& gpu, const gpu::shape_fold& fold, const elements& in, const elements& bounds,
                 const elements& out, const scan_start& start)
{
    const gpu::converted from(gpu, in, fold.as, fold.dtype);
    const gpu::converted offsets(gpu, bounds, UPSWEEP_U64);
    const gpu::converted_results to(gpu, out, fold.result, gpu::converted_results::written::some);
    const gpu::folded_init init(fold, out.dtype, start.init);
    gpu::scan_segments(gpu, fold, from.get(), offsets.get(), to.get(), {start.kind, init.get()});
    to.write_segments(offsets.get());
}

} // namespace

extern "C" {

upsweep_status upsweep_segmented_reduce(upsweep_context* context, upsweep_op op, const upsweep_array* in,
                                        const upsweep_array* offsets, const upsweep_array* out)
{
    constexpr const char* call = "segmented_reduce";
    return guarded([&] {
        const elements from = checked_elements(call, "the input", in);
        const elements bounds = checked_bounds(call, offsets);
        const elements to = checked_elements(call, "the output", out);
        check_defined(op, from.dtype);
        check_same_dtype(call, to, result_dtype_of(op, from.dtype));
        const execution where = execution_of(context);
        const in_use taken(where);
        const bool is_on_gpu = lie_on_gpu(call, where, {from, bounds, to});
        check_segments(call, bounds, to);
        std::optional<segment_bounds> all;
        if (!is_on_gpu)
            check_ends(call, all.emplace(where.host, bounds).get(), from.count);
        check_places(call, to);
        check_apart(call, from, to);
        check_apart(call, bounds, to);
        if (is_on_gpu)
            return reduce_on_gpu(*where.gpu, gpu::reduction_of(op, from.dtype), from, bounds, to);
        if (to.count == 0)
            return;
        const segment_reduction reduction(where.host, op, from, to, to.count);
        reduction.fold(where.host, all->get(), 0);
        reduction.finish(to.count);
    });
}

upsweep_status upsweep_segmented_scan(upsweep_context* context, upsweep_op op, bool exclusive, const upsweep_array* in,
                                      const upsweep_array* offsets, const upsweep_array* out, const void* init)
{
    constexpr const char* call = "segmented_scan";
    return guarded([&] {
        const elements from = checked_elements(call, "the input", in);
        const elements bounds = checked_bounds(call, offsets);
        const elements to = checked_elements(call, "the output", out);
        check_scan_types(op, from.dtype, to.dtype);
        const execution where = execution_of(context);
        const in_use taken(where);
        const bool is_on_gpu = lie_on_gpu(call, where, {from, bounds, to});
        check_are_offsets(call, bounds);
        check_count_of_scan(call, from, to);
        std::optional<segment_bounds> all;
        if (!is_on_gpu)
            check_ends(call, all.emplace(where.host, bounds).get(), from.count);
        check_output(call, from, to);
        check_apart(call, bounds, to);
        const scan_kind kind = exclusive ? scan_kind::exclusive : scan_kind::inclusive;
        if (is_on_gpu) {
            const scan_init first(op, to.dtype, init);
            return scan_on_gpu(*where.gpu, gpu::scan_of(op, to.dtype), from, bounds, to, {kind, first.get()});
        }
        if (from.count == 0)
            return;
        const std::span<const std::uint64_t> of_segments = all->get();
        const std::uint64_t first = of_segments.front();
        const segment_scan scan(where.host, op, from, to, {kind, init}, first, of_segments.back() - first);
        scan.scan(where.host, of_segments);
        scan.finish();
    });
}

upsweep_status upsweep_check_offsets(upsweep_context* context, const upsweep_array* offsets, uint64_t count)
{
    constexpr const char* call = "check_offsets";
    return guarded([&] {
        const elements bounds = checked_bounds(call, offsets);
        const execution where = execution_of(context);
        const in_use taken(where);
        const bool is_on_gpu = lie_on_gpu(call, where, {bounds});
        check_are_offsets(call, bounds);
        if (is_on_gpu)
            return gpu::check_offsets(*where.gpu, gpu::converted(*where.gpu, bounds, UPSWEEP_U64).get(), count);
        check_offsets(where.host, segment_bounds(where.host, bounds).get(), count);
    });
}

} // extern "C"
