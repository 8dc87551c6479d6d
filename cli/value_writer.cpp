// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "value_writer.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <deque>
#include <string_view>
#include <vector>

#include <fmt/core.h>
#include <oneapi/tbb/parallel_for.h>

#include "dtype.hpp"
#include "failure.hpp"
#include "npy.hpp"
#include "report.hpp"

namespace upsweep::cli {

namespace {

bool has_extension(std::string_view path, std::string_view extension)
{
    return path.size() > extension.size() && path.substr(path.size() - extension.size()) == extension;
}

// The bytes of the values, after a header for .npy.
class binary_writer final : public value_writer {
public:
    binary_writer(const std::string& path, upsweep_dtype dtype, bool npy, std::optional<std::uint64_t> count)
        : dtype_(dtype), element_bytes_(upsweep_dtype_size(dtype)), npy_(npy), announced_(count), file_(path)
    {
        if (!npy_)
            return;
        if (dtype_ == UPSWEEP_BF16)
            throw failure(fmt::format("{}: .npy has no bf16; give --out-dtype f32, or name a .raw file", file_.name()));
        if (!count && !file_.is_regular())
            throw failure(
                fmt::format("{}: the header of .npy needs the number of values, which is not known yet; write to "
                            "a regular file, or as text",
                            file_.name()));
        file_.write(make_npy_header(dtype_, count.value_or(0)));
    }

    void append(const void* values, std::uint64_t count) override
    {
        file_.write({static_cast<const char*>(values), count * element_bytes_});
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
    std::uint64_t element_bytes_;
    bool npy_;
    std::optional<std::uint64_t> announced_;
    std::uint64_t written_ = 0;
    output_file file_;
};

template <class T>
void append_json(std::string& text, T value)
{
    const std::size_t begin = text.size();
    append_value(text, value);
    // JSON's numbers have no infinities and no NaN.
    if constexpr (!std::is_integral_v<T>)
        if (!std::isfinite(convert<float>(value)) && !std::isfinite(convert<double>(value))) {
            text.insert(begin, 1, '"');
            text += '"';
        }
}

enum class separator { line_end, comma };

// Formatting takes longer than anything before it, so all threads share it.
class text_writer final : public value_writer {
public:
    text_writer(const std::string& path, upsweep_dtype dtype, separator between)
        : dtype_(dtype), between_(between), file_(path)
    {
    }

    void append(const void* values, std::uint64_t count) override
    {
        constexpr std::uint64_t piece = 8192;
        with_type(dtype_, [&]<class T>(std::type_identity<T>) {
            const T* const typed = static_cast<const T*>(values);
            std::vector<std::string> texts((count + piece - 1) / piece);
            oneapi::tbb::parallel_for(std::size_t{0}, texts.size(), [&](std::size_t t) {
                for (std::uint64_t i = t * piece; i < std::min<std::uint64_t>(count, (t + 1) * piece); ++i) {
                    if (between_ == separator::comma) {
                        if (i > 0 || !empty_)
                            texts[t] += ',';
                        append_json(texts[t], typed[i]);
                    } else {
                        append_value(texts[t], typed[i]);
                        texts[t] += '\n';
                    }
                }
            });
            for (const std::string& text : texts)
                file_.write(text);
        });
        empty_ = empty_ && count == 0;
    }

    void finish() override { file_.commit(); }

private:
    upsweep_dtype dtype_;
    separator between_;
    bool empty_ = true;
    output_file file_;
};

class head_and_tail_writer final : public value_writer {
public:
    head_and_tail_writer(upsweep_dtype dtype, std::size_t lines)
        : dtype_(dtype), side_(std::max<std::size_t>(lines / 2, 1))
    {
    }

    void append(const void* values, std::uint64_t count) override
    {
        const char* const bytes = static_cast<const char*>(values);
        const std::uint64_t size = upsweep_dtype_size(dtype_);
        const std::uint64_t tail_begin = count - std::min<std::uint64_t>(count, side_);
        for (std::uint64_t i = 0; i < count;) {
            if (count_ + i < side_) {
                head_ += value_text(dtype_, bytes + i * size) + '\n';
                ++i;
                continue;
            }
            i = std::max(i, tail_begin);
            if (i >= count)
                break;
            tail_.push_back(value_text(dtype_, bytes + i * size));
            if (tail_.size() > side_)
                tail_.pop_front();
            ++i;
        }
        count_ += count;
    }

    void finish() override
    {
        const std::uint64_t hidden = count_ - std::min<std::uint64_t>(count_, side_) - tail_.size();
        std::string text = head_;
        if (hidden > 0)
            text += fmt::format("... {} more (all of them with -o FILE) ...\n", grouped(hidden));
        for (const std::string& value : tail_)
            text += value + '\n';
        print(text);
    }

private:
    upsweep_dtype dtype_;
    std::size_t side_;
    std::uint64_t count_ = 0;
    std::string head_;
    std::deque<std::string> tail_;
};

} // namespace

std::unique_ptr<value_writer> write_to_file(const std::string& path, upsweep_dtype dtype,
                                            std::optional<std::uint64_t> count)
{
    if (has_extension(path, ".npy"))
        return std::make_unique<binary_writer>(path, dtype, true, count);
    if (has_extension(path, ".raw") || has_extension(path, ".bin"))
        return std::make_unique<binary_writer>(path, dtype, false, count);
    return std::make_unique<text_writer>(path, dtype, separator::line_end);
}

std::unique_ptr<value_writer> write_json_elements(upsweep_dtype dtype)
{
    return std::make_unique<text_writer>("-", dtype, separator::comma);
}

std::unique_ptr<value_writer> write_head_and_tail(upsweep_dtype dtype, std::size_t lines)
{
    return std::make_unique<head_and_tail_writer>(dtype, lines);
}

} // namespace upsweep::cli
