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

#include <upsweep/bins.hpp>
#include <upsweep/engine.hpp>
#include <upsweep/gpu/histogram/histogram.cuh>
#include <upsweep/gpu/histogram/partitioned.cuh>
#include <upsweep/gpu/streaming/chunk.cuh>
#include <upsweep/outside.hpp>

namespace upsweep::gpu::streaming {

class event {
public:
    event() { gpu::check("cudaEventCreate", cudaEventCreateWithFlags(&event_, cudaEventDisableTiming)); }
    event(const event&) = delete;
    event& operator=(const event&) = delete;
    ~event() { cudaEventDestroy(event_); }

    void record(const stream& on) { gpu::check("cudaEventRecord", cudaEventRecord(event_, on.get())); }
    void wait() const { gpu::check("cudaEventSynchronize", cudaEventSynchronize(event_)); }

private:
    cudaEvent_t event_ = nullptr;
};

// Gathers samples into chunks, which are counted in one table, one after the other, on one stream: counting takes far
// less time than the copy to the GPU, so that the next copy may wait for it.
template <class Bins, class Elements>
class chunk_counter {
public:
    // The threads of `host` copy the samples.
    chunk_counter(const cuda& target, const cpu& host, const Bins& bins, const Elements& elements)
        : target_(target), host_(host), bins_(bins), elements_(elements), sample_bytes_(elements.bytes()),
          chunk_(chunk_elements(default_memory, sample_bytes_))
    {
        detail::check_bins(bins);
        gpu::check_most_bins(target, detail::bin_count(bins));
    }

    // Limits the memory that samples on their way take on the GPU. To be called before anything is fed.
    void limit_memory(std::uint64_t bytes)
    {
        check_is_new(work_ == nullptr);
        chunk_ = chunk_elements(bytes, sample_bytes_);
    }

    // Counts samples from memory of the host, which has been read when the call returns.
    void feed(const void* in, std::size_t count)
    {
        const gpu::current_device current(target_.device());
        if (count == 0)
            return;
        check_is_whole();
        free_chunk(); // Where there is no memory for a chunk this throws, before anything has been counted.
        is_whole_ = false;
        for (const auto* from = static_cast<const std::byte*>(in); count != 0;) {
            chunk_of_samples& to = free_chunk();
            const std::size_t size = std::min<std::size_t>(count, chunk_ - to.count);
            copy(host_, to.host.data() + to.count * sample_bytes_, from, size * sample_bytes_);
            to.count += size;
            from += size * sample_bytes_;
            count -= size;
            if (to.count == chunk_)
                send(to);
        }
        is_whole_ = true;
    }

    // Counts samples that the GPU reads where they lie, in order of the target's stream. The call waits for it.
    template <class In>
    void feed_where_they_lie(In in, std::size_t count)
    {
        const gpu::current_device current(target_.device());
        if (count == 0)
            return;
        check_is_whole();
        prepare();
        is_whole_ = false;
        work_->stream.wait(); // The kernels of two streams would add to the table at once.
        gpu::with_source(in, [&](const auto& source) {
            gpu::check_place(target_, "histogram", source, count);
            count_samples(target_, source, count);
        });
        gpu::check("cudaStreamSynchronize", cudaStreamSynchronize(target_.stream()));
        is_whole_ = true;
    }

    // Overwrites both with the numbers of samples, of everything fed so far, in each bin and in none.
    void result(std::span<std::uint64_t> counts, outside& out_of_range)
    {
        check_is_whole();
        if (work_ == nullptr) { // nothing was fed
            std::ranges::fill(counts, 0);
            out_of_range = {};
            return;
        }
        const gpu::current_device current(target_.device());
        if (chunk_of_samples* const last = work_->chunks[work_->next].get(); last != nullptr && last->count != 0) {
            is_whole_ = false;
            send(*last);
            is_whole_ = true;
        }
        std::vector<std::byte> table(work_->table_bytes);
        gpu::check("cudaMemcpyAsync", cudaMemcpyAsync(table.data(), work_->table.data(), table.size(),
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
            gpu::check("cudaMemsetAsync", cudaMemsetAsync(table.data(), 0, table_bytes, stream.get()));
        }

        std::size_t bins;
        std::size_t table_bytes;
        device_memory table;
        std::array<std::unique_ptr<chunk_of_samples>, chunks_under_way> chunks;
        streaming::stream stream; // is destroyed first, so that it has finished when the memory above is freed
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

    // Allocates the table and, where samples are to be gathered, the first chunk. Where there is no memory for them,
    // work_ stays null: nothing has been fed then.
    void prepare(bool gathers = false)
    {
        if (work_ != nullptr)
            return;
        auto first = std::make_unique<work>(detail::bin_count(bins_));
        if (gathers)
            first->chunks[0] = new_chunk();
        work_ = std::move(first);
    }

    // Returns the chunk that is being filled, or an empty one. One that is being counted is waited for.
    chunk_of_samples& free_chunk()
    {
        prepare(true);
        std::unique_ptr<chunk_of_samples>& next = work_->chunks[work_->next];
        if (next == nullptr)
            next = new_chunk();
        else if (next->count == 0)
            next->counted.wait();
        return *next;
    }

    void send(chunk_of_samples& full)
    {
        gpu::check("cudaMemcpyAsync", cudaMemcpyAsync(full.device.data(), full.host.data(), full.count * sample_bytes_,
                                                      cudaMemcpyHostToDevice, work_->stream.get()));
        count_samples(work_->target, elements_(full.device.data()), full.count);
        full.counted.record(work_->stream);
        full.count = 0;
        work_->next = (work_->next + 1) % work_->chunks.size();
    }

    template <class Source>
    void count_samples(const cuda& target, const Source& in, std::uint64_t count) const
    {
        const gpu::histogram_result<std::uint64_t> result{work_->counts().data(), work_->out_of_range(),
                                                          static_cast<detail::bin_index>(work_->bins), true};
        gpu::with_bin_finder<std::iter_value_t<Source>>(
            target, bins_, [&](const auto& finder) { gpu::histogram(target, in, count, finder, result); });
    }

    cuda target_;
    cpu host_;
    Bins bins_;
    Elements elements_;
    std::uint64_t sample_bytes_;
    std::uint64_t chunk_;
    std::unique_ptr<work> work_;
    bool is_whole_ = true; // false where a call has failed halfway
};

} // namespace upsweep::gpu::streaming

namespace upsweep::detail {

template <>
struct engine<cuda, verb::counter> {
    template <class T, class Bins>
    class state {
    public:
        state(const cuda& target, const Bins& bins)
            : samples_(std::make_unique<counter>(target, cpu{}, bins, gpu::streaming::elements_of<T>{}))
        {
        }

        template <class In>
        void feed(In first, std::size_t count)
        {
            gpu::streaming::feed<T>(*samples_, first, count);
        }
        void limit_memory(std::uint64_t bytes) { samples_->limit_memory(bytes); }
        void result(std::span<std::uint64_t> counts, outside& out_of_range) const
        {
            samples_->result(counts, out_of_range);
        }

    private:
        using counter = gpu::streaming::chunk_counter<Bins, gpu::streaming::elements_of<T>>;
        std::unique_ptr<counter> samples_;
    };
};

} // namespace upsweep::detail
