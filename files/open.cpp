// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <fmt/core.h>

#include "dtype.hpp"
#include "extension.hpp"
#include "npy.hpp"
#include "readers.hpp"
#include "text.hpp"

namespace upsweep::files {

namespace {

// Numbers written out have no control characters but white space.
bool looks_like_text(std::string_view front)
{
    return std::none_of(front.begin(), front.end(),
                        [](char c) { return (static_cast<unsigned char>(c) < 0x20 && !is_space(c)) || c == 0x7f; });
}

file_format find_format(byte_input& input, std::string_view path, const read_options& options)
{
    if (options.format)
        return *options.format;
    if (const auto format = format_of_extension(extension_of(path)))
        return *format;
    constexpr std::size_t enough = 4096;
    const std::string_view front = input.peek(enough);
    if (front.substr(0, npy_magic.size()) == npy_magic)
        return file_format::npy;
    if (looks_like_text(front))
        return options.csv.column ? file_format::csv : file_format::text;
    return file_format::raw;
}

} // namespace

std::unique_ptr<reader> open(const std::string& path, const read_options& options)
{
    auto input = std::make_unique<byte_input>(path);
    const std::string extension = extension_of(path);
    const file_format format = find_format(*input, path, options);
    if (options.csv.column && format != file_format::csv)
        throw failure(input->name(), {},
                      {fmt::format("is no table, so it has no column {}", in_quotes(*options.csv.column)),
                       remedy::give_csv_format});
    switch (format) {
    case file_format::npy: return read_npy(std::move(input), options);
    case file_format::text: return read_text(std::move(input), options);
    case file_format::csv: {
        read_options of_table = options;
        if (!options.csv.delimiter && extension == "tsv")
            of_table.csv.delimiter = '\t';
        return read_csv(std::move(input), of_table);
    }
    case file_format::raw: break;
    }
    const std::optional<upsweep_dtype> promised = dtype_of_name(extension);
    const std::optional<upsweep_dtype> dtype = options.dtype ? options.dtype : promised;
    // Where raw elements are asked for in so many words, the name tells nothing.
    if (promised && dtype != promised && !options.format)
        throw failure(input->name(), {},
                      {fmt::format("holds {} by its name, not {}", dtype_name(*promised), dtype_name(*dtype)),
                       remedy::distrust_extension});
    if (!dtype)
        throw failure(input->name(), {}, {"is neither .npy nor text", remedy::give_dtype});
    return read_raw(std::move(input), *dtype, options.threads);
}

} // namespace upsweep::files
