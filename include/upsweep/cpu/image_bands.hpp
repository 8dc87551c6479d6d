// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>

#include <upsweep/cpu/block.hpp>
#include <upsweep/cpu/lanes.hpp>
#include <upsweep/cpu/parallel.hpp>
#include <upsweep/cpu/store.hpp>
#include <upsweep/cpu/vector.hpp>
#include <upsweep/fold_order.hpp>
#include <upsweep/op.hpp>
#include <upsweep/target.hpp>

// Integral images in one pass over memory. An image is cut into bands of rows, and a band into tiles, which are copied to a buffer
// and back that the caches of a core hold: rows of an image may lie a power of two apart, and would take each other's places there. A thread takes the next band and walks along it;
// squares of its elements are scanned along their rows, in lockstep and therefore as the columns of a transposed square, and then along
// their columns. What the columns have been given is handed from band to band, so that a thread follows the one with the band above at
// the distance of a tile.
namespace upsweep::cpu_engine {

// Whether sums of this type are computed so: those of which vectors have lanes.
template <class Sum>
inline constexpr bool has_image_bands = is_vector_monoid<plus, Sum>;

// Elements of an image, of whatever type, that are read as sums. Steps are in bytes.
template <class Sum>
struct image_elements {
    using load_row = void (*)(const std::byte* from, std::ptrdiff_t column_step, std::size_t count, Sum* to);

    const std::byte* first;
    std::ptrdiff_t row_step;
    std::ptrdiff_t column_step;
    load_row load;
};

// Where the sums of an image belong. Steps are in sums.
template <class Sum>
struct image_sums {
    Sum* first;
    std::ptrdiff_t row_step;
    std::ptrdiff_t column_step;
};

struct image_extents {
    std::size_t rows;
    std::size_t columns;

    std::size_t size() const { return rows * columns; }
};

// The fold stacks of the lanes of a vector, which have all been given equally many blocks of elements: a vector for each of `stack_rows`. Sums in any order
// need but one, the sums of all elements. The vectors of a stack lie `step` apart.
template <class Sum>
class vector_stack {
    using vector = vector_t<Sum>;
    static constexpr bool is_exact = detail::is_exact<plus, Sum>;

public:
    // Vectors of a stack of at most so many blocks.
    static std::size_t size(std::size_t most_blocks) { return is_exact ? 1 : stack_rows::size(most_blocks); }
    // What a stack has before it is given anything, of which only the first vector matters.
    static vector nothing()
    {
        std::array<Sum, vector_bytes / sizeof(Sum)> identities;
        identities.fill(plus{}.identity<Sum>()); // which a zero plus the identity is not: that is -0
        return load_vector(identities.data());
    }

    // Where the vectors are that the next block has to do with: for many stacks the same.
    class place {
    public:
        place() = default;
        place(std::uint64_t count, std::size_t step) : step_(static_cast<std::ptrdiff_t>(step))
        {
            if constexpr (!is_exact) {
                const auto row = [&](std::size_t number) { return static_cast<std::ptrdiff_t>(number * step); };
                const int to = stack_rows::digit_after(count, 0);
                before_ = row(stack_rows::folds_of(count));
                above_ = row(stack_rows::folds_before(count, to));
                to_ = row(stack_rows::totals(to));
            }
        }

        // Replaces elements of the block by the folds up to each of them.
        template <std::size_t Size>
        UPSWEEP_ALWAYS_INLINE void scan(std::array<vector, Size>& elements, vector* stack) const
        {
            scan(elements, stack, [&](vector total) { return push(total, stack); });
        }
        // The same of a block that completes a larger one, which is pushed onto another stack.
        template <std::size_t Size>
        UPSWEEP_ALWAYS_INLINE void scan(std::array<vector, Size>& elements, vector* stack, const place& in_other,
                                        vector* other) const
        {
            scan(elements, stack, [&](vector total) { return in_other.push(completed(total, stack), other); });
            if constexpr (is_exact)
                *other = *stack;
        }
        // What is in front of the block.
        UPSWEEP_ALWAYS_INLINE vector before(const vector* stack) const { return stack[before_]; }

