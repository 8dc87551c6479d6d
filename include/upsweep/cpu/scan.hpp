// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <optional>
#include <span>
#include <type_traits>

#include <upsweep/cpu/block.hpp>
#include <upsweep/cpu/grain_totals.hpp>
#include <upsweep/cpu/parallel.hpp>
#include <upsweep/cpu/reduce.hpp>
#include <upsweep/cpu/store.hpp>
#include <upsweep/engine.hpp>
#include <upsweep/fold_order.hpp>
#include <upsweep/op.hpp>
#include <upsweep/range.hpp>
#include <upsweep/target.hpp>
#include <upsweep/view.hpp>

namespace upsweep::cpu_engine {

// What a scan does beside the operator.
template <class Acc>
struct scan_options {
    scan_kind kind = scan_kind::inclusive;
    store_kind store = store_kind::cached;
    const Acc* init = nullptr; // put before the first element; null: nothing
    bool is_last = false;      // nothing follows, so that the stack need not know the elements
};

// Writes the results of the next `count` elements and folds them onto the stack, on the calling thread. `before` is the
// fold of what lies before the stack's first element; `end` is the fold after the last of the elements, where the
// caller knows it: the stack does not, if it is one of two that together hold the digits of the count.
template <class Acc, class Op, class In, class Out>
class serial_scan {
public:
    serial_scan(fold_stack<Acc, Op>& stack, const Acc& before, const Acc* end, const Op& op,
                const scan_options<Acc>& options)
        : stack_(stack), before_(before), end_(end), op_(op), options_(options), fold_(before)
    {
    }

    // `ahead`: what this thread will read next.
    void operator()(In in, Out out, std::size_t count, read_ahead ahead)
    {
        ahead_ = ahead;
        constexpr std::size_t large = block_size<Acc>;
        constexpr std::size_t medium = 256;
        constexpr std::size_t small = small_block_size<Acc>;

        fold_ = stack_.fold_after(before_);
        for (std::size_t i = 0; i < count;) {
            const std::size_t left = count - i;
            const bool begins = stack_.count() % large == 0;
            const bool whole = left >= large && begins;
            const bool part = left >= small && stack_.count() % small == 0;
            if (begins && left < large && left > 4 * small) {
                if constexpr (large > medium)
                    if (left <= medium)
                        return scan_part<medium>(in + i, out + i, left);
                return scan_part<large>(in + i, out + i, left);
            }
            i += whole  ? scan_block<large>(in + i, out + i, left)
                 : part ? scan_block<small>(in + i, out + i, left)
                        : scan_block<1>(in + i, out + i, left);
        }
    }

private:
    // Inlined, so that the stack and the fold of a thousand elements stay in registers: a call doubles their time.
    template <std::size_t Size>
    UPSWEEP_ALWAYS_INLINE std::size_t scan_block(In in, Out out, std::size_t left)
    {
        block_scan<Size, Acc, Op> block;
        stack_.push(block.up_sweep(load_block<Size>(in, elements_.data()), op_, ahead_), level_of<Size>);
        const Acc end = left == Size && end_ != nullptr ? *end_ : stack_.fold_after(before_);

        const bool streams = Size == block_size<Acc> && options_.store == store_kind::streamed;
        bool has_nan = detail::is_nan_of<Op>(end);
        std::array<Acc, Size> aside;
        Acc* const ready = place_of_folds(out, streams, block.can_stream);
        // Smaller blocks are never streamed, and are not compiled for it.
        constexpr store_kind streamed = Size == block_size<Acc> ? store_kind::streamed : store_kind::cached;
        if (streams && ready != nullptr && !has_nan)
            has_nan |= down_sweep<streamed>(block, end, ready);
        else
            has_nan |= down_sweep<store_kind::cached>(block, end, ready != nullptr ? ready : aside.data());
        if (ready == nullptr)
            write(aside, out, streams);
        else if (has_nan)
            std::transform(ready, ready + Size, ready, as_result<Acc, Op, Acc>);
        fold_ = end;
        return Size;
    }

    // The elements at the end are scanned as a block that is filled up with identities, which no result of theirs
    // depends on: one block takes less time than many small ones.
    template <std::size_t Size>
    void scan_part(In in, Out out, std::size_t count)
    {
        std::array<Acc, Size> elements;
        load_elements(in, count, elements.data());
        std::fill(elements.begin() + static_cast<std::ptrdiff_t>(count), elements.end(), op_.template identity<Acc>());
        block_scan<Size, Acc, Op> block;
        const Acc total = block.up_sweep(elements.data(), op_, ahead_);
        if (!options_.is_last)
            fold_serially(stack_, static_cast<const Acc*>(elements.data()), count, op_);
        std::array<Acc, Size> results;
        const Acc end = op_(fold_, total); // which becomes a result where the block is whole
        const bool has_nan = down_sweep<store_kind::cached>(block, end, results.data());
        if (has_nan || detail::is_nan_of<Op>(results[count - 1]) || options_.init != nullptr)
            name_results(std::span(results).first(count));
        if constexpr (is_direct<Acc, Out>) {
            if (options_.store == store_kind::streamed)
                stream_bytes(results.data(), std::to_address(out), count * sizeof(Acc));
            else
                store_results(results.data(), out, count);
        } else {
            store_results(results.data(), out, count);
        }
    }

