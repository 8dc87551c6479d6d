// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Strings laid end to end: an exclusive scan of their lengths tells where each one begins.
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include <upsweep/upsweep.hpp>

namespace up = upsweep;

int main()
{
    const std::vector<std::string_view> words = {"the", "up-sweep", "is", "half", "of", "a", "scan"};

    std::vector<std::size_t> lengths;
    for (const std::string_view word : words)
        lengths.push_back(word.size());

    std::vector<std::size_t> offsets(lengths.size());
    up::exclusive_scan(up::cpu{}, lengths, offsets, up::plus{});

    std::string text(offsets.back() + lengths.back(), ' ');
    for (std::size_t i = 0; i < words.size(); ++i)
        words[i].copy(text.data() + offsets[i], lengths[i]);

    // In place: the longest word so far.
    up::inclusive_scan(up::cpu{}, lengths, lengths, up::maximum{});

    std::printf("%s\n", text.c_str());
    for (std::size_t i = 0; i < words.size(); ++i)
        std::printf("begins at %2zu, longest so far %zu\n", offsets[i], lengths[i]);
}

// Prints:
// theup-sweepishalfofascan
// begins at  0, longest so far 3
// begins at  3, longest so far 8
// begins at 11, longest so far 8
// begins at 13, longest so far 8
// begins at 17, longest so far 8
// begins at 19, longest so far 8
// begins at 20, longest so far 8
