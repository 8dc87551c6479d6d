// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>

#include <upsweep/cpu/block.hpp>
#include <upsweep/cpu/line_call.hpp>
#include <upsweep/cpu/parallel.hpp>
#include <upsweep/cpu/row_vectors.hpp>
#include <upsweep/cpu/scan.hpp>
#include <upsweep/cpu/short_segment.hpp>
#include <upsweep/cpu/store.hpp>
#include <upsweep/fold_order.hpp>
#include <upsweep/lines.hpp>
#include <upsweep/op.hpp>
#include <upsweep/qualifiers.hpp>
#include <upsweep/view.hpp>

// Folds of the rows of a matrix that are shorter than a block.
namespace upsweep::cpu_engine {

// Whether lines lie one behind the other without gaps, as the rows of a matrix do.
template <class T, std::size_t Rank>
UPSWEEP_NEVER_INLINE bool are_rows(const view<T, Rank>& in)
{
    auto next = static_cast<std::ptrdiff_t>(in.extent(0)); // how far a line lies behind the one before
    bool are_close = in.stride(0) == 1;
    for (std::size_t k = Rank; --k > 0; next *= static_cast<std::ptrdiff_t>(in.extent(k)))
        are_close = are_close && (in.extent(k) == 1 || in.stride(k) == next);
    return are_close;
}

// The totals of the rows that a block of Count accumulators has, of `length` elements each, a power of two: the up-sweep of the block, as far as the
// rows go. Each accumulator is the total of Elements elements. `out` and `other` have room for half of the block; the totals are returned, in one of
// them or where they were.
template <std::size_t Count, std::size_t Elements, class Acc, class Op>
const Acc* fold_levels_to(std::size_t length, const Acc* in, Acc* out, Acc* other, const Op& op)
{
    if (Elements == length)
        return in;
    if constexpr (has_squares<Count, Acc, Op>)
        if (length >= Elements * square<Acc>::side) {
            using rows = square<Acc>;
            read_ahead nothing;
            fold_squares<Count, Op>(in, out, nothing);
            return fold_levels_to<Count / rows::side, Elements * rows::side, Acc>(length, out, other, out, op);
        }
    if constexpr (Count > 1) {
        fold_pairs<Count>(in, out, op);
        return fold_levels_to<Count / 2, Elements * 2, Acc>(length, out, other, out, op);
    }
    return in;
}

// Whether rows of so many elements fill blocks that are folded by levels.
template <class Acc, class Op>
bool are_parts_of_blocks(std::size_t length)
{
    return !detail::is_exact<Op, Acc> && std::has_single_bit(length) && length < block_size<Acc>;
}

template <class Acc, class T, class Out, std::size_t Rank, class Op, class Finish>
void reduce_parts_of_blocks(const cpu& target, const detail::lines<const T, Out, Rank>& lines, const Op& op,
                            const Finish& finish)
{
    constexpr std::size_t block = block_size<Acc>;
    const std::size_t length = lines.length();
    const std::size_t rows = block / length;
    for_each_stretch(target, lines.count(), 16 * rows, [&](std::size_t first, std::size_t count) {
        std::array<Acc, block> elements;
        std::array<Acc, block / 2> some, others;
        std::array<Out, block / 2> results;
        const std::size_t end = first + count;
        for (; first + rows <= end; first += rows) {
            const Acc* const loaded = load_block<block>(lines.in.data() + first * length, elements.data());
            const Acc* const totals = fold_levels_to<block, 1>(length, loaded, some.data(), others.data(), op);
            for (std::size_t k = 0; k < rows; ++k)
                finish(totals[k], results[k]);
            write_row(lines.out, first, rows, results.data());
        }
        for (std::size_t k = 0; k < end - first; ++k)
            finish(fold_of_segment<Acc>(lines.in.data() + (first + k) * length, length, op), results[k]);
        write_row(lines.out, first, end - first, results.data());
    });
}

template <class Acc, class T, class Out, std::size_t Rank, class Op, class Finish>
void reduce_short_rows(const cpu& target, const detail::lines<const T, Out, Rank>& lines, const Op& op,
                       const Finish& finish)
{
    const std::size_t length = lines.length();
    constexpr std::size_t rows = 256;
    for_each_stretch(target, lines.count(), 16 * rows, [&](std::size_t first, std::size_t count) {
        std::array<Out, rows> results;
        for (const std::size_t end = first + count; first < end; first += rows) {
            const std::size_t some = std::min(rows, end - first);
            for (std::size_t k = 0; k < some; ++k)
                finish(fold_of_segment<Acc>(lines.in.data() + (first + k) * length, length, op), results[k]);
            write_row(lines.out, first, some, results.data());
        }
    });
}

template <class Acc>
inline constexpr std::size_t most_of_short_row = std::min<std::size_t>(4096, 16384 / sizeof(Acc));

// Scans some rows that lie one behind the other. Up to most_beyond elements behind them are read, and as many places behind their results written.
template <scan_kind Kind, class Acc, class T, class Out, class Op>
class short_rows_scan {
public:
    static constexpr std::size_t most_beyond = most_without_branches;
    static constexpr std::size_t least_length =
        sizeof(Acc) <= 2 ? 16 : 64; // shorter ones are scanned faster side by side
    static constexpr bool has_init = false;

