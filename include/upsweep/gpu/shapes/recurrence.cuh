// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include <upsweep/engine.hpp>
#include <upsweep/gpu/primitive/divider.cuh>
#include <upsweep/gpu/primitive/warp.cuh>
#include <upsweep/gpu/shapes/piece_states.cuh>
#include <upsweep/gpu/shapes/segments.cuh>
#include <upsweep/gpu/shapes/several_lines.cuh>
#include <upsweep/gpu/shapes/window.cuh>
#include <upsweep/gpu/source/strided.cuh>
#include <upsweep/gpu/target/cuda.cuh>
#include <upsweep/gpu/target/launch.cuh>
#include <upsweep/op.hpp>
#include <upsweep/types.hpp>
#include <upsweep/verb/recurrence.hpp>
#include <upsweep/view.hpp>

// Linear recurrences along an axis: scans of affine maps, whose folds begin with the state before the first element. A state is a map
// here, of which only b is looked at.
//
//     many long lines             a warp has a line, a piece of it at a time in shared memory, while the next piece is on its way
//     few long lines              a warp has a piece, and the totals of pieces go from one to the other by the tree of piece_states.cuh
//     short lines, or very many   a thread has a line, 16 or 32 elements at a time
//     side by side
//
// Who has a whole line keeps the totals of its aligned blocks in a binary counter (fold_order.hpp).
namespace upsweep::gpu {

// --- affine maps --------------------------------------------------------------------------------------------------------------

template <class T>
struct affine_map {
    T a;
    T b;
};

// x * y, in which zero times infinity is zero.
template <class T>
__device__ T careful_product(T x, T y)
{
    const T plain = x * y;
    return plain != plain && x == x && y == y ? T{} : plain;
}

// The identity is neutral as the right operand alone, which is all that is asked of it here: it stands for elements behind the end.
struct compose_maps {
    template <class T>
    __device__ affine_map<T> operator()(const affine_map<T>& first, const affine_map<T>& then) const
    {
        return {careful_product(then.a, first.a), careful_product(then.a, first.b) + then.b};
    }
    template <class Map>
    __device__ Map identity() const
    {
        return {1, -decltype(Map::a){}};
    }
};

// Maps in a window of shared memory, which kernels fill of several arrays.
template <class T>
struct maps_in_window {
    using value_type = affine_map<T>;
    using difference_type = std::ptrdiff_t;
    __device__ value_type operator[](std::ptrdiff_t) const { return {}; }
};

// --- what recurs -----------------------------------------------------------------------------------------------------------------

// A recurrence has `lines`, and line(number), of which
//
//     before              is the state before its first element
//     at(i, step)         stands at its element number i, and advances by so many elements
//         map()           the element
//         aside()         what else is read for its results
//         put(state, aside)    writes what becomes of the state after it
//     put_nothing()       is called where there are no elements
template <class Acc, class A, class B, class Out, class H, std::size_t Rank>
struct forward_recurrence {
    using accumulator = Acc;
    static constexpr int blocks = 4; // of a multiprocessor
    several_lines<4, Rank> lines;
    const A* a;
    const B* b;
    Out* out;
    const H* before; // or null:
    Acc value;

    struct place {
        const A* a;
        const B* b;
        Out* out;
        std::int64_t steps[3];

        __device__ affine_map<Acc> map() const { return {convert<Acc>(*a), convert<Acc>(*b)}; }
        struct nothing {};
        __device__ nothing aside() const { return {}; }
        __device__ void put(Acc state, nothing) const { *out = as_result<Out, plus>(state); }
        __device__ void advance()
        {
            a += steps[0];
            b += steps[1];
            out += steps[2];
        }
    };
    struct line_of {
        place first;
        Acc before;

