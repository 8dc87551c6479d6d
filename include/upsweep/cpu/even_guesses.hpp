// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include <upsweep/bins.hpp>
#include <upsweep/cpu/vector.hpp>

namespace upsweep::cpu_engine {

// Guesses the bins of a batch of samples, a vector at a time, and tells afterwards whether all guesses are right.
//
// Where nearly all samples are in range, as most are, there is a cheaper way than to compare each with both ends of the
// range and to select the out-of-range bin: with TakenAsInside the guesses are those of the nearest values in range,
// and it is told afterwards whether all samples were such.
template <class E, bool TakenAsInside>
class even_guesses {
    // As many lanes as the vector of samples has, whatever the size of a sample.
    typedef std::int32_t integers __attribute__((vector_size(sizeof(vector_t<E>) / sizeof(E) * sizeof(std::int32_t))));
    using mask = decltype(vector_t<E>{} < vector_t<E>{});

public:
    static constexpr std::size_t lanes = vector_bytes / sizeof(E);

    explicit even_guesses(const detail::even_guess<E>& guess) : guess_(guess) {}

    UPSWEEP_ALWAYS_INLINE void guess(const E* samples, std::int32_t* guesses)
    {
        const vector_t<E> x = load_vector(samples);
        vector_t<E> where;
        if constexpr (TakenAsInside) {
            const vector_t<E> nearest = guess_.nearest_inside(x);
            where = guess_.of_vector_inside(nearest);
            outside_ |= nearest != x;
        } else {
            where = guess_.of_vector(x);
            outside_ |= where >= vector_t<E>{} + static_cast<E>(guess_.bins);
        }
        const integers k = __builtin_convertvector(where, integers);
        std::memcpy(guesses, &k, lanes * sizeof(std::int32_t));
        dropped_ = greater<E>(where - __builtin_convertvector(k, vector_t<E>), dropped_);
    }

    bool all_inside() const
    {
        bool inside = true;
        for (std::size_t lane = 0; lane < lanes; ++lane)
            inside &= outside_[lane] == 0;
        return inside;
    }
    // Whether all guesses are right. Otherwise those of samples inside may be one too low.
    bool certain() const
    {
        bool certain = true;
        for (std::size_t lane = 0; lane < lanes; ++lane)
            certain &= dropped_[lane] < guess_.certain();
        return certain && (!TakenAsInside || all_inside());
    }

private:
    const detail::even_guess<E>& guess_;
    mask outside_{};        // of all samples so far, in each lane
    vector_t<E> dropped_{}; // the most that truncation dropped
};

} // namespace upsweep::cpu_engine
