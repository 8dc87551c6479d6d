// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include <upsweep/qualifiers.hpp>

// The canonical order (docs/fold-order.md), which every engine follows:
//
//   total(one element)        = the element
//   total(aligned 2^k block)  = total(its left half) (+) total(its right half)
//   fold(m)                   = the totals of the aligned blocks that the binary digits of m cut the first m elements
//                               into, largest first, combined from left to right
//   reduce = fold(n)    inclusive_scan[i] = fold(i + 1)    exclusive_scan[i] = fold(i)
//
// It is the tree of Blelloch's scan (1990): totals are its up-sweep, folds its down-sweep. It depends on the count
// alone, so tiles, warps, vectors, threads and devices of any power-of-two size give the same bits.
namespace upsweep {

// Whether the result at an element includes the element.
enum class scan_kind { inclusive, exclusive };

// Holds the elements seen so far as the totals of their aligned blocks. It is a binary counter: where digit k of the
// count is one, it has the total of a block of 2^k elements, and pushing a block carries as adding to a counter does.
template <class T, class Op>
class fold_stack {
public:
    UPSWEEP_HOST_DEVICE explicit constexpr fold_stack(Op op) : op_(op) {}

    UPSWEEP_HOST_DEVICE constexpr std::uint64_t count() const { return count_; }

    // Appends a block of 2^level elements by its total. The count must be a multiple of 2^level. The amortised cost is
    // one (+).
    UPSWEEP_HOST_DEVICE constexpr void push(T total, int level)
    {
        const int full = std::countr_one(count_ >> level); // how many digits the carry runs through
        for (int k = level; k < level + full; ++k)
            total = op_(totals_[static_cast<std::size_t>(k)], total);
        totals_[static_cast<std::size_t>(level + full)] = total;
        count_ += std::uint64_t{1} << level;
    }

    // Returns before (+) fold(count), combined from left to right, by at most 64 (+), one for each digit of the count.
    UPSWEEP_HOST_DEVICE constexpr T fold_after(T before) const
    {
        for (std::uint64_t digits = count_; digits != 0;) {
            const int k = std::bit_width(digits) - 1;
            before = op_(before, totals_[static_cast<std::size_t>(k)]);
            digits ^= std::uint64_t{1} << k;
        }
        return before;
    }

    // Returns fold(count), or the identity where nothing has been pushed.
    UPSWEEP_HOST_DEVICE constexpr T fold() const { return fold_after(op_.template identity<T>()); }

private:
    Op op_;
    std::uint64_t count_ = 0;
    std::array<T, 64> totals_; // totals_[k] is set where digit k of the count is one
};

} // namespace upsweep
