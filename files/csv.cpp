// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "csv.hpp"

#include <algorithm>
#include <cstring>

#include <fmt/core.h>

#include "plain_number.hpp"

namespace upsweep::files {

namespace {

// The first delimiter or line feed from p on.
const char* find_field_end(const char* p, const char* end, char delimiter)
{
    while (p != end && *p != delimiter && *p != '\n')
        ++p;
    return p;
}

// The quote that closes the field whose first character, the opening quote, is at p; `end` where there is none.
const char* find_closing_quote(const char* p, const char* end)
{
    for (++p;;) {
        p = p == end ? nullptr : static_cast<const char*>(std::memchr(p, '"', static_cast<std::size_t>(end - p)));
        if (p == nullptr)
            return end;
        if (p + 1 == end || p[1] != '"')
            return p;
        p += 2; // a doubled quote stands for one
    }
}

struct field {
    std::string_view content; // without the quotes around it; doubled quotes inside stay doubled
    bool quoted = false;
    bool last = false;          // of its record
    const char* next = nullptr; // where the next field or record begins
    const char* fault = nullptr;
};

// Reads the field at p. A carriage return before a line feed belongs to the line end.
field read_field(const char* p, const char* end, char delimiter)
{
    field result;
    const char* stop = nullptr;
    if (p != end && *p == '"') {
        const char* const closing = find_closing_quote(p, end);
        result.quoted = true;
        result.content = std::string_view(p + 1, static_cast<std::size_t>(closing - p) - 1);
        if (closing == end) {
            result.fault = "a quoted field does not end; a closing quote is missing";
            result.next = end;
            return result;
        }
        stop = closing + 1;
        if (stop != end && *stop == '\r' && (stop + 1 == end || stop[1] == '\n'))
            ++stop;
        if (stop != end && *stop != delimiter && *stop != '\n')
            result.fault = "text after a closing quote; double the quotes inside a quoted field";
    } else {
        stop = find_field_end(p, end, delimiter);
        result.content = std::string_view(p, static_cast<std::size_t>(stop - p));
        const bool line_ends = stop == end || *stop == '\n';
        if (line_ends && !result.content.empty() && result.content.back() == '\r')
            result.content.remove_suffix(1);
    }
    result.last = stop == end || *stop == '\n';
    result.next = stop == end ? end : stop + 1;
    return result;
}

// The length of a blank line at p; 0 where the line is not blank.
std::size_t blank_line(const char* p, const char* end)
{
    if (p != end && *p == '\n')
        return 1;
    if (end - p >= 2 && p[0] == '\r' && p[1] == '\n')
        return 2;
    return end - p == 1 && *p == '\r' ? 1 : 0;
}

std::string_view trimmed(std::string_view text)
{
    while (!text.empty() && (text.front() == ' ' || text.front() == '\t'))
        text.remove_prefix(1);
    while (!text.empty() && (text.back() == ' ' || text.back() == '\t'))
        text.remove_suffix(1);
    return text;
}

std::string column_list(const std::vector<std::string>& names)
{
    constexpr std::size_t most = 12;
    std::string list;
    for (std::size_t i = 0; i < std::min(names.size(), most); ++i)
        list += (i == 0 ? "" : ", ") + in_quotes(names[i]);
    return names.size() > most ? list + ", ..." : list;
}

bool is_number(std::string_view text)
{
    double value = 0;
    bool flag = false;
    return parse_number(trimmed(text), value) == number_error::none ||
           parse_number(trimmed(text), flag) == number_error::none;
}

// The fields of the first record, quotes removed.
std::vector<std::string> split_record(const std::string& file, const place& where, std::string_view record,
                                      char delimiter)
{
    std::vector<std::string> fields;
    const char* p = record.data();
    const char* const end = p + record.size();
    for (bool last = false; !last;) {
        const field read = read_field(p, end, delimiter);
        if (read.fault != nullptr)
            throw failure(file, where, {read.fault});
        std::string text;
        for (std::size_t i = 0; i < read.content.size(); ++i) {
            text += read.content[i];
            if (read.quoted && read.content[i] == '"')
                ++i; // the second of a doubled quote
        }
        fields.push_back(std::move(text));
        p = read.next;
        last = read.last;
    }
    return fields;
}

// What find_layout does once the blank lines are gone.
csv_layout find_columns(const std::string& file, const place& where, std::string_view record,
                        const csv_options& options)
{
    const char delimiter = delimiter_of(options);
    const std::vector<std::string> names = split_record(file, where, record, delimiter);
    csv_layout layout{delimiter, options.skip_empty, names.size(), 0, false};
    bool named = false;
    if (!options.column) {
        if (names.size() > 1)
            throw failure(file, where,
                          {fmt::format("has {} columns: {}", names.size(), column_list(names)), remedy::choose_column});
    } else {
        // A position where the record is that long; otherwise a name, which may look like a number: a year, say.
        std::uint64_t position = 0;
        const bool is_position =
            parse_number(*options.column, position) == number_error::none && position >= 1 && position <= names.size();
        const auto name = std::find(names.begin(), names.end(), *options.column);
        if (!is_position && options.header == false)
            throw failure(file, where,
                          {fmt::format("has no column {}: without a header its {} columns have positions, from 1 on, "
                                       "and no names",
                                       in_quotes(*options.column), names.size())});
        if (!is_position && name == names.end())
            throw failure(file, where,
                          {fmt::format("has no column {}; its {} columns are {}", in_quotes(*options.column),
                                       names.size(), column_list(names))});
        named = !is_position;
        layout.column = is_position ? position - 1 : static_cast<std::size_t>(name - names.begin());
    }
    layout.header = named || options.header.value_or(!is_number(names[layout.column]));
    return layout;
}

// A record read with parse_csv's rules.
template <class T>
class record_parser {
public:
    record_parser(std::string_view text, const csv_layout& layout)
        : p_(text.data()), end_(p_ + text.size()), layout_(layout)
    {
        const std::size_t last_line = text.rfind('\n');
        plain_end_ = last_line == text.npos ? p_ : p_ + last_line;
    }

