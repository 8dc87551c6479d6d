// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "array.hpp"
#include "context.hpp"
#include "engine.hpp"

// What the functions of the C ABI that fold have in common.
namespace upsweep::runtime {

// Returns the engine of the CPU for a dtype.
const dtype_engine& engine(upsweep_dtype dtype);

[[noreturn]] void throw_undefined(upsweep_op op, upsweep_dtype dtype);

// Refuses an array of another type than what it is fed to.
void check_same_dtype(const char* call, const elements& in, upsweep_dtype dtype);

// Makes a reduction of elements of a dtype; throws where the operator is not defined for it.
std::unique_ptr<any_reducer> make_reducer_for(const execution& where, upsweep_op op, upsweep_dtype dtype);

// Feeds elements, from whatever memory, to a reducer or a counter.
template <class To>
void feed(const char* call, const execution& where, const elements& in, To& to)
{
    if (where.lies_on_gpu(call, in))
        to.feed_on_gpu(gpu::without_gaps(*where.gpu, in).get());
    else
        for_each_piece(where.host, in, [&](const std::byte* data, std::uint64_t count) { to.feed(data, count); });
}

} // namespace upsweep::runtime
