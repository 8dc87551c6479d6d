// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

// Whether elements that lie apart share memory: those of one array with one another, or those of two arrays. Intervals
// of addresses do not tell, since the even columns of an image and the odd ones lie between one another.
namespace upsweep::detail {

// Elements `step` apart along one dimension, `most` + 1 of them.
struct dimension {
    std::int64_t step;
    std::int64_t most;
};

// Whether some sum of x_k * step_k with 0 <= x_k <= most_k is in [low, high]; the steps are positive and descend. Of
// most shapes, at most two x_k come into question in each dimension. Where very many would have to be tried, the answer
// is yes.
class sum_search {
public:
    bool finds(std::span<const dimension> dimensions, std::int64_t low, std::int64_t high)
    {
        std::int64_t reach = 0;
        for (const dimension& each : dimensions)
            reach += each.step * each.most;
        return finds(dimensions, low, high, reach);
    }

private:
    bool finds(std::span<const dimension> dimensions, std::int64_t low, std::int64_t high, std::int64_t reach)
    {
        if (high < 0 || low > reach)
            return false;
        if (dimensions.empty() || --budget_ < 0)
            return true; // no dimensions have the sum 0, which is in [low, high] here
        const dimension& first = dimensions.front();
        const std::int64_t rest = reach - first.step * first.most; // the largest sum of the other dimensions
        const std::int64_t least = low > rest ? (low - rest + first.step - 1) / first.step : 0;
        const std::int64_t most = std::min(first.most, high / first.step);
        for (std::int64_t x = least; x <= most; ++x)
            if (finds(dimensions.subspan(1), low - x * first.step, high - x * first.step, rest))
                return true;
        return false;
    }

    int budget_ = 100000;
};

// Puts the steps into descending order, and dimensions of equal steps together. Returns how many there are then.
inline std::size_t sort_dimensions(std::span<dimension> dimensions)
{
    std::sort(dimensions.begin(), dimensions.end(),
              [](const dimension& a, const dimension& b) { return a.step > b.step; });
    std::size_t count = 0;
    for (const dimension& each : dimensions) {
        if (each.most == 0 || each.step == 0)
            continue;
        if (count != 0 && dimensions[count - 1].step == each.step)
            dimensions[count - 1].most += each.most;
        else
            dimensions[count++] = each;
    }
    return count;
}

// Where elements lie: `size` bytes each, the lowest of them at `lowest`; the steps are those between neighbours, in
// bytes and without their sign.
template <std::size_t Rank>
struct footprint {
    std::uintptr_t lowest;
    std::int64_t size;
    std::array<dimension, Rank> dimensions;

    // From the lowest element to the highest.
    std::int64_t reach() const
    {
        std::int64_t sum = 0;
        for (const dimension& each : dimensions)
            sum += each.step * each.most;
        return sum;
    }
};

// Whether two elements of an array lie at the same place. The differences of two elements' indices are tried: in
// dimension k, the first in which they differ, 1 to most_k, and -most_j to most_j in the dimensions behind it.
template <std::size_t Rank>
bool overlaps_itself(const footprint<Rank>& elements)
{
    for (std::size_t k = 0; k < Rank; ++k) {
        const dimension& first = elements.dimensions[k];
        if (first.most == 0)
            continue;
        if (first.step == 0)
            return true;
        std::array<dimension, Rank> differences = elements.dimensions;
        std::int64_t zero = -first.step; // the sum of steps at which the elements' addresses are equal
        for (std::size_t j = 0; j < Rank; ++j) {
            differences[j].most = j < k ? 0 : j == k ? first.most - 1 : 2 * differences[j].most;
            zero += j > k ? elements.dimensions[j].step * elements.dimensions[j].most : 0;
        }
        const std::size_t count = sort_dimensions(differences);
        if (sum_search().finds(std::span(differences).first(count), zero, zero))
            return true;
    }
    return false;
}

// Whether an element of one array and an element of another have a byte in common.
template <std::size_t A, std::size_t B>
bool overlap(const footprint<A>& a, const footprint<B>& b)
{
    // The address of an element of b is, relative to the highest of a, below + a sum of steps of both.
    const std::int64_t below = static_cast<std::int64_t>(b.lowest) - (static_cast<std::int64_t>(a.lowest) + a.reach());
    std::array<dimension, A + B> both;
    std::copy(a.dimensions.begin(), a.dimensions.end(), both.begin());
    std::copy(b.dimensions.begin(), b.dimensions.end(), both.begin() + A);
    const std::size_t count = sort_dimensions(both);
    return sum_search().finds(std::span(both).first(count), 1 - b.size - below, a.size - 1 - below);
}

} // namespace upsweep::detail
