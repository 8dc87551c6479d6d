// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <type_traits>
#include <vector>

#include <upsweep/cpu/block.hpp>
#include <upsweep/cpu/lanes.hpp>
#include <upsweep/cpu/store.hpp>
#include <upsweep/cpu/vector.hpp>
#include <upsweep/lines.hpp>
#include <upsweep/types.hpp>

// Lines of several arrays that are read and written together, some of which may be without a dimension that others have: its strides
// are zero there. lanes.hpp has the same for one input and one output.
namespace upsweep::cpu_engine {

// The lines along an axis of N arrays of the same extents: neighbours in memory are neighbours, by as few dimensions as there can be.
template <std::size_t N>
class line_grid {
public:
    using strides = std::array<std::ptrdiff_t, N>;

    // `strides_of`: those of all arrays by the dimensions.
    template <std::size_t Rank>
    line_grid(const std::array<std::size_t, Rank>& extents, axis along, const std::array<strides, Rank>& strides_of)
        : length_(extents[along.index]), steps_(strides_of[along.index])
    {
        std::vector<dimension> all;
        for (std::size_t k = 0; k < Rank; ++k)
            if (k != along.index && extents[k] != 1)
                all.push_back({extents[k], strides_of[k]});
        std::stable_sort(all.begin(), all.end(),
                         [](const dimension& a, const dimension& b) { return reach(a.steps) > reach(b.steps); });
        for (const dimension& next : all) {
            bool is_one = !dimensions_.empty();
            for (std::size_t n = 0; n < N && is_one; ++n)
                is_one = dimensions_.back().steps[n] == static_cast<std::ptrdiff_t>(next.extent) * next.steps[n];
            if (is_one)
                dimensions_.back() = {dimensions_.back().extent * next.extent, next.steps};
            else
                dimensions_.push_back(next);
            count_ *= next.extent;
        }
        if (dimensions_.empty())
            dimensions_.push_back({1, {}});
    }

    std::size_t length() const { return length_; }
    std::size_t count() const { return count_; }
    const strides& steps() const { return steps_; }                   // along the lines
    const strides& apart() const { return dimensions_.back().steps; } // from one line to the next, where that is even
    std::size_t run() const { return dimensions_.back().extent; }     // of lines that are evenly apart
    // Whether elements of a line lie closer together than lines do.
    bool is_along_memory() const { return reach(steps_) <= reach(apart()); }

    strides offsets(std::size_t line) const
    {
        strides sum{};
        for (std::size_t k = dimensions_.size(); k-- > 0; line /= dimensions_[k].extent)
            for (std::size_t n = 0; n < N; ++n)
                sum[n] += static_cast<std::ptrdiff_t>(line % dimensions_[k].extent) * dimensions_[k].steps[n];
        return sum;
    }

private:
    struct dimension {
        std::size_t extent;
        strides steps;
    };
    static std::ptrdiff_t reach(const strides& steps)
    {
        std::ptrdiff_t sum = 0;
        for (const std::ptrdiff_t step : steps)
            sum += step < 0 ? -step : step;
        return sum;
    }

    std::size_t length_;
    strides steps_;
    std::vector<dimension> dimensions_;
    std::size_t count_ = 1;
};

// Some neighbouring lines of a grid.
template <std::size_t N>
struct line_bundle {
    line_bundle(const line_grid<N>& grid, std::size_t first_line, std::size_t lines)
        : length(grid.length()), count(lines), steps(grid.steps()), apart(grid.apart()), first(grid.offsets(first_line))
    {
        if (grid.run() - first_line % grid.run() >= lines)
            return;
        offsets.resize(lines);
        for (std::size_t k = 0; k < lines; ++k)
            offsets[k] = grid.offsets(first_line + k);
    }

    bool is_even() const { return offsets.empty(); }
    std::ptrdiff_t offset(std::size_t line, std::size_t n) const
    {
        return is_even() ? first[n] + static_cast<std::ptrdiff_t>(line) * apart[n] : offsets[line][n];
    }