        __device__ place at(std::int64_t i, int step) const
        {
            const auto& [a, b, out, steps] = first;
            return {a + i * steps[0],
                    b + i * steps[1],
                    out + i * steps[2],
                    {step * steps[0], step * steps[1], step * steps[2]}};
        }
        __device__ void put_nothing() const {}
    };
    __device__ line_of line(std::uint64_t number) const
    {
        std::int64_t at[4];
        lines.find(number, at);
        return {{a + at[0], b + at[1], out + at[2], {lines.along[0], lines.along[1], lines.along[2]}},
                before != nullptr ? convert<Acc>(before[at[3]]) : value};
    }
};

// The coefficient of an element is that of the element before it, and the first one has zero: elements are counted from the end of the
// recurrence whose gradient this is.
template <class Acc, class A, class H, class G, class DA, class DB, class H0, class DH, std::size_t Rank>
struct gradient_recurrence {
    using accumulator = Acc;
    static constexpr int blocks = 3; // of a multiprocessor
    several_lines<7, Rank> lines;
    const A* a;
    const H* h;
    const G* out_gradient;
    DA* a_gradient;
    DB* b_gradient;
    const H0* first_states; // or null:
    Acc value;
    DH* first_gradient; // or null

    struct line_of;
    struct place {
        const line_of* of;
        const A* a; // of the element before
        const H* h; // of the element behind
        const G* out_gradient;
        DA* a_gradient;
        DB* b_gradient;
        std::int64_t i;
        int step;

        __device__ affine_map<Acc> map() const
        {
            return {i != 0 ? convert<Acc>(*a) : Acc{}, convert<Acc>(*out_gradient)};
        }
        // The state before the element in the order of the recurrence.
        __device__ Acc aside() const { return i != of->last ? convert<Acc>(*h) : of->first_state; }
        __device__ void put(Acc state, Acc previous) const
        {
            *b_gradient = as_result<DB, plus>(state);
            *a_gradient = as_result<DA, plus>(state * previous);
            if (i == of->last && of->first_gradient != nullptr)
                *of->first_gradient = as_result<DH, plus>(convert<Acc>(a[of->steps[0]]) * state);
        }
        __device__ void advance()
        {
            a += step * of->steps[0];
            h += step * of->steps[1];
            out_gradient += step * of->steps[2];
            a_gradient += step * of->steps[3];
            b_gradient += step * of->steps[4];
            i += step;
        }
    };
    struct line_of {
        const A* a;
        const H* h;
        const G* out_gradient;
        DA* a_gradient;
        DB* b_gradient;
        DH* first_gradient;
        std::int64_t steps[5];
        std::int64_t last;
        Acc first_state;
        Acc before;

        __device__ place at(std::int64_t i, int step) const
        {
            return {this,
                    a + (i - 1) * steps[0],
                    h + (i + 1) * steps[1],
                    out_gradient + i * steps[2],
                    a_gradient + i * steps[3],
                    b_gradient + i * steps[4],
                    i,
                    step};
        }
        __device__ void put_nothing() const
        {
            if (first_gradient != nullptr)
                *first_gradient = DH{};
        }
    };
    __device__ line_of line(std::uint64_t number) const
    {
        std::int64_t at[7];
        lines.find(number, at);
        return {a + at[0],
                h + at[1],
                out_gradient + at[2],
                a_gradient + at[3],
                b_gradient + at[4],
                first_gradient != nullptr ? first_gradient + at[6] : nullptr,
                {lines.along[0], lines.along[1], lines.along[2], lines.along[3], lines.along[4]},
                static_cast<std::int64_t>(lines.length) - 1,
                first_states != nullptr ? convert<Acc>(first_states[at[5]]) : value,
                Acc{}};
    }
};

// --- one block of a line after the other ---------------------------------------------------------------------------------------

// The totals of the aligned blocks that the binary digits of a count name, and the states before them (fold_order.hpp).
template <class T>
class map_counter {
public:
    static constexpr int levels = 60;

    __device__ explicit map_counter(T before) : state_{T{}, before} { above_[0] = state_; }
    __device__ const affine_map<T>& state() const { return state_; }

