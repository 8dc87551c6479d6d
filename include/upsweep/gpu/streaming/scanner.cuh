// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <type_traits>
#include <vector>

#include <upsweep/engine.hpp>
#include <upsweep/error.hpp>
#include <upsweep/fold_order.hpp>
#include <upsweep/gpu/fold/scan.cuh>
#include <upsweep/gpu/streaming/chunk.cuh>
#include <upsweep/partial.hpp>

namespace upsweep::gpu::streaming {

// Takes folds and writes results to `out`, which are init (+) the fold where there is an init. (The kernels know an init
// of exclusive scans alone.)
template <class Out, class Acc, class Op>
class results_after_init {
public:
    class place {
    public:
        UPSWEEP_HOST_DEVICE place(const results_after_init& results, std::ptrdiff_t n) : results_(results), n_(n) {}
        UPSWEEP_HOST_DEVICE void operator=(const Acc& fold) const
        {
            results_.out_[n_] =
                as_result<std::iter_value_t<Out>, Op>(results_.has_init_ ? results_.op_(results_.init_, fold) : fold);
        }

    private:
        const results_after_init& results_;
        std::ptrdiff_t n_;
    };

    using iterator_category = std::random_access_iterator_tag;
    using value_type = Acc;
    using difference_type = std::ptrdiff_t;
    using reference = place;
    using pointer = void;

    results_after_init(Out out, const Op& op, const std::optional<Acc>& init)
        : out_(out), op_(op), init_(init ? *init : op.template identity<Acc>()), has_init_(init.has_value())
    {
    }

    UPSWEEP_HOST_DEVICE place operator[](std::ptrdiff_t n) const { return {*this, n}; }
    UPSWEEP_HOST_DEVICE friend results_after_init operator+(results_after_init it, std::ptrdiff_t n)
    {
        it.out_ = it.out_ + n;
        return it;
    }

private:
    Out out_;
    Op op_;
    Acc init_;
    bool has_init_;
};

// Results of type T as they lie in memory, made of folds.
template <class T, class Acc, class Op>
struct results_of {
    Op op;

    std::size_t bytes() const { return sizeof(T); } // of one result
    auto operator()(std::byte* memory, const std::optional<Acc>& init) const
    {
        return results_after_init<T*, Acc, Op>(reinterpret_cast<T*>(memory), op, init);
    }
    // Writes a value, unchanged but for its type.
    void write(std::byte* to, const Acc& value) const { *reinterpret_cast<T*>(to) = as_result<T, Op>(value); }
    // Writes the first result of an exclusive scan without init.
    void write_nothing(std::byte* to) const { write(to, fold_of_nothing<Acc>(op)); }
};

template <class Op, class Out, class Acc>
__global__ void write_result(Out out, Acc value)
{
    out[0] = as_result<std::iter_value_t<Out>, Op>(value);
}

// Scans elements that come in pieces from memory of the host, as aligned blocks of the canonical order. The GPU
// computes the total of a block before its results: as soon as the total is known, the results of the block after it
// can be computed, too. Results are computed and copied back while the next block is on its way to the GPU.
template <class Acc, class Op, class Elements, class Results>
class block_scanner {
public:
    // The threads of `host` copy the elements.
    block_scanner(const cuda& target, const cpu& host, scan_kind kind, const Op& op, const std::optional<Acc>& init,
                  const Elements& elements, const Results& results)
        : target_(target), host_(host), kind_(kind), op_(op), init_(init), elements_(elements), results_(results),
          largest_(chunk_elements(default_memory, elements.bytes() + results.bytes())), stack_(op)
    {
    }

    // Limits the memory that blocks take on the GPU. To be called before anything is fed.
    void limit_memory(std::uint64_t bytes)
    {
        check_is_new(stack_.count() == 0);
        largest_ = chunk_elements(bytes, elements_.bytes() + results_.bytes());
    }

    std::uint64_t count() const { return stack_.count(); }

