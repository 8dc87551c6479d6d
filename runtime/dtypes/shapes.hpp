// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <optional>
#include <type_traits>
#include <utility>

#include <upsweep/axis.hpp>
#include <upsweep/segmented.hpp>

#include "../scan_init.hpp"
#include "../shapes.hpp"

// The engines of lines and segments for one type and operator. The files shapes_*.cpp of this folder include it, and no others.
namespace upsweep::runtime {

template <class T, class Out>
detail::lines<const T, Out, most_dimensions> lines_as(const line_layout& of)
{
    auto extents = of.extents;
    const view<const T, most_dimensions> in(reinterpret_cast<const T*>(of.in), extents, of.in_strides);
    extents[0] = of.results;
    return {in, view<Out, most_dimensions>(reinterpret_cast<Out*>(of.out), extents, of.out_strides)};
}

// Writes the fold of a line, or its mean where the count is given. An f64 goes to the place of an integer of 64 bits: one
// instantiation of the engine serves both.
template <class Op>
struct fold_or_mean {
    std::optional<std::uint64_t> count = {};
    bool is_signed = false; // of folds in 64 bits that are told as unsigned

    template <class Result, class Acc>
    void operator()(const Acc& fold, Result& result) const
    {
        if (!count) {
            result = as_result<Result, Op>(fold);
        } else if constexpr (std::integral<Acc>) {
            static_assert(sizeof(Result) == sizeof(double));
            const detail::as_mean<double> mean{static_cast<double>(*count)};
            double value = 0;
            is_signed ? mean(static_cast<std::int64_t>(fold), value) : mean(fold, value);
            result = std::bit_cast<Result>(value);
        } else if constexpr (std::floating_point<Acc>) {
            detail::as_mean<Acc>{static_cast<Acc>(*count)}(fold, result);
        }
    }
};

template <class T, class Acc, class Op>
class typed_shape_reducer final : public shape_reducer {
    using result = std::conditional_t<detail::is_extremum<Op>, T, Acc>;

public:
    explicit typed_shape_reducer(bool is_signed) : is_signed_(is_signed) {}

    void reduce_lines(const cpu& host, const line_layout& lines) const override { fold(host, lines, {}); }
    void mean_of_lines(const cpu& host, const line_layout& lines) const override
    {
        fold(host, lines, {lines.length(), is_signed_});
    }
    void reduce_segments(const cpu& host, const void* in, std::span<const std::uint64_t> offsets,
                         void* out) const override
    {
        detail::engine<cpu, detail::verb::reduce_segments>::fold<Acc>(host, static_cast<const T*>(in), offsets.back(),
                                                                      offsets, static_cast<result*>(out), Op{});
    }

private:
    static void fold(const cpu& host, const line_layout& lines, const fold_or_mean<Op>& finish)
    {
        detail::engine<cpu, detail::verb::reduce_lines>::fold<Acc>(host, lines_as<T, result>(lines), Op{}, finish);
    }

    bool is_signed_;
};

template <class Acc, class T, class Op>
void scan_shape_of_lines(const cpu& host, const line_layout& lines, const Op& op, scan_kind kind, const Acc* init)
{
    using engine = detail::engine<cpu, detail::verb::scan_lines>;
    if (kind == scan_kind::inclusive)
        engine::scan<scan_kind::inclusive, Acc>(host, lines_as<T, T>(lines), op, init);
    else
        engine::scan<scan_kind::exclusive, Acc>(host, lines_as<T, T>(lines), op, init);
}

template <class Acc, class T, class Op>
void scan_shape_of_segments(const cpu& host, const void* in, std::span<const std::uint64_t> offsets, void* out,
                            const Op& op, scan_kind kind, const Acc* init)
{
    using engine = detail::engine<cpu, detail::verb::scan_segments>;
    const auto* from = static_cast<const T*>(in);
    auto* to = static_cast<T*>(out);
    if (kind == scan_kind::inclusive)
        engine::scan<scan_kind::inclusive, Acc>(host, from, offsets.back(), offsets, to, op, init);
    else
        engine::scan<scan_kind::exclusive, Acc>(host, from, offsets.back(), offsets, to, op, init);
}

template <class T, class Acc, class Op>
class typed_shape_scanner final : public shape_scanner {
public:
    explicit typed_shape_scanner(Op op = {}) : op_(std::move(op)) {}

    void scan_lines(const cpu& host, const line_layout& lines, const scan_start& start) const override
    {
        const auto init = init_of<T, Acc>(start);
        scan_shape_of_lines<Acc, T>(host, lines, op_, start.kind, init ? &*init : nullptr);
    }
    void scan_segments(const cpu& host, const void* in, std::span<const std::uint64_t> offsets, void* out,
                       const scan_start& start) const override
    {
        const auto init = init_of<T, Acc>(start);
        scan_shape_of_segments<Acc, T>(host, in, offsets, out, op_, start.kind, init ? &*init : nullptr);
    }

private:
    Op op_;
};

template <class T>
std::unique_ptr<shape_reducer> make_sums(bool is_signed)
{
    return std::make_unique<typed_shape_reducer<T, accumulator_t<plus, T>, plus>>(is_signed);
}

template <class T>
std::unique_ptr<shape_scanner> make_running_sums()
{
    return std::make_unique<typed_shape_scanner<T, scan_accumulator_t<plus, T>, plus>>();
}

template <class T>
std::unique_ptr<shape_reducer> make_extrema(upsweep_op op)
{
    if (op == UPSWEEP_MINIMUM)
        return std::make_unique<typed_shape_reducer<T, T, minimum>>(false);
    return std::make_unique<typed_shape_reducer<T, T, maximum>>(false);
}

template <class T>
std::unique_ptr<shape_scanner> make_running_extrema(upsweep_op op)
{
    if (op == UPSWEEP_MINIMUM)
        return std::make_unique<typed_shape_scanner<T, T, minimum>>();
    return std::make_unique<typed_shape_scanner<T, T, maximum>>();
}

} // namespace upsweep::runtime
