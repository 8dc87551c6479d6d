// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstring>
#include <span>

#include <upsweep/gpu/scan.cuh>
#include <upsweep/monoids.hpp>

#include "kernels.hpp"

namespace upsweep::runtime::gpu {

template <class T, class Op>
void scan_by(const cuda& target, Op op, scan_kind kind, const void* in, void* out, std::size_t count, const void* init)
{
    const std::span from(static_cast<const T*>(in), count);
    const std::span to(static_cast<T*>(out), count);
    if (kind == scan_kind::inclusive)
        return inclusive_scan(target, from, to, op);
    if (init == nullptr)
        return exclusive_scan(target, from, to, op);
    T first;
    std::memcpy(&first, init, sizeof first);
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
void scan_typed(const cuda& target, upsweep_op op, scan_kind kind, const void* in, void* out, std::size_t count,
                const void* init)
{
    switch (op) {
    case UPSWEEP_MINIMUM: return scan_by<T>(target, minimum{}, kind, in, out, count, init);
    case UPSWEEP_MAXIMUM: return scan_by<T>(target, maximum{}, kind, in, out, count, init);
    default: return scan_by<typename same_sums<T>::type>(target, plus{}, kind, in, out, count, init);
    }
}

template <class T>
void scan_log_sum_exp(const cuda& target, upsweep_op, scan_kind kind, const void* in, void* out, std::size_t count,
                      const void* init)
{
    scan_by<T>(target, log_sum_exp{}, kind, in, out, count, init);
}

} // namespace upsweep::runtime::gpu

#define UPSWEEP_SCAN_TYPED(T)                                                                                          \
    template void upsweep::runtime::gpu::scan_typed<T>(const upsweep::cuda&, upsweep_op, upsweep::scan_kind,           \
                                                       const void*, void*, std::size_t, const void*)
#define UPSWEEP_SCAN_LOG_SUM_EXP(T)                                                                                    \
    template void upsweep::runtime::gpu::scan_log_sum_exp<T>(const upsweep::cuda&, upsweep_op, upsweep::scan_kind,     \
                                                             const void*, void*, std::size_t, const void*)