    __device__ void push(affine_map<T> total)
    {
        int level = 0;
        for (std::uint64_t digits = count_; (digits & 1) != 0; digits >>= 1, ++level)
            total = compose_maps{}(totals_[level], total);
        // What is above digit `level` has been the state before the largest of the digits below it, or is the state now.
        const affine_map<T> above = level == 0 ? state_ : above_[level - 1];
        state_ = compose_maps{}(above, total);
        totals_[level] = total;
        above_[level] = above;
        ++count_;
    }

private:
    affine_map<T> totals_[levels];
    affine_map<T> above_[levels]; // [k]: the state before the block of digit k, where that is one
    affine_map<T> state_;
    std::uint64_t count_ = 0;
};

// --- a piece a warp -----------------------------------------------------------------------------------------------------------------

inline constexpr int recurrence_warps = 4; // of a block

template <class Recurrence>
class recurrence_pieces {
    using accumulator = typename Recurrence::accumulator;
    using map_t = affine_map<accumulator>;
    using source = maps_in_window<accumulator>;
    using fold_t = window_fold<8, map_t, source, compose_maps>;

public:
    static constexpr int capacity = window_capacity<source>;
    using window = window_memory<accumulator, capacity>;
    struct memory {
        typename fold_t::memory fold;
        window states;
    };

    __device__ recurrence_pieces(const Recurrence& of, memory& shared, std::uint64_t pieces,
                                 const piece_states<map_t, compose_maps>& states)
        : of_(of), shared_(shared), pieces_(pieces), states_(states)
    {
    }

    // Scans a line, one piece after the other.
    __device__ void scan_line(std::uint64_t number)
    {
        const auto line = of_.line(number);
        map_counter<accumulator> counter(line.before);
        load(line, 0);
        for (std::uint64_t piece = 0; piece < pieces_; ++piece) {
            const int count = fill(piece);
            if (piece + 1 < pieces_)
                load(line, piece + 1);
            scan_and_store(line, piece, count, [&] {
                const map_t before = counter.state();
                scan_window(count, [&](const map_t* total, map_t& after) {
                    if (total != nullptr) {
                        counter.push(*total);
                        after = counter.state();
                    }
                    return before;
                });
            });
        }
    }

    // Scans one piece of a line, of which other warps have the others.
    __device__ void scan_piece(std::uint64_t number, std::uint64_t piece)
    {
        const auto line = of_.line(number);
        load(line, piece);
        const int count = fill(piece);
        const std::uint64_t base = number * pieces_;
        const map_t start{accumulator{}, line.before};
        scan_and_store(line, piece, count, [&] {
            scan_window(count, [&](const map_t* total, map_t& after) {
                if (total == nullptr)
                    return states_.fold(base, piece, start);
                states_.publish(base, piece, *total);
                states_.join(base, piece);
                return states_.fold(base, piece, start, *total, after);
            });
        });
    }

private:
    // Keeps the states of what is scanned.
    struct put {
        window& states;
        __device__ void operator()(int i, const map_t&, const map_t& with, bool) const { states[i] = with.b; }
        template <int Count>
        __device__ void chunk(int first, int end, bool, bool, const map_t (&folds)[Count]) const
        {
            accumulator all[Count - 1];
#pragma unroll
            for (int j = 0; j + 1 < Count; ++j)
                all[j] = folds[j + 1].b;
            states.store(first, end, true, all); // chunks begin at multiples of their size
        }
    };

    __device__ int count_of(std::uint64_t piece) const
    {
        const std::uint64_t left = of_.lines.length - piece * capacity;
        return static_cast<int>(left < capacity ? left : capacity);
    }

