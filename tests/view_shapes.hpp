// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <ostream>
#include <random>
#include <span>
#include <vector>

#include <gtest/gtest.h>
#include <upsweep/op.hpp>
#include <upsweep/view.hpp>

#include "expected.hpp"
#include "samples.hpp"
#include "targets.hpp"

// Shapes of views, and arrays in which views of these shapes lie. What the tests expect is found without the library:
// the offsets of the elements are listed one by one.
namespace upsweep::test {

template <std::size_t Rank>
struct shape {
    std::array<std::size_t, Rank> extents;
    std::array<std::ptrdiff_t, Rank> strides;
    std::size_t misplaced = 0; // elements before the lowest one

    friend std::ostream& operator<<(std::ostream& out, const shape& s)
    {
        for (std::size_t k = 0; k < Rank; ++k)
            out << (k == 0 ? "" : " x ") << s.extents[k] << " (stride " << s.strides[k] << ")";
        return out << ", " << s.misplaced << " before";
    }
};

// The offsets of the elements from that with all indices zero, the last index fastest.
template <std::size_t Rank>
std::vector<std::ptrdiff_t> offsets_of(const shape<Rank>& s)
{
    std::vector<std::ptrdiff_t> offsets{0};
    for (std::size_t k = 0; k < Rank; ++k) {
        std::vector<std::ptrdiff_t> longer;
        for (const std::ptrdiff_t offset : offsets)
            for (std::size_t i = 0; i < s.extents[k]; ++i)
                longer.push_back(offset + static_cast<std::ptrdiff_t>(i) * s.strides[k]);
        offsets = std::move(longer);
    }
    return offsets;
}

// Memory of a target with the elements of a view and some around them, of random values.
template <class Target, class T, std::size_t Rank>
class viewed_array {
public:
    viewed_array(const shape<Rank>& s, std::mt19937_64& random)
        : shape_(s), offsets_(offsets_of(s)), origin_(origin_of(s, offsets_)),
          before_(random_array<T>(random, origin_ + highest(offsets_) + 4)), memory_(before_.span())
    {
    }

    view<T, Rank> writable() { return {memory_.span().data() + origin_, shape_.extents, shape_.strides}; }
    view<const T, Rank> readable() const
    {
        return {memory_.const_span().data() + origin_, shape_.extents, shape_.strides};
    }
    std::size_t size() const { return offsets_.size(); }

    // The elements of the view side by side, before anything was written.
    host_array<T> elements() const { return gathered(before_); }

    // What was written to the elements of the view; nothing else may have been.
    host_array<T> written() const
    {
        const host_array<T> now = memory_.to_host();
        host_array<T> expected = before_;
        for (const std::ptrdiff_t offset : offsets_)
            expected[at(offset)] = now[at(offset)];
        EXPECT_TRUE(bits_equal(now, expected)) << "written beside the view";
        return gathered(now);
    }

private:
    static std::size_t origin_of(const shape<Rank>& s, const std::vector<std::ptrdiff_t>& offsets)
    {
        const std::ptrdiff_t lowest = offsets.empty() ? 0 : *std::ranges::min_element(offsets);
        return s.misplaced + static_cast<std::size_t>(-lowest);
    }
    static std::size_t highest(const std::vector<std::ptrdiff_t>& offsets)
    {
        return offsets.empty()
                   ? 0
                   : static_cast<std::size_t>(std::max<std::ptrdiff_t>(*std::ranges::max_element(offsets), 0));
    }
    std::size_t at(std::ptrdiff_t offset) const
    {
        return static_cast<std::size_t>(static_cast<std::ptrdiff_t>(origin_) + offset);
    }
    host_array<T> gathered(const host_array<T>& memory) const
    {
        host_array<T> all(offsets_.size());
        for (std::size_t i = 0; i < all.size(); ++i)
            all[i] = memory[at(offsets_[i])];
        return all;
    }

