// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "sample_range.hpp"

#include <cmath>
#include <limits>

#include <fmt/core.h>
#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/parallel_reduce.h>

#include "../runtime/element_type.hpp"
#include "failure.hpp"

namespace upsweep::cli {

namespace {

// Empty where lo > hi. A fold of the library would give NaN if any sample were; here NaN is passed over, as every
// comparison with it is false.
template <class Number>
struct extremes {
    Number lo = std::numeric_limits<Number>::has_infinity ? std::numeric_limits<Number>::infinity()
                                                          : std::numeric_limits<Number>::max();
    Number hi = std::numeric_limits<Number>::has_infinity ? -std::numeric_limits<Number>::infinity()
                                                          : std::numeric_limits<Number>::lowest();

    void add(Number value)
    {
        lo = value < lo ? value : lo;
        hi = value > hi ? value : hi;
    }
};

template <class T>
sample_range extremes_of(const void* elements, std::uint64_t count)
{
    using number = std::conditional_t<sub_word_float<T>, float, T>;
    namespace tbb = oneapi::tbb;
    constexpr std::size_t grain = 65536;
    const T* const typed = static_cast<const T*>(elements);
    const auto found = tbb::parallel_reduce(
        tbb::blocked_range<std::size_t>(0, count, grain), extremes<number>{},
        [&](const auto& piece, extremes<number> sum) {
            for (std::size_t i = piece.begin(); i < piece.end(); ++i)
                sum.add(convert<number>(typed[i]));
            return sum;
        },
        [](extremes<number> a, const extremes<number>& b) {
            a.add(b.lo);
            a.add(b.hi);
            return a;
        });
    return {static_cast<double>(found.lo), static_cast<double>(found.hi)};
}

// In the type of the edges, since GCC 12 at -O2 leaves out a conversion of two bounds to float and back.
template <class Float>
sample_range half_unit_around(Float value)
{
    constexpr Float half = 0.5;
    return {value - half, value + half};
}

} // namespace

sample_range find_sample_range(const inputs& in)
{
    constexpr double infinity = std::numeric_limits<double>::infinity();
    sample_range range{infinity, -infinity};
    in.stream([&](const input_chunk& chunk) {
        if (chunk.count == 0)
            return;
        const sample_range found = runtime::with_type(
            in.dtype(), [&]<class T>(std::type_identity<T>) { return extremes_of<T>(chunk.elements, chunk.count); });
        if (found.lo == -infinity || found.hi == infinity)
            throw failure(chunk.file + ": infinite samples leave no range for the bins; give --range LO:HI");
        range.lo = std::min(range.lo, found.lo);
        range.hi = std::max(range.hi, found.hi);
    });
    if (range.lo > range.hi)
        throw failure(in.name() + ": no samples to take a range from; give --range LO:HI");
    if (range.lo != range.hi)
        return range;
    const sample_range wider =
        is_narrow_float(in.dtype()) ? half_unit_around(static_cast<float>(range.lo)) : half_unit_around(range.lo);
    if (wider.lo == wider.hi)
        throw failure(
            fmt::format("{}: all samples are {}, where half a unit to either side is less than a rounding; give "
                        "--range LO:HI",
                        in.name(), range.lo));
    return wider;
}

} // namespace upsweep::cli