    private:
        // `after` returns the fold after the block, given its total.
        template <std::size_t Size, class After>
        UPSWEEP_ALWAYS_INLINE void scan(std::array<vector, Size>& elements, vector* stack, After after) const
        {
            if constexpr (is_exact) {
                elements[0] = apply<plus, Sum>(stack[0], elements[0]);
                for (std::size_t k = 1; k < Size; ++k)
                    elements[k] = apply<plus, Sum>(elements[k - 1], elements[k]);
                stack[0] = elements[Size - 1];
            } else {
                std::array<vector, Size> befores;
                group_folds<0, Size, Sum>(elements, before(stack), plus{}, befores);
                const vector end = after(group_total<0, Size, Sum>(elements, plus{}));
                for (std::size_t k = 1; k < Size; ++k)
                    elements[k - 1] = befores[k];
                elements[Size - 1] = end;
            }
        }
        // Leaves the total of each aligned block in its last place.
        template <std::size_t First, std::size_t Count, std::size_t Size>
        UPSWEEP_ALWAYS_INLINE static void collect(std::array<vector, Size>& elements)
        {
            if constexpr (Count > 1) {
                constexpr std::size_t half = Count / 2;
                collect<First, half>(elements);
                collect<First + half, half>(elements);
                elements[First + Count - 1] = apply<plus, Sum>(elements[First + half - 1], elements[First + Count - 1]);
            }
        }
        // Replaces all but the last of these by folds.
        template <std::size_t First, std::size_t Count, std::size_t Size>
        UPSWEEP_ALWAYS_INLINE static void hand_back(std::array<vector, Size>& elements, vector before)
        {
            if constexpr (Count > 1) {
                constexpr std::size_t half = Count / 2;
                const vector middle = apply<plus, Sum>(before, elements[First + half - 1]);
                elements[First + half - 1] = middle;
                hand_back<First, half>(elements, before);
                hand_back<First + half, half>(elements, middle);
            }
        }
        // The total of the largest block that ends with this one.
        UPSWEEP_ALWAYS_INLINE vector completed(vector total, const vector* stack) const
        {
            for (std::ptrdiff_t k = step_; k < to_; k += 2 * step_)
                total = apply<plus, Sum>(stack[k], total);
            return total;
        }
        // Returns the fold after the block.
        UPSWEEP_ALWAYS_INLINE vector push(vector total, vector* stack) const
        {
            total = completed(total, stack);
            stack[to_] = total;
            const vector fold = apply<plus, Sum>(stack[above_], total);
            stack[to_ + step_] = fold;
            return fold;
        }

        std::ptrdiff_t step_ = 0;
        std::ptrdiff_t before_ = 0; // the folds before the block
        std::ptrdiff_t above_ = 0;  // the folds before the block that it completes
        std::ptrdiff_t to_ = 0;     // the totals of that block
    };
};

// Images of the same extents, one at a time, and what the columns of that one have been given.
template <class Sum>
class image_bands {
    using vector = vector_t<Sum>;
    using lanes = square<Sum>;
    using stack = vector_stack<Sum>;
    using place = typename stack::place;
    static constexpr std::size_t side = lanes::side;
    static constexpr std::size_t beside = std::max<std::size_t>(1, 8 / side); // squares that are scanned at once
    static constexpr std::size_t step_columns = beside * side;
    static constexpr std::size_t band_rows = 16;
    static constexpr std::size_t blocks_a_band = band_rows / side;
    static constexpr std::size_t most_columns = 4096 / sizeof(Sum); // of a tile
    static constexpr std::size_t least_columns = 64;

public:
    // Rows of an image on `threads` threads have as many tiles as these need to follow one another.
    image_bands(const image_extents& extents, std::size_t threads)
        : extents_(extents),
          tile_columns_(threads <= 1 ? most_columns
                                     : std::clamp(extents.columns / (2 * threads) / step_columns * step_columns,
                                                  least_columns, most_columns)),
          squares_((extents.columns + step_columns - 1) / step_columns * beside),
          columns_(std::make_unique_for_overwrite<vector[]>(squares_ * stack::size(bands())))
    {
    }

    // Threads that find work in an image.
    static std::size_t most_threads(const image_extents& extents)
    {
        return std::min(extents.columns / least_columns, extents.rows / band_rows);
    }
    static constexpr std::size_t least_extent = step_columns;

    // Before each image.
    void begin() { std::fill_n(columns_.get(), squares_, stack::nothing()); }
    // Room for the stacks of the rows of a band, which each thread has for itself.
    using row_stacks = std::unique_ptr<vector[]>;
    row_stacks make_row_stacks() const { return std::make_unique_for_overwrite<vector[]>(blocks_a_band * row_stack()); }

    std::size_t bands() const { return (extents_.rows + band_rows - 1) / band_rows; }

    // Walks along a band. wait(tile) returns when the band above has come so far, and tell(tile) says that this one has.
    template <class Wait, class Tell>
    void walk(const image_elements<Sum>& in, const image_sums<Sum>& out, store_kind store, std::size_t band,
              const row_stacks& rows, Wait wait, Tell tell)
    {
        for (std::size_t k = 0; k < blocks_a_band; ++k)
            rows[k * row_stack()] = stack::nothing();
        const std::size_t tiles = (extents_.columns + tile_columns_ - 1) / tile_columns_;
        for (std::size_t tile = 0; tile < tiles; ++tile) {
            wait(tile);
            scan_tile(in, out, store, band * band_rows, tile * tile_columns_, rows.get());
            tell(tile);
        }
    }

private:
    std::size_t row_stack() const { return stack::size(squares_ / beside); } // vectors

