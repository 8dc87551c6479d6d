// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

#include <upsweep/cpu/lanes.hpp>
#include <upsweep/cpu/line_bundle.hpp>
#include <upsweep/cpu/store.hpp>
#include <upsweep/op.hpp>
#include <upsweep/types.hpp>

// A recurrence and the gradient of one, as scans of affine maps: what the maps are, and what is done with the states.
namespace upsweep::cpu_engine {

// A recurrence over some lines: where its coefficients and inputs come from, and what is done with its states. Rows are `lanes` apart,
// which are as many as lines or some more.
template <class Acc, class A, class B, class Out, class H>
class forward_recurrence {
public:
    using accumulator = Acc;
    static constexpr std::size_t arrays = 4;
    using bundle = line_bundle<arrays>;

    struct call {
        const A* a;
        const B* b;
        Out* out;
        const H* before; // or null:
        Acc value;
        store_kind store;
    };

    forward_recurrence(const call& of, const bundle& lines)
        : call_(of), lines_(lines), a_(of.a, lines, 0), b_(of.b, lines, 1), out_(of.out, lines, 2),
          before_(of.before, lines, 3)
    {
    }

    void first_states(Acc* states) const
    {
        std::fill_n(states, lines_.count, call_.value);
        if (call_.before != nullptr)
            before_.read_row(0, states);
    }

    lane_rows<Acc> coefficients(std::size_t row, std::size_t lanes, Acc* to) const
    {
        return a_.read(as_signed(row), lanes, to);
    }
    lane_rows<Acc> inputs(std::size_t row, std::size_t lanes, Acc* to) const
    {
        return b_.read(as_signed(row), lanes, to);
    }
    void write(std::size_t row, std::size_t rows, std::size_t lanes, const Acc* states)
    {
        out_.write(as_signed(row), rows, lanes, states);
    }

    // The same of one line.
    const Acc* line_coefficients(std::size_t first, std::size_t count, Acc* to) const
    {
        return a_.read_line(as_signed(first), count, to);
    }
    const Acc* line_inputs(std::size_t first, std::size_t count, Acc* to) const
    {
        return b_.read_line(as_signed(first), count, to);
    }
    void prefetch_line(std::size_t first, std::size_t count) const
    {
        a_.prefetch_line(first, count);
        b_.prefetch_line(first, count);
    }
    void write_line(std::size_t first, std::size_t count, const Acc* states)
    {
        out_.write_line(first, count, states, call_.store);
    }

private:
    static std::ptrdiff_t as_signed(std::size_t n) { return static_cast<std::ptrdiff_t>(n); }

    const call& call_;
    const bundle& lines_;
    bundled_array<const A, arrays> a_;
    bundled_array<const B, arrays> b_;
    bundled_array<Out, arrays> out_;
    bundled_array<const H, arrays> before_;
};

// The gradient of one, seen from its end: the coefficient of a row is that of the row before, and of the first row it is zero.
template <class Acc, class A, class H, class G, class DA, class DB, class H0, class DH>
class gradient_recurrence {
public:
    using accumulator = Acc;
    static constexpr std::size_t arrays = 7;
    using bundle = line_bundle<arrays>;

    struct call {
        const A* a;
        const H* h;
        const G* out_gradient;
        DA* a_gradient;
        DB* b_gradient;
        const H0* before; // or null:
        Acc value;
        DH* before_gradient; // or null
        store_kind store;
    };

    gradient_recurrence(const call& of, const bundle& lines)
        : call_(of), lines_(lines), a_(of.a, lines, 0), h_(of.h, lines, 1), out_gradient_(of.out_gradient, lines, 2),
          a_gradient_(of.a_gradient, lines, 3), b_gradient_(of.b_gradient, lines, 4), before_(of.before, lines, 5),
          before_gradient_(of.before_gradient, lines, 6)
    {
    }

    void first_states(Acc* states) const { std::fill_n(states, lines_.count, Acc{}); }

