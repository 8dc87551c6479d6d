// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "text_source.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

#include <fmt/core.h>

#include "failure.hpp"
#include "pipeline.hpp"

namespace upsweep::cli {

namespace {

// Text and numbers of a block stay in the L2 cache while it is parsed.
constexpr std::size_t block_bytes = std::size_t{1} << 19;
// A record of CSV may be longer, as quoted fields may be; but a missing quote must not swallow the whole file.
constexpr std::size_t longest_record = std::size_t{64} << 20;

constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";

// Memory for a block's bytes, left as it comes: a vector would clear what is about to be overwritten.
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

struct block {
    std::string_view text;
    bool first = false;         // of the file
    std::vector<char> own_text; // of an input that is not mapped
    byte_buffer values;
    parsed_block parsed;
};

class text_source final : public source {
public:
    text_source(std::unique_ptr<byte_input> input, const source_options& options, bool csv)
        : input_(std::move(input)), dtype_(options.dtype.value_or(UPSWEEP_F64)), threads_(options.threads), csv_(csv),
          csv_options_(options.csv)
    {
        if (csv_)
            read_layout();
    }

    const std::string& name() const override { return input_->name(); }
    upsweep_dtype dtype() const override { return dtype_; }
    bool rereadable() const override { return input_->is_mapped(); }
    std::optional<std::uint64_t> count() const override { return std::nullopt; }
    int sink_threads() const override { return 1; }

    std::optional<std::uint64_t> bytes() const override
    {
        if (!input_->is_mapped())
            return std::nullopt;
        return input_->content().size();
    }

    void stream(const sink& take) override
    {
        position_ = 0;
        at_begin_ = true;
        at_end_ = false;
        carried_.clear();
        std::uint64_t line = 1;
        const auto consume = [&](const block& b) {
            if (b.parsed.error != number_error::none)
                report(b.parsed, line + b.parsed.new_lines);
            line += b.parsed.new_lines;
            take(b.values.data(), b.parsed.count, b.text.size());
        };
        run_pipeline<block>(
            threads_, [&](block& b) { return produce(b); }, [&](block& b) { parse(b); }, consume);
    }

private:
    // The first record tells the columns. It is seen again by stream(), which skips it if it is a header.
    void read_layout()
    {
        std::string_view front;
        std::size_t length = 0;
        for (std::size_t wanted = block_bytes;; wanted *= 4) {
            front = without_mark(input_->peek(wanted));
            length = first_record_length(front, csv_options_.delimiter);
            if (length < front.size() || front.size() + byte_order_mark.size() < wanted)
                break;
            if (wanted > longest_record)
                fail(1, "the first record does not end; a closing quote is missing");
        }
        if (front.empty())
            return;
        try {
            layout_ = find_layout(front.substr(0, length), csv_options_);
        } catch (const failure& error) {
            throw failure(fmt::format("{}: {}", name(), error.what()));
        }
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

    bool produce(block& b)
    {
        if (input_->is_mapped())
            next_of_mapping(b);
        else
            next_of_stream(b);
        b.first = at_begin_;
        at_begin_ = false;
        return !b.text.empty();
    }

    void next_of_mapping(block& b)
    {
        const std::string_view rest = input_->content().substr(position_);
        std::size_t length = rest.size();
        for (std::size_t window = block_bytes; window < rest.size(); window *= 2) {
            length = cut(rest.substr(0, window));
            if (length > 0)
                break;
            refuse_endless(window);
            length = rest.size();
        }
        b.text = rest.substr(0, length);
        position_ += length;
    }

    void next_of_stream(block& b)
    {
        b.own_text = carried_;
        std::size_t length = 0;
        for (std::size_t window = block_bytes; !at_end_; window *= 2) {
            const std::size_t have = b.own_text.size();
            b.own_text.resize(std::max(window, have));
            const std::size_t got = input_->read(b.own_text.data() + have, b.own_text.size() - have);
            at_end_ = have + got < b.own_text.size();
            b.own_text.resize(have + got);
            if (at_end_)
                break;
            length = cut({b.own_text.data(), b.own_text.size()});
            if (length > 0)
                break;
            refuse_endless(window);
        }
        if (at_end_)
            length = b.own_text.size();
        carried_.assign(b.own_text.begin() + static_cast<std::ptrdiff_t>(length), b.own_text.end());
        b.text = {b.own_text.data(), length};
    }

    // No number is that long, and no record of a sound table.
    void refuse_endless(std::size_t window) const
    {
        if (!csv_)
            throw failure(fmt::format("{}: a word of more than {} bytes; is this text?", name(), window));
        if (window >= longest_record)
            throw failure(
                fmt::format("{}: a record of more than {} bytes; a closing quote is missing", name(), window));
    }

    void parse(block& b)
    {
        std::string_view text = b.text;
        std::uint64_t skipped_lines = 0;
        if (b.first) {
            text = without_mark(text);
            if (csv_ && layout_.header) {
                const std::size_t header = first_record_length(text, layout_.delimiter);
                skipped_lines = count_new_lines(text.substr(0, header));
                text.remove_prefix(header);
            }
        }
        with_type(dtype_, [&]<class T>(std::type_identity<T>) {
            b.values.reserve(most_numbers(text.size()) * sizeof(T));
            T* const values = reinterpret_cast<T*>(b.values.data());
            b.parsed = csv_ ? parse_csv(text, layout_, values) : parse_text(text, values);
        });
        b.parsed.new_lines += skipped_lines;
    }

    [[noreturn]] void fail(std::uint64_t line, std::string_view what) const
    {
        throw failure(fmt::format("{}: line {}: {}", name(), line, what));
    }

    [[noreturn]] void report(const parsed_block& parsed, std::uint64_t line) const
    {
        fail(line, parsed.message.empty() ? number_error_text(parsed.error, parsed.token, dtype_) : parsed.message);
    }

    std::unique_ptr<byte_input> input_;
    upsweep_dtype dtype_;
    int threads_;
    bool csv_;
    csv_options csv_options_;
    csv_layout layout_;
    std::size_t position_ = 0;  // in a mapping
    std::vector<char> carried_; // of a stream: the beginning of the next block
    bool at_begin_ = true;
    bool at_end_ = false;
};

} // namespace

std::unique_ptr<source> open_text(std::unique_ptr<byte_input> input, const source_options& options, bool csv)
{
    return std::make_unique<text_source>(std::move(input), options, csv);
}

} // namespace upsweep::cli
