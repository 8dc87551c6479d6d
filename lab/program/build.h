// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace lab::program {

struct sources {
    std::vector<std::filesystem::path> files;
    std::vector<std::string> include_folders, definitions; // as of the options -I and -D
    std::string geometry;                                  // by which kernels know __CUDA_ARCH__
};

struct built {
    std::vector<std::filesystem::path> own_files; // the sources, and the headers of the program that they include
    bool takes_times = false;                     // of kernels, as their words tell
};

// Compiles CUDA sources (.cu) and C++ sources (others) for the simulator and links them to `program`; `scratch` is a folder
// for what comes in between. Throws std::runtime_error, whose message says which file does not compile, when the compiler
// has printed why; or what is not simulated.
built build(const sources& what, const std::filesystem::path& scratch, const std::filesystem::path& program);

} // namespace lab::program
