// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// R14. The operators of a fold, each with its identity. Every kernel of the ladders takes any of them.
#pragma once

#include <limits>

namespace lab {

#define LAB_OPERATOR(name, expression, neutral)                                                                        \
    template <class T>                                                                                                 \
    struct name {                                                                                                      \
        __host__ __device__ T operator()(T a, T b) const { return static_cast<T>(expression); }                        \
        __host__ __device__ static T identity()                                                                        \
        {                                                                                                              \
            constexpr T value = static_cast<T>(neutral);                                                               \
            return value;                                                                                              \
        }                                                                                                              \
    };
LAB_OPERATOR(plus, a + b, 0)
LAB_OPERATOR(multiplies, a* b, 1)
LAB_OPERATOR(minimum, b < a ? b : a, std::numeric_limits<T>::max())
LAB_OPERATOR(maximum, a < b ? b : a, std::numeric_limits<T>::lowest())
LAB_OPERATOR(bit_and, a& b, ~T{})
LAB_OPERATOR(bit_or, a | b, 0)
LAB_OPERATOR(bit_xor, a ^ b, 0)
LAB_OPERATOR(logical_and, a&& b, true)
LAB_OPERATOR(logical_or, a || b, false)
#undef LAB_OPERATOR

// Affine maps x -> a x + b of 16-bit integers, a in the low half of a word and b in the high one, one after the other. This
// is associative and does not commute: a fold is right only if its elements were taken in order.
struct composition {
    __host__ __device__ unsigned operator()(unsigned first, unsigned then) const
    {
        const unsigned a = then & 0xffffu, b = then >> 16;
        return (a * (first & 0xffffu) & 0xffffu) | (a * (first >> 16) + b) << 16;
    }
    __host__ __device__ static unsigned identity() { return 1; }
};

} // namespace lab
