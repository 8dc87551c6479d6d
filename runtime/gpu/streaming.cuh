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

#include "elements.cuh"
#include "engine.hpp"

// What the engine streams, of elements whose type is chosen at run time.
namespace upsweep::runtime::gpu {

template <class Acc, class Op>
class chunk_reducer final : public any_reducer {
public:
    explicit chunk_reducer(const reduce_request& request)
        : request_(request), fold_(cuda{}, request.host, Op{}, {request.in})
    {
    }

    void limit_memory(std::uint64_t bytes) override { fold_.limit_memory(bytes); }
    void feed(const void* in, std::size_t count) override { fold_.feed(in, count); }
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
        : scan_(cuda{}, request.host, request.kind, Op{}, init_of(request), {request.in, bits_of(request.out)},
                {request.out})
    {
    }

    void limit_memory(std::uint64_t bytes) override { scan_.limit_memory(bytes); }
    void feed(const void* in, void* out, std::size_t count) override { scan_.feed(in, out, count); }

private:
    static std::optional<Acc> init_of(const scan_request& request)
    {
        if (request.init == nullptr)
            return std::nullopt;
        return typed_input<Acc>(request.init, request.out)[0];
    }
    // Elements are wrapped to the width of the results.
    static int bits_of(upsweep_dtype out)
    {
        return static_cast<int>(std::min<std::uint64_t>(upsweep_dtype_size(out) * CHAR_BIT, 64));
    }

    upsweep::gpu::streaming::block_scanner<Acc, Op, typed_elements<Acc>, typed_results<Acc, Op>> scan_;
};

template <class Sample, class Bins>
class chunk_counter final : public any_counter {
public:
    chunk_counter(const counter_request& request, const Bins& bins)
        : samples_(cuda{}, request.host, bins, {request.dtype})
    {
    }

    void limit_memory(std::uint64_t bytes) override { samples_.limit_memory(bytes); }
    void feed(const void* in, std::size_t count) override { samples_.feed(in, count); }
    void result(std::span<std::uint64_t> counts, outside& out_of_range) override
    {
        samples_.result(counts, out_of_range);
    }

private:
    upsweep::gpu::streaming::chunk_counter<Bins, typed_elements<Sample>> samples_;
};

} // namespace upsweep::runtime::gpu
