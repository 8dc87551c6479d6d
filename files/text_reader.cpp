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
    std::vector<char> own_text; // of an input that is not mapped
    byte_buffer values;
    parse_result parsed;
};

// What helps with a field of a table that is no number.
remedy remedy_in_table(std::string_view token, remedy of_text)
{
    if (of_text != remedy::give_column && of_text != remedy::drop_separators)
        return of_text;
    const std::size_t comma = token.find(',');
    if (comma == token.npos || token.find_first_not_of("0123456789+-,.") != token.npos)
        return of_text == remedy::drop_separators ? remedy::join_digits : remedy::mark_missing;
    // Thousands are groups of three digits.
    const bool one_comma = token.find(',', comma + 1) == token.npos;
    return one_comma && token.size() - comma != 4 ? remedy::give_decimal : remedy::join_digits;
}

class text_reader final : public reader {
public:
    text_reader(std::unique_ptr<byte_input> input, const read_options& options, bool csv)
        : input_(std::move(input)), dtype_(options.dtype.value_or(UPSWEEP_F64)), is_dtype_found_(!options.dtype),
          may_widen_(is_dtype_found_ && options.type_by_front && input_->rereadable()), threads_(options.threads),
          csv_(csv)
    {
        const std::string_view front = input_->peek(byte_order_mark.size());
        skipped_bytes_ = front == byte_order_mark ? front.size() : 0;
        if (csv_)
            read_layout(options.csv);
        if (is_dtype_found_)
            dtype_ = find_dtype(options.narrowest);
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

    std::optional<table_layout> table() const override
    {
        if (!csv_)
            return std::nullopt;
        return table_layout{layout_.delimiter, layout_.columns, layout_.column, layout_.name, layout_.header};
    }

    bool read_as(upsweep_dtype dtype) override
    {
        if (is_dtype_found_) {
            may_widen_ = may_widen_ && dtype == dtype_;
            dtype_ = dtype;
        }
        return is_dtype_found_;
    }

    void read(const sink& take) override
    {
        std::uint64_t line = 1 + skipped_lines_;
        std::uint64_t more_bytes = skipped_bytes_; // which the first chunk was read for, too
        for_each_chunk([&](const text_chunk& c) {
            line += c.parsed.new_lines;
            if (c.parsed.error != number_error::none) {
                if (const auto wider = wider_than(dtype_, c.parsed.error); wider && may_widen_)
                    throw wider_type{*wider};
                report(c.parsed, line);
            }
            const std::uint64_t first_line = line - c.parsed.new_lines;
            take({c.values.data(), c.parsed.count, c.text.size() + more_bytes, c.parsed.missing,
                  [&](std::uint64_t index) { return first_line + lines_before(c.text, index); }});
            more_bytes = 0;
        });
    }

private:
    // What the lines before the table and its first records tell. read() begins behind the header.
    void read_layout(const csv_options& options)
    {
        std::string_view front;
        std::size_t before = 0;
        for (std::size_t wanted = chunk_bytes;; wanted *= 4) {
            front = input_->peek(wanted);
            const bool is_all = front.size() < wanted;
            front.remove_prefix(std::min(skipped_bytes_, front.size()));
            before = length_of_lines(front, options.skip_lines);
            layout_.delimiter = find_delimiter(front.substr(before), options);
            layout_.comment = options.comment;
            if (is_all || before + first_record_length(front.substr(before), layout_) < front.size())
                break;
            if (wanted > longest_record)
                throw failure(name(), {.line = 1}, {"the first record does not end; a closing quote is missing"});
        }
        const std::string_view table = front.substr(before);
        csv_options known = options;
        known.delimiter = layout_.delimiter;
        layout_ = find_layout(name(), table, count_new_lines(front.substr(0, before)) + 1, known);
        const std::size_t header = layout_.header ? first_record_length(table, layout_) : 0;
        skipped_bytes_ += before + header;
        skipped_lines_ = count_new_lines(front.substr(0, before + header));
    }

    // The type that has a number, too, which is an error as one of the type of integers; nothing where there is none.
    static std::optional<upsweep_dtype> wider_than(upsweep_dtype dtype, number_error error)
    {
        if (dtype == UPSWEEP_F64)
            return std::nullopt;
        if (error != number_error::out_of_range)
            return UPSWEEP_F64;
        return dtype == UPSWEEP_I64 ? std::optional(UPSWEEP_U64) : std::nullopt;
    }

    // The narrowest of i64, u64 and f64 that has all numbers. A mapping is read through up to the first that is no integer, unless its
    // front must do; of what is read once, it must do.
    upsweep_dtype find_dtype(upsweep_dtype narrowest)
    {
        for (dtype_ = narrowest; dtype_ != UPSWEEP_F64;) {
            const parse_result found = input_->rereadable() && !may_widen_ ? first_error() : parsed_front();
            if (found.error == number_error::none)
                return dtype_;
            const auto wider = wider_than(dtype_, found.error);
            if (!wider) { // integers, one of which fits neither
                may_widen_ = false;
                return UPSWEEP_I64;
            }
            dtype_ = *wider;
        }
        return UPSWEEP_F64;
    }

    parse_result first_error()
    {
        struct stopped {};
        parse_result found;
        try {
            for_each_chunk([&](const text_chunk& c) {
                if (c.parsed.error != number_error::none) {
                    found = c.parsed;
                    throw stopped();
                }
            });
        } catch (const stopped&) {
        }
        return found;
    }

    parse_result parsed_front()
    {
        std::string_view front = input_->peek(chunk_bytes);
        const bool is_all = front.size() < chunk_bytes;
        front.remove_prefix(std::min(skipped_bytes_, front.size()));
        text_chunk c;
        c.text = is_all ? front : front.substr(0, cut(front));
        parse(c);
        return c.parsed;
    }

    template <class Take>
    void for_each_chunk(const Take& take)
    {
        input_->rewind();
        position_ = skipped_bytes_;
        at_end_ = false;
        carried_.clear();
        if (!input_->is_mapped()) {
            std::vector<char> skipped(skipped_bytes_);
            (void)input_->read(skipped.data(), skipped.size());
        }
        run_pipeline<text_chunk>(
            threads_, [&](text_chunk& c) { return produce(c); }, [&](text_chunk& c) { parse(c); }, take);
    }

    std::size_t cut(std::string_view text) const
    {
        return csv_ ? cut_after_record(text, layout_) : cut_after_space(text);
    }

    bool produce(text_chunk& c)
    {
        if (input_->is_mapped())
            next_of_mapping(c);
        else
            next_of_stream(c);
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

    void parse(text_chunk& c) const
    {
        with_type(dtype_, [&]<class T>(std::type_identity<T>) {
            c.values.reserve(most_numbers(c.text.size()) * sizeof(T));
            T* const values = reinterpret_cast<T*>(c.values.data());
            c.parsed = csv_ ? parse_csv(c.text, layout_, values) : parse_text(c.text, values);
        });
    }

    // How many lines of a chunk's text stand before the line that has an element: the most of which the values do not reach that far.
    std::uint64_t lines_before(std::string_view text, std::uint64_t index) const
    {
        std::uint64_t low = 0;
        for (std::uint64_t high = count_new_lines(text) + 1; high - low > 1;) {
            const std::uint64_t middle = low + (high - low) / 2;
            text_chunk front;
            front.text = text.substr(0, length_of_lines(text, middle));
            parse(front);
            (front.parsed.count > index ? high : low) = middle;
        }
        return low;
    }

    [[noreturn]] void report(const parse_result& parsed, std::uint64_t line) const
    {
        const bool about_number = parsed.other.reason.empty();
        problem what = about_number ? number_problem(parsed.error, parsed.token, dtype_) : parsed.other;
        if (about_number && csv_)
            what.help = remedy_in_table(parsed.token, what.help);
        // Nobody has asked for integers.
        if (about_number && is_dtype_found_ && parsed.error == number_error::out_of_range && dtype_ != UPSWEEP_F64)
            what = {fmt::format("{} does not fit 64 bits beside the other integers", in_quotes(parsed.token)),
                    remedy::floating_dtype};
        throw failure(name(), {.line = line}, what);
    }

    std::unique_ptr<byte_input> input_;
    upsweep_dtype dtype_;
    bool is_dtype_found_;
    bool may_widen_; // by wider_type
    int threads_;
    bool csv_;
    csv_layout layout_;
    std::size_t skipped_bytes_ = 0; // before the first number or record
    std::uint64_t skipped_lines_ = 0;
    std::size_t position_ = 0;  // in a mapping
    std::vector<char> carried_; // of a stream: the beginning of the next chunk
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
