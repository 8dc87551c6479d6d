// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstring>
#include <span>

#include <upsweep/gpu/scan.cuh>
#include <upsweep/monoids.hpp>

#include "kernels.hpp"

namespace upsweep::runtime::gpu {

template <class T, class Op, class From = T>
void scan_by(const cuda& target, Op op, const scan_arrays& of)
{
    const auto* const in = static_cast<const From*>(of.in);
    auto* const out = static_cast<T*>(of.out);
    T first{};
    if (of.init != nullptr)
        std::memcpy(&first, of.init, sizeof first);
    if constexpr (std::same_as<Op, plus>)
        if (of.are_reversed) {
            using accumulator = scan_accumulator_t<Op, T>;
            using engine = detail::engine<cuda, detail::verb::scan>;
            const auto init = convert<accumulator>(first);
            const accumulator* const begin = of.init != nullptr ? &init : nullptr;
            if (of.kind == scan_kind::inclusive)
                engine::scan_reversed<scan_kind::inclusive, accumulator>(target, in, out, of.count, op, begin);
            else
                engine::scan_reversed<scan_kind::exclusive, accumulator>(target, in, out, of.count, op, begin);
            return;
        }
    const std::span from(in, of.count);
    const std::span to(out, of.count);
    if (of.kind == scan_kind::inclusive)
        inclusive_scan(target, from, to, op);
    else if (of.init == nullptr)
        exclusive_scan(target, from, to, op);
    else
        exclusive_scan(target, from, to, op, first);
}

// In two's complement the sums of signed integers are those of unsigned ones.
template <class T>
struct same_sums {
    using type = T;
};
template <std::signed_integral T>
struct same_sums<T> {
    using type = std::make_unsigned_t<T>;
};

template <class T>
void scan_typed(const cuda& target, upsweep_op op, const scan_arrays& of)
{
    switch (op) {
    case UPSWEEP_MINIMUM: return scan_by<T>(target, minimum{}, of);
    case UPSWEEP_MAXIMUM: return scan_by<T>(target, maximum{}, of);
    default: return scan_by<typename same_sums<T>::type>(target, plus{}, of);
    }
}

template <class From, class T>
void scan_widened(const cuda& target, upsweep_op, const scan_arrays& of)
{
    scan_by<T, plus, From>(target, plus{}, of);
}

template <class T>
void scan_products(const cuda& target, upsweep_op, const scan_arrays& of)
{
    scan_by<T>(target, multiplies{}, of);
}

template <class T>
void scan_log_sum_exp(const cuda& target, upsweep_op, const scan_arrays& of)
{
    scan_by<T>(target, log_sum_exp{}, of);
}

} // namespace upsweep::runtime::gpu

#define UPSWEEP_SCAN_TYPED(T)                                                                                          \
    template void upsweep::runtime::gpu::scan_typed<T>(const upsweep::cuda&, upsweep_op, const scan_arrays&)
#define UPSWEEP_SCAN_WIDENED(From, T)                                                                                  \
    template void upsweep::runtime::gpu::scan_widened<From, T>(const upsweep::cuda&, upsweep_op, const scan_arrays&)
#define UPSWEEP_SCAN_PRODUCTS(T)                                                                                       \
    template void upsweep::runtime::gpu::scan_products<T>(const upsweep::cuda&, upsweep_op, const scan_arrays&)
#define UPSWEEP_SCAN_LOG_SUM_EXP(T)                                                                                    \
    template void upsweep::runtime::gpu::scan_log_sum_exp<T>(const upsweep::cuda&, upsweep_op, const scan_arrays&)
