// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>

#include <upsweep/engine.hpp>
#include <upsweep/fold_order.hpp>
#include <upsweep/gpu/streaming/chunk.cuh>
#include <upsweep/partial.hpp>

namespace upsweep::gpu::streaming {

// Folds elements that come in pieces. Those from memory of the host are gathered into chunks, which begin at multiples
// of their size, a power of two, so that a full one is an aligned block of the canonical order.
template <class Acc, class Op, class Elements>
class chunk_reducer {
public:
    // The threads of `host` copy the elements.
    chunk_reducer(const cuda& target, const cpu& host, const Op& op, const Elements& elements)
        : target_(target), host_(host), op_(op), elements_(elements),
          chunk_(chunk_elements(default_memory, elements.bytes())), stack_(op)
    {
    }

    // Limits the memory that chunks take on the GPU. To be called before anything is fed.
    void limit_memory(std::uint64_t bytes)
    {
        check_is_new(position_ == 0);
        chunk_ = chunk_elements(bytes, elements_.bytes());
    }

    std::uint64_t count() const { return position_; }

    // Appends elements from memory of the host, which has been read when the call returns.
    void feed(const void* in, std::size_t count)
    {
        const gpu::current_device current(target_.device());
        for (const auto* from = static_cast<const std::byte*>(in); count != 0;) {
            chunk<Acc>& to = free_chunk();
            const std::size_t size = std::min<std::size_t>(count, chunk_ - position_ % chunk_);
            const std::size_t bytes = size * elements_.bytes();
            copy(host_, to.host.data() + to.count * elements_.bytes(), from, bytes);
            to.count += size;
            from += bytes;
            count -= size;
            position_ += size;
            if (position_ % chunk_ == 0)
                send(to);
        }
    }

    // Appends elements that the GPU reads where they lie, in order of the target's stream. The call waits for it.
    template <class In>
    void feed_where_they_lie(In in, std::size_t count)
    {
        const gpu::current_device current(target_.device());
        if (chunk<Acc>* const last = gathered())
            send(*last);
        collect_all();
        detail::for_each_block_total<Acc>(
            target_, in, position_, count, op_,
            [this](const detail::aligned_block& block, const Acc& total) { stack_.push(total, block.level); });
        position_ += count;
    }

    // Returns the fold of everything that has been fed, which may be nothing.
    Acc fold()
    {
        const gpu::current_device current(target_.device());
        collect_all();
        fold_stack<Acc, Op> all = stack_;
        if (chunk<Acc>* const last = gathered()) {
            // More elements may still be fed to the chunk, so its blocks are pushed to a copy of the stack.
            last->send(elements_, op_);
            last->push(all, elements_);
            last->is_sent = false;
        }
        return all.count() != 0 ? all.fold() : fold_of_nothing<Acc>(op_);
    }

private:
    // Returns the chunk that holds elements and has not been sent, if there is one.
    chunk<Acc>* gathered() const
    {
        chunk<Acc>* const next = chunks_[next_].get();
        return next != nullptr && next->count != 0 && !next->is_sent ? next : nullptr;
    }

    // Returns the chunk that is being filled, or an empty one. One that was on the GPU is waited for.
    chunk<Acc>& free_chunk()
    {
        std::unique_ptr<chunk<Acc>>& next = chunks_[next_];
        if (next == nullptr)
            next = std::make_unique<chunk<Acc>>(chunk_ * elements_.bytes());
        collect(next.get());
        if (next->count == 0)
            next->first = position_;
        return *next;
    }

    void send(chunk<Acc>& gathered)
    {
        gathered.send(elements_, op_);
        next_ = (next_ + 1) % chunks_.size();
    }

    // Pushes the elements of a chunk that has been sent.
    void collect(chunk<Acc>* sent)
    {
        if (sent == nullptr || !sent->is_sent)
            return;
        sent->push(stack_, elements_);
        sent->count = 0;
        sent->is_sent = false;
    }
    void collect_all() // the oldest one first
    {
        for (std::size_t i = 0; i < chunks_.size(); ++i)
            collect(chunks_[(next_ + i) % chunks_.size()].get());
    }

    cuda target_;
    cpu host_;
    Op op_;
    Elements elements_;
    std::uint64_t chunk_;        // elements of a chunk
    std::uint64_t position_ = 0; // how many elements have been fed
    fold_stack<Acc, Op> stack_;  // the totals of what the GPU has folded
    std::array<std::unique_ptr<chunk<Acc>>, chunks_under_way> chunks_;
    std::size_t next_ = 0;
};

} // namespace upsweep::gpu::streaming

namespace upsweep::detail {

template <>
struct engine<cuda, verb::reducer> {
    template <class T, class Acc, class Op>
    class state {
    public:
        state(const cuda& target, const Op& op)
            : fold_(std::make_unique<reducer>(target, cpu{}, op, gpu::streaming::elements_of<T>{}))
        {
        }

        template <class In>
        void feed(In first, std::size_t count)
        {
            gpu::streaming::feed<T>(*fold_, first, count);
        }
        void limit_memory(std::uint64_t bytes) { fold_->limit_memory(bytes); }
        std::uint64_t count() const { return fold_->count(); }
        Acc fold() const { return fold_->fold(); }

    private:
        using reducer = gpu::streaming::chunk_reducer<Acc, Op, gpu::streaming::elements_of<T>>;
        std::unique_ptr<reducer> fold_;
    };
};

} // namespace upsweep::detail
