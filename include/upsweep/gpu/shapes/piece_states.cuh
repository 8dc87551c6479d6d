// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <upsweep/gpu/fold/look_back.cuh>
#include <upsweep/gpu/primitive/warp.cuh>
#include <upsweep/gpu/target/cuda.cuh>

// Decoupled look-back (Merrill and Garland 2016) where many arrays are folded at once. A long segment is cut into pieces, aligned
// blocks of its own elements, whose totals are published as tile states. Here the states are a tree: the warp that folds the last one of
// 32 pieces reads the others and publishes the total of all 32, and so on, level by level. Whoever needs the fold of the pieces
// before its own reads fewer than 32 states of each level, by one load for each lane, whichever segment it worked on before.
namespace upsweep::gpu {

// The states of all levels for so many slots. Piece j of a segment has slot `base` + j. That of its group g of 32^level pieces lies at
// the slot of the group's last piece, divided by 32^level: no two groups meet there, since their last pieces are that far
// apart, and those of one segment are neighbours.
struct piece_slots {
    std::uint64_t slots;

    UPSWEEP_HOST_DEVICE std::uint64_t of_level(int level) const { return (slots >> (lane_levels * level)) + 2; }
    UPSWEEP_HOST_DEVICE std::uint64_t first_of_level(int level) const
    {
        std::uint64_t first = 0;
        for (int k = 0; k < level; ++k)
            first += of_level(k);
        return first;
    }
    // The level of the largest groups that so many pieces have.
    UPSWEEP_HOST_DEVICE static int highest_level(std::uint64_t pieces)
    {
        int level = 0;
        while (pieces >> (lane_levels * (level + 1)) != 0)
            ++level;
        return level;
    }
    UPSWEEP_HOST_DEVICE std::uint64_t states() const { return first_of_level(highest_level(slots) + 2); }
    __device__ std::uint64_t place(int level, std::uint64_t base, std::uint64_t group) const
    {
        const int shift = lane_levels * level;
        return first_of_level(level) + ((base + (std::uint64_t{1} << shift) - 1) >> shift) + group;
    }
};

// The lanes of a warp call its functions together, for pieces of any segment. They wait for earlier pieces, which other warps of
// the grid must be folding by then.
template <class T, class Op>
class piece_states {
public:
    // Between two looks at states that have not been published it waits for so many nanoseconds.
    __device__ piece_states(const tile_state_memory& memory, std::uint64_t epoch, piece_slots slots, const Op& op,
                            unsigned pause = 0)
        : states_(memory, epoch), slots_(slots), op_(op), pause_(pause)
    {
    }

    // Publishes the total of piece j.
    __device__ void publish(std::uint64_t base, std::uint64_t j, const T& total) const
    {
        if (lane_id() == 0)
            states_.publish(slots_.place(0, base, j), total);
    }

    // Publishes the totals of the groups of which piece j, which has been published, is the last one.
    __device__ void join(std::uint64_t base, std::uint64_t j) const
    {
        for (int level = 0; j % lanes == lanes - 1; ++level) {
            T totals[1];
            read(slots_.place(level, base, j) - (lanes - 1), lanes, op_.template identity<T>(), totals);
            const T total = warp_total(totals, op_);
            j /= lanes;
            if (lane_id() == 0)
                states_.publish(slots_.place(level + 1, base, j), total);
        }
    }

    // before (+) the fold of pieces 0 to j - 1, for every lane.
    __device__ T fold(std::uint64_t base, std::uint64_t j, T before) const
    {
        for (int level = piece_slots::highest_level(j); level >= 0; --level) {
            const std::uint64_t groups = j >> (lane_levels * level);
            const int count = static_cast<int>(groups % lanes);
            if (count == 0)
                continue;
            T totals[1];
            read(slots_.place(level, base, groups - static_cast<unsigned>(count)), count, op_.template identity<T>(),
                 totals);
            before = shuffle(warp_tree<T>(totals[0], op_).fold_before(before, op_), count);
        }
        return before;
    }

    // The same, and in `after` the fold up to the end of piece j, whose total is `total` and has been published.
    __device__ T fold(std::uint64_t base, std::uint64_t j, const T& before, const T& total, T& after) const
    {
        const T folds = folds_in_row(base, j, fold(base, j - j % lanes, before), total);
        after = ends_row(j) ? fold(base, j + 1, before) : fold_after(folds, j);
        return fold_before(folds, j);
    }

    // The same in less code, with one copy of the loop over levels. Where piece j is not whole, nothing is said in `after`.
    __device__ T fold(std::uint64_t base, std::uint64_t j, const T& before, bool is_whole, const T& total,
                      T& after) const
    {
        T before_row = before;
        T up_to_end = before;
#pragma unroll 1
        for (int k = is_whole && ends_row(j) ? 0 : 1; k < 2; ++k) {
            up_to_end = before_row;
            before_row = fold(base, k == 0 ? j + 1 : j - j % lanes, before);
        }
        const T folds = folds_in_row(base, j, before_row, total);
        after = ends_row(j) ? up_to_end : fold_after(folds, j);
        return fold_before(folds, j);
    }

private:
    // Whether piece j is the last one of a row of 32.
    __device__ static bool ends_row(std::uint64_t j) { return j % lanes == lanes - 1; }