    // Loads this lane's elements of a piece, every 32nd one.
    template <class Line>
    __device__ void load(const Line& line, std::uint64_t piece)
    {
        const int count = count_of(piece);
        auto at = line.at(static_cast<std::int64_t>(piece) * capacity + lane_id(), lanes);
#pragma unroll
        for (int j = 0; j < each; ++j, at.advance())
            if (j * lanes + lane_id() < count)
                loaded_[j] = at.map();
    }
    // Puts what has been loaded into the window, and returns how many elements there are.
    __device__ int fill(std::uint64_t piece)
    {
        const int count = count_of(piece);
        __syncwarp(); // others have read what is replaced
#pragma unroll
        for (int j = 0; j < each; ++j)
            if (j * lanes + lane_id() < count)
                shared_.fold.elements[j * lanes + lane_id()] = loaded_[j];
        __syncwarp();
        return count;
    }
    // Scans the window. look_back(total, after) returns the fold before the piece and, if it is a whole one and has a total, writes
    // that up to its end.
    template <class LookBack>
    __device__ void scan_window(int count, LookBack look_back)
    {
        fold_t fold(shared_.fold, compose_maps{});
        map_t after{};
        if (count == capacity) {
            const auto folded = fold.fold_piece(0);
            const map_t before = look_back(&folded.tree.total, after);
            fold.scan_piece(0, folded, before, after, put{shared_.states});
        } else {
            fold.scan({0, lane_id() == 0 ? count : 0}, look_back(nullptr, after), nullptr, true, put{shared_.states});
        }
        __syncwarp();
    }
    // Reads what else the results need, calls scan() meanwhile, and writes them.
    template <class Line, class Scan>
    __device__ void scan_and_store(const Line& line, std::uint64_t piece, int count, Scan scan)
    {
        const auto first = line.at(static_cast<std::int64_t>(piece) * capacity + lane_id(), lanes);
        decltype(first.aside()) asides[each] = {};
        auto at = first;
#pragma unroll
        for (int j = 0; j < each; ++j, at.advance())
            if (j * lanes + lane_id() < count)
                asides[j] = at.aside();
        scan();
        at = first;
#pragma unroll
        for (int j = 0; j < each; ++j, at.advance())
            if (j * lanes + lane_id() < count)
                at.put(shared_.states[j * lanes + lane_id()], asides[j]);
    }

    static constexpr int each = capacity / lanes;