    lane_rows<Acc> coefficients(std::size_t row, std::size_t lanes, Acc* to) const
    {
        if (row == 0)
            std::fill_n(to, lanes, Acc{});
        return a_.read(as_signed(row) - 1, lanes, to);
    }
    lane_rows<Acc> inputs(std::size_t row, std::size_t lanes, Acc* to) const
    {
        return out_gradient_.read(as_signed(row), lanes, to);
    }
    void write(std::size_t row, std::size_t rows, std::size_t lanes, const Acc* states)
    {
        b_gradient_.write(as_signed(row), rows, lanes, states);
        products_.resize(std::max(products_.size(), rows_at_once * lanes));
        Acc* const products = products_.data();
        const bool is_end = row + rows == lines_.length;
        if (is_end)
            read_before(products + (rows - 1) * lanes);
        const lane_rows<Acc> h = h_.read(as_signed(row) + 1, lanes, products);
        for (std::size_t r = 0; r < rows; ++r)
            for (std::size_t lane = 0; lane < lines_.count; ++lane)
                products[r * lanes + lane] = named(states[r * lanes + lane] *
                                                   h.first[static_cast<std::ptrdiff_t>(r) * h.step + as_signed(lane)]);
        a_gradient_.write(as_signed(row), rows, lanes, products);
        if (is_end && call_.before_gradient != nullptr)
            for (std::size_t lane = 0; lane < lines_.count; ++lane)
                put_before_gradient(lane, states[(rows - 1) * lanes + lane]);
    }

    const Acc* line_coefficients(std::size_t first, std::size_t count, Acc* to) const
    {
        if (first == 0)
            to[0] = Acc{};
        return a_.read_line(as_signed(first) - 1, count, to);
    }
    const Acc* line_inputs(std::size_t first, std::size_t count, Acc* to) const
    {
        return out_gradient_.read_line(as_signed(first), count, to);
    }
    void prefetch_line(std::size_t first, std::size_t count) const
    {
        a_.prefetch_line(first, count);
        h_.prefetch_line(first, count);
        out_gradient_.prefetch_line(first, count);
    }
    void write_line(std::size_t first, std::size_t count, const Acc* states)
    {
        b_gradient_.write_line(first, count, states, call_.store);
        products_.resize(std::max(products_.size(), count));
        Acc* const products = products_.data();
        const bool is_end = first + count == lines_.length;
        if (is_end)
            read_before(products + count - 1);
        const Acc* const h = h_.read_line(as_signed(first) + 1, count, products);
        for (std::size_t i = 0; i < count; ++i)
            products[i] = named(states[i] * h[i]);
        a_gradient_.write_line(first, count, products, call_.store);
        if (is_end && call_.before_gradient != nullptr)
            put_before_gradient(0, states[count - 1]);
    }

private:
    static std::ptrdiff_t as_signed(std::size_t n) { return static_cast<std::ptrdiff_t>(n); }
    static Acc named(Acc value) { return value == value ? value : detail::quiet_nan<Acc>(); }

    void read_before(Acc* states) const
    {
        std::fill_n(states, lines_.count, call_.value);
        if (call_.before != nullptr)
            before_.read_row(0, states);
    }
    void put_before_gradient(std::size_t lane, Acc state) const
    {
        before_gradient_.at(lane, 0) =
            convert<DH>(named(convert<Acc>(a_.at(lane, as_signed(lines_.length) - 1)) * state));
    }

    const call& call_;
    const bundle& lines_;
    bundled_array<const A, arrays> a_;
    bundled_array<const H, arrays> h_;
    bundled_array<const G, arrays> out_gradient_;
    bundled_array<DA, arrays> a_gradient_;
    bundled_array<DB, arrays> b_gradient_;
    bundled_array<const H0, arrays> before_;
    bundled_array<DH, arrays> before_gradient_;
    std::vector<Acc> products_;
};

} // namespace upsweep::cpu_engine
