// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "folds.cuh"

namespace {

// a b
// c d
struct alignas(16) matrix {
    float a, b, c, d;

    // A rotation, so that products of many neither overflow nor vanish. None has a zero, of which the identity could change
    // the sign.
    static __device__ matrix random(std::uint64_t one, std::uint64_t)
    {
        const float sine = bench::small_float(one);
        const float cosine = sqrtf(1.0f - sine * sine);
        return {cosine, -sine, sine, cosine};
    }
};

struct multiply {
    __host__ __device__ matrix operator()(const matrix& x, const matrix& y) const
    {
        return {x.a * y.a + x.b * y.c, x.a * y.b + x.b * y.d, x.c * y.a + x.d * y.c, x.c * y.b + x.d * y.d};
    }
};

} // namespace

void bench::measure_matrices(session& run) { measure_operator(run, "2x2", multiply{}, matrix{1.0f, 0.0f, 0.0f, 1.0f}); }
