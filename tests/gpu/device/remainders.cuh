// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <ranges>

#include <upsweep/qualifiers.hpp>

namespace upsweep::test {

// i * 7919 modulo a number that has no factor in common with it: each remainder comes once in so many samples, of which
// there are as many as one likes, in no memory.
template <class T = std::uint32_t>
class remainders {
public:
    using iterator_category = std::random_access_iterator_tag;
    using value_type = T;
    using difference_type = std::ptrdiff_t;
    using reference = T;
    using pointer = void;

    remainders() = default;
    remainders(std::uint64_t at, std::uint32_t modulus) : at_(at), modulus_(modulus) {}
    UPSWEEP_HOST_DEVICE T operator*() const { return static_cast<T>(at_ % modulus_ * 7919 % modulus_); }
    UPSWEEP_HOST_DEVICE T operator[](difference_type n) const { return *(*this + n); }
    UPSWEEP_HOST_DEVICE remainders& operator+=(difference_type n)
    {
        return at_ += static_cast<std::uint64_t>(n), *this;
    }
    UPSWEEP_HOST_DEVICE remainders& operator-=(difference_type n) { return *this += -n; }
    UPSWEEP_HOST_DEVICE remainders& operator++() { return *this += 1; }
    UPSWEEP_HOST_DEVICE remainders& operator--() { return *this += -1; }
    UPSWEEP_HOST_DEVICE remainders operator++(int) { return ++*this, *this - 1; }
    UPSWEEP_HOST_DEVICE remainders operator--(int) { return --*this, *this + 1; }
    UPSWEEP_HOST_DEVICE friend remainders operator+(remainders it, difference_type n) { return it += n; }
    UPSWEEP_HOST_DEVICE friend remainders operator+(difference_type n, remainders it) { return it += n; }
    UPSWEEP_HOST_DEVICE friend remainders operator-(remainders it, difference_type n) { return it -= n; }
    UPSWEEP_HOST_DEVICE friend difference_type operator-(remainders a, remainders b)
    {
        return static_cast<difference_type>(a.at_ - b.at_);
    }
    auto operator<=>(const remainders&) const = default;

private:
    std::uint64_t at_ = 0;
    std::uint32_t modulus_ = 1;
};

// The first `count` of them.
template <class T = std::uint32_t>
auto remainder_range(std::uint64_t count, std::uint32_t modulus)
{
    return std::ranges::subrange(remainders<T>(0, modulus), remainders<T>(count, modulus));
}

} // namespace upsweep::test