    static constexpr std::size_t pitch =
        most_columns + 64 / sizeof(Sum); // of the tile, a line more than a power of two
    struct alignas(64) tile_elements {
        std::array<Sum, band_rows * pitch> all;
    };

    void scan_tile(const image_elements<Sum>& in, const image_sums<Sum>& out, store_kind store, std::size_t first_row,
                   std::size_t first_column, vector* of_rows)
    {
        const std::size_t rows = std::min(band_rows, extents_.rows - first_row);
        const std::size_t columns = std::min(tile_columns_, extents_.columns - first_column);
        const auto row = static_cast<std::ptrdiff_t>(first_row);
        const auto column = static_cast<std::ptrdiff_t>(first_column);

        const std::size_t blocks = (rows + side - 1) / side;
        const std::size_t columns_of_tile = (columns + step_columns - 1) / step_columns * step_columns;
        tile_elements tile;
        const std::byte* const from = in.first + row * in.row_step + column * in.column_step;
        for (std::size_t r = 0; r < rows; ++r) {
            Sum* const of_row = tile.all.data() + r * pitch;
            in.load(from + static_cast<std::ptrdiff_t>(r) * in.row_step, in.column_step, columns, of_row);
            std::fill(of_row + columns, of_row + columns_of_tile, Sum{});
        }
        for (std::size_t r = rows; r < blocks * side; ++r)
            std::fill_n(tile.all.data() + r * pitch, columns_of_tile, Sum{});

        // A band is one block of its columns, whose blocks have small stacks in front of those of all bands.
        std::array<place, blocks_a_band> in_band;
        for (std::size_t k = 0; k < blocks; ++k)
            in_band[k] = place(k, beside);
        const place in_columns(first_row / band_rows, squares_);
        for (std::size_t c = 0; c < columns; c += step_columns) {
            const std::size_t number = (first_column + c) / step_columns;
            const place in_row(number, 1);
            vector* const of_columns = columns_.get() + number * beside;
            std::array<vector, beside*(1 + 2 * std::bit_width(blocks_a_band))> of_band;
            for (std::size_t w = 0; w < beside; ++w)
                of_band[w] = in_columns.before(of_columns + w);
            for (std::size_t k = 0; k < blocks; ++k) {
                Sum* const elements = tile.all.data() + k * side * pitch + c;
                vector* const of_rows_k = of_rows + k * row_stack();
                steps_t steps = load_steps(elements);
                in_row.scan(steps, of_rows_k);
                if (k + 1 < blocks_a_band)
                    finish(
                        steps, elements, [&](rows_t & rows, std::size_t w) __attribute__((always_inline)) {
                            in_band[k].scan(rows, &of_band[w]);
                        });
                else
                    finish(
                        steps, elements, [&](rows_t & rows, std::size_t w) __attribute__((always_inline)) {
                            in_band[k].scan(rows, &of_band[w], in_columns, of_columns + w);
                        });
            }
        }

        Sum* const to = out.first + row * out.row_step + column * out.column_step;
        for (std::size_t r = 0; r < rows; ++r)
            write_row(tile.all.data() + r * pitch, to + static_cast<std::ptrdiff_t>(r) * out.row_step, out.column_step,
                      columns, store);
    }

    // Some squares beside each other as the columns of which they consist.
    using rows_t = typename lanes::rows_t;
    using steps_t = std::array<vector, step_columns>;
    UPSWEEP_ALWAYS_INLINE static steps_t load_steps(const Sum* elements)
    {
        steps_t steps;
        for (std::size_t w = 0; w < beside; ++w) {
            rows_t rows;
            for (std::size_t r = 0; r < side; ++r)
                rows[r] = load_vector(elements + r * pitch + w * side);
            rows = lanes::transposed(rows);
            for (std::size_t c = 0; c < side; ++c)
                steps[w * side + c] = rows[c];
        }
        return steps;
    }
    // Writes them where they were, after scan(rows, number) of each square.
    template <class Scan>
    UPSWEEP_ALWAYS_INLINE static void finish(const steps_t& steps, Sum* elements, Scan scan)
    {
        for (std::size_t w = 0; w < beside; ++w) {
            rows_t rows;
            for (std::size_t c = 0; c < side; ++c)
                rows[c] = steps[w * side + c];
            rows = lanes::transposed(rows);
            scan(rows, w);
            for (std::size_t r = 0; r < side; ++r)
                store_vector<Sum>(with_named_nan<plus, Sum>(rows[r]), elements + r * pitch + w * side);
        }
    }

