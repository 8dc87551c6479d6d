// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

namespace lab {

// The folder with what the laboratory needs beside itself: the simulator's headers and libraries, with which a learner's
// program is compiled, the sources of the kernels, and the program that measures on a GPU. It lies where it was installed
// relative to the command, or in the build.
std::filesystem::path folder();

} // namespace lab