    static void load_elements(In in, std::size_t count, Acc* to)
    {
        if constexpr (detail::strided_iterator<In>) {
            std::array<std::iter_value_t<In>, block_size<Acc>> copied;
            in.read(count, copied.data());
            std::transform(copied.begin(), copied.begin() + static_cast<std::ptrdiff_t>(count), to,
                           [](const auto& element) { return convert<Acc>(element); });
        } else {
            for (std::size_t j = 0; j < count; ++j)
                to[j] = load<Acc>(in, j);
        }
    }

    // Makes results of folds.
    void name_results(std::span<Acc> folds) const
    {
        if (options_.init != nullptr)
            for (Acc& fold : folds)
                fold = op_(*options_.init, fold);
        for (Acc& fold : folds)
            fold = as_result<Acc, Op>(fold);
    }

    // Writes results that were not written as they came.
    template <std::size_t Size>
    void write(std::array<Acc, Size>& results, Out out, bool streams) const
    {
        name_results(results);
        if constexpr (Size == block_size<Acc>)
            if (streams)
                return stream_results<Size>(results.data(), out);
        store_results(results.data(), out, Size);
    }

    // Returns where folds are written as they are, or null where they first have to be converted, combined with init, or brought
    // to the alignment of streamed stores.
    Acc* place_of_folds(Out out, bool streams, bool block_can_stream) const
    {
        if constexpr (is_direct<Acc, Out>) {
            Acc* const place = std::to_address(out);
            const bool is_aligned = reinterpret_cast<std::uintptr_t>(place) % stream_alignment == 0;
            return options_.init == nullptr && (!streams || (block_can_stream && is_aligned)) ? place : nullptr;
        } else {
            return nullptr;
        }
    }

    template <store_kind Store, std::size_t Size>
    bool down_sweep(block_scan<Size, Acc, Op>& block, const Acc& end, Acc* out)
    {
        return block.template down_sweep<Store>(options_.kind, fold_, end, out, op_);
    }

    fold_stack<Acc, Op>& stack_;
    const Acc& before_;
    const Acc* end_;
    const Op& op_;
    const scan_options<Acc>& options_;
    Acc fold_; // of everything before the block
    read_ahead ahead_;
    std::array<Acc, block_size<Acc>> elements_; // of the block, where they have to be converted
};

// What a thread asks for that scans from memory to memory.
template <class In>
read_ahead ahead_of(In in, store_kind store)
{
    return store == store_kind::streamed ? further_on(in) : read_ahead();
}

template <class Acc, class Op, class In, class Out>
void scan_serially(fold_stack<Acc, Op>& stack, In in, Out out, std::size_t count, const Op& op,
                   const scan_options<Acc>& options)
{
    const Acc before = op.template identity<Acc>();
    serial_scan<Acc, Op, In, Out>(stack, before, nullptr, op, options)(in, out, count, ahead_of(in, options.store));
}

// One thread of a scan of grains. It takes the grains in the order of their numbers, folds each, which brings it into its cache,
// and scans it from there. What lies before a grain it folds from the totals of all grains, which the threads tell one another.
template <class Acc, class Op, class In, class Out>
class grain_scan {
public:
    grain_scan(const fold_stack<Acc, Op>& stack, grain_totals<Acc>& totals, In in, Out out, const Op& op,
               const scan_options<Acc>& options)
        : stack_(stack), totals_(totals), in_(in), out_(out), op_(op), options_(options)
    {
    }

    void operator()()
    {
        for (auto k = totals_.take(); k;) {
            totals_.tell(*k, total_of(*k));
            // The next grain is taken early, so that it is on its way from memory while this one is scanned.
            const auto next = totals_.take();
            scan(*k, next ? read_ahead_of(*next) : read_ahead());
            k = next;
        }
        stream_fence();
    }

private:
    static constexpr std::size_t grain = grain_size<Acc>;

    Acc total_of(std::size_t k) const { return grain_total<Acc>(in_ + k * grain, op_); }

    read_ahead read_ahead_of(std::size_t k) const
    {
        if constexpr (std::is_pointer_v<In>)
            return read_ahead(in_ + k * grain);
        else
            return {};
    }

    void scan(std::size_t k, read_ahead ahead)
    {
        while (learned_ < k)
            learn_next();
        const Acc before = stack_.fold();
        learn_next();
        const Acc end = stack_.fold();

        totals_.wait_for_readers(k);
        fold_stack<Acc, Op> inside(op_);
        serial_scan<Acc, Op, In, Out> scan(inside, before, &end, op_, options_);
        scan(in_ + k * grain, out_ + k * grain, grain, ahead);
    }

