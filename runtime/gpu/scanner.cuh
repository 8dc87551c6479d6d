// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bit>
#include <climits>
#include <memory>
#include <optional>

#include "chunk.cuh"
#include "elements.cuh"
#include "engine.hpp"

namespace upsweep::runtime::gpu {

// Scans an array that comes in pieces, as aligned blocks of the canonical order. The GPU computes the total of a block
// before its results: as soon as the total is known, the results of the block after it can be computed, too. Results
// are computed and copied back while the next block is on its way to the GPU.
template <class Acc, class Op>
class block_scanner final : public any_scanner {
public:
    explicit block_scanner(const scan_request& request)
        : request_(request), in_bytes_(upsweep_dtype_size(request.in)), out_bytes_(upsweep_dtype_size(request.out)),
          largest_(chunk_elements(default_memory, in_bytes_ + out_bytes_)), stack_(Op{})
    {
        upsweep::gpu::check("cudaGetDevice", cudaGetDevice(&device_));
        if (request.init != nullptr)
            init_ = typed_input<Acc>(request.init, request.out)[0];
    }

    void limit_memory(std::uint64_t bytes) override
    {
        check_is_new(stack_.count() == 0);
        largest_ = chunk_elements(bytes, in_bytes_ + out_bytes_);
    }

    void feed(const void* in, void* out, std::size_t count) override
    {
        const upsweep::gpu::current_device current(device_);
        const auto* from = static_cast<const std::byte*>(in);
        auto* to = static_cast<std::byte*>(out);
        block* uploaded = nullptr; // the block whose total is on its way
        block* scanned = nullptr;  // the block whose results are on their way
        std::uint64_t position = stack_.count();
        const auto advance = [&](block* next) {
            if (uploaded != nullptr)
                scan(*uploaded);
            if (scanned != nullptr)
                download(*scanned);
            scanned = uploaded;
            uploaded = next;
        };
        while (count != 0) {
            const std::uint64_t size = next_size(position, count);
            if (size >> smallest_level != 0) {
                block& next = free_block();
                upload(next, from, to, size);
                advance(&next);
            } else {
                advance(nullptr);
                scan_on_host(from, to, size);
            }
            from += size * in_bytes_;
            to += size * out_bytes_;
            position += size;
            count -= size;
        }
        advance(nullptr);
        advance(nullptr);
    }

private:
    struct block {
        block(std::size_t in_bytes, std::size_t out_bytes) : out_host(out_bytes), out_device(out_bytes), in(in_bytes) {}
        host_memory out_host;
        device_memory out_device;
        chunk<Acc> in;            // is destroyed first, so that its stream has finished when the memory above is freed
        std::byte* out = nullptr; // where the caller wants the results
    };

    // Returns the size of the largest aligned block that begins at `position`. Where that is smaller than the smallest
    // block of the GPU, returns how many elements the host scans, up to where such a block may begin.
    std::uint64_t next_size(std::uint64_t position, std::uint64_t count) const
    {
        constexpr std::uint64_t smallest = std::uint64_t{1} << smallest_level;
        if (const std::uint64_t beyond = position % smallest; beyond != 0 || count < smallest)
            return std::min(count, smallest - beyond);
        const std::uint64_t size = std::bit_floor(std::min(count, largest_));
        return position == 0 ? size : std::min(size, position & -position);
    }

    block& free_block()
    {
        next_ = (next_ + 1) % blocks_.size();
        if (blocks_[next_] == nullptr)
            blocks_[next_] = std::make_unique<block>(largest_ * in_bytes_, largest_ * out_bytes_);
        return *blocks_[next_];
    }

    void upload(block& b, const std::byte* from, std::byte* to, std::uint64_t size)
    {
        b.in.count = size;
        b.out = to;
        copy(request_.host, b.in.host.data(), from, size * in_bytes_);
        b.in.send(size * in_bytes_, elements(b.in.device.data()), Op{});
    }

    // Starts to compute the results of a block, except for one that the host writes: the first of an exclusive scan, or
    // the last of an inclusive one. At the last element aligned blocks may end that are larger than this one, whose
    // totals the host has.
    void scan(block& b)
    {
        b.in.stream.wait();
        const bool exclusive = request_.kind == scan_kind::exclusive;
        const Acc before = stack_.fold();
        if (exclusive)
            store_fold(b.out_host.data(), 0);
        b.in.totals.push(stack_, elements(b.in.host.data()), b.in.count);
        if (!exclusive)
            store_fold(b.out_host.data(), b.in.count - 1);

        const std::size_t begin = exclusive ? out_bytes_ : 0;
        const typed_output<Acc, Op> out(b.out_device.data() + begin, request_.out, init_);
        upsweep::gpu::scan<scan_kind::inclusive, Acc>(b.in.target, elements(b.in.device.data()), out, b.in.count - 1,
                                                      Op{}, nullptr, &before);
        upsweep::gpu::check("cudaMemcpyAsync",
                            cudaMemcpyAsync(b.out_host.data() + begin, b.out_device.data() + begin,
                                            (b.in.count - 1) * out_bytes_, cudaMemcpyDeviceToHost, b.in.stream.get()));
    }

    void download(block& b)
    {
        b.in.stream.wait();
        copy(request_.host, b.out, b.out_host.data(), b.in.count * out_bytes_);
    }

    void scan_on_host(const std::byte* from, std::byte* to, std::uint64_t count)
    {
        const typed_input<Acc> in = elements(from);
        for (std::uint64_t i = 0; i < count; ++i) {
            const Acc element = in[static_cast<std::ptrdiff_t>(i)]; // `to` may be `from`
            if (request_.kind == scan_kind::exclusive)
                store_fold(to, i);
            stack_.push(element, 0);
            if (request_.kind == scan_kind::inclusive)
                store_fold(to, i);
        }
    }

    // Writes the fold of everything so far as result number i.
    void store_fold(std::byte* results, std::uint64_t i) const
    {
        if (stack_.count() != 0)
            typed_output<Acc, Op>(results, request_.out, init_)[static_cast<std::ptrdiff_t>(i)] = stack_.fold();
        else if (init_)
            store(results, request_.out, 0, *init_);
        else
            store_nothing(results);
    }

    // Writes the first result of an exclusive scan, which is the identity of the type of the results.
    void store_nothing(std::byte* results) const
    {
        with_type(request_.out, [results]<class T>(std::type_identity<T>) {
            using accumulator = scan_accumulator_t<Op, T>;
            if constexpr (is_defined<Op, accumulator>)
                *reinterpret_cast<T*>(results) = convert<T>(fold_of_nothing<accumulator>(Op{}));
        });
    }

    typed_input<Acc> elements(const std::byte* from) const
    {
        return {from, request_.in, static_cast<int>(std::min<std::uint64_t>(out_bytes_ * CHAR_BIT, 64))};
    }

    scan_request request_;
    int device_ = 0;
    std::uint64_t in_bytes_;
    std::uint64_t out_bytes_;
    std::uint64_t largest_; // the elements of the largest block
    std::optional<Acc> init_;
    fold_stack<Acc, Op> stack_;
    std::array<std::unique_ptr<block>, chunks_under_way> blocks_;
    std::size_t next_ = 0;
};

} // namespace upsweep::runtime::gpu