    std::size_t length;
    std::size_t count;
    typename line_grid<N>::strides steps;                // along the lines
    typename line_grid<N>::strides apart;                // from one to the next, if they lie evenly apart
    typename line_grid<N>::strides first;                // where the first one begins
    std::vector<typename line_grid<N>::strides> offsets; // and each of them, if they do not
};

// Array n of a bundle. Row r of it is element r of all lines.
template <class T, std::size_t N>
class bundled_array {
public:
    // The bundle may change afterwards.
    bundled_array(T* data, const line_bundle<N>& lines, std::size_t n) : data_(data), lines_(&lines), n_(n) {}

    T& at(std::size_t lane, std::ptrdiff_t row) const { return data_[lines_->offset(lane, n_) + row * step()]; }

    // Eight rows from `row` on, `lanes` apart, as accumulators: where they lie, or in the buffer. Those that the lines do not have are not
    // written there.
    template <class Acc>
    lane_rows<Acc> read(std::ptrdiff_t row, std::size_t lanes, Acc* to) const
    {
        const auto width = static_cast<std::ptrdiff_t>(lanes);
        const bool is_whole = row >= 0 && row + 8 <= static_cast<std::ptrdiff_t>(lines_->length);
        if constexpr (std::same_as<std::remove_const_t<T>, Acc>) {
            if (is_whole && lines_->is_even() && apart() == 1 && lanes == lines_->count)
                return {&at(0, row), step()};
            if (is_whole && lines_->is_even() && step() == 1) {
                transpose(&at(0, row), apart(), lines_->count, to, width);
                return {to, width};
            }
            if (is_whole && lines_->is_even() && step() == -1) {
                transpose(&at(0, row + 7), apart(), lines_->count, to + 7 * width, -width);
                return {to, width};
            }
        }
        for_each_row(row, rows_at_once, [&](std::ptrdiff_t r) { read_row(row + r, to + r * width); });
        return {to, width};
    }
    template <class Acc>
    void read_row(std::ptrdiff_t row, Acc* to) const
    {
        if (lines_->is_even() && apart() == 1)
            std::transform(&at(0, row), &at(0, row) + lines_->count, to, [](const T& x) { return convert<Acc>(x); });
        else
            for (std::size_t lane = 0; lane < lines_->count; ++lane)
                to[lane] = convert<Acc>(at(lane, row));
    }

    // The opposite, of `rows` rows.
    template <class Acc>
    void write(std::ptrdiff_t row, std::size_t rows, std::size_t lanes, const Acc* from) const
    {
        const auto width = static_cast<std::ptrdiff_t>(lanes);
        if constexpr (std::same_as<T, Acc>) {
            if (rows == rows_at_once && lines_->is_even() && (step() == 1 || step() == -1))
                for (std::size_t lane = 0; lane < lines_->count; ++lane) // lines of memory that will be written soon
                    __builtin_prefetch(&at(lane, row + 4 * static_cast<std::ptrdiff_t>(rows_at_once)), 1);
            if (rows == rows_at_once && lines_->is_even() && step() == 1)
                return transpose_back(from, width, lines_->count, &at(0, row), apart());
            if (rows == rows_at_once && lines_->is_even() && step() == -1)
                return transpose_back(from + 7 * width, -width, lines_->count, &at(0, row + 7), apart());
        }
        for (std::size_t r = 0; r < rows; ++r) {
            const Acc* const results = from + r * lanes;
            const std::ptrdiff_t to = row + static_cast<std::ptrdiff_t>(r);
            if (lines_->is_even() && apart() == 1)
                store_results(results, &at(0, to), lines_->count);
            else
                for (std::size_t lane = 0; lane < lines_->count; ++lane)
                    at(lane, to) = convert<std::remove_const_t<T>>(results[lane]);
        }
    }

