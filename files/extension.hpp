// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <upsweep/files.hpp>

namespace upsweep::files {

// What follows the last point of a file's name, in lower case: "npy" of a.NPY; nothing of .npy, which is a hidden file.
[[nodiscard]] std::string extension_of(std::string_view path);

// What a file of that name holds, to readers and writers alike.
[[nodiscard]] std::optional<file_format> format_of_extension(std::string_view extension);

} // namespace upsweep::files
