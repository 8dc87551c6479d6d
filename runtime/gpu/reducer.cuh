// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <memory>

#include "chunk.cuh"
#include "elements.cuh"
#include "engine.hpp"

namespace upsweep::runtime::gpu {

// Gathers elements into chunks. A chunk begins at a multiple of its size, a power of two, so that a full one is an
// aligned block of the canonical order and its fold is the block's total.
template <class Acc, class Op>
class chunk_reducer final : public any_reducer {
public:
    explicit chunk_reducer(const reduce_request& request)
        : request_(request), element_bytes_(upsweep_dtype_size(request.in)),
          chunk_(chunk_elements(default_memory, element_bytes_)), stack_(Op{})
    {
        upsweep::gpu::check("cudaGetDevice", cudaGetDevice(&device_));
    }

    void limit_memory(std::uint64_t bytes) override
    {
        check_is_new(chunks_[0] == nullptr);
        chunk_ = chunk_elements(bytes, element_bytes_);
    }

    void feed(const void* in, std::size_t count) override
    {
        const upsweep::gpu::current_device current(device_);
        for (const auto* from = static_cast<const std::byte*>(in); count != 0;) {
            chunk& to = free_chunk();
            const std::size_t size = std::min<std::size_t>(count, chunk_ - to.count);
            copy(request_.host, to.host.data() + to.count * element_bytes_, from, size * element_bytes_);
            to.count += size;
            from += size * element_bytes_;
            count -= size;
            if (to.count == chunk_) {
                send(to);
                next_ = (next_ + 1) % chunks_.size();
            }
        }
    }

    void result(void* to) override
    {
        const upsweep::gpu::current_device current(device_);
        for (std::size_t i = 0; i < chunks_.size(); ++i)
            if (chunk* const oldest = chunks_[(next_ + i) % chunks_.size()].get();
                oldest != nullptr && oldest->count == chunk_)
                collect(*oldest);
        fold_stack<Acc, Op> all = stack_;
        if (chunk* const last = chunks_[next_].get(); last != nullptr && last->count != 0) {
            // More elements may still be fed to the last chunk, so its blocks are pushed to a copy of the stack.
            send(*last);
            last->stream.wait();
            last->totals.push(all, elements(last->host), last->count);
        }
        if (all.count() == 0 && (request_.op == UPSWEEP_MINIMUM || request_.op == UPSWEEP_MAXIMUM))
            throw error(error_kind::invalid_argument, "reduce", "minimum and maximum of no elements do not exist",
                        "check that the input is not empty");
        store(to, request_.out, 0, all.count() != 0 ? all.fold() : fold_of_nothing<Acc>(Op{}));
    }

private:
    using chunk = gpu::chunk<Acc>;

    // Returns the chunk that is being filled, or an empty one. One that was on the GPU is waited for.
    chunk& free_chunk()
    {
        std::unique_ptr<chunk>& next = chunks_[next_];
        if (next == nullptr)
            next = std::make_unique<chunk>(chunk_ * element_bytes_);
        else if (next->count == chunk_)
            collect(*next);
        return *next;
    }

    void send(chunk& full) { full.send(full.count * element_bytes_, elements(full.device), Op{}); }

    void collect(chunk& full)
    {
        full.stream.wait();
        full.totals.push(stack_, elements(full.host), full.count);
        full.count = 0;
    }

    template <class Memory>
    typed_input<Acc> elements(const Memory& memory) const
    {
        return {memory.data(), request_.in};
    }

    reduce_request request_;
    int device_ = 0;
    std::uint64_t element_bytes_;
    std::uint64_t chunk_;
    fold_stack<Acc, Op> stack_; // the totals of the chunks that the GPU has folded
    std::array<std::unique_ptr<chunk>, chunks_under_way> chunks_;
    std::size_t next_ = 0;
};

} // namespace upsweep::runtime::gpu