    const char* position() const { return p_; }

    // Reads the next record and its value, if it has one. False at the end and at an error.
    bool next(parse_result& result, T*& out)
    {
        while (const std::size_t length = blank_line(p_, end_))
            p_ += length;
        if (p_ == end_)
            return false;

        const char* const record = p_;
        const char* p = p_;
        std::size_t index = 0;
        for (bool last = false; !last; ++index) {
            if (index == layout_.column && read_plain(p, last, *out)) {
                ++out;
                continue;
            }
            const field read = read_field(p, end_, layout_.delimiter);
            if (read.fault != nullptr)
                return fault(result, p, {read.fault});
            if (index == layout_.column && !read_value(result, p, read, out))
                return false;
            p = read.next;
            last = read.last;
        }
        if (index != layout_.columns)
            return fault(result, record,
                         {fmt::format("{} fields where the first record has {}", index, layout_.columns),
                          remedy::change_delimiter});
        p_ = p;
        return true;
    }

private:
    // The short way for a field that is nothing but a plain number. A line feed at plain_end_ stops the digits.
    bool read_plain(const char*& p, bool& last, T& value) const
    {
        if constexpr (has_plain_numbers<T>) {
            if (p >= plain_end_)
                return false;
            const char* next = parse_plain(p, value);
            if (next == nullptr)
                return false;
            next += *next == '\r' && next[1] == '\n';
            if (*next != layout_.delimiter && *next != '\n')
                return false;
            last = *next == '\n';
            p = next + 1;
            return true;
        } else {
            return false;
        }
    }

