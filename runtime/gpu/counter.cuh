// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <cuda_runtime.h>

#include <upsweep/gpu/histogram/histogram.cuh>
#include <upsweep/gpu/histogram/partitioned.cuh>

#include "chunk.cuh"
#include "elements.cuh"
#include "engine.hpp"

namespace upsweep::runtime::gpu {

class event {
public:
    event() { upsweep::gpu::check("cudaEventCreate", cudaEventCreateWithFlags(&event_, cudaEventDisableTiming)); }
    event(const event&) = delete;
    event& operator=(const event&) = delete;
    ~event() { cudaEventDestroy(event_); }

    void record(const stream& on) { upsweep::gpu::check("cudaEventRecord", cudaEventRecord(event_, on.get())); }
    void wait() const { upsweep::gpu::check("cudaEventSynchronize", cudaEventSynchronize(event_)); }

private:
    cudaEvent_t event_ = nullptr;
};

// Gathers samples into chunks, which are counted in one table, one after the other, on one stream: counting takes far
// less time than the copy to the GPU, so that the next copy may wait for it.
template <class Sample, class Bins>
class chunk_counter final : public any_counter {
public:
    chunk_counter(const counter_request& request, const Bins& bins)
        : request_(request), bins_(bins), sample_bytes_(upsweep_dtype_size(request.dtype)),
          chunk_(chunk_elements(default_memory, sample_bytes_))
    {
        detail::check_bins(bins);
        upsweep::gpu::check_most_bins(cuda{}, detail::bin_count(bins));
        upsweep::gpu::check("cudaGetDevice", cudaGetDevice(&device_));
    }

    void limit_memory(std::uint64_t bytes) override
    {
        check_is_new(work_ == nullptr);
        chunk_ = chunk_elements(bytes, sample_bytes_);
    }

    void feed(const void* in, std::size_t count) override
    {
        const upsweep::gpu::current_device current(device_);
        if (count == 0)
            return;
        check_is_whole();
        free_chunk(); // Where there is no memory for a chunk this throws, before anything has been counted.
        is_whole_ = false;
        for (const auto* from = static_cast<const std::byte*>(in); count != 0;) {
            chunk_of_samples& to = free_chunk();
            const std::size_t size = std::min<std::size_t>(count, chunk_ - to.count);
            copy(request_.host, to.host.data() + to.count * sample_bytes_, from, size * sample_bytes_);
            to.count += size;
            from += size * sample_bytes_;
            count -= size;
            if (to.count == chunk_)
                send(to);
        }
        is_whole_ = true;
    }

    void result(std::span<std::uint64_t> counts, outside& out_of_range) override
    {
        check_is_whole();
        if (work_ == nullptr) { // nothing was fed
            std::ranges::fill(counts, 0);
            out_of_range = {};
            return;
        }
        const upsweep::gpu::current_device current(device_);
        if (chunk_of_samples* const last = work_->chunks[work_->next].get(); last != nullptr && last->count != 0) {
            is_whole_ = false;
            send(*last);
            is_whole_ = true;
        }
        std::vector<std::byte> table(work_->table_bytes);
        upsweep::gpu::check("cudaMemcpyAsync", cudaMemcpyAsync(table.data(), work_->table.data(), table.size(),
                                                               cudaMemcpyDeviceToHost, work_->stream.get()));
        work_->stream.wait();
        const auto counted = [&](std::size_t k) {
            std::uint64_t number = 0;
            std::memcpy(&number, table.data() + k * sizeof number, sizeof number);
            return number;
        };
        for (std::size_t k = 0; k < counts.size(); ++k)
            counts[k] = counted(k);
        out_of_range = {counted(counts.size()), counted(counts.size() + 1), counted(counts.size() + 2)};
    }

private:
    struct chunk_of_samples {
        explicit chunk_of_samples(std::size_t bytes) : host(bytes), device(bytes) {}

