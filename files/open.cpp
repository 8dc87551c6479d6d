// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>

#include <fmt/core.h>

#include "decompress.hpp"
#include "dtype.hpp"
#include "encoding.hpp"
#include "extension.hpp"
#include "foreign.hpp"
#include "npy.hpp"
#include "readers.hpp"
#include "text.hpp"
#include "zip.hpp"

namespace upsweep::files {

namespace {

// Numbers written out have no control characters but white space.
bool looks_like_text(std::string_view front)
{
    return std::none_of(front.begin(), front.end(),
                        [](char c) { return (static_cast<unsigned char>(c) < 0x20 && !is_space(c)) || c == 0x7f; });
}

// "x.csv" of "x.csv.gz".
std::string_view without_compression(std::string_view path)
{
    const std::string extension = extension_of(path);
    if (compression_of_extension(extension))
        path.remove_suffix(extension.size() + 1);
    return path;
}

struct archive_member {
    std::string archive;
    std::string member;
};

// "x.npz:a" is the member a of x.npz, unless there is a file of that very name.
std::optional<archive_member> member_of_archive(const std::string& path)
{
    std::error_code ignored;
    if (path == "-" || std::filesystem::exists(path, ignored))
        return std::nullopt;
    for (std::size_t colon = path.find(':'); colon != path.npos; colon = path.find(':', colon + 1))
        if (std::filesystem::is_regular_file(path.substr(0, colon), ignored))
            return archive_member{path.substr(0, colon), path.substr(colon + 1)};
    return std::nullopt;
}

[[noreturn]] void refuse_truncated(const byte_input& input, std::size_t byte, compression kind)
{
    throw failure(input.name(), {.byte = byte},
                  {fmt::format("the {} data is truncated; copy or compress the file again", name_of(kind))});
}

std::unique_ptr<byte_input> decompressed_if_compressed(std::unique_ptr<byte_input> input, std::string_view path,
                                                       std::optional<file_format> format)
{
    const std::string_view front = input->peek(compression_magic_bytes);
    if (const auto kind = compression_of_front(front))
        return decompressed(*kind, std::move(input));

    // A file may be so short that it looks like something else.
    const auto named = compression_of_extension(extension_of(path));
    if (named && ends_inside_magic(front, *named))
        refuse_truncated(*input, front.size(), *named);
    if (named || !format || *format == file_format::raw)
        return input;
    // Up to so many bytes, what begins as bzip2 does may be a word.
    constexpr std::size_t word_bytes = 4;
    const bool is_ascii = std::all_of(front.begin(), front.end(), [](char c) { return c >= 0x20 && c < 0x7f; });
    if (front.empty() || (is_ascii && front.size() <= word_bytes))
        return input;
    for (const compression kind : {compression::gzip, compression::zstd, compression::xz, compression::bzip2})
        if (ends_inside_magic(front, kind))
            refuse_truncated(*input, front.size(), kind);
    return input;
}

file_format find_format(byte_input& input, const read_options& options)
{
    const std::string_view front = input.peek(encoding_front_bytes);
    if (front.substr(0, npy_magic.size()) == npy_magic)
        return file_format::npy;
    if (looks_like_text(front) || looks_like_utf16(front))
        return options.csv.mean_table() ? file_format::csv : file_format::text;
    return file_format::raw;
}

} // namespace

std::unique_ptr<reader> open(const std::string& path, const read_options& options)
{
    const auto member = member_of_archive(path);
    auto input = std::make_unique<byte_input>(member ? member->archive : path);
    std::string file(member ? member->member : path); // whose extension tells the format
    std::optional<file_format> format =
        options.format ? options.format : format_of_extension(extension_of(without_compression(file)));

    // Whoever says that a file has raw elements means its very bytes, unless they are compressed.
    if (member || (is_zip(input->peek(zip_magic_bytes)) && format != file_format::raw)) {
        zip_input in_archive = open_zip(std::move(input), member ? std::optional(member->member) : std::nullopt);
        input = std::move(in_archive.input);
        file = std::move(in_archive.member);
        format = options.format ? options.format : format_of_extension(extension_of(without_compression(file)));
    }
    input = decompressed_if_compressed(std::move(input), file, format);
    if (format != file_format::raw)
        refuse_foreign(*input);
    if (!format)
        format = find_format(*input, options);

    // Who asks for a column, or says how the table is written, means a table, whatever its name.
    if (options.csv.mean_table() && format == file_format::text && !options.format)
        format = file_format::csv;
    const std::string extension = extension_of(without_compression(file));
    if (options.csv.column && format != file_format::csv)
        throw failure(input->name(), {},
                      {fmt::format("is no table, so it has no column {}", in_quotes(*options.csv.column)),
                       remedy::give_csv_format});
    switch (*format) {
    case file_format::npy: return read_npy(std::move(input), options);
    case file_format::text: return read_text(as_plain_text(std::move(input)), options);
    case file_format::csv: {
        read_options of_table = options;
        if (!options.csv.delimiter && extension == "tsv")
            of_table.csv.delimiter = '\t';
        return read_csv(as_plain_text(std::move(input)), of_table);
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
    if (!dtype) {
        refuse_other_encodings(*input);
        throw failure(input->name(), {}, {"is neither .npy nor text", remedy::give_dtype});
    }
    return read_raw(std::move(input), *dtype, options.threads);
}

} // namespace upsweep::files
