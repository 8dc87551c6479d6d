// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "segment_lengths.hpp"

#include <algorithm>
#include <functional>
#include <random>
#include <stdexcept>
#include <utility>

namespace bench {

namespace {

using length_of_next = std::function<std::size_t(std::mt19937_64&)>;

length_of_next always(std::size_t length)
{
    return [=](std::mt19937_64&) { return length; };
}

length_of_next up_to(std::size_t most)
{
    return [=](std::mt19937_64& random) { return static_cast<std::size_t>(random() % (most + 1)); };
}

double uniform(std::mt19937_64& random) { return static_cast<double>(random() >> 11) * 0x1p-53; }

std::size_t by_power_law(std::mt19937_64& random)
{
    return static_cast<std::size_t>(std::min(1e7, 1 / std::max(uniform(random), 1e-7)));
}

const std::vector<std::pair<std::string, length_of_next>>& all()
{
    static const std::vector<std::pair<std::string, length_of_next>> lengths{{"1", always(1)},
                                                                             {"2", always(2)},
                                                                             {"8", always(8)},
                                                                             {"64", always(64)},
                                                                             {"300", always(300)},
                                                                             {"4096", always(4096)},
                                                                             {"1000000", always(1000000)},
                                                                             {"0 to 32", up_to(32)},
                                                                             {"0 to 1000", up_to(1000)},
                                                                             {"0 to 4096", up_to(4096)},
                                                                             {"a power law", by_power_law}};
    return lengths;
}

} // namespace

const std::vector<std::string>& segment_lengths()
{
    static const std::vector<std::string> names = [] {
        std::vector<std::string> found;
        for (const auto& [name, length] : all())
            found.push_back(name);
        return found;
    }();
    return names;
}

std::vector<std::int64_t> offsets_of(std::size_t n, const std::string& lengths)
{
    const auto found = std::ranges::find(all(), lengths, [](const auto& entry) { return entry.first; });
    if (found == all().end())
        throw std::logic_error("no lengths of segments are called " + lengths);
    std::mt19937_64 random(7);
    std::vector<std::int64_t> offsets{0};
    while (offsets.back() < static_cast<std::int64_t>(n))
        offsets.push_back(
            std::min(static_cast<std::int64_t>(n), offsets.back() + static_cast<std::int64_t>(found->second(random))));
    return offsets;
}

std::size_t segments_within(std::size_t elements, const std::vector<std::int64_t>& offsets)
{
    const auto end = std::upper_bound(offsets.begin(), offsets.end(), static_cast<std::int64_t>(elements));
    return static_cast<std::size_t>(end - offsets.begin()) - 1;
}

} // namespace bench