        host_memory host;
        device_memory device;
        event counted;
        std::uint64_t count = 0; // samples gathered
    };

    // What is allocated when the first samples are fed. The table has the counters of the bins and, behind them, those
    // of the three out-of-range bins.
    struct work {
        explicit work(std::size_t counters)
            : bins(counters), table_bytes(counters * sizeof(std::uint64_t) + sizeof(outside)),
              table(table_bytes, "free some, or ask for fewer bins")
        {
            upsweep::gpu::check("cudaMemsetAsync", cudaMemsetAsync(table.data(), 0, table_bytes, stream.get()));
        }

        std::size_t bins;
        std::size_t table_bytes;
        device_memory table;
        std::array<std::unique_ptr<chunk_of_samples>, chunks_under_way> chunks;
        gpu::stream stream; // is destroyed first, so that it has finished when the memory above is freed
        cuda target{stream.get()};
        std::size_t next = 0;

        std::span<std::uint64_t> counts() const { return {reinterpret_cast<std::uint64_t*>(table.data()), bins}; }
        outside* out_of_range() const
        {
            return reinterpret_cast<outside*>(table.data() + bins * sizeof(std::uint64_t));
        }
    };

    // After a call that failed halfway it is not known which samples have been counted, so that all further calls are
    // refused.
    void check_is_whole() const
    {
        if (!is_whole_)
            throw error(error_kind::invalid_argument, "histogram",
                        "an earlier call failed when it had counted part of the samples", "start with a new counter");
    }

    std::unique_ptr<chunk_of_samples> new_chunk() const
    {
        return std::make_unique<chunk_of_samples>(chunk_ * sample_bytes_);
    }

    // Returns the chunk that is being filled, or an empty one. One that is being counted is waited for.
    chunk_of_samples& free_chunk()
    {
        if (work_ == nullptr) {
            // Where there is no memory for the first chunk, work_ must stay null: the counter has not been fed then.
            auto first = std::make_unique<work>(detail::bin_count(bins_));
            first->chunks[0] = new_chunk();
            work_ = std::move(first);
        }
        std::unique_ptr<chunk_of_samples>& next = work_->chunks[work_->next];
        if (next == nullptr)
            next = new_chunk();
        else if (next->count == 0)
            next->counted.wait();
        return *next;
    }

    void send(chunk_of_samples& full)
    {
        upsweep::gpu::check("cudaMemcpyAsync",
                            cudaMemcpyAsync(full.device.data(), full.host.data(), full.count * sample_bytes_,
                                            cudaMemcpyHostToDevice, work_->stream.get()));
        const upsweep::gpu::histogram_result<std::uint64_t> result{work_->counts().data(), work_->out_of_range(),
                                                                   static_cast<detail::bin_index>(work_->bins), true};
        upsweep::gpu::with_bin_finder<Sample>(work_->target, bins_, [&](const auto& finder) {
            upsweep::gpu::histogram(work_->target, typed_input<Sample>(full.device.data(), request_.dtype), full.count,
                                    finder, result);
        });
        full.counted.record(work_->stream);
        full.count = 0;
        work_->next = (work_->next + 1) % work_->chunks.size();
    }

    counter_request request_;
    Bins bins_;
    int device_ = 0;
    std::uint64_t sample_bytes_;
    std::uint64_t chunk_;
    std::unique_ptr<work> work_;
    bool is_whole_ = true; // false where a call has failed halfway
};

template <class Sample, class Bins>
std::unique_ptr<any_counter> make_counter_of(const counter_request& request, const Bins& bins)
{
    return std::make_unique<chunk_counter<Sample, Bins>>(request, bins);
}

} // namespace upsweep::runtime::gpu

#define UPSWEEP_COUNT(Sample, Bins)                                                                                    \
    template std::unique_ptr<upsweep::runtime::any_counter> upsweep::runtime::gpu::make_counter_of<Sample, Bins>(      \
        const counter_request&, const Bins&)
