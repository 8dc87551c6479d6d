// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <vector>

#include <fmt/core.h>

#include "csv.hpp"
#include "dtype.hpp"
#include "pipeline.hpp"
#include "readers.hpp"

namespace upsweep::files {

namespace {

// Text and numbers of a chunk stay in the L2 cache while it is parsed.
constexpr std::size_t chunk_bytes = std::size_t{1} << 19;
// A record of CSV may be longer, as quoted fields may be; but a missing quote must not swallow the whole file.
constexpr std::size_t longest_record = std::size_t{64} << 20;

constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";

// Memory for a chunk's bytes, left as it comes: a vector would clear what is about to be overwritten.
class byte_buffer {
public:
    void reserve(std::size_t bytes)
    {
        if (bytes <= capacity_)
            return;
        bytes_.reset(new char[bytes]);
        capacity_ = bytes;
    }
    char* data() const { return bytes_.get(); }

private:
    std::unique_ptr<char[]> bytes_;
    std::size_t capacity_ = 0;
};

struct text_chunk {
    std::string_view text;
    bool first = false;         // of the file
    std::vector<char> own_text; // of an input that is not mapped
    byte_buffer values;
    parse_result parsed;
};

class text_reader final : public reader {
public:
    text_reader(std::unique_ptr<byte_input> input, const read_options& options, bool csv)
        : input_(std::move(input)), dtype_(options.dtype.value_or(UPSWEEP_F64)), threads_(options.threads), csv_(csv),
          csv_options_(options.csv)
    {
        if (csv_)
            read_layout();
    }

    const std::string& name() const override { return input_->name(); }
    upsweep_dtype dtype() const override { return dtype_; }
    bool rereadable() const override { return input_->rereadable(); }
    std::optional<std::uint64_t> count() const override { return std::nullopt; }
    bool keeps_cores_busy() const override { return true; }

    std::optional<std::uint64_t> bytes() const override
    {
        if (!input_->is_mapped())
            return std::nullopt;
        return input_->content().size();
    }

    void read(const sink& take) override
    {
        input_->rewind();
        position_ = 0;
        at_begin_ = true;
        at_end_ = false;
        carried_.clear();
        std::uint64_t line = 1;
        const auto consume = [&](const text_chunk& c) {
            line += c.parsed.new_lines;
            if (c.parsed.error != number_error::none)
                report(c.parsed, line);
            take({c.values.data(), c.parsed.count, c.text.size()});
        };
        run_pipeline<text_chunk>(
            threads_, [&](text_chunk& c) { return produce(c); }, [&](text_chunk& c) { parse(c); }, consume);
    }

private:
    // The first record tells the columns. It is seen again by read(), which skips it if it is a header.
    void read_layout()
    {
        std::string_view front;
        std::size_t length = 0;
        for (std::size_t wanted = chunk_bytes;; wanted *= 4) {
            front = without_mark(input_->peek(wanted));
            length = first_record_length(front, delimiter_of(csv_options_));
            if (length < front.size() || front.size() + byte_order_mark.size() < wanted)
                break;
            if (wanted > longest_record)
                throw failure(name(), {.line = 1}, {"the first record does not end; a closing quote is missing"});
        }
        if (!front.empty())
            layout_ = find_layout(name(), front.substr(0, length), csv_options_);
    }

    static std::string_view without_mark(std::string_view text)
    {
        if (text.substr(0, byte_order_mark.size()) == byte_order_mark)
            text.remove_prefix(byte_order_mark.size());
        return text;
    }

    std::size_t cut(std::string_view text) const
    {
        return csv_ ? cut_after_record(text, layout_.delimiter) : cut_after_space(text);
    }

    bool produce(text_chunk& c)
    {
        if (input_->is_mapped())
            next_of_mapping(c);
        else
            next_of_stream(c);
        c.first = at_begin_;
        at_begin_ = false;
        return !c.text.empty();
    }

    void next_of_mapping(text_chunk& c)
    {
        const std::string_view rest = input_->content().substr(position_);
        std::size_t length = rest.size();
        for (std::size_t window = chunk_bytes; window < rest.size(); window *= 2) {
            length = cut(rest.substr(0, window));
            if (length > 0)
                break;
            refuse_endless(window);
            length = rest.size();
        }
        c.text = rest.substr(0, length);
        position_ += length;
    }

    void next_of_stream(text_chunk& c)
    {
        c.own_text = carried_;
        std::size_t length = 0;
        for (std::size_t window = chunk_bytes; !at_end_; window *= 2) {
            const std::size_t have = c.own_text.size();
            c.own_text.resize(std::max(window, have));
            const std::size_t got = input_->read(c.own_text.data() + have, c.own_text.size() - have);
            at_end_ = have + got < c.own_text.size();
            c.own_text.resize(have + got);
            if (at_end_)
                break;
            length = cut({c.own_text.data(), c.own_text.size()});
            if (length > 0)
                break;
            refuse_endless(window);
        }
        if (at_end_)
            length = c.own_text.size();
        carried_.assign(c.own_text.begin() + static_cast<std::ptrdiff_t>(length), c.own_text.end());
        c.text = {c.own_text.data(), length};
    }

    // No number is that long, and no record of a sound table.
    void refuse_endless(std::size_t window) const
    {
        if (!csv_)
            throw failure(name(), {}, {fmt::format("a word of more than {} bytes; is this text?", window)});
        if (window >= longest_record)
            throw failure(name(), {},
                          {fmt::format("a record of more than {} bytes; a closing quote is missing", window)});
    }

    void parse(text_chunk& c)
    {
        std::string_view text = c.text;
        std::uint64_t skipped_lines = 0;
        if (c.first) {
            text = without_mark(text);
            if (csv_ && layout_.header) {
                const std::size_t header = first_record_length(text, layout_.delimiter);
                skipped_lines = count_new_lines(text.substr(0, header));
                text.remove_prefix(header);
            }
        }
        with_type(dtype_, [&]<class T>(std::type_identity<T>) {
            c.values.reserve(most_numbers(text.size()) * sizeof(T));
            T* const values = reinterpret_cast<T*>(c.values.data());
            c.parsed = csv_ ? parse_csv(text, layout_, values) : parse_text(text, values);
        });
        c.parsed.new_lines += skipped_lines;
    }

    [[noreturn]] void report(const parse_result& parsed, std::uint64_t line) const
    {
        const bool about_number = parsed.other.reason.empty();
        throw failure(name(), {.line = line},
                      about_number ? number_problem(parsed.error, parsed.token, dtype_) : parsed.other);
    }

    std::unique_ptr<byte_input> input_;
    upsweep_dtype dtype_;
    int threads_;
    bool csv_;
    csv_options csv_options_;
    csv_layout layout_;
    std::size_t position_ = 0;  // in a mapping
    std::vector<char> carried_; // of a stream: the beginning of the next chunk
    bool at_begin_ = true;
    bool at_end_ = false;
};

} // namespace

std::unique_ptr<reader> read_text(std::unique_ptr<byte_input> input, const read_options& options)
{
    return std::make_unique<text_reader>(std::move(input), options, false);
}

std::unique_ptr<reader> read_csv(std::unique_ptr<byte_input> input, const read_options& options)
{
    return std::make_unique<text_reader>(std::move(input), options, true);
}

} // namespace upsweep::files
