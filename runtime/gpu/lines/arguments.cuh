// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <upsweep/argmin.hpp>

#include "instantiate.cuh"

namespace upsweep::runtime::gpu {

template <class Op, class T>
void arguments_by(const cuda& target, const line_layout& lines)
{
    const auto all = lines_as<T, std::int64_t>(lines);
    if (lines.lines() == 1 && (lines.in_strides[0] == 1 || lines.length() == 1))
        detail::engine<cuda, detail::verb::argument>::find<Op>(target, all.in.data(), lines.length(), all.out.data());
    else
        detail::engine<cuda, detail::verb::argument_lines>::find<Op>(target, all);
}

template <class T>
void arguments_of_lines(const cuda& target, upsweep_op op, const line_layout& lines)
{
    if (op == UPSWEEP_MINIMUM)
        arguments_by<minimum, T>(target, lines);
    else
        arguments_by<maximum, T>(target, lines);
}

} // namespace upsweep::runtime::gpu

#define UPSWEEP_ARGUMENTS_OF_LINES(T)                                                                                  \
    template void upsweep::runtime::gpu::arguments_of_lines<T>(const upsweep::cuda&, upsweep_op, const line_layout&)
