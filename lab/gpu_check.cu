// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// The ladders on a GPU, against the serial answers:
//   nvcc -std=c++20 -arch=native --expt-relaxed-constexpr lab/gpu_check.cu lab/reduce.cu lab/scan.cu lab/histogram.cu lab/exhibits.cu lab/ladders.cpp
#include <cstdio>
#include <exception>

#include "ladder.h"

int main()
{
    int wrong = 0;
    for (const auto& l : lab::ladders()) {
        if (l.name == "exhibits")
            continue;
        for (const auto& r : l.rungs)
            for (unsigned n : {64u, 1000u, 1u << 16}) {
                bool right = false;
                try {
                    right = r.run({n, 256});
                } catch (const std::exception& problem) {
                    std::printf("%s\n", problem.what());
                }
                if (!right)
                    std::printf("%-4s %-31s %u elements: wrong\n", r.row.c_str(), r.name.c_str(), n), ++wrong;
            }
    }
    std::printf(wrong == 0 ? "all right\n" : "%d wrong\n", wrong);
    return wrong != 0;
}
