// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include <upsweep/files.hpp>

#include "dtype.hpp"
#include "npy.hpp"
#include "output_file.hpp"

namespace upsweep::files {

namespace {

bool has_extension(std::string_view path, std::string_view extension)
{
    return path.size() > extension.size() && path.substr(path.size() - extension.size()) == extension;
}

// The bytes of the elements, after a header for .npy.
class binary_writer final : public writer {
public:
    binary_writer(const std::string& path, upsweep_dtype dtype, bool npy, std::optional<std::uint64_t> count)
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
        file_.write(make_npy_header(dtype_, count.value_or(0)));
    }

    void append(const void* elements, std::uint64_t count) override
    {
        file_.write({static_cast<const char*>(elements), count * dtype_size(dtype_)});
        written_ += count;
    }

    void finish() override
    {
        if (npy_ && announced_ != written_)
            file_.overwrite_front(make_npy_header(dtype_, written_));
        file_.commit();
    }

private:
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

std::unique_ptr<writer> create(const std::string& path, upsweep_dtype dtype, std::optional<std::uint64_t> count)
{
    if (has_extension(path, ".npy"))
        return std::make_unique<binary_writer>(path, dtype, true, count);
    if (has_extension(path, ".raw") || has_extension(path, ".bin"))
        return std::make_unique<binary_writer>(path, dtype, false, count);
    return std::make_unique<text_writer>(path, dtype);
}

} // namespace upsweep::files
