// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "folds.cuh"

namespace {

// x -> max(x + a, b)
struct alignas(8) clamped_shift {
    float a, b;

    static __device__ clamped_shift random(std::uint64_t one, std::uint64_t other)
    {
        return {bench::small_float(one), bench::small_float(other)};
    }
};

struct compose {
    __host__ __device__ clamped_shift operator()(const clamped_shift& first, const clamped_shift& then) const
    {
        return {first.a + then.a, upsweep::maximum{}(first.b + then.a, then.b)};
    }
};

} // namespace

void bench::measure_max_plus(session& run)
{
    measure_operator(run, "max-plus", compose{}, clamped_shift{-0.0f, -std::numeric_limits<float>::infinity()});
}