    const Recurrence& of_;
    memory& shared_;
    std::uint64_t pieces_; // of a line
    const piece_states<map_t, compose_maps>& states_;
    map_t loaded_[each] = {};
};

template <class Recurrence>
__global__ void __launch_bounds__(recurrence_warps* lanes, Recurrence::blocks)
    recurrence_pieces_kernel(const __grid_constant__ Recurrence of, divider pieces, bool has_whole_lines,
                             piece_slots slots, tile_state_memory memory)
{
    using scanner = recurrence_pieces<Recurrence>;
    extern __shared__ __align__(16) uint4 dynamic[];
    auto& shared = reinterpret_cast<typename scanner::memory*>(dynamic)[warp_id()];
    const warp_tasks tasks(memory);
    const piece_states<affine_map<typename Recurrence::accumulator>, compose_maps> states(memory, tasks.epoch(), slots,
                                                                                          compose_maps{});
    scanner scan(of, shared, pieces.divisor, states);
    if (has_whole_lines)
        tasks.for_each_by_ticket(of.lines.count, [&](std::uint64_t line) { scan.scan_line(line); });
    else
        tasks.for_each(of.lines.count * pieces.divisor, [&](std::uint64_t task) {
            const std::uint64_t line = pieces.quotient(task);
            scan.scan_piece(line, task - line * pieces.divisor);
        });
}

// --- a line a thread --------------------------------------------------------------------------------------------------------------------

// Rows elements of a line are on their way at once.
template <class Recurrence, int Rows>
__global__ void __launch_bounds__(lanes) recurrence_lines_kernel(const __grid_constant__ Recurrence of)
{
    using accumulator = typename Recurrence::accumulator;
    using map_t = affine_map<accumulator>;
    const auto length = static_cast<std::int64_t>(of.lines.length);
    const std::uint64_t threads = std::uint64_t{gridDim.x} * blockDim.x;
    for (std::uint64_t number = blockIdx.x * std::uint64_t{blockDim.x} + threadIdx.x; number < of.lines.count;
         number += threads) {
        const auto line = of.line(number);
        map_counter<accumulator> counter(line.before);
        if (length == 0)
            line.put_nothing();
        // Of whole rows no load waits for a condition, so that all of them are on their way at once.
        const auto for_each_row = [&](std::int64_t first, auto take) {
            if (first + Rows <= length) {
#pragma unroll
                for (int r = 0; r < Rows; ++r)
                    take(r);
            } else {
#pragma unroll
                for (int r = 0; r < Rows; ++r)
                    if (first + r < length)
                        take(r);
            }
        };
        map_t maps[Rows];
        auto next = line.at(0, 1);
        const auto load = [&](std::int64_t first) {
#pragma unroll
            for (int r = 0; r < Rows; ++r)
                maps[r] = compose_maps{}.template identity<map_t>();
            for_each_row(first, [&](int r) {
                maps[r] = next.map();
                next.advance();
            });
        };
        auto to = line.at(0, 1);
        load(0);
        for (std::int64_t first = 0; first < length; first += Rows) {
            decltype(to.aside()) asides[Rows] = {};
            auto at = to;
            for_each_row(first, [&](int r) {
                asides[r] = at.aside();
                at.advance();
            });
            map_t folds[Rows];
            lane_folds<Rows>(counter.state(), maps, folds, compose_maps{});
            counter.push(lane_total<Rows>(maps, compose_maps{}));
            load(first + Rows); // the next elements come while results are written
            for_each_row(first, [&](int r) {
                to.put(r + 1 < Rows ? folds[(r + 1) % Rows].b : counter.state().b, asides[r]);
                to.advance();
            });
        }
    }
}

// --- launch -----------------------------------------------------------------------------------------------------------------------------

template <class Recurrence>
void scan_recurrence(const cuda& target, std::string_view call, const Recurrence& of, bool lie_side_by_side)
{
    constexpr std::uint64_t short_length = 64;
    const std::uint64_t count = of.lines.count;
    const auto multiprocessors = static_cast<std::uint64_t>(target.workspace().multiprocessors());
    constexpr std::uint64_t many_lines = 2048;
    if (of.lines.length <= short_length || (lie_side_by_side && count >= many_lines)) {
        constexpr int threads = lanes; // so that few lines, too, are spread over all multiprocessors
        const std::uint64_t blocks = (count + threads - 1) / threads;
        const std::uint64_t most = std::uint64_t{64} * multiprocessors;
        const grid_shape grid{static_cast<unsigned>(blocks < most ? blocks : most), threads, 0};
        // The fewer lines there are, the more of each is on its way.
        constexpr std::uint64_t few_lines = 256; // of a multiprocessor
        if (of.lines.length > short_length && count <= few_lines * multiprocessors)
            return launch(target, call, recurrence_lines_kernel<Recurrence, 32>, grid, of);
        return launch(target, call, recurrence_lines_kernel<Recurrence, 16>, grid, of);
    }
    using scanner = recurrence_pieces<Recurrence>;
    constexpr auto kernel = recurrence_pieces_kernel<Recurrence>;
    constexpr std::size_t shared_bytes = recurrence_warps * sizeof(typename scanner::memory);
    const std::uint64_t pieces = (of.lines.length + scanner::capacity - 1) / scanner::capacity;
    const piece_slots slots{count * pieces};
    const std::uint64_t blocks = resident_blocks<kernel>(target, recurrence_warps * lanes, shared_bytes);
    const bool has_whole_lines = pieces == 1 || count >= 2 * blocks * recurrence_warps;
    const std::uint64_t tasks = has_whole_lines ? count : count * pieces;
    const std::uint64_t useful = (tasks + recurrence_warps - 1) / recurrence_warps;
    launch(target, call, kernel, static_cast<unsigned>(useful < blocks ? useful : blocks), recurrence_warps * lanes,
           shared_bytes, of, divider(pieces), has_whole_lines, slots,
           tile_states_of(target, slots.states(), sizeof(affine_map<typename Recurrence::accumulator>)));
}

// Refuses views that kernels cannot reach.
template <class T, std::size_t Rank>
void check_view(const cuda& target, std::string_view call, const view<T, Rank>& all)
{
    if (!all.empty())
        check_place(target, call, strided_source(all.begin().elements()), all.size());
}

} // namespace upsweep::gpu

