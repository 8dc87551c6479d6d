// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Where minima and maxima of lines are. Half floats have been converted to f32, which holds them all.
#include <upsweep/argmin.hpp>

#include "../call.hpp"
#include "shapes.hpp"

namespace upsweep::runtime {

namespace {

template <class T>
void find_in(const cpu& host, upsweep_op op, const line_layout& lines)
{
    using engine = detail::engine<cpu, detail::verb::argument_lines>;
    const auto typed = lines_as<T, std::int64_t>(lines);
    if (op == UPSWEEP_MINIMUM)
        engine::find<minimum>(host, typed);
    else
        engine::find<maximum>(host, typed);
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