    static void write_row(const Sum* from, Sum* to, std::ptrdiff_t step, std::size_t count, store_kind store)
    {
        if (step == 1 && store == store_kind::streamed)
            stream_bytes(from, to, count * sizeof(Sum));
        else if (step == 1)
            std::copy_n(from, count, to);
        else
            for (std::size_t c = 0; c < count; ++c)
                to[static_cast<std::ptrdiff_t>(c) * step] = from[c];
    }

    image_extents extents_;
    std::size_t tile_columns_;
    std::size_t squares_; // of a row
    std::unique_ptr<vector[]> columns_;
};

// The integral image on this thread.
template <class Sum>
void integrate_serially(image_bands<Sum>& image, const typename image_bands<Sum>::row_stacks& rows,
                        const image_elements<Sum>& in, const image_sums<Sum>& out, store_kind store)
{
    image.begin();
    const auto nothing = [](std::size_t) {};
    for (std::size_t band = 0; band < image.bands(); ++band)
        image.walk(in, out, store, band, rows, nothing, nothing);
}

// The same on so many threads.
template <class Sum>
void integrate_by_bands(const cpu& target, std::size_t threads, const image_extents& extents,
                        const image_elements<Sum>& in, const image_sums<Sum>& out, store_kind store)
{
    struct alignas(64) progress {
        std::atomic<std::size_t> tiles{0};
    };
    image_bands<Sum> image(extents, threads);
    image.begin();
    const auto done = std::make_unique<progress[]>(image.bands());
    std::atomic<std::size_t> next{0};
    for_each_index(target, threads, [&](std::size_t) {
        const auto rows = image.make_row_stacks();
        for (std::size_t band = next++; band < image.bands(); band = next++)
            image.walk(
                in, out, store, band, rows,
                [&](std::size_t tile) {
                    if (band != 0)
                        pause_until([&] { return done[band - 1].tiles.load(std::memory_order_acquire) > tile; });
                },
                [&](std::size_t tile) { done[band].tiles.store(tile + 1, std::memory_order_release); });
        stream_fence();
    });
}

// Whether elements of a row, so many bytes apart, lie so close together that a tile may be read row by row. Two scans transpose others.
inline bool are_close(std::ptrdiff_t column_step)
{
    constexpr std::ptrdiff_t line = 64;
    return -line < column_step && column_step < line;
}

// Integrates images of the same extents, of which image_at(k) gives the elements and the place of the sums: many by an image a thread, few on all
// threads. Returns false, and does nothing, for images whose columns lie far apart, or of so few rows or columns that squares hold little of them, or
// threads do not find work; two scans take less time. There is an image.
template <class Sum, class ImageAt>
bool integrate_images(const cpu& target, std::size_t count, const image_extents& extents, ImageAt image_at)
{
    const auto [first_in, first_out] = image_at(0);
    if (!are_close(first_in.column_step) ||
        !are_close(first_out.column_step * static_cast<std::ptrdiff_t>(sizeof(Sum))))
        return false;
    const bool is_in_place = static_cast<const void*>(first_in.first) == static_cast<const void*>(first_out.first);
    const bool is_large = count * extents.size() * sizeof(Sum) >= stream_threshold && !is_in_place;
    const auto store = is_large ? store_kind::streamed : store_kind::cached;
    constexpr std::size_t least = image_bands<Sum>::least_extent;
    constexpr std::size_t small = std::size_t{1} << 18;
    constexpr std::size_t least_rows = 128; // of others: what the columns have been given is as much as some rows
    if (extents.rows < least || extents.columns < least || (extents.rows < least_rows && extents.size() > small))
        return false;
    constexpr std::size_t elements_a_thread = std::size_t{1} << 16;
    const auto all = static_cast<std::size_t>(thread_count(target));
    const std::size_t threads = std::min(all, count * extents.size() / elements_a_thread);
    const bool are_many = threads <= 1 || count >= 4 * threads || (count > 1 && extents.size() < 2 * elements_a_thread);
    const std::size_t within = std::min(threads, image_bands<Sum>::most_threads(extents));
    if (!are_many) {
        if (within < 2 || 2 * within < threads)
            return false;
        for (std::size_t k = 0; k < count; ++k) {
            const auto [in, out] = image_at(k);
            integrate_by_bands(target, within, extents, in, out, store);
        }
        return true;
    }
    const std::size_t at_once = threads <= 1 ? count : std::max<std::size_t>(1, elements_a_thread / extents.size());
    for_each_stretch(target, count, at_once, [&](std::size_t first, std::size_t some) {
        image_bands<Sum> image(extents, 1);
        const auto rows = image.make_row_stacks();
        for (std::size_t k = first; k < first + some; ++k) {
            const auto [in, out] = image_at(k);
            integrate_serially(image, rows, in, out, store);
        }
        stream_fence();
    });
    return true;
}

} // namespace upsweep::cpu_engine
