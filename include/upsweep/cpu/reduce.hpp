// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <memory>

#include <upsweep/cpu/block.hpp>
#include <upsweep/cpu/parallel.hpp>
#include <upsweep/engine.hpp>
#include <upsweep/fold_order.hpp>
#include <upsweep/op.hpp>
#include <upsweep/target.hpp>

namespace upsweep::cpu_engine {

// A grain is what one thread takes at a time: an aligned block of blocks, large enough to hide the hand-over and to
// keep the hardware's prefetcher busy, small enough that a scan finds it in the second-level cache when it comes back
// to it.
template <class Acc>
inline constexpr std::size_t grain_size = std::max(block_size<Acc>, std::bit_floor(std::size_t{1 << 18} / sizeof(Acc)));

template <std::size_t Size>
inline constexpr int level_of = std::countr_zero(Size);

// Folds `count` elements onto the stack on the calling thread, by the largest blocks that the alignment allows. `ahead`: what is asked for
// meanwhile, as much as is folded by whole blocks.
template <class Acc, class Op, class In>
void fold_serially(fold_stack<Acc, Op>& stack, In in, std::size_t count, const Op& op, read_ahead ahead = {})
{
    constexpr std::size_t large = block_size<Acc>;
    constexpr std::size_t small = small_block_size<Acc>;
    constexpr std::size_t medium = std::max(large / 8, small);
    constexpr std::size_t tiny = std::min<std::size_t>(8, small);
    if constexpr (takes_vectors<Op> && std::same_as<In, const Acc*>)
        if (op.is_exact() && count >= tiny) // Where these are among the elements of the stack does not matter either.
            return stack.push(fold_vectors(in, count, op), std::bit_width(count) - 1);

    for (std::size_t i = 0; i < count;) {
        const std::size_t left = count - i;
        if (left >= large && stack.count() % large == 0) {
            stack.push(block_total<large, Acc>(in + i, op, ahead), level_of<large>);
            i += large;
        } else if (left >= medium && stack.count() % medium == 0) {
            stack.push(block_total<medium, Acc>(in + i, op, ahead), level_of<medium>);
            i += medium;
        } else if (left >= small && stack.count() % small == 0) {
            stack.push(block_total<small, Acc>(in + i, op), level_of<small>);
            i += small;
        } else if (left >= tiny && stack.count() % tiny == 0) {
            stack.push(block_total<tiny, Acc>(in + i, op), level_of<tiny>);
            i += tiny;
        } else {
            stack.push(load<Acc>(in, i), 0);
            ++i;
        }
    }
}

template <class Acc, class Op, class In>
Acc grain_total(In in, const Op& op)
{
    fold_stack<Acc, Op> stack(op);
    fold_serially(stack, in, grain_size<Acc>, op, further_on(in));
    return stack.fold();
}

// Folds `count` elements onto the stack on all threads. Memory: the totals of 4096 grains.
template <class Acc, class Op, class In>
void fold_onto(const cpu& target, fold_stack<Acc, Op>& stack, In in, std::size_t count, const Op& op)
{
    if constexpr (detail::strided_iterator<In>)
        if (in.is_contiguous())
            return fold_onto(target, stack, in.address(), count, op);
    constexpr std::size_t grain = grain_size<Acc>;
    constexpr std::size_t grains_at_once = 4096;

    const std::size_t head = std::min<std::size_t>(count, (grain - stack.count() % grain) % grain);
    const std::size_t grains = (count - head) / grain;
    if (grains < 2 || thread_count(target) == 1) {
        fold_serially(stack, in, count, op, grains < 2 ? read_ahead() : further_on(in));
        return;
    }

    fold_serially(stack, in, head, op);
    in += static_cast<std::ptrdiff_t>(head);

    const std::size_t largest_batch = std::min(grains, grains_at_once);
    const auto totals = std::make_unique<Acc[]>(largest_batch); // a vector of bool would share bytes among threads
    for (std::size_t first = 0; first < grains; first += largest_batch) {
        const std::size_t batch = std::min(largest_batch, grains - first);
        for_each_index(target, batch,
                       [&](std::size_t k) { totals[k] = grain_total<Acc>(in + (first + k) * grain, op); });
        for (std::size_t k = 0; k < batch; ++k)
            stack.push(totals[k], level_of<grain>);
    }
    fold_serially(stack, in + grains * grain, count - head - grains * grain, op);
}

// The fold of what is on the stack, which may be nothing.
template <class Acc, class Op>
Acc fold_of(const fold_stack<Acc, Op>& stack, const Op& op)
{
    return stack.count() != 0 ? stack.fold() : fold_of_nothing<Acc>(op);
}

} // namespace upsweep::cpu_engine

namespace upsweep::detail {

template <>
struct engine<cpu, verb::reduce> {
    template <class Acc, class In, class Op, class Result>
    static void fold(const cpu& target, In first, std::size_t count, const Op& op, Result* result)
    {
        fold_stack<Acc, Op> stack(op);
        cpu_engine::fold_onto(target, stack, first, count, op);
        *result = as_result<Result, Op>(cpu_engine::fold_of(stack, op));
    }
};

template <>
struct engine<cpu, verb::reducer> {
    template <class T, class Acc, class Op>
    class state {
    public:
        state(const cpu& target, const Op& op) : target_(target), op_(op), stack_(op) {}

        template <class In>
        void feed(In first, std::size_t count)
        {
            cpu_engine::fold_onto(target_, stack_, first, count, op_);
        }
        std::uint64_t count() const { return stack_.count(); }
        Acc fold() const { return cpu_engine::fold_of(stack_, op_); }

    private:
        cpu target_;
        Op op_;
        fold_stack<Acc, Op> stack_;
    };
};

} // namespace upsweep::detail
