// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstdint>
#include <span>
#include <string_view>

#include <upsweep/runtime.h>
#include <upsweep/types.hpp>

namespace bench {

// SplitMix64: fast, and the same numbers on every machine.
class random_numbers {
public:
    std::uint64_t next()
    {
        std::uint64_t z = (state_ += 0x9e3779b97f4a7c15U);
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
        return z ^ (z >> 31);
    }
    // In (0, 1).
    double uniform() { return (static_cast<double>(next() >> 11) + 0.5) * 0x1p-53; }

private:
    std::uint64_t state_ = 42;
};

// Elements whose sum depends on the order of the additions, and on each of them: mixed signs and magnitudes, no zeros.
template <class T>
void fill_for_folds(std::span<T> elements)
{
    random_numbers random;
    for (T& element : elements) {
        if constexpr (std::integral<T>) {
            element = static_cast<T>(random.next() | 1);
        } else {
            const double value = (2 * random.uniform() - 1) * static_cast<double>(1U << (random.next() & 7));
            if constexpr (std::floating_point<T>)
                element = static_cast<T>(value);
            else
                element = static_cast<float>(value);
        }
    }
}

struct type_names {
    std::string_view ours;
    std::string_view numpy; // empty where NumPy has no such type
    upsweep_dtype dtype;
};

template <class T>
constexpr type_names names_of()
{
    if constexpr (std::same_as<T, std::int8_t>)
        return {"i8", "i1", UPSWEEP_I8};
    else if constexpr (std::same_as<T, std::uint8_t>)
        return {"u8", "u1", UPSWEEP_U8};
    else if constexpr (std::same_as<T, std::int16_t>)
        return {"i16", "i2", UPSWEEP_I16};
    else if constexpr (std::same_as<T, std::uint16_t>)
        return {"u16", "u2", UPSWEEP_U16};
    else if constexpr (std::same_as<T, std::int32_t>)
        return {"i32", "i4", UPSWEEP_I32};
    else if constexpr (std::same_as<T, std::int64_t>)
        return {"i64", "i8", UPSWEEP_I64};
    else if constexpr (std::same_as<T, upsweep::f16>)
        return {"f16", "f2", UPSWEEP_F16};
    else if constexpr (std::same_as<T, upsweep::bf16>)
        return {"bf16", "", UPSWEEP_BF16};
    else if constexpr (std::same_as<T, float>)
        return {"f32", "f4", UPSWEEP_F32};
    else
        return {"f64", "f8", UPSWEEP_F64};
}

} // namespace bench