    // Elements first to first + count - 1 of the first line, those that it has: where they lie, or in the buffer.
    template <class Acc>
    const Acc* read_line(std::ptrdiff_t first, std::size_t count, Acc* to) const
    {
        const T* const line = &data_[lines_->first[n_]];
        const auto end =
            std::min(first + static_cast<std::ptrdiff_t>(count), static_cast<std::ptrdiff_t>(lines_->length));
        const bool is_whole = first >= 0 && end - first == static_cast<std::ptrdiff_t>(count);
        if (is_whole && step() == 1) {
            if constexpr (std::same_as<std::remove_const_t<T>, Acc>)
                return line + first;
            constexpr std::size_t at_once = 64;
            std::size_t i = 0;
            for (const std::size_t whole = count / at_once * at_once; i < whole; i += at_once)
                (void)load_block<at_once, Acc>(line + first + i, to + i);
            for (; i < count; ++i)
                to[i] = convert<Acc>(line[first + static_cast<std::ptrdiff_t>(i)]);
        } else {
            for (std::ptrdiff_t i = std::max<std::ptrdiff_t>(first, 0); i < end; ++i)
                to[i - first] = convert<Acc>(line[i * step()]);
        }
        return to;
    }
    // Asks for elements of the first line that are to be read soon.
    void prefetch_line(std::size_t first, std::size_t count) const
    {
        if (first + count > lines_->length || (step() != 1 && step() != -1))
            return;
        constexpr std::size_t line = 64 / std::min<std::size_t>(sizeof(T), 64); // elements of a line of memory
        const T* const from = &data_[lines_->first[n_]];
        for (std::size_t i = first; i < first + count; i += line)
            __builtin_prefetch(from + static_cast<std::ptrdiff_t>(i) * step(), 0, 2); // into the second-level cache
    }
    template <class Acc>
    void write_line(std::size_t first, std::size_t count, const Acc* from, store_kind store) const
    {
        T* const line = &data_[lines_->first[n_]];
        if (step() != 1)
            for (std::size_t i = 0; i < count; ++i)
                line[static_cast<std::ptrdiff_t>(first + i) * step()] = convert<std::remove_const_t<T>>(from[i]);
        else if (std::same_as<T, Acc> && store == store_kind::streamed)
            stream_bytes(from, line + first, count * sizeof(T));
        else
            store_results(from, line + first, count);
    }

private:
    std::ptrdiff_t step() const { return lines_->steps[n_]; }
    std::ptrdiff_t apart() const { return lines_->apart[n_]; }

    // Calls f(r) for those of `rows` rows from `row` on that the lines have.
    template <class F>
    void for_each_row(std::ptrdiff_t row, std::size_t rows, F f) const
    {
        const auto end = std::min(static_cast<std::ptrdiff_t>(rows), static_cast<std::ptrdiff_t>(lines_->length) - row);
        for (std::ptrdiff_t r = std::max<std::ptrdiff_t>(0, -row); r < end; ++r)
            f(r);
    }
    static void transpose_back(const T* rows, std::ptrdiff_t rows_apart, std::size_t count, T* lines,
                               std::ptrdiff_t lines_apart) requires(!std::is_const_v<T>)
    {
        std::size_t k = 0;
        if constexpr (std::floating_point<T>) {
            constexpr std::size_t side = square<T>::side;
            for (const std::size_t whole = count / side * side; k < whole; k += side)
                for (std::size_t r = 0; r < rows_at_once; r += side)
                    square<T>::transpose(rows + static_cast<std::ptrdiff_t>(r) * rows_apart + k, rows_apart,
                                         lines + static_cast<std::ptrdiff_t>(k) * lines_apart + r, lines_apart);
        }
        for (; k < count; ++k)
            for (std::size_t r = 0; r < rows_at_once; ++r)
                lines[static_cast<std::ptrdiff_t>(k) * lines_apart + static_cast<std::ptrdiff_t>(r)] =
                    rows[static_cast<std::ptrdiff_t>(r) * rows_apart + static_cast<std::ptrdiff_t>(k)];
    }

    T* data_;
    const line_bundle<N>* lines_;
    std::size_t n_;
};

} // namespace upsweep::cpu_engine