    void feed(const void* in, void* out, std::size_t count)
    {
        const gpu::current_device current(target_.device());
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
                upload(next, from, to, position, size);
                advance(&next);
            } else {
                advance(nullptr);
                scan_on_host(from, to, size);
            }
            from += size * elements_.bytes();
            to += size * results_.bytes();
            position += size;
            count -= size;
        }
        advance(nullptr);
        advance(nullptr);
    }

    // Scans elements that the GPU reads and results that it writes where they lie, in order of the target's stream. The
    // call waits for the totals, and not for the results.
    template <class In, class Out>
    void feed_where_they_lie(In in, Out out, std::size_t count)
    {
        const gpu::current_device current(target_.device());
        const bool is_first = stack_.count() == 0;
        const std::uint64_t first = stack_.count();
        std::vector<folded_block> blocks; // All totals are known before a result overwrites an element.
        detail::for_each_block_total<Acc>(target_, in, first, count, op_,
                                          [&](const detail::aligned_block& each, const Acc& total) {
                                              const Acc before = stack_.fold();
                                              stack_.push(total, each.level);
                                              blocks.push_back({each, before, stack_.fold()});
                                          });
        if (is_first)
            return scan_where_they_lie(in, out, count, nullptr);
        for (const folded_block& each : blocks) {
            const auto offset = static_cast<std::ptrdiff_t>(each.block.first() - first);
            const std::uint64_t size = each.block.end() - each.block.first();
            if (kind_ == scan_kind::exclusive) {
                scan_where_they_lie(in + offset, out + offset, size, &each.before);
            } else {
                // At the last element aligned blocks may end that are larger than this one, whose totals the host has.
                scan_where_they_lie(in + offset, out + offset, size - 1, &each.before);
                const Acc last = init_ ? op_(*init_, each.after) : each.after;
                const auto at = out + (offset + static_cast<std::ptrdiff_t>(size) - 1);
                gpu::launch(target_, "scan", write_result<Op, decltype(at), Acc>, gpu::grid_shape{1, 1, 0}, at, last);
            }
        }
    }

