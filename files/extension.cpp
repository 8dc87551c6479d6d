// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "extension.hpp"

namespace upsweep::files {

std::string extension_of(std::string_view path)
{
    const std::size_t slash = path.rfind('/');
    const std::string_view file = slash == path.npos ? path : path.substr(slash + 1);
    const std::size_t dot = file.rfind('.');
    std::string extension(dot == file.npos || dot == 0 ? std::string_view() : file.substr(dot + 1));
    for (char& c : extension)
        if (c >= 'A' && c <= 'Z')
            c = static_cast<char>(c + ('a' - 'A'));
    return extension;
}

std::optional<file_format> format_of_extension(std::string_view extension)
{
    if (extension == "npy")
        return file_format::npy;
    if (extension == "csv" || extension == "tsv")
        return file_format::csv;
    if (extension == "txt")
        return file_format::text;
    if (extension == "raw" || extension == "bin" || dtype_of_name(extension))
        return file_format::raw;
    return std::nullopt;
}

} // namespace upsweep::files
