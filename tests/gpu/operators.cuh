// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <random>

#include <upsweep/op.hpp>

#include "../samples.hpp"

// Monoids that a user may write, and an iterator.
namespace upsweep::test {

// x -> scale x + offset, composed from left to right. 8 bytes.
struct affine {
    float scale = 1;
    float offset = 0;
    bool operator==(const affine&) const = default;
};

struct compose {
    UPSWEEP_HOST_DEVICE affine operator()(affine first, affine then) const
    {
        return {first.scale * then.scale, first.offset * then.scale + then.offset};
    }
};
inline constexpr monoid composition{compose{}, affine{}, ordered};

// 2 x 2 matrices of integers. 16 bytes.
struct matrix {
    std::uint32_t a = 1, b = 0, c = 0, d = 1;
    bool operator==(const matrix&) const = default;
};

struct multiply {
    UPSWEEP_HOST_DEVICE matrix operator()(const matrix& x, const matrix& y) const
    {
        return {x.a * y.a + x.b * y.c, x.a * y.b + x.b * y.d, x.c * y.a + x.d * y.c, x.c * y.b + x.d * y.d};
    }
};
inline constexpr monoid product{multiply{}, matrix{}, ordered};

// An element whose size is no power of two.
template <class Number, int Count>
struct several {
    Number numbers[Count] = {};
    bool operator==(const several&) const = default;
    friend std::ostream& operator<<(std::ostream& out, const several& x)
    {
        for (const Number number : x.numbers)
            out << +number << ' ';
        return out;
    }
};

// The first number that is not zero, the last one, and sums of the others.
struct join_several {
    template <class Number, int Count>
    UPSWEEP_HOST_DEVICE several<Number, Count> operator()(const several<Number, Count>& x,
                                                          const several<Number, Count>& y) const
    {
        several<Number, Count> result = x;
        if (x.numbers[0] == 0)
            result.numbers[0] = y.numbers[0];
        for (int k = 1; k + 1 < Count; ++k)
            result.numbers[k] = static_cast<Number>(x.numbers[k] + y.numbers[k]);
        if (y.numbers[Count - 1] != 0)
            result.numbers[Count - 1] = y.numbers[Count - 1];
        return result;
    }
};
template <class Number, int Count>
inline constexpr monoid joining{join_several{}, several<Number, Count>{}, ordered};

template <>
inline affine random_value<affine>(std::mt19937_64& random)
{
    return {static_cast<float>(random() % 2000) * 0.001F, static_cast<float>(random() % 1000) * 0.01F};
}
template <>
inline matrix random_value<matrix>(std::mt19937_64& random)
{
    const auto word = [&] { return static_cast<std::uint32_t>(random() >> 9); };
    return {word(), word(), word(), word()};
}

inline std::ostream& operator<<(std::ostream& out, const affine& x) { return out << x.scale << " x + " << x.offset; }
inline std::ostream& operator<<(std::ostream& out, const matrix& x)
{
    return out << '(' << x.a << ' ' << x.b << "; " << x.c << ' ' << x.d << ')';
}

// 0, 1, 4, 9, ...
class squares {
public:
    using iterator_category = std::random_access_iterator_tag;
    using value_type = std::uint64_t;
    using difference_type = std::ptrdiff_t;
    using reference = std::uint64_t;
    using pointer = void;

    squares() = default;
    UPSWEEP_HOST_DEVICE explicit squares(std::uint64_t at) : at_(at) {}
    UPSWEEP_HOST_DEVICE std::uint64_t operator*() const { return at_ * at_; }
    UPSWEEP_HOST_DEVICE std::uint64_t operator[](difference_type n) const { return *(*this + n); }
    UPSWEEP_HOST_DEVICE squares& operator+=(difference_type n) { return at_ += static_cast<std::uint64_t>(n), *this; }
    UPSWEEP_HOST_DEVICE squares& operator-=(difference_type n) { return *this += -n; }
    UPSWEEP_HOST_DEVICE squares& operator++() { return *this += 1; }
    UPSWEEP_HOST_DEVICE squares& operator--() { return *this += -1; }
    UPSWEEP_HOST_DEVICE squares operator++(int) { return ++at_, squares(at_ - 1); }
    UPSWEEP_HOST_DEVICE squares operator--(int) { return --at_, squares(at_ + 1); }
    UPSWEEP_HOST_DEVICE friend squares operator+(squares it, difference_type n) { return it += n; }
    UPSWEEP_HOST_DEVICE friend squares operator+(difference_type n, squares it) { return it += n; }
    UPSWEEP_HOST_DEVICE friend squares operator-(squares it, difference_type n) { return it -= n; }
    UPSWEEP_HOST_DEVICE friend difference_type operator-(squares a, squares b)
    {
        return static_cast<difference_type>(a.at_ - b.at_);
    }
    auto operator<=>(const squares&) const = default;

private:
    std::uint64_t at_ = 0;
};

// What clang 14 cannot make a std::ranges::subrange of.
struct square_range {
    squares first, last;
    squares begin() const { return first; }
    squares end() const { return last; }
};

} // namespace upsweep::test
