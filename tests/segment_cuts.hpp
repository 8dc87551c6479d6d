// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "samples.hpp"
#include "targets.hpp"
#include "view_shapes.hpp"

// Segments of every mix of lengths.
namespace upsweep::test {

template <class Offset>
struct cut_array {
    std::string name;
    std::vector<Offset> offsets;
    std::size_t elements; // of the array, which may end behind the last segment
};

// Empty segments, one giant, very many tiny ones, lengths by a power law, and equal ones. `many` keeps all threads busy.
template <class Offset>
std::vector<cut_array<Offset>> cut_arrays(std::mt19937_64& random, std::size_t many)
{
    std::vector<cut_array<Offset>> all;
    const auto add = [&](const std::string& name, std::size_t first, std::size_t behind, std::size_t count,
                         auto length) {
        cut_array<Offset> cut{name, {static_cast<Offset>(first)}, first};
        for (std::size_t k = 0; k < count; ++k)
            cut.offsets.push_back(static_cast<Offset>(cut.elements += length(k)));
        cut.elements += behind;
        all.push_back(std::move(cut));
    };
    add("no segments", 3, 4, 0, [](std::size_t) { return 0; });
    add("one empty segment", 0, 0, 1, [](std::size_t) { return 0; });
    add("one segment", 0, 0, 1, [](std::size_t) { return 100; });
    add("empty ones", 5, 5, many / 20, [](std::size_t) { return 0; });
    add("one or two elements", 1, 0, many / 4, [](std::size_t k) { return 1 + k % 2; });
    add("every short length", 7, 2, 150, [](std::size_t k) { return k; });
    add("random short lengths", 0, 9, many / 16, [&](std::size_t) { return random() % 33; });
    add("equal lengths", 0, 0, 40, [](std::size_t) { return 77; });
    add("a power law", 2, 0, many / 100, [&](std::size_t) { return many / 20 / (1 + random() % (many / 20)); });
    add("one giant among tiny ones", 0, 1, 1000, [&](std::size_t k) { return k == 500 ? 2 * many + 3 : k % 3; });
    return all;
}

template <class Target, class Offset, class F>
void on_every_cut(F f)
{
    auto random = generator();
    for (const auto& cut : cut_arrays<Offset>(random, many_elements<Target>)) {
        SCOPED_TRACE(cut.name);
        f(cut, random);
    }
}

} // namespace upsweep::test