    short_rows_scan(std::size_t length, const Op& op, const Acc*, store_kind store)
        : length_(length), op_(op), store_(store)
    {
    }

    // Rows of few elements are scanned as a block each, and results behind a row are replaced by those of the next one.
    void operator()(const T* in, std::size_t count, Out* out) const
    {
        const Acc nothing = op_.template identity<Acc>();
        const scan_options<Acc> options{Kind, store_kind::cached, nullptr, true};
        for (std::size_t i = 0; i < count; i += length_) {
            if (length_ <= most_without_branches) {
                scan_as_block<Kind, Acc>(in + i, out + i, length_, op_);
                continue;
            }
            fold_stack<Acc, Op> stack(op_);
            serial_scan<Acc, Op, const T*, Out*>(stack, nothing, nullptr, op_, options)(in + i, out + i, length_,
                                                                                        ahead_of(in + i, store_));
            if (Kind == scan_kind::exclusive)
                out[i] = as_result<Out, Op>(fold_of_nothing<Acc>(op_));
        }
    }

private:
    std::size_t length_;
    const Op& op_;
    store_kind store_;
};

// Where a processor permutes vectors by indices, any rows are scanned in its registers.
template <scan_kind Kind, class Acc, class T, class Out, class Op>
    requires(has_row_vectors<Op, Acc>)
class short_rows_scan<Kind, Acc, T, Out, Op> {
    static constexpr bool converts = !std::same_as<T, Acc>;
    using scan = row_scan<Kind, Op, Acc, !converts>;

public:
    static constexpr std::size_t most_beyond = scan::most_beyond;
    static constexpr std::size_t least_length = 2;
    static constexpr bool has_init = true;

    short_rows_scan(std::size_t length, const Op& op, const Acc* init, store_kind)
        : op_(op), init_(init), scan_(length, init != nullptr ? op.template identity<Acc>() : fold_of_nothing<Acc>(op))
    {
    }