    shape<Rank> shape_;
    std::vector<std::ptrdiff_t> offsets_;
    std::size_t origin_;
    host_array<T> before_;
    target_array<Target, T> memory_;
};

// Whole and padded rows, aligned as vectors are and not, transposed, reversed and broadcast ones, extents 0 and 1, and
// as many elements as tiles have, one more and one less. `many` is what makes a large kernel busy.
inline std::vector<shape<1>> shapes_of_rank_1(std::size_t many)
{
    std::vector<shape<1>> all{{{0}, {1}}, {{1}, {5}}, {{17}, {1}}, {{33}, {-1}}, {{1000}, {3}, 1}, {{300}, {0}}};
    for (const std::size_t n : {std::size_t{4095}, std::size_t{4096}, std::size_t{4097}, many})
        all.push_back({{n}, {n % 2 == 0 ? -2 : 2}, n % 3});
    for (const std::ptrdiff_t stride : {2, 3, 4, 5})
        all.push_back({{many + 1}, {stride}, static_cast<std::size_t>(2 * stride + 1)});
    return all;
}
inline std::vector<shape<2>> shapes_of_rank_2(std::size_t many)
{
    return {
        {{3, 0}, {4, 1}},
        {{0, 3}, {4, 1}},
        {{1, 1}, {9, 7}},
        {{5, 7}, {7, 1}},       // without gaps
        {{5, 7}, {7, 1}, 1},    // the same, misplaced
        {{31, 64}, {80, 1}},    // padded: vectors
        {{31, 64}, {80, 1}, 1}, // misplaced, no vectors
        {{31, 64}, {77, 1}},    // rows that are placed in turns
        {{64, 31}, {1, 64}},    // transposed
        {{64, 31}, {1, 65}, 3}, // transposed and padded
        {{40, 50}, {-50, -1}},  // reversed
        {{40, 48}, {-64, 1}},   // bottom row first: vectors
        {{100, 64}, {0, 1}},    // the same row again
        {{700, 3}, {1, 0}},     // each element three times
        {{1500, 3}, {4, 1}, 2}, // short rows
        {{1, 200}, {1000, 2}},  // one row
        {{many / 96 + 1, 96}, {96, 1}},
        {{many / 96 + 1, 96}, {100, 1}},
        {{many / 96 + 1, 95}, {1, static_cast<std::ptrdiff_t>(many / 96 + 3)}, 1},
    };
}
inline std::vector<shape<3>> shapes_of_rank_3()
{
    return {
        {{4, 5, 6}, {30, 6, 1}}, {{4, 5, 6}, {1, 4, 20}},    {{2, 0, 3}, {3, 3, 1}},   {{9, 16, 32}, {16 * 40, 40, 1}},
        {{7, 1, 9}, {11, 5, 1}}, {{6, 12, 3}, {3, -18, 1}},  {{20, 30, 7}, {0, 7, 1}}, {{17, 9, 33}, {-400, 40, -1}, 1},
        {{5, 8, 8}, {64, 8, 1}}, {{10, 20, 50}, {1, 0, 12}},
    };
}
inline std::vector<shape<4>> shapes_of_rank_4()
{
    return {
        {{2, 3, 4, 5}, {60, 20, 5, 1}},
        {{5, 4, 3, 2}, {1, 5, 20, 60}},
        {{8, 6, 4, 16}, {6 * 4 * 20, 4 * 20, 20, 1}},
        {{3, 1, 7, 64}, {7 * 64, 12345, -64, 1}},
        {{4, 5, 0, 6}, {1, 1, 1, 1}},
        {{6, 7, 8, 9}, {9, 0, 600, -1}, 2},
        {{1, 1, 1, 1}, {0, 0, 0, 0}},
    };
}

// x -> scale x + offset modulo 2^32, composed from left to right: the order shows, and nothing overflows, however often
// a view repeats an element.
struct wrapping_map {
    std::uint32_t scale = 1;
    std::uint32_t offset = 0;

    bool operator==(const wrapping_map&) const = default;
    friend std::ostream& operator<<(std::ostream& out, const wrapping_map& map)
    {
        return out << map.scale << " x + " << map.offset;
    }
};
struct compose_wrapping {
    UPSWEEP_HOST_DEVICE wrapping_map operator()(wrapping_map first, wrapping_map then) const
    {
        return {first.scale * then.scale, first.offset * then.scale + then.offset};
    }
};
inline constexpr monoid wrapping_composition{compose_wrapping{}, wrapping_map{}, ordered};

template <>
inline wrapping_map random_value<wrapping_map>(std::mt19937_64& random)
{
    return {static_cast<std::uint32_t>(random()), static_cast<std::uint32_t>(random())};
}

// Calls f(shape) for all of them; a failure names it.
template <class F>
void on_every_shape(std::size_t many, F f)
{
    const auto each = [&](const auto& shapes) {
        for (const auto& s : shapes) {
            SCOPED_TRACE(::testing::PrintToString(s));
            f(s);
        }
    };
    each(shapes_of_rank_1(many));
    each(shapes_of_rank_2(many));
    each(shapes_of_rank_3());
    each(shapes_of_rank_4());
}

// Whether each element has a place of its own, as an output's must.
template <std::size_t Rank>
bool has_distinct_elements(const shape<Rank>& s)
{
    std::vector<std::ptrdiff_t> offsets = offsets_of(s);
    std::ranges::sort(offsets);
    return std::ranges::adjacent_find(offsets) == offsets.end();
}

// How many elements make every kernel of a target take its part.
template <class Target>
inline constexpr std::size_t many_elements = 200003;
#ifdef __CUDACC__
template <>
inline constexpr std::size_t many_elements<cuda> = 40001; // which the simulator reads one by one
#endif

} // namespace upsweep::test
