// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <upsweep/gpu/fold/look_back.cuh>
#include <upsweep/gpu/primitive/warp.cuh>
#include <upsweep/gpu/shapes/few.cuh>
#include <upsweep/qualifiers.hpp>

// Decoupled look-back (Merrill and Garland 2016) where a block folds a tile of many lines that lie side by side: a thread has a line, and
// the states of a tile's lines lie side by side, too. They are a tree of groups of 8: whoever folds the last tile of a group publishes
// the total of the group, and in scans also the fold of all tiles up to there. So a scan reads the fold before its group and
// the totals of fewer than 8 tiles, which is little even beside a tile of some hundred rows.
namespace upsweep::gpu {

// Where the states of a line's tiles are: level by level those of tiles, of groups of 8, of 64 and so on, and behind them the folds before the
// groups of 8.
struct column_slots {
    static constexpr int log_group = 3;
    static constexpr int group = 1 << log_group;
    static constexpr int most_levels = 16; // for 2^48 tiles
    std::uint64_t first_of_level[most_levels];
    std::uint64_t folds; // the first of those before groups
    std::uint64_t count;

    explicit column_slots(std::uint64_t tiles)
    {
        std::uint64_t first = 0;
        for (int level = 0; level < most_levels; ++level) {
            first_of_level[level] = first;
            first += tiles >> (log_group * level);
        }
        folds = first;
        count = folds + (tiles >> log_group) + 1;
    }

    __device__ std::uint64_t total(int level, std::uint64_t number) const { return first_of_level[level] + number; }
    __device__ std::uint64_t fold_before_group(std::uint64_t number) const { return folds + number; }
    // The level of the largest groups that so many tiles, at least one, have.
    __device__ static int highest_level(std::uint64_t tiles)
    {
        return (63 - __clzll(static_cast<long long>(tiles))) / log_group;
    }
};

// Which of the lines of a block, that begin with line `first`, a thread has. A thread without a line has column 0, too, whose folds it does not use. At least
// two threads share a line.
struct line_of_thread {
    std::uint64_t first;
    int column;
    bool exists;
    int share;  // which of its threads this one is
    int shares; // of so many
};

// All threads of a block call its functions together, for the lines that their tile has.
template <class Acc, class Op>
class column_states {
    static constexpr int group = column_slots::group;

public:
    // Totals that have been read.
    struct memory {
        Acc* totals; // [number][column]
        int columns;
    };

    __device__ column_states(const tile_state_memory& states, std::uint64_t epoch, const column_slots& slots,
                             std::uint64_t lines, const memory& shared, const Op& op)
        : states_(states, epoch), slots_(slots), lines_(lines), shared_(shared), op_(op)
    {
    }

    // Publishes the total of tile j of each line, and those of the groups that it completes.
    __device__ void publish(const line_of_thread& of, std::uint64_t j, Acc total)
    {
        for (int level = 0;; ++level, j /= group) {
            publish_at(of, slots_.total(level, j), total);
            if (j % group != group - 1)
                return;
            read(of, slots_.total(level, j - (group - 1)), group - 1);
            total = op_(block_total<group / 2>(totals_and(of, total, group - 1), 0, op_),
                        block_total<group / 2>(totals_and(of, total, group - 1), group / 2, op_));
            __syncthreads();
        }
    }

    // The same in a scan, where tile j is whole or the last one. Returns the fold of the tiles before it, and in `after` that up to its end, if it is whole.
    __device__ Acc publish_and_fold(const line_of_thread& of, std::uint64_t j, bool is_whole, const Acc& total,
                                    Acc& after)
    {
        const int count = static_cast<int>(j % group);
        if (is_whole) {
            publish(of, j, total);
            if (count + 1 == group) {
                after = fold_of_groups(of, j / group + 1);
                publish_at(of, slots_.fold_before_group(j / group + 1), after);
            }
        }
        const Acc before_group = read_after(of, 0, j);
        const Acc before = fold_few<Acc, group / 2>(before_group, totals(of), 0, count, op_);
        if (count + 1 < group)
            after = fold_few<Acc, group / 2>(before_group, totals_and(of, total, count), 0, count + 1, op_);
        __syncthreads();
        return before;
    }

