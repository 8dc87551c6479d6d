// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include <upsweep/gpu/streaming/counter.cuh>
#include <upsweep/gpu/streaming/reducer.cuh>
#include <upsweep/gpu/streaming/scanner.cuh>

#include "device.cuh"
#include "elements.cuh"
#include "engine.hpp"

// What the engine streams, of elements whose type is chosen at run time.
namespace upsweep::runtime::gpu {

// Sets the limit that a request has, if it has one.
template <class Streamer>
void limit(Streamer& to, std::uint64_t memory)
{
    if (memory != 0)
        to.limit_memory(memory);
}

template <class Acc, class Op>
class chunk_reducer final : public any_reducer {
public:
    explicit chunk_reducer(const reduce_request& request)
        : request_(request), fold_(request.gpu->target, request.host, Op{}, {request.in})
    {
        limit(fold_, request.memory);
    }

    void feed(const void* in, std::size_t count) override { fold_.feed(in, count); }
    void feed_on_gpu(const elements& in) override
    {
        if (in.count != 0)
            fold_.feed_where_they_lie(typed_elements<Acc>{in.dtype}(in.data), in.count);
    }
    void result(void* to) override
    {
        // The operator may stand for another one (fold_of in engine.cu), which has no fold of nothing.
        if (fold_.count() == 0 && (request_.op == UPSWEEP_MINIMUM || request_.op == UPSWEEP_MAXIMUM))
            detail::check_fold_exists<minimum>(0);
        store(to, request_.out, 0, fold_.fold());
    }

private:
    reduce_request request_;
    upsweep::gpu::streaming::chunk_reducer<Acc, Op, typed_elements<Acc>> fold_;
};

template <class Acc, class Op>
class block_scanner final : public any_scanner {
public:
    explicit block_scanner(const scan_request& request)
        : request_(request),
          init_(init_of(request)), elements_{request.in, bits_of(request.out)}, results_{request.out},
          scan_(request.gpu->target, request.host, request.kind, Op{}, init_, elements_, results_)
    {
        limit(scan_, request.memory);
    }

    void feed(const void* in, void* out, std::size_t count) override { scan_.feed(in, out, count); }

    // The results of an exclusive scan but the first are those of an inclusive one.
    void scan_on_gpu(const elements& in, const elements& out) override
    {
        const cuda& target = request_.gpu->target;
        const upsweep::gpu::current_device current(target.device());
        if (request_.kind == scan_kind::inclusive)
            return scan_inclusive(elements_(in.data), results_(out.data, init_), in.count);
        alignas(8) std::byte first[8];
        if (init_)
            results_.write(first, *init_);
        else
            results_.write_nothing(first);
        // In place, a result would overwrite the element behind it, which may not have been read yet.
        const without_gaps from(*request_.gpu, in, in.data == out.data);
        write(*request_.gpu, out.data, first, out.bytes());
        scan_inclusive(elements_(from.get().data), results_(out.data + out.bytes(), init_), in.count - 1);
    }

private:
    static std::optional<Acc> init_of(const scan_request& request)
    {
        if (request.init == nullptr)
            return std::nullopt;
        return typed_elements<Acc>{request.out}(static_cast<const std::byte*>(request.init))[0];
    }
    // Elements are wrapped to the width of the results.
    static int bits_of(upsweep_dtype out)
    {
        return static_cast<int>(std::min<std::uint64_t>(upsweep_dtype_size(out) * CHAR_BIT, 64));
    }

    template <class In, class Out>
    void scan_inclusive(const In& in, const Out& out, std::uint64_t count) const
    {
        upsweep::gpu::scan<scan_kind::inclusive, Acc>(request_.gpu->target, in, out, count, Op{});
    }

    scan_request request_;
    std::optional<Acc> init_;
    typed_elements<Acc> elements_;
    typed_results<Acc, Op> results_;
    upsweep::gpu::streaming::block_scanner<Acc, Op, typed_elements<Acc>, typed_results<Acc, Op>> scan_;
};

template <class Sample, class Bins>
class chunk_counter final : public any_counter {
public:
    chunk_counter(const counter_request& request, const Bins& bins)
        : request_(request), bins_(bins), samples_(request.gpu->target, request.host, bins, {request.dtype})
    {
        limit(samples_, request.memory);
    }

    void feed(const void* in, std::size_t count) override { samples_.feed(in, count); }
    void feed_on_gpu(const elements& in) override
    {
        if (in.count != 0)
            samples_.feed_where_they_lie(typed_elements<Sample>{in.dtype}(in.data), in.count);
    }
    void result(std::span<std::uint64_t> counts, outside& out_of_range) override
    {
        samples_.result(counts, out_of_range);
    }
    bool count_on_gpu(const elements& in, std::uint64_t* counts, outside* out_of_range) override
    {
        const cuda& target = request_.gpu->target;
        const upsweep::gpu::current_device current(target.device());
        const upsweep::gpu::histogram_result<std::uint64_t> result{
            counts, out_of_range, static_cast<detail::bin_index>(detail::bin_count(bins_)), true};
        upsweep::gpu::with_bin_finder<Sample>(target, bins_, [&](const auto& finder) {
            upsweep::gpu::histogram(target, typed_elements<Sample>{in.dtype}(in.data), in.count, finder, result);
        });
        return true;
    }

private:
    counter_request request_;
    Bins bins_;
    upsweep::gpu::streaming::chunk_counter<Bins, typed_elements<Sample>> samples_;
};

} // namespace upsweep::runtime::gpu
