// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Where minima and maxima of lines are. Half floats have been converted to f32, which holds them all.
#include <upsweep/argmin.hpp>

#include "../call.hpp"
#include "shapes.hpp"

namespace upsweep::runtime {

namespace {

// Unsigned integers are read as signed ones.
template <class T>
void find_in(const cpu& host, upsweep_op op, const line_layout& lines)
{
    const auto flip = op == UPSWEEP_MINIMUM ? cpu_engine::flip_of<minimum, T>() : cpu_engine::flip_of<maximum, T>();
    cpu_engine::find_in_lines(host, lines_as<cpu_engine::searched_t<T>, std::int64_t>(lines), flip);
}

} // namespace

upsweep_dtype searched_dtype(upsweep_dtype dtype)
{
    switch (dtype) {
    case UPSWEEP_BOOL: return UPSWEEP_U8;
    case UPSWEEP_F16:
    case UPSWEEP_BF16: return UPSWEEP_F32;
    default: return dtype;
    }
}

void find_arguments(const cpu& host, upsweep_op op, upsweep_dtype dtype, const line_layout& lines)
{
    switch (dtype) {
    case UPSWEEP_I8: return find_in<std::int8_t>(host, op, lines);
    case UPSWEEP_I16: return find_in<std::int16_t>(host, op, lines);
    case UPSWEEP_I32: return find_in<std::int32_t>(host, op, lines);
    case UPSWEEP_I64: return find_in<std::int64_t>(host, op, lines);
    case UPSWEEP_U8: return find_in<std::uint8_t>(host, op, lines);
    case UPSWEEP_U16: return find_in<std::uint16_t>(host, op, lines);
    case UPSWEEP_U32: return find_in<std::uint32_t>(host, op, lines);
    case UPSWEEP_U64: return find_in<std::uint64_t>(host, op, lines);
    case UPSWEEP_F32: return find_in<float>(host, op, lines);
    default: return find_in<double>(host, op, lines);
    }
}

} // namespace upsweep::runtime