    bool read_value(parse_result& result, const char* p, const field& read, T*& out)
    {
        const std::string_view token = trimmed(read.content);
        if (token.empty()) {
            if (layout_.skip_empty)
                return true;
            return fault(result, p, {fmt::format("column {} is empty", layout_.column + 1), remedy::skip_empty});
        }
        result.error = parse_number(token, *out);
        if (result.error != number_error::none) {
            result.token = token;
            p_ = token.data();
            return false;
        }
        ++out;
        return true;
    }

    bool fault(parse_result& result, const char* where, problem what)
    {
        result.error = number_error::malformed;
        result.other = std::move(what);
        p_ = where;
        return false;
    }

    const char* p_;
    const char* end_;
    const char* plain_end_;
    const csv_layout& layout_;
};

} // namespace

csv_layout find_layout(const std::string& file, std::string_view first_record, const csv_options& options)
{
    std::size_t blank = 0;
    const char* const end = first_record.data() + first_record.size();
    while (const std::size_t length = blank_line(first_record.data() + blank, end))
        blank += length;
    const place where{.line = count_new_lines(first_record.substr(0, blank)) + 1};
    return find_columns(file, where, first_record.substr(blank), options);
}

std::size_t first_record_length(std::string_view text, char delimiter)
{
    const char* p = text.data();
    const char* const end = p + text.size();
    while (const std::size_t length = blank_line(p, end))
        p += length;
    for (bool last = p == end; !last;) {
        const field read = read_field(p, end, delimiter);
        p = read.next;
        last = read.last || read.fault != nullptr;
    }
    return static_cast<std::size_t>(p - text.data());
}

std::size_t cut_after_record(std::string_view text, char delimiter)
{
    std::size_t records_end = 0;
    std::size_t position = 0;
    for (;;) {
        const std::size_t quote = std::min(text.find('"', position), text.size());
        const std::size_t line = text.substr(position, quote - position).rfind('\n');
        if (line != text.npos)
            records_end = position + line + 1;
        if (quote == text.size())
            return records_end;
        position = quote + 1;
        const bool opens = quote == 0 || text[quote - 1] == delimiter || text[quote - 1] == '\n';
        if (!opens)
            continue;
        const char* const end = text.data() + text.size();
        const char* const closing = find_closing_quote(text.data() + quote, end);
        // A quote that ends the text may be the first of two.
        if (closing == end || closing + 1 == end)
            return records_end;
        position = static_cast<std::size_t>(closing - text.data()) + 1;
    }
}

template <class T>
parse_result parse_csv(std::string_view text, const csv_layout& layout, T* values)
{
    parse_result result;
    record_parser<T> records(text, layout);
    T* out = values;
    while (records.next(result, out)) {
    }
    result.count = static_cast<std::uint64_t>(out - values);
    result.new_lines = count_new_lines(text.substr(0, static_cast<std::size_t>(records.position() - text.data())));
    return result;
}

template parse_result parse_csv(std::string_view, const csv_layout&, bool*);
template parse_result parse_csv(std::string_view, const csv_layout&, std::int8_t*);
template parse_result parse_csv(std::string_view, const csv_layout&, std::int16_t*);
template parse_result parse_csv(std::string_view, const csv_layout&, std::int32_t*);
template parse_result parse_csv(std::string_view, const csv_layout&, std::int64_t*);
template parse_result parse_csv(std::string_view, const csv_layout&, std::uint8_t*);
template parse_result parse_csv(std::string_view, const csv_layout&, std::uint16_t*);
template parse_result parse_csv(std::string_view, const csv_layout&, std::uint32_t*);
template parse_result parse_csv(std::string_view, const csv_layout&, std::uint64_t*);
template parse_result parse_csv(std::string_view, const csv_layout&, f16*);
template parse_result parse_csv(std::string_view, const csv_layout&, bf16*);
template parse_result parse_csv(std::string_view, const csv_layout&, float*);
template parse_result parse_csv(std::string_view, const csv_layout&, double*);

} // namespace upsweep::files