    // The fold of tiles 0 to j - 1, by their tree alone: in reductions nobody publishes folds before groups.
    __device__ Acc fold_by_tree(const line_of_thread& of, std::uint64_t j)
    {
        Acc before = op_.template identity<Acc>();
        for (int level = j != 0 ? column_slots::highest_level(j) : -1; level >= 0; --level) {
            const std::uint64_t groups = j >> (column_slots::log_group * level);
            const int count = static_cast<int>(groups % group);
            if (count == 0)
                continue;
            read(of, slots_.total(level, groups - static_cast<unsigned>(count)), count);
            before = fold_few<Acc, group / 2>(before, totals(of), 0, count, op_);
            __syncthreads();
        }
        return before;
    }

private:
    static constexpr std::uint64_t none = ~std::uint64_t{0};

    // The fold of so many groups of 8 tiles: that before the group of a level to which they belong, which somebody has published or will, and the totals of
    // the groups in there. It waits for totals above all, so that nobody waits for the group before.
    __device__ Acc fold_of_groups(const line_of_thread& of, std::uint64_t groups)
    {
        int level = 1;
        for (; groups % group == 0; groups /= group)
            ++level;
        const Acc before = read_after(of, level, groups);
        const Acc fold = fold_few<Acc, group / 2>(before, totals(of), 0, static_cast<int>(groups % group), op_);
        __syncthreads();
        return fold;
    }

    // Reads the totals of the groups of a level before number j that belong to the same group of the next level, and returns the fold before that one.
    __device__ Acc read_after(const line_of_thread& of, int level, std::uint64_t j)
    {
        const int count = static_cast<int>(j % group);
        const std::uint64_t first = j - static_cast<unsigned>(count);
        read(of, slots_.total(level, first), count,
             first != 0 ? slots_.fold_before_group((first << (column_slots::log_group * level)) / group) : none);
        return first != 0 ? totals(of)(group - 1) : op_.template identity<Acc>();
    }

    __device__ void publish_at(const line_of_thread& of, std::uint64_t slot, const Acc& total)
    {
        if (of.share == 0 && of.exists)
            states_.publish(place(of, slot), total);
    }
    __device__ std::uint64_t place(const line_of_thread& of, std::uint64_t slot) const
    {
        return slot * lines_ + of.first + static_cast<unsigned>(of.column);
    }

    // Reads the states of fewer than 8 slots from `first` on, and of another one as the last of the group, and waits for those that are not there yet. The
    // threads of a line share them.
    __device__ void read(const line_of_thread& of, std::uint64_t first, int count, std::uint64_t last = none)
    {
        constexpr int at_once = group / 2;
        const auto slot = [&](int i) { return i < count ? first + static_cast<unsigned>(i) : last; };
        const auto exists = [&](int i) { return i < count || (i == group - 1 && last != none); };
        if (of.exists) {
            word128 states[at_once];
            unsigned missing = (1U << at_once) - 1;
            while (missing != 0) {
#pragma unroll
                for (int k = 0; k < at_once; ++k)
                    if ((missing >> k & 1) != 0 && exists(of.share + k * of.shares))
                        states[k] = states_.load_one(place(of, slot(of.share + k * of.shares)));
#pragma unroll
                for (int k = 0; k < at_once; ++k)
                    if (!exists(of.share + k * of.shares) || states_.is_published(states[k]))
                        missing &= ~(1U << k);
            }
            states_.before_totals();
#pragma unroll
            for (int k = 0; k < at_once; ++k)
                if (exists(of.share + k * of.shares))
                    shared_.totals[(of.share + k * of.shares) * shared_.columns + of.column] =
                        states_.total(place(of, slot(of.share + k * of.shares)), states[k]);
        }
        __syncthreads();
    }

    __device__ auto totals(const line_of_thread& of)
    {
        return [this, of](int i) { return shared_.totals[i * shared_.columns + of.column]; };
    }
    // The same with the total of number `at`, which has not been read.
    __device__ auto totals_and(const line_of_thread& of, const Acc& total, int at)
    {
        return
            [this, of, total, at](int i) { return i == at ? total : shared_.totals[i * shared_.columns + of.column]; };
    }

    tile_states<Acc> states_;
    const column_slots& slots_;
    std::uint64_t lines_;
    memory shared_;
    Op op_;
};

} // namespace upsweep::gpu
