// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "folder.h"

#include "lab_settings.h"

namespace lab {

std::filesystem::path folder()
{
    std::error_code unknown;
    const auto command = std::filesystem::read_symlink("/proc/self/exe", unknown);
    const auto installed = (command.parent_path() / folder_from_bin).lexically_normal();
    return std::filesystem::exists(installed, unknown) ? installed : std::filesystem::path(folder_in_build);
}

} // namespace lab
