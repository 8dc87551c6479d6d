// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <filesystem>
#include <system_error>

#include <fmt/core.h>
#include <upsweep/files.hpp>

#include "dtype.hpp"
#include "extension.hpp"
#include "npy.hpp"
#include "output_file.hpp"

namespace upsweep::files {

namespace {

// Numbers under a name that promises a format that is not written would be found out by whoever reads them.
void refuse_foreign(const std::string& path, std::string_view extension)
{
    static constexpr std::array<std::string_view, 6> compressed = {"gz", "zst", "xz", "bz2", "lz4", "zip"};
    static constexpr std::array<std::string_view, 6> foreign = {"npz", "parquet", "feather", "arrow", "h5", "hdf5"};
    if (std::find(compressed.begin(), compressed.end(), extension) != compressed.end())
        throw failure(path, {},
                      {fmt::format("compressed files are not written; write {} and compress it",
                                   path.substr(0, path.size() - extension.size() - 1))});
    if (std::find(foreign.begin(), foreign.end(), extension) != foreign.end())
        throw failure(path, {},
                      {fmt::format(".{} files are not written; name a .npy file, or .txt for text", extension)});
}

void refuse_other_than_promised(const std::string& path, upsweep_dtype dtype)
{
    const std::optional<upsweep_dtype> promised = dtype_of_name(extension_of(path));
    if (promised && dtype != promised)
        throw failure(path, {},
                      {fmt::format("the name promises {}, the values are {}; name it .{}", dtype_name(*promised),
                                   dtype_name(dtype), dtype_name(dtype)),
                       remedy::write_promised_dtype, std::string(dtype_name(*promised))});
}

// The bytes of the elements, after a header for .npy.
class binary_writer final : public writer {
public:
    binary_writer(const std::string& path, upsweep_dtype dtype, bool npy, std::optional<std::uint64_t> count,
                  const std::vector<std::uint64_t>& shape)
        : dtype_(dtype), npy_(npy), announced_(count), file_(path)
    {
        if (!npy_)
            return;
        if (dtype_ == UPSWEEP_BF16)
            throw failure(file_.name(), {}, {".npy has no bf16", remedy::change_written_dtype});
        if (!count && !file_.is_regular())
            throw failure(file_.name(), {},
                          {"the header of .npy needs the number of values, which is not known yet; write to "
                           "a regular file, or as text"});
        file_.write(shape.empty() ? header_of(count.value_or(0)) : make_npy_header(dtype_, shape));
    }

    void append(const void* elements, std::uint64_t count) override
    {
        file_.write({static_cast<const char*>(elements), count * dtype_size(dtype_)});
        written_ += count;
    }

    void finish() override
    {
        if (npy_ && announced_ != written_)
            file_.overwrite_front(header_of(written_));
        file_.commit();
    }

private:
    std::string header_of(std::uint64_t count) const { return make_npy_header(dtype_, std::array{count}); }

    upsweep_dtype dtype_;
    bool npy_;
    std::optional<std::uint64_t> announced_;
    std::uint64_t written_ = 0;
    output_file file_;
};

class text_writer final : public writer {
public:
    text_writer(const std::string& path, upsweep_dtype dtype) : dtype_(dtype), file_(path) {}

    void append(const void* elements, std::uint64_t count) override
    {
        const auto texts = with_type(dtype_, [&]<class T>(std::type_identity<T>) {
            const T* const values = static_cast<const T*>(elements);
            return write_slices(count, [values](std::string& text, std::uint64_t first, std::uint64_t last) {
                for (std::uint64_t i = first; i < last; ++i) {
                    append_value(text, values[i]);
                    text += '\n';
                }
            });
        });
        for (const std::string& text : texts)
            file_.write(text);
    }

    void finish() override { file_.commit(); }

private:
    upsweep_dtype dtype_;
    output_file file_;
};

} // namespace

void check_output(const std::string& path, std::optional<upsweep_dtype> dtype)
{
    refuse_foreign(path, extension_of(path));
    if (dtype)
        refuse_other_than_promised(path, *dtype);
    // To open a pipe would wait for its reader.
    std::error_code ignored;
    if (const auto type = std::filesystem::status(path, ignored).type();
        type == std::filesystem::file_type::not_found || type == std::filesystem::file_type::regular ||
        type == std::filesystem::file_type::directory)
        (void)output_file(path);
}

std::unique_ptr<writer> create(const std::string& path, upsweep_dtype dtype, std::optional<std::uint64_t> count,
                               const std::vector<std::uint64_t>& shape)
{
    const std::string extension = extension_of(path);
    refuse_foreign(path, extension);
    refuse_other_than_promised(path, dtype);
    const std::optional<file_format> format = format_of_extension(extension);
    if (format == file_format::npy || format == file_format::raw)
        return std::make_unique<binary_writer>(path, dtype, format == file_format::npy, count, shape);
    return std::make_unique<text_writer>(path, dtype);
}

} // namespace upsweep::files