    void operator()(const T* in, std::size_t count, Out* out) const
    {
        constexpr std::size_t most = most_of_short_row<Acc> + 2 * most_beyond;
        if constexpr (converts) {
            std::array<Acc, most> elements;
            convert_elements(in, count, elements.data());
            std::fill_n(elements.begin() + static_cast<std::ptrdiff_t>(count), most_beyond, Acc{});
            scan_to(elements.data(), count, out);
        } else {
            scan_to(in, count, out);
        }
    }

private:
    static void convert_elements(const T* in, std::size_t count, Acc* to)
    {
        constexpr std::size_t some = 256;
        read_ahead ahead = further_on(in);
        std::size_t i = 0;
        for (; i + some <= count; i += some) {
            ahead.advance<some>();
            load_block<some>(in + i, to + i);
        }
        for (; i < count; ++i)
            to[i] = load<Acc>(in, i);
    }
    void scan_to(const Acc* in, std::size_t count, Out* out) const
    {
        if constexpr (std::same_as<Out, Acc>) {
            scan_and_name(in, count, out);
        } else {
            std::array<Acc, most_of_short_row<Acc> + 2 * most_beyond> results;
            scan_and_name(in, count, results.data());
            store_results(results.data(), out, count);
        }
    }
    void scan_and_name(const Acc* in, std::size_t count, Acc* out) const
    {
        const bool has_nan = scan_(in, count, out);
        if (init_ != nullptr)
            std::transform(out, out + count, out,
                           [&](const Acc& fold) { return as_result<Acc, Op>(op_(*init_, fold)); });
        else if (has_nan)
            std::transform(out, out + count, out, as_result<Acc, Op, Acc>);
    }

    const Op& op_;
    const Acc* init_;
    scan scan_;
};

// Results of one thread that are put together in the first-level cache. From there whole lines of memory are streamed.
template <class Out, std::size_t Most>
class staged_results {
public:
    staged_results(Out* to, store_kind store) : to_(to), streams_(store == store_kind::streamed) {}

    // Where `Most` results can be written, of which the first ones are then added.
    Out* next() { return staged_.data() + count_; }
    void add(std::size_t count)
    {
        constexpr std::size_t line = 64;
        count_ += count;
        if (!streams_)
            return flush(count_);
        const std::size_t behind = (reinterpret_cast<std::uintptr_t>(to_ + count_) % line) / sizeof(Out);
        if (count_ >= behind + line / sizeof(Out))
            flush(count_ - behind);
    }
    void end()
    {
        flush(count_);
        stream_fence();
    }

private:
    void flush(std::size_t count)
    {
        if (streams_)
            stream_bytes(staged_.data(), to_, count * sizeof(Out));
        else
            std::copy_n(staged_.data(), count, to_);
        to_ += count;
        count_ -= count;
        std::copy_n(staged_.data() + count, count_, staged_.data());
    }

    Out* to_;
    bool streams_;
    std::size_t count_ = 0;
    alignas(64) std::array<Out, Most + 128 / sizeof(Out)> staged_;
};

// Scans rows that lie one behind the other, some of them at a time.
template <scan_kind Kind, class Acc, class T, class Out, class Op>
void scan_short_rows(const cpu& target, const T* in, Out* out, std::size_t rows, std::size_t length, const Op& op,
                     const Acc* init, store_kind store)
{
    using scan = short_rows_scan<Kind, Acc, T, Out, Op>;
    constexpr std::size_t most = most_of_short_row<Acc>;
    constexpr std::size_t beyond = scan::most_beyond;
    constexpr std::size_t bytes_at_once =
        4096; // so few that a core's buffers of stores take up what is streamed while it computes the next results
    using staged = staged_results<Out, std::max(most, bytes_at_once / sizeof(Out)) + 2 * beyond>;
    using last_elements = std::array<T, most + 2 * beyond>; // g++ 12 knows no such types in the function below
    const std::size_t rows_at_once = std::max<std::size_t>(1, bytes_at_once / sizeof(Out) / length);
    for_each_stretch(target, rows, 64 * rows_at_once, [&](std::size_t first, std::size_t count) {
        const scan scan_some(length, op, init, store);
        staged results(out + first * length, store);
        const T* from = in + first * length;
        std::size_t left = count * length;
        while (left > beyond + length) {
            const std::size_t some = std::min(rows_at_once, (left - beyond) / length) * length;
            scan_some(from, some, results.next());
            results.add(some);
            from += some;
            left -= some;
        }
        last_elements last; // behind which there is nothing to read
        std::fill_n(std::copy_n(from, left, last.begin()), beyond, T{});
        scan_some(last.data(), left, results.next());
        results.add(left);
        results.end();
    });
}

} // namespace upsweep::cpu_engine