namespace upsweep::detail {

template <>
struct engine<cuda, verb::linear_recurrence> {
    template <class Acc, class A, class B, class Out, class H, std::size_t Rank>
    static void scan(const cuda& target, const view<const A, Rank>& a, const view<const B, Rank>& b,
                     const view<Out, Rank>& out, axis along, const state_before<Acc, H, Rank>& before)
    {
        const gpu::current_device current(target.device());
        gpu::check_view(target, recurrence_call, a);
        gpu::check_view(target, recurrence_call, b);
        gpu::check_view(target, recurrence_call, out);
        if (before.data != nullptr)
            gpu::check_pointer(target, recurrence_call, before.data);
        std::array<std::size_t, Rank> extents;
        std::array<std::array<std::ptrdiff_t, 4>, Rank> strides;
        for (std::size_t k = 0; k < Rank; ++k) {
            extents[k] = a.extent(k);
            strides[k] = {a.stride(k), b.stride(k), out.stride(k), before.strides[k]};
        }
        const gpu::several_lines<4, Rank> lines(extents, strides, along.index, 1);
        gpu::scan_recurrence(target, recurrence_call,
                             gpu::forward_recurrence<Acc, A, B, Out, H, Rank>{lines, a.data(), b.data(), out.data(),
                                                                              before.data, before.value},
                             lines.lie_side_by_side(1));
    }

    template <class Acc, class A, class H, class G, class DA, class DB, class H0, class DH, std::size_t Rank>
    static void gradient(const cuda& target, const view<const A, Rank>& a, const view<const H, Rank>& h,
                         const view<const G, Rank>& out_gradient, const view<DA, Rank>& a_gradient,
                         const view<DB, Rank>& b_gradient, axis along, const state_before<Acc, H0, Rank>& before,
                         const line_results<DH, Rank>& before_gradient)
    {
        constexpr std::string_view call = recurrence_gradient_call;
        const gpu::current_device current(target.device());
        gpu::check_view(target, call, a);
        gpu::check_view(target, call, h);
        gpu::check_view(target, call, out_gradient);
        gpu::check_view(target, call, a_gradient);
        gpu::check_view(target, call, b_gradient);
        if (before.data != nullptr)
            gpu::check_pointer(target, call, before.data);
        if (before_gradient.data != nullptr)
            gpu::check_pointer(target, call, before_gradient.data);
        std::array<std::size_t, Rank> extents;
        std::array<std::array<std::ptrdiff_t, 7>, Rank> strides;
        for (std::size_t k = 0; k < Rank; ++k) {
            extents[k] = a.extent(k);
            strides[k] = {a.stride(k),          h.stride(k),       out_gradient.stride(k),    a_gradient.stride(k),
                          b_gradient.stride(k), before.strides[k], before_gradient.strides[k]};
        }
        const gpu::several_lines<7, Rank> lines(extents, strides, along.index, 2);
        const gpu::gradient_recurrence<Acc, A, H, G, DA, DB, H0, DH, Rank> recurrence{lines,
                                                                                      a.data(),
                                                                                      h.data(),
                                                                                      out_gradient.data(),
                                                                                      a_gradient.data(),
                                                                                      b_gradient.data(),
                                                                                      before.data,
                                                                                      before.value,
                                                                                      before_gradient.data};
        if (lines.count != 0)
            gpu::scan_recurrence(target, call, recurrence, lines.lie_side_by_side(2));
    }
};

} // namespace upsweep::detail