    // Puts the total of one more grain on the stack. If the grain's thread is late, this one folds the grain.
    void learn_next()
    {
        stack_.push(totals_.learn(learned_++, [&](std::size_t k) { return total_of(k); }), level_of<grain>);
    }

    fold_stack<Acc, Op> stack_;
    std::size_t learned_ = 0; // grains whose totals are on the stack
    grain_totals<Acc>& totals_;
    In in_;
    Out out_;
    const Op& op_;
    const scan_options<Acc>& options_;
};

// Scans whole grains on all threads in one pass over memory. Memory: the totals of the grains.
template <class Acc, class Op, class In, class Out>
void scan_grains(const cpu& target, fold_stack<Acc, Op>& stack, In in, Out out, std::size_t grains, const Op& op,
                 const scan_options<Acc>& options)
{
    grain_totals<Acc> totals(grains);
    for_each_index(target, static_cast<std::size_t>(thread_count(target)),
                   [&](std::size_t) { grain_scan<Acc, Op, In, Out>(stack, totals, in, out, op, options)(); });
    for (std::size_t k = 0; k < grains; ++k)
        stack.push(totals[k], level_of<grain_size<Acc>>);
}

// Writes the results of the next `count` elements and folds them onto the stack, on all threads.
template <class Acc, class Op, class In, class Out>
void scan_onto(const cpu& target, fold_stack<Acc, Op>& stack, In in, Out out, std::size_t count, const Op& op,
               const scan_options<Acc>& options)
{
    if constexpr (detail::strided_iterator<In> && detail::strided_iterator<Out>) {
        if (in.is_contiguous() && out.is_contiguous())
            return scan_onto(target, stack, in.address(), out.address(), count, op, options);
    } else if constexpr (detail::strided_iterator<In>) {
        if (in.is_contiguous())
            return scan_onto(target, stack, in.address(), out, count, op, options);
    } else if constexpr (detail::strided_iterator<Out>) {
        if (out.is_contiguous())
            return scan_onto(target, stack, in, out.address(), count, op, options);
    }
    constexpr std::size_t grain = grain_size<Acc>;
    const std::size_t head = std::min<std::size_t>(count, (grain - stack.count() % grain) % grain);
    const std::size_t grains = (count - head) / grain;
    if (grains < 2 || thread_count(target) == 1) {
        scan_serially(stack, in, out, count, op, options);
        return;
    }
    const std::size_t tail = head + grains * grain;
    scan_serially(stack, in, out, head, op, options);
    scan_grains(target, stack, in + head, out + head, grains, op, options);
    scan_serially(stack, in + tail, out + tail, count - tail, op, options);
    stream_fence();
}

// Writes the results of a piece of an array, the first one, the next or the last, and folds its elements onto the stack if it is not the last.
template <class Acc, class Op, class In, class Out>
void scan_piece(const cpu& target, fold_stack<Acc, Op>& stack, In in, Out out, std::size_t count, const Op& op,
                scan_kind kind, const Acc* init, bool is_last = false)
{
    using result = std::iter_value_t<Out>;
    if (count == 0)
        return;
    const bool is_first = stack.count() == 0;
    const bool is_large = count * sizeof(result) >= stream_threshold && !detail::same_elements(in, out);
    scan_onto(target, stack, in, out, count, op,
              {kind, is_large ? store_kind::streamed : store_kind::cached, init, is_last});
    if (is_first && kind == scan_kind::exclusive)
        *out = as_result<result, Op>(init != nullptr ? *init : fold_of_nothing<Acc>(op));
}

} // namespace upsweep::cpu_engine

namespace upsweep::detail {

template <>
struct engine<cpu, verb::scan> {
    template <scan_kind Kind, class Acc, class In, class Out, class Op>
    static void scan(const cpu& target, In in, Out out, std::size_t count, const Op& op, const Acc* init)
    {
        fold_stack<Acc, Op> stack(op);
        cpu_engine::scan_piece(target, stack, in, out, count, op, Kind, init, true);
    }
};

template <>
struct engine<cpu, verb::scanner> {
    template <class Out, class Acc, class Op>
    class state {
    public:
        state(const cpu& target, scan_kind kind, const Op& op, const std::optional<Acc>& init)
            : target_(target), kind_(kind), op_(op), init_(init), stack_(op)
        {
        }

        template <class In, class To>
        void feed(In in, To out, std::size_t count)
        {
            cpu_engine::scan_piece(target_, stack_, in, out, count, op_, kind_, init_ ? &*init_ : nullptr);
        }
        std::uint64_t count() const { return stack_.count(); }

    private:
        cpu target_;
        scan_kind kind_;
        Op op_;
        std::optional<Acc> init_;
        fold_stack<Acc, Op> stack_;
    };
};

} // namespace upsweep::detail
