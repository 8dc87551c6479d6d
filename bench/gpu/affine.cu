// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "folds.cuh"

namespace {

// x -> a x + b
struct alignas(8) affine {
    float a, b;

    static __device__ affine random(std::uint64_t one, std::uint64_t other)
    {
        return {0.75f + bench::small_float(one), bench::small_float(other)};
    }
};

struct compose {
    __host__ __device__ affine operator()(const affine& first, const affine& then) const
    {
        return {then.a * first.a, then.a * first.b + then.b};
    }
};

} // namespace

void bench::measure_affine(session& run) { measure_operator(run, "affine", compose{}, affine{1.0f, -0.0f}); }
