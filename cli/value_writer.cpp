// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "value_writer.hpp"

#include <algorithm>
#include <cmath>
#include <deque>

#include <fmt/core.h>

#include "../runtime/element_type.hpp"
#include "report.hpp"

namespace upsweep::cli {

namespace {

template <class T>
void append_json(std::string& text, T value)
{
    const std::size_t begin = text.size();
    files::append_value(text, value);
    // JSON's numbers have no infinities and no NaN.
    if constexpr (!std::is_integral_v<T>)
        if (!std::isfinite(convert<float>(value)) && !std::isfinite(convert<double>(value))) {
            text.insert(begin, 1, '"');
            text += '"';
        }
}

class json_writer final : public files::writer {
public:
    explicit json_writer(upsweep_dtype dtype) : dtype_(dtype) {}

    void append(const void* values, std::uint64_t count) override
    {
        const auto texts = runtime::with_type(dtype_, [&]<class T>(std::type_identity<T>) {
            const T* const typed = static_cast<const T*>(values);
            return files::write_slices(count, [&](std::string& text, std::uint64_t first, std::uint64_t last) {
                for (std::uint64_t i = first; i < last; ++i) {
                    if (i > 0 || !empty_)
                        text += ',';
                    append_json(text, typed[i]);
                }
            });
        });
        for (const std::string& text : texts)
            print(text);
        empty_ = empty_ && count == 0;
    }

    void finish() override {}

private:
    upsweep_dtype dtype_;
    bool empty_ = true;
};

class head_and_tail_writer final : public files::writer {
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
                head_ += files::value_text(dtype_, bytes + i * size) + '\n';
                ++i;
                continue;
            }
            i = std::max(i, tail_begin);
            if (i >= count)
                break;
            tail_.push_back(files::value_text(dtype_, bytes + i * size));
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

std::unique_ptr<files::writer> write_json_elements(upsweep_dtype dtype) { return std::make_unique<json_writer>(dtype); }

std::unique_ptr<files::writer> write_head_and_tail(upsweep_dtype dtype, std::size_t lines)
{
    return std::make_unique<head_and_tail_writer>(dtype, lines);
}

} // namespace upsweep::cli
