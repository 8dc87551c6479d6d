// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "csv.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>

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

bool is_blank(char c) { return c == ' ' || c == '\t'; }

// The length of a blank line at p; 0 where the line is not blank. Tabs between fields are not blank.
std::size_t blank_line(const char* p, const char* end, char delimiter)
{
    const char* stop = p;
    while (stop != end && is_blank(*stop) && (*stop != delimiter || delimiter == ' '))
        ++stop;
    if (stop != end && *stop == '\r')
        ++stop;
    if (stop != end)
        stop = *stop == '\n' ? stop + 1 : p;
    return static_cast<std::size_t>(stop - p);
}

// The length of what stands at p and is no record: a blank line, or a comment.
std::size_t no_record(const char* p, const char* end, char delimiter, std::string_view comment)
{
    if (const std::size_t length = blank_line(p, end, delimiter))
        return length;
    const std::string_view rest(p, static_cast<std::size_t>(end - p));
    if (comment.empty() || !rest.starts_with(comment))
        return 0;
    const std::size_t line = rest.find('\n');
    return line == rest.npos ? rest.size() : line + 1;
}

std::string_view trimmed(std::string_view text)
{
    while (!text.empty() && is_blank(text.front()))
        text.remove_prefix(1);
    while (!text.empty() && is_blank(text.back()))
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

// A number with another decimal point than ours.
number_error parse_decimal(std::string_view token, char decimal, auto& value)
{
    const std::size_t point = decimal == '.' ? token.npos : token.find(decimal);
    if (point == token.npos)
        return parse_number(token, value);
    std::string ours(token);
    ours[point] = '.';
    return token.find('.') == token.npos ? parse_number(ours, value) : number_error::malformed;
}

bool is_number(std::string_view text, char decimal)
{
    double value = 0;
    bool flag = false;
    return parse_decimal(trimmed(text), decimal, value) == number_error::none ||
           parse_number(trimmed(text), flag) == number_error::none;
}

// Behind the quote that ends the word at p, which begins with one and ends in its line; null where it does not.
const char* end_of_quoted_word(const char* p, const char* end)
{
    if (p == end || *p != '"')
        return nullptr;
    for (const char* q = p + 1; q != end && *q != '\n'; ++q)
        if (*q == '"' && (q + 1 == end || is_blank(q[1]) || q[1] == '\n' || q[1] == '\r'))
            return q + 1;
    return nullptr;
}

// The field of a line of fields that runs of spaces separate. A word in quotes may have spaces in it.
field read_word(const char* p, const char* end)
{
    field result;
    while (p != end && is_blank(*p))
        ++p;
    const char* stop = end_of_quoted_word(p, end);
    result.quoted = stop != nullptr;
    for (stop = result.quoted ? stop : p; stop != end && !is_blank(*stop) && *stop != '\n';)
        ++stop;
    result.content = std::string_view(p, static_cast<std::size_t>(stop - p));
    if (result.quoted)
        result.content = result.content.substr(1, result.content.rfind('"') - 1);
    while (stop != end && is_blank(*stop))
        ++stop;
    result.last = stop == end || *stop == '\n';
    if (result.last && !result.content.empty() && result.content.back() == '\r')
        result.content.remove_suffix(1);
    result.next = result.last && stop != end ? stop + 1 : stop;
    return result;
}

field read_field_of(const char* p, const char* end, char delimiter)
{
    return delimiter == ' ' ? read_word(p, end) : read_field(p, end, delimiter);
}

// The fields of a record, quotes removed.
std::vector<std::string> split_record(const std::string& file, const place& where, std::string_view record,
                                      char delimiter)
{
    std::vector<std::string> fields;
    const char* p = record.data();
    const char* const end = p + record.size();
    for (bool last = false; !last;) {
        const field read = read_field_of(p, end, delimiter);
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

// How many fields the record at p has, and where the next one begins.
std::pair<std::size_t, const char*> count_fields(const char* p, const char* end, char delimiter)
{
    for (std::size_t count = 1;; ++count) {
        const field read = read_field_of(p, end, delimiter);
        p = read.next;
        if (read.last || read.fault != nullptr)
            return {count, p};
    }
}

std::string small_letters(std::string_view text)
{
    std::string small(text);
    for (char& c : small)
        c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
    return small;
}

// What is in a field, as far as a header can be told by it.
enum class content : std::uint8_t { word, number, nothing };

content content_of(std::string_view text, const csv_layout& layout)
{
    const std::string_view token = trimmed(text);
    if (token.empty() || layout.is_missing(token))
        return content::nothing;
    return is_number(token, layout.decimal) ? content::number : content::word;
}

// Whether the numbers of a record could be years that name columns: whole, from 1800 to 2100, each above the one before.
bool are_years(const std::vector<std::string>& record, const csv_layout& layout)
{
    std::int64_t last = 0;
    for (const std::string& text : record) {
        if (content_of(text, layout) != content::number)
            continue;
        std::int64_t year = 0;
        if (parse_number(trimmed(text), year) != number_error::none || year < 1800 || year > 2100 || year <= last)
            return false;
        last = year;
    }
    return last != 0;
}

enum class header_guess : std::uint8_t { yes, no, unknown };

// Whether the first of two records names the columns, told by all their fields: it does where a word stands above a number. A
// missing value is no word. Numbers name columns if they are years, which those below them are not.
header_guess guess_header(const std::vector<std::string>& first, const std::vector<std::string>& second,
                          const csv_layout& layout)
{
    bool has_number = false;
    bool has_word = false;
    for (std::size_t k = 0; k < first.size(); ++k) {
        const content of_first = content_of(first[k], layout);
        const content of_second = k < second.size() ? content_of(second[k], layout) : content::nothing;
        if (of_first == content::word && of_second == content::number)
            return header_guess::yes;
        has_number |= of_first == content::number;
        has_word |= of_first == content::word;
    }
    if (!has_number)
        return has_word ? header_guess::yes : header_guess::no;
    if (!second.empty() && are_years(first, layout) && !are_years(second, layout)) {
        const auto numbers = std::count_if(first.begin(), first.end(), [&](const std::string& text) {
            return content_of(text, layout) == content::number;
        });
        return numbers > 1 ? header_guess::yes : has_word ? header_guess::unknown : header_guess::no;
    }
    return header_guess::no;
}

// The position that this is, from 1, where the record is that long; 0 otherwise: a name may look like a number, a year, say.
std::size_t position_of(const std::string& column, std::size_t columns)
{
    std::uint64_t position = 0;
    return parse_number(column, position) == number_error::none && position <= columns ? position : 0;
}

// What the records have more than the one that names the columns, if it is one field.
enum class extra_field : std::uint8_t { none, first, last };

// Whether all records from p on, as far as they are seen, have a field more than the first one: R leaves out the name of the first column,
// which has the names of the rows, and others end each record with a delimiter.
extra_field find_extra_field(const char* p, const char* end, std::size_t columns, const csv_layout& layout)
{
    constexpr int most_records = 50;
    bool all_end_with_delimiter = layout.delimiter != ' ';
    int seen = 0;
    for (; seen < most_records; ++seen) {
        while (const std::size_t length = no_record(p, end, layout.delimiter, layout.comment))
            p += length;
        if (p == end)
            break;
        const auto [count, next] = count_fields(p, end, layout.delimiter);
        if (count != columns + 1) {
            if (next == end && seen > 1) // which may be cut off
                break;
            return extra_field::none;
        }
        std::string_view record(p, static_cast<std::size_t>(next - p));
        while (!record.empty() && (record.back() == '\n' || record.back() == '\r'))
            record.remove_suffix(1);
        all_end_with_delimiter = all_end_with_delimiter && record.ends_with(layout.delimiter);
        p = next;
    }
    return seen == 0 ? extra_field::none : all_end_with_delimiter ? extra_field::last : extra_field::first;
}

// Whether what stands before the table, or how its fields are separated, may be the reason why a column is not there.
bool is_doubtful_header(const std::vector<std::string>& names, std::string_view column)
{
    std::uint64_t position = 0;
    const auto is_doubtful = [](const std::string& name) {
        return name.empty() || name.starts_with('#') || name.starts_with('%') || name.starts_with("//");
    };
    return names.size() == 1 || parse_number(column, position) == number_error::none ||
           std::any_of(names.begin(), names.end(), is_doubtful);
}

// The position of the column that is asked for among those with these names, or for a lone one without being asked.
std::size_t find_column(const std::string& file, const place& where, const std::vector<std::string>& names,
                        const csv_options& options, bool& named)
{
    if (!options.column) {
        if (names.size() > 1)
            throw failure(file, where,
                          {fmt::format("has {} columns: {}", names.size(), column_list(names)), remedy::choose_column});
        return 0;
    }
    if (const std::size_t position = position_of(*options.column, names.size()))
        return position - 1;
    if (options.header == false)
        throw failure(file, where,
                      {fmt::format("has no column {}: without a header, {} columns have positions alone",
                                   in_quotes(*options.column), names.size())});
    const auto is_asked_for = [&](const std::string& name) { return trimmed(name) == trimmed(*options.column); };
    const auto found = std::find_if(names.begin(), names.end(), is_asked_for);
    if (found == names.end())
        throw failure(file, where,
                      {fmt::format("has no column {}; its {} columns are {}", in_quotes(*options.column), names.size(),
                                   column_list(names)),
                       is_doubtful_header(names, *options.column) ? remedy::find_table : remedy::none});
    const auto another = std::find_if(found + 1, names.end(), is_asked_for);
    if (another != names.end())
        throw failure(file, where,
                      {fmt::format("has several columns {}: {} and {}; give the position of one", in_quotes(*found),
                                   found - names.begin() + 1, another - names.begin() + 1)});
    named = true;
    return static_cast<std::size_t>(found - names.begin());
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
        while (const std::size_t length = no_record(p_, end_, layout_.delimiter, layout_.comment))
            p_ += length;
        if (p_ == end_)
            return false;
        if (layout_.delimiter == ' ')
            return next_of_words(result, out);

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
    // The same where runs of spaces separate the fields. Only the column must be there.
    bool next_of_words(parse_result& result, T*& out)
    {
        const char* const record = p_;
        const char* p = p_;
        std::size_t index = 0;
        for (bool last = false; !last; ++index) {
            const field read = read_word(p, end_);
            if (index == layout_.column && !read_value(result, p, read, out))
                return false;
            p = read.next;
            last = read.last;
        }
        if (index <= layout_.column)
            return fault(result, record,
                         {fmt::format("{} fields, and column {} is asked for", index, layout_.column + 1),
                          remedy::change_delimiter});
        p_ = p;
        return true;
    }

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
        if (layout_.is_missing(token)) {
            ++result.missing;
            return true;
        }
        if (token.empty())
            return fault(result, p, {fmt::format("column {} is empty", layout_.column + 1), remedy::tell_missing});
        result.error = parse_decimal(token, layout_.decimal, *out);
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

namespace {

// How many fields the first record has, and whether as many as the others at the front of `text` do, whose last line may be cut off.
std::pair<std::size_t, bool> fields_of_first(std::string_view text, char delimiter, std::string_view comment)
{
    constexpr std::size_t most_records = 50;
    const char* p = text.data();
    const char* const end = p + text.size();
    std::size_t fields = 0;
    for (std::size_t k = 0; k < most_records; ++k) {
        while (const std::size_t length = no_record(p, end, delimiter, comment))
            p += length;
        if (p == end)
            break;
        const auto [count, next] = count_fields(p, end, delimiter);
        const bool is_cut_off = next == end && k != 0;
        // In a table that a program prints, lines may have more words than others.
        const bool is_alike = count == fields || (delimiter == ' ' && count > 1);
        if (k == 0)
            fields = count;
        else if (!is_alike && !is_cut_off)
            return {fields, false};
        p = next;
    }
    return {fields, true};
}

} // namespace

bool csv_layout::is_missing(std::string_view token) const
{
    // Nearly all fields are numbers, and no word for what is missing begins with a digit above 1.
    if (!may_be_missing || (!token.empty() && token.front() >= '2' && token.front() <= '9'))
        return false;
    if (token.empty())
        return missing.front().empty();
    constexpr std::size_t longest = 32;
    return token.size() <= longest && std::find(missing.begin(), missing.end(), small_letters(token)) != missing.end();
}

std::size_t length_of_lines(std::string_view text, std::uint64_t lines)
{
    std::size_t length = 0;
    for (; lines > 0 && length < text.size(); --lines) {
        const std::size_t end = text.find('\n', length);
        length = end == text.npos ? text.size() : end + 1;
    }
    return length;
}

char find_delimiter(std::string_view text, const csv_options& options)
{
    if (options.delimiter)
        return *options.delimiter;
    // Of those that fit, the first: commas stand in numbers and prose, too. Where none does, that which the first record has most of:
    // the line that is wrong is told then. Words are fields only where there is nothing else.
    char most_frequent = options.decimal == ',' ? ';' : ',';
    std::size_t most_fields = 1;
    for (const char delimiter : {'\t', ';', '|', ','}) {
        if (delimiter == options.decimal)
            continue;
        const auto [fields, fits] = fields_of_first(text, delimiter, options.comment);
        if (fits && fields > 1)
            return delimiter;
        if (fields > most_fields) {
            most_fields = fields;
            most_frequent = delimiter;
        }
    }
    const auto [words, fit] = fields_of_first(text, ' ', options.comment);
    return most_fields == 1 && fit && words > 1 ? ' ' : most_frequent;
}

csv_layout find_layout(const std::string& file, std::string_view text, std::uint64_t line, const csv_options& options)
{
    csv_layout layout;
    layout.comment = options.comment;
    layout.decimal = options.decimal;
    layout.delimiter = find_delimiter(text, options);
    layout.may_be_missing = options.missing.has_value();
    if (layout.may_be_missing) {
        std::string_view rest = *options.missing;
        for (std::size_t comma = 0; comma != rest.npos; rest.remove_prefix(std::min(rest.size(), comma + 1))) {
            comma = rest.find(',');
            const std::string word = small_letters(trimmed(rest.substr(0, comma)));
            layout.missing.insert(word.empty() ? layout.missing.begin() : layout.missing.end(), word);
        }
    }

    const char* p = text.data();
    const char* const end = p + text.size();
    const auto next_record = [&] {
        while (const std::size_t length = no_record(p, end, layout.delimiter, layout.comment))
            p += length;
        const char* const begin = p;
        p = count_fields(p, end, layout.delimiter).second;
        return std::string_view(begin, static_cast<std::size_t>(p - begin));
    };
    const std::string_view first = next_record();
    const place where{.line =
                          line + count_new_lines(text.substr(0, static_cast<std::size_t>(first.data() - text.data())))};
    if (first.empty()) {
        if (options.column)
            throw failure(file, where,
                          {fmt::format("has no records, and so no column {}", in_quotes(*options.column))});
        return layout;
    }
    std::vector<std::string> names = split_record(file, where, first, layout.delimiter);
    const extra_field extra =
        options.header == false ? extra_field::none : find_extra_field(p, end, names.size(), layout);
    if (extra == extra_field::last)
        names.emplace_back();
    if (extra == extra_field::first) {
        if (layout.delimiter != ' ' || first.find('"') != first.npos)
            names.insert(names.begin(), std::string());
        else if (options.column && position_of(*options.column, names.size()) == 0)
            throw failure(file, where,
                          {fmt::format("every record has {} fields where the first one has {}; give the position of "
                                       "the column",
                                       names.size() + 1, names.size())});
    }
    layout.columns = names.size();
    bool named = false;
    layout.column = find_column(file, where, names, options, named);
    if (named || options.header) {
        layout.header = named || *options.header;
    } else {
        const std::string_view second = next_record();
        const header_guess guess = guess_header(
            names, second.empty() ? std::vector<std::string>() : split_record(file, where, second, layout.delimiter),
            layout);
        if (guess == header_guess::unknown)
            throw failure(file, where,
                          {fmt::format("may be the names of the columns, or values: {}", column_list(names)),
                           remedy::tell_header});
        layout.header = guess == header_guess::yes;
    }
    if (layout.header)
        layout.name = names[layout.column];
    return layout;
}

std::size_t first_record_length(std::string_view text, const csv_layout& layout)
{
    const char* p = text.data();
    const char* const end = p + text.size();
    while (const std::size_t length = no_record(p, end, layout.delimiter, layout.comment))
        p += length;
    if (p != end)
        p = count_fields(p, end, layout.delimiter).second;
    return static_cast<std::size_t>(p - text.data());
}

std::size_t cut_after_record(std::string_view text, const csv_layout& layout)
{
    if (layout.delimiter == ' ')
        return text.rfind('\n') + 1; // npos is -1
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
        const bool opens = quote == 0 || text[quote - 1] == layout.delimiter || text[quote - 1] == '\n';
        if (!opens)
            continue;
        if (!layout.comment.empty() && text.substr(text.rfind('\n', quote) + 1).starts_with(layout.comment))
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