    // before_row (+) the fold of the pieces before each one of the row of piece j, of which each lane has one, up to that piece.
    __device__ T folds_in_row(std::uint64_t base, std::uint64_t j, const T& before_row, const T& total) const
    {
        const int count = static_cast<int>(j % lanes);
        T totals[1];
        read(slots_.place(0, base, j - static_cast<unsigned>(count)), count, total, totals);
        return warp_tree<T>(totals[0], op_).fold_before(before_row, op_);
    }
    __device__ static T fold_before(const T& folds_of_row, std::uint64_t j)
    {
        return shuffle(folds_of_row, static_cast<int>(j % lanes));
    }
    // Where piece j does not end its row.
    __device__ static T fold_after(const T& folds_of_row, std::uint64_t j)
    {
        return shuffle(folds_of_row, static_cast<int>(j % lanes) + 1);
    }

    // The totals of the states from `first` on, of which this lane reads one if there are so many, or else has `otherwise`.
    __device__ void read(std::uint64_t first, int count, const T& otherwise, T (&totals)[1]) const
    {
        word128 states[1];
        const std::uint64_t end = first + static_cast<unsigned>(count);
        states_.load(first, end, states);
        states_.wait_and_read(first, end, otherwise, states, totals, pause_);
    }

    tile_states<T> states_;
    piece_slots slots_;
    Op op_;
    unsigned pause_;
};

// Deals tasks out to the warps of a grid all of whose blocks are resident, in ascending order. So a warp may wait for what tasks
// before its own publish.
class warp_tasks {
public:
    __device__ explicit warp_tasks(const tile_state_memory& memory)
        : header_(memory.header), warps_(gridDim.x * (blockDim.x / lanes)), epoch_(load_relaxed(&header_->epoch) + 1)
    {
    }

    __device__ std::uint64_t epoch() const { return epoch_; }

    // The first task of this warp. The others of for_each are as many behind it as there are warps, and so on.
    __device__ static std::uint64_t first() { return blockIdx.x + std::uint64_t{threadIdx.x / lanes} * gridDim.x; }

    // Calls f(task) for the tasks that fall to this warp by turns.
    template <class F>
    __device__ void for_each(std::uint64_t tasks, F f) const
    {
        for (std::uint64_t task = first(); task < tasks; task += warps_)
            f(task);
        if (lane_id() == 0)
            end_with(take_ticket(header_, warps_), warps_);
    }

    // The same as for_each, but all tasks after the first ones by tickets. The next one is drawn while a task is carried out, so that it is on its way
    // meanwhile: that is not for tasks that wait long for others, since those behind the next one would wait for this one, too.
    template <class F>
    __device__ void for_each_by_ticket(std::uint64_t tasks, F f) const
    {
        const std::uint64_t tickets = tasks < warps_ ? warps_ : tasks;
        for (std::uint64_t task = first();;) {
            std::uint64_t ticket = 0;
            if (lane_id() == 0)
                ticket = take_ticket(header_, tickets);
            if (task < tasks)
                f(task);
            if (lane_id() == 0)
                end_with(ticket, tickets);
            task = warps_ + shuffle(ticket, 0);
            if (task >= tasks)
                return;
        }
    }

    // Calls f(task, draw) for tasks by tickets. f calls draw() once, when it has done waiting for others: it returns the next task of this warp, which
    // may be behind the last one. So no warp that waits has a task that it has not begun and that others may wait for.
    template <class F>
    __device__ void for_each_by_late_ticket(std::uint64_t tasks, F f) const
    {
        const std::uint64_t tickets = tasks < warps_ ? warps_ : tasks;
        std::uint64_t next = first();
        do {
            f(next, [&] {
                std::uint64_t ticket = 0;
                if (lane_id() == 0) {
                    ticket = take_ticket(header_, tickets);
                    end_with(ticket, tickets);
                }
                return next = warps_ + shuffle(ticket, 0);
            });
        } while (next < tasks);
    }

    // Calls f(task) for tasks by tickets, as for_each_by_ticket does, and then so many times more with a number behind the last task, for what a warp
    // has put off. Warps that have one task at most do not wait for tickets.
    template <class F>
    __device__ void for_each_ahead(std::uint64_t tasks, int more, F f) const
    {
        const bool are_few = tasks <= warps_;
        bool draws = !are_few;
        int left = are_few ? more + 1 : more; // calls after the last ticket
        for (std::uint64_t task = first(); draws || left-- > 0;) {
            std::uint64_t ticket = 0;
            if (draws && lane_id() == 0)
                ticket = take_ticket(header_, tasks);
            f(task);
            if (draws) {
                if (lane_id() == 0)
                    end_with(ticket, tasks);
                task = warps_ + shuffle(ticket, 0);
                draws = task < tasks;
            } else {
                task = tasks;
            }
        }
        if (are_few && lane_id() == 0)
            end_with(take_ticket(header_, warps_), warps_);
    }

private:
    // Whoever draws the last ticket of all knows that every warp has read the epoch.
    __device__ void end_with(std::uint64_t ticket, std::uint64_t tickets) const
    {
        if (ticket == tickets - 1)
            store_relaxed(&header_->epoch, epoch_);
    }

    tile_state_header* header_;
    unsigned warps_;
    std::uint64_t epoch_;
};

} // namespace upsweep::gpu