private:
    struct folded_block {
        detail::aligned_block block;
        Acc before; // the fold of all elements before it
        Acc after;  // and with its own
    };

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
            blocks_[next_] = std::make_unique<block>(largest_ * elements_.bytes(), largest_ * results_.bytes());
        return *blocks_[next_];
    }

    void upload(block& b, const std::byte* from, std::byte* to, std::uint64_t position, std::uint64_t size)
    {
        b.in.first = position;
        b.in.count = size;
        b.out = to;
        copy(host_, b.in.host.data(), from, size * elements_.bytes());
        b.in.send(elements_, op_);
    }

    // Starts to compute the results of a block, except for one that the host writes: the first of an exclusive scan, or
    // the last of an inclusive one. At the last element aligned blocks may end that are larger than this one, whose
    // totals the host has.
    void scan(block& b)
    {
        const bool exclusive = kind_ == scan_kind::exclusive;
        const Acc before = stack_.fold();
        if (exclusive)
            store_fold(b.out_host.data());
        b.in.push(stack_, elements_);
        const std::uint64_t scanned = b.in.count - 1;
        if (!exclusive)
            store_fold(b.out_host.data() + scanned * results_.bytes());

        const std::size_t begin = exclusive ? results_.bytes() : 0;
        gpu::scan<scan_kind::inclusive, Acc>(b.in.target, elements_(b.in.device.data()),
                                             results_(b.out_device.data() + begin, init_), scanned, op_,
                                             static_cast<const Acc*>(nullptr), &before);
        gpu::check("cudaMemcpyAsync",
                   cudaMemcpyAsync(b.out_host.data() + begin, b.out_device.data() + begin, scanned * results_.bytes(),
                                   cudaMemcpyDeviceToHost, b.in.stream.get()));
    }

    void download(block& b)
    {
        b.in.stream.wait();
        copy(host_, b.out, b.out_host.data(), b.in.count * results_.bytes());
    }

    void scan_on_host(const std::byte* from, std::byte* to, std::uint64_t count)
    {
        for (std::uint64_t i = 0; i < count; ++i) {
            const Acc element = convert<Acc>(elements_(from)[static_cast<std::ptrdiff_t>(i)]); // `to` may be `from`
            if (kind_ == scan_kind::exclusive)
                store_fold(to + i * results_.bytes());
            stack_.push(element, 0);
            if (kind_ == scan_kind::inclusive)
                store_fold(to + i * results_.bytes());
        }
    }

    // Writes the fold of everything so far as a result.
    void store_fold(std::byte* to) const
    {
        if (stack_.count() != 0)
            results_.write(to, init_ ? op_(*init_, stack_.fold()) : stack_.fold());
        else if (init_)
            results_.write(to, *init_);
        else
            results_.write_nothing(to);
    }

    // `before` is null where nothing comes before the first element.
    template <class In, class Out>
    void scan_where_they_lie(In in, Out out, std::uint64_t count, const Acc* before) const
    {
        const Acc* const init = init_ ? &*init_ : nullptr;
        gpu::with_sources(in, out, [&](const auto& from, const auto& to) {
            if (kind_ == scan_kind::exclusive)
                gpu::scan<scan_kind::exclusive, Acc>(target_, from, to, count, op_, init, before);
            else if (init == nullptr)
                gpu::scan<scan_kind::inclusive, Acc>(target_, from, to, count, op_, init, before);
            else
                gpu::scan<scan_kind::inclusive, Acc>(target_, from, results_after_init(to, op_, init_), count, op_,
                                                     static_cast<const Acc*>(nullptr), before);
        });
    }

    cuda target_;
    cpu host_;
    scan_kind kind_;
    Op op_;
    std::optional<Acc> init_;
    Elements elements_;
    Results results_;
    std::uint64_t largest_; // the elements of the largest block
    fold_stack<Acc, Op> stack_;
    std::array<std::unique_ptr<block>, chunks_under_way> blocks_;
    std::size_t next_ = 0;
};

} // namespace upsweep::gpu::streaming

namespace upsweep::detail {

template <>
struct engine<cuda, verb::scanner> {
    template <class Out, class Acc, class Op>
    class state {
    public:
        state(const cuda& target, scan_kind kind, const Op& op, const std::optional<Acc>& init)
            : scan_(std::make_unique<scanner>(target, cpu{}, kind, op, init, gpu::streaming::elements_of<Out>{},
                                              results{op}))
        {
        }

        template <class In, class To>
        void feed(In in, To out, std::size_t count)
        {
            if (count == 0)
                return;
            if constexpr (std::is_pointer_v<In> && std::is_pointer_v<To>) {
                static_assert(std::is_same_v<std::iter_value_t<In>, Out> && std::is_same_v<std::iter_value_t<To>, Out>,
                              "the elements and the results have the type of the scanner");
                const bool on_gpu = gpu::streaming::lies_on_gpu(in);
                if (on_gpu != gpu::streaming::lies_on_gpu(out))
                    throw error(error_kind::invalid_argument, "scan",
                                "the elements and the results lie in different memories",
                                "bring both to the GPU, or to the host");
                if (!on_gpu)
                    return scan_->feed(in, out, count);
            }
            scan_->feed_where_they_lie(in, out, count);
        }
        void limit_memory(std::uint64_t bytes) { scan_->limit_memory(bytes); }
        std::uint64_t count() const { return scan_->count(); }

    private:
        using results = gpu::streaming::results_of<Out, Acc, Op>;
        using scanner = gpu::streaming::block_scanner<Acc, Op, gpu::streaming::elements_of<Out>, results>;

        std::unique_ptr<scanner> scan_;
    };
};

} // namespace upsweep::detail
