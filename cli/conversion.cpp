// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "conversion.hpp"

#include <algorithm>
#include <cstring>

#include <fmt/core.h>
#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/parallel_for.h>

#include "../runtime/element_type.hpp"
#include "overflow.hpp"
#include "runtime_call.hpp"

namespace upsweep::cli {

namespace {

bool is_floating(upsweep_dtype dtype) { return dtype >= UPSWEEP_F16; }

void convert_elements(upsweep_dtype from, const void* in, upsweep_dtype to, void* out, std::uint64_t count)
{
    runtime::with_type(from, [&]<class From>(std::type_identity<From>) {
        runtime::with_type(to, [&]<class To>(std::type_identity<To>) {
            const auto* const source = static_cast<const From*>(in);
            auto* const target = static_cast<To*>(out);
            if constexpr (std::is_same_v<To, bool> || std::is_integral_v<From> || !std::is_integral_v<To>)
                std::transform(source, source + count, target, [](From value) { return convert<To>(value); });
        });
    });
}

} // namespace

upsweep_dtype folded_dtype(upsweep_op op, upsweep_dtype in, upsweep_dtype out, const std::string& name)
{
    upsweep_dtype result{};
    check(upsweep_reduce_dtype(op, in, &result), name);
    check(upsweep_reduce_dtype(op, out, &result), name);
    if (is_floating(in) && !is_floating(out) && out != UPSWEEP_BOOL)
        throw failure(fmt::format("{}: a result of type {} cannot hold elements of type {}; choose a floating-point "
                                  "type for the result",
                                  name, upsweep_dtype_name(out), upsweep_dtype_name(in)));
    if (op == UPSWEEP_LOGICAL_AND || op == UPSWEEP_LOGICAL_OR)
        return in; // every type is folded as bool
    return out == UPSWEEP_F16 || out == UPSWEEP_BF16 ? UPSWEEP_F32 : out;
}

void element_converter::operator()(const input_chunk& chunk, const sink& take)
{
    if (from_ == to_)
        return take(chunk.elements, chunk.count);
    if (!wraps_)
        check_elements_fit(chunk, from_, to_);
    // What is converted stays in the caches until it is folded.
    constexpr std::uint64_t most = std::uint64_t{1} << 18;
    constexpr std::uint64_t grain = 8192;
    const std::uint64_t from_size = upsweep_dtype_size(from_);
    const std::uint64_t to_size = upsweep_dtype_size(to_);
    converted_.resize(most);
    auto* const converted = reinterpret_cast<char*>(converted_.data());
    for (std::uint64_t done = 0; done < chunk.count; done += most) {
        const std::uint64_t size = std::min(most, chunk.count - done);
        const char* const piece = static_cast<const char*>(chunk.elements) + done * from_size;
        oneapi::tbb::parallel_for(oneapi::tbb::blocked_range<std::uint64_t>(0, size, grain), [&](const auto& part) {
            convert_elements(from_, piece + part.begin() * from_size, to_, converted + part.begin() * to_size,
                             part.size());
        });
        take(converted, size);
    }
}

void convert_value(upsweep_dtype from, const void* in, upsweep_dtype to, void* out)
{
    scalar value{};
    std::memcpy(&value, in, upsweep_dtype_size(from));
    convert_elements(from, &value, to, out, 1);
}

} // namespace upsweep::cli
