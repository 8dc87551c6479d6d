// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "view_shapes.hpp"

// The lines of views along their axes, found without the library.
namespace upsweep::test {

// A view's elements in the order of the range, seen as outer x length x inner.
struct split {
    std::size_t outer = 1;
    std::size_t length = 1;
    std::size_t inner = 1;

    std::size_t lines() const { return outer * inner; }
    std::size_t at(std::size_t line, std::size_t i) const { return (line / inner * length + i) * inner + line % inner; }
};
template <std::size_t Rank>
split split_at(const std::array<std::size_t, Rank>& extents, std::size_t axis)
{
    split s;
    for (std::size_t k = 0; k < Rank; ++k)
        (k < axis ? s.outer : k == axis ? s.length : s.inner) *= extents[k];
    return s;
}

template <class T>
host_array<T> line_of(const host_array<T>& elements, const split& s, std::size_t line)
{
    host_array<T> all(s.length);
    for (std::size_t i = 0; i < s.length; ++i)
        all[i] = elements[s.at(line, i)];
    return all;
}

// The shapes of other tests, and some where groups of lines are cut, elements are few or many, and rows fill no vectors.
template <class Target, class F>
void on_every_axis(F f)
{
    const auto each_axis = [&](const auto& s) {
        for (std::size_t k = 0; k < s.extents.size(); ++k) {
            SCOPED_TRACE("axis " + std::to_string(k));
            f(s, k);
        }
    };
    on_every_shape(sampled<Target>(many_elements<cpu> / 8), each_axis);
    constexpr std::size_t many = sampled<Target>(many_elements<cpu> / 10);
    const std::vector<shape<2>> all{{{7, 9001}, {9011, 1}},  {{14, 3001}, {-3001, 1}},       {{many, 5}, {5, 1}},
                                    {{many, 5}, {1, many}},  {{many, 16}, {16, 1}, 1},       {{513, 70}, {80, 1}},
                                    {{1025, 30}, {30, 1}},   {{3, many + 1}, {many + 1, 1}}, {{9, 2049}, {2049, 1}},
                                    {{1111, 17}, {-17, -1}}, {{130, 128}, {128, 1}, 4},      {{130, 128}, {1, 130}}};
    for (const auto& s : all) {
        SCOPED_TRACE(::testing::PrintToString(s));
        each_axis(s);
    }
}

} // namespace upsweep::test
