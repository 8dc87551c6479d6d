// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <type_traits>

#include <upsweep/histogram.hpp>
#include <upsweep/reduce.hpp>
#include <upsweep/scan.hpp>

#include "../engine.hpp"

// Everything that libupsweep does for one element type. The files of this folder include it, and no others.
namespace upsweep::runtime {

template <class T, class Op>
class typed_reducer final : public any_reducer {
public:
    explicit typed_reducer(cpu target) : fold_(target) {}
    void feed(const void* in, std::size_t count) override { fold_.feed(std::span(static_cast<const T*>(in), count)); }
    void result(void* to) override
    {
        const auto value = fold_.result();
        std::memcpy(to, &value, sizeof value);
    }

private:
    upsweep::reducer<T, Op> fold_;
};

template <class T, class Op>
class typed_scanner final : public cpu_scanner {
    using accumulator = scan_accumulator_t<Op, T>;

public:
    explicit typed_scanner(const scan_request& request) : scan_(request.target, request.kind, {}, init_of(request)) {}

    void feed(const void* in, void* out, std::size_t count) override { feed_as<T>(in, out, count); }
    void feed_accumulators(const void* in, void* out, std::size_t count) override
    {
        feed_as<accumulator>(in, out, count);
    }

private:
    static std::optional<accumulator> init_of(const scan_request& request)
    {
        if (request.init == nullptr)
            return std::nullopt;
        T init;
        std::memcpy(&init, request.init, sizeof init);
        return convert<accumulator>(init);
    }

    template <class In>
    void feed_as(const void* in, void* out, std::size_t count)
    {
        scan_.feed(std::span(static_cast<const In*>(in), count), std::span(static_cast<T*>(out), count));
    }

    upsweep::scanner<T, Op> scan_;
};

// The type as which elements of type T are folded. In two's complement the sums, products and bits of signed integers
// are those of unsigned ones, as long as nothing is widened, so one instantiation serves both.
template <class T, class Op>
struct same_bits {
    using type = T;
};
template <std::signed_integral T, class Op>
    requires(!detail::is_extremum<Op>)
struct same_bits<T, Op> {
    using type = std::make_unsigned_t<T>;
};

// The operator by which results of type T are scanned. Those of bool are three: a sum that is converted to bool is true
// where any element is, for one.
template <class T, class Op>
struct same_scan {
    using type = Op;
};
template <>
struct same_scan<bool, multiplies> : same_scan<bool, logical_and> {
};
template <>
struct same_scan<bool, minimum> : same_scan<bool, logical_and> {
};
template <>
struct same_scan<bool, bit_and> : same_scan<bool, logical_and> {
};
template <>
struct same_scan<bool, plus> : same_scan<bool, logical_or> {
};
template <>
struct same_scan<bool, maximum> : same_scan<bool, logical_or> {
};
template <>
struct same_scan<bool, bit_or> : same_scan<bool, logical_or> {
};

template <class T>
std::unique_ptr<any_reducer> make_typed_reducer(upsweep_op op, cpu target)
{
    return with_op(op, [&]<class Op>(Op) -> std::unique_ptr<any_reducer> {
        // A sum or product has 64 bits, so the sign matters unless T has as many.
        constexpr bool widens = detail::is_arithmetic<Op> && sizeof(T) < 8;
        using element = std::conditional_t<widens, T, typename same_bits<T, Op>::type>;
        if constexpr (is_defined<Op, T>)
            return std::make_unique<typed_reducer<element, Op>>(target);
        else
            return nullptr;
    });
}

// A scan with all or any is one of bool, whatever the type of its results: runtime.cpp converts them.
template <class T>
std::unique_ptr<cpu_scanner> make_typed_scanner(upsweep_op op, const scan_request& request)
{
    return with_op(op, [&]<class Op>(Op) -> std::unique_ptr<cpu_scanner> {
        if constexpr (is_defined<Op, T> && (std::same_as<T, bool> || !detail::is_logical<Op>))
            return std::make_unique<typed_scanner<typename same_bits<T, Op>::type, typename same_scan<T, Op>::type>>(
                request);
        else
            return nullptr;
    });
}

template <class T, class Bins>
void add_typed_histogram(cpu target, const void* in, std::size_t count, const Bins& bins,
                         std::span<std::uint64_t> counts, outside& out_of_range)
{
    histogram_accumulate(target, std::span(static_cast<const T*>(in), count), bins, counts, out_of_range);
}

template <class T>
const dtype_engine& engine_of()
{
    static constexpr dtype_engine engine{make_typed_reducer<T>, make_typed_scanner<T>,
                                         add_typed_histogram<T, even_bins>, add_typed_histogram<T, edges>};
    return engine;
}

} // namespace upsweep::runtime
