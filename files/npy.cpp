// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "npy.hpp"

#include <algorithm>
#include <bit>
#include <limits>

#include <fmt/format.h>

#include "dtype.hpp"

namespace upsweep::files {

namespace {

constexpr std::size_t magic_and_version_bytes = 8;

// NumPy itself refuses to read headers above 10,000 bytes unless told otherwise.
constexpr std::size_t longest_header = std::size_t{1} << 20;

// How deep the lists of a structured dtype may nest. NumPy writes three levels; the bound keeps recursion finite.
constexpr int deepest = 32;

[[noreturn]] void fail(const std::string& file, std::size_t byte, const std::string& what)
{
    throw failure(file, {.byte = byte}, {what});
}

// A cursor over the header. It reads the subset of Python's literals that NumPy writes: strings, True, False, integers,
// tuples of integers, and the lists of a structured dtype, which are recognised only to be refused by name.
class literal_parser {
public:
    literal_parser(const std::string& file, std::string_view text, std::size_t offset)
        : file_(file), text_(text), offset_(offset)
    {
    }

    [[noreturn]] void fail(const std::string& what) const { files::fail(file_, offset_ + position_, what); }

    void skip_space()
    {
        while (position_ < text_.size() && std::string_view(" \t\n\r\f").find(text_[position_]) != text_.npos)
            ++position_;
    }

    // The next character that is no space; '\0' at the end.
    char next()
    {
        skip_space();
        return position_ < text_.size() ? text_[position_] : '\0';
    }

    bool accept(char expected)
    {
        if (next() != expected || position_ == text_.size())
            return false;
        ++position_;
        return true;
    }

    void expect(char expected)
    {
        if (!accept(expected))
            fail(fmt::format("the header is malformed: '{}' expected", expected));
    }

    std::string_view string()
    {
        const char quote = next();
        if (quote != '\'' && quote != '"')
            fail("the header is malformed: a string expected");
        const std::size_t begin = ++position_;
        while (position_ < text_.size() && text_[position_] != quote) {
            if (text_[position_] == '\\')
                fail("the header is malformed: an escape in a string");
            ++position_;
        }
        if (position_ == text_.size())
            fail("the header is malformed: a string without an end");
        return text_.substr(begin, position_++ - begin);
    }

    bool boolean()
    {
        skip_space();
        for (const auto& [word, value] : {std::pair<std::string_view, bool>{"True", true}, {"False", false}}) {
            if (text_.substr(position_, word.size()) != word)
                continue;
            position_ += word.size();
            return value;
        }
        fail("the header is malformed: True or False expected");
    }

    std::uint64_t integer()
    {
        skip_space();
        const std::size_t begin = position_;
        std::uint64_t value = 0;
        while (position_ < text_.size() && text_[position_] >= '0' && text_[position_] <= '9') {
            const auto digit = static_cast<std::uint64_t>(text_[position_] - '0');
            if (value > (std::numeric_limits<std::uint64_t>::max() - digit) / 10)
                fail("the header is malformed: a dimension does not fit 64 bits");
            value = value * 10 + digit;
            ++position_;
        }
        if (position_ == begin)
            fail("the header is malformed: a dimension expected");
        if (position_ < text_.size() && text_[position_] == 'L')
            ++position_; // Python 2 wrote long integers so
        return value;
    }

    std::vector<std::uint64_t> tuple()
    {
        std::vector<std::uint64_t> values;
        expect('(');
        bool comma = true;
        while (!accept(')')) {
            if (!comma)
                fail("the header is malformed: ',' or ')' expected");
            values.push_back(integer());
            comma = accept(',');
            if (values.size() == 1 && !comma)
                fail("the header is malformed: a tuple of one needs a comma");
        }
        return values;
    }

    // Steps over a list of tuples of strings, integers and further lists.
    void skip_structure(int depth = 0)
    {
        if (depth == deepest)
            fail("the header is malformed: nested too deeply");
        const char opening = next();
        if (opening == '\'' || opening == '"') {
            string();
        } else if (opening == '[' || opening == '(') {
            const char closing = opening == '[' ? ']' : ')';
            expect(opening);
            while (!accept(closing)) {
                skip_structure(depth + 1);
                if (!accept(',') && next() != closing)
                    fail("the header is malformed: ',' expected");
            }
        } else {
            integer();
        }
    }

    bool at_end()
    {
        skip_space();
        return position_ == text_.size();
    }

    std::size_t position() const { return position_; }
    std::string_view since(std::size_t begin) const { return text_.substr(begin, position_ - begin); }

private:
    const std::string& file_;
    std::string_view text_;
    std::size_t offset_; // of text_ in the file
    std::size_t position_ = 0;
};

struct element_type {
    upsweep_dtype dtype;
    bool byte_swapped;
};

element_type parse_descr(std::string_view descr, const literal_parser& at)
{
    static constexpr std::pair<std::string_view, upsweep_dtype> known[] = {
        {"b1", UPSWEEP_BOOL}, {"i1", UPSWEEP_I8},  {"i2", UPSWEEP_I16}, {"i4", UPSWEEP_I32},
        {"i8", UPSWEEP_I64},  {"u1", UPSWEEP_U8},  {"u2", UPSWEEP_U16}, {"u4", UPSWEEP_U32},
        {"u8", UPSWEEP_U64},  {"f2", UPSWEEP_F16}, {"f4", UPSWEEP_F32}, {"f8", UPSWEEP_F64},
    };
    if (!descr.empty() && std::string_view("<>|=").find(descr[0]) != std::string_view::npos) {
        const char order = descr[0];
        for (const auto& [code, dtype] : known) {
            if (descr.substr(1) != code)
                continue;
            const bool one_byte = dtype_size(dtype) == 1;
            if (order == '|' && !one_byte)
                break;
            constexpr bool little = std::endian::native == std::endian::little;
            return {dtype, !one_byte && order == (little ? '>' : '<')};
        }
    }
    const char kind = descr.size() > 1 ? descr[1] : '\0';
    const std::string_view remedy = descr.find('[') == 0         ? "save one field: np.save(FILE, a['FIELD'])"
                                    : kind == 'c'                ? "save a.real, a.imag or abs(a)"
                                    : kind == 'M' || kind == 'm' ? "convert with a.astype('i8')"
                                    : kind == 'V'                ? "convert with a.astype(np.float32)"
                                                                 : "convert with a.astype(np.float64)";
    at.fail(fmt::format("elements of type {} are not supported; {}", in_quotes(descr), remedy));
}

} // namespace

std::size_t npy_data_offset(const std::string& file, std::string_view preamble)
{
    if (preamble.substr(0, npy_magic.size()) != npy_magic)
        throw failure(file, {.byte = 0}, {"not a .npy file", remedy::give_format});
    if (preamble.size() < magic_and_version_bytes)
        fail(file, preamble.size(), "the file ends inside its header");
    const int major = static_cast<unsigned char>(preamble[6]);
    const int minor = static_cast<unsigned char>(preamble[7]);
    if (major < 1 || major > 3 || minor != 0)
        fail(file, 6,
             fmt::format("version {}.{} of the .npy format is not known; save it again with NumPy", major, minor));
    const std::size_t length_bytes = major == 1 ? 2 : 4;
    if (preamble.size() < magic_and_version_bytes + length_bytes)
        fail(file, preamble.size(), "the file ends inside its header");
    std::size_t length = 0;
    for (std::size_t i = length_bytes; i-- > 0;)
        length = length << 8 | static_cast<unsigned char>(preamble[magic_and_version_bytes + i]);
    if (length > longest_header)
        fail(file, magic_and_version_bytes, fmt::format("a header of {} bytes is not credible", length));
    return magic_and_version_bytes + length_bytes + length;
}

npy_header parse_npy_header(const std::string& file, std::string_view front)
{
    npy_header header;
    header.data_offset = npy_data_offset(file, front);
    if (front.size() < header.data_offset)
        fail(file, front.size(),
             fmt::format("the file ends inside its header, which should reach byte {}", header.data_offset));
    const std::size_t begin = magic_and_version_bytes + (front[6] == 1 ? 2 : 4);
    literal_parser parser(file, front.substr(begin, header.data_offset - begin), begin);

    std::optional<element_type> type;
    std::optional<bool> fortran_order;
    std::optional<std::vector<std::uint64_t>> shape;
    parser.expect('{');
    bool comma = true;
    while (!parser.accept('}')) {
        if (!comma)
            parser.fail("the header is malformed: ',' or '}' expected");
        const std::string_view key = parser.string();
        parser.expect(':');
        if (key == "descr" && !type) {
            const char opening = parser.next();
            const std::size_t value_begin = parser.position();
            if (opening == '[' || opening == '(')
                parser.skip_structure();
            type = parse_descr(opening == '[' || opening == '(' ? parser.since(value_begin) : parser.string(), parser);
        } else if (key == "fortran_order" && !fortran_order) {
            fortran_order = parser.boolean();
        } else if (key == "shape" && !shape) {
            shape = parser.tuple();
        } else {
            parser.fail(fmt::format("the header is malformed: the key {} is unknown or given twice", in_quotes(key)));
        }
        comma = parser.accept(',');
    }
    if (!parser.at_end())
        parser.fail("the header is malformed: text after its end");
    if (!type || !fortran_order || !shape)
        parser.fail(fmt::format("the header is malformed: the key '{}' is missing", !type            ? "descr"
                                                                                    : !fortran_order ? "fortran_order"
                                                                                                     : "shape"));

    header.dtype = type->dtype;
    header.byte_swapped = type->byte_swapped;
    header.fortran_order = *fortran_order;
    header.shape = std::move(*shape);

    // A zero anywhere empties the array, whatever the other dimensions are.
    const bool empty = std::find(header.shape.begin(), header.shape.end(), 0U) != header.shape.end();
    std::uint64_t count = empty ? 0 : 1;
    const std::uint64_t most = std::numeric_limits<std::int64_t>::max() / dtype_size(header.dtype);
    for (const std::uint64_t extent : header.shape) {
        if (!empty && count > most / extent)
            parser.fail("the shape needs more than 2^63 bytes");
        count *= extent;
    }
    header.count = count;
    return header;
}

std::string make_npy_header(upsweep_dtype dtype, std::span<const std::uint64_t> shape)
{
    static constexpr const char* codes[] = {"b1", "i1", "i2", "i4",    "i8", "u1", "u2",
                                            "u4", "u8", "f2", nullptr, "f4", "f8"};
    constexpr char native = std::endian::native == std::endian::little ? '<' : '>';
    const char order = dtype_size(dtype) == 1 ? '|' : native;
    constexpr std::size_t least_bytes = 128; // a multiple of 64 with room for any count
    constexpr std::size_t preamble = 10;
    const std::string extents = fmt::format("({}{})", fmt::join(shape, ", "), shape.size() == 1 ? "," : "");
    std::string header =
        fmt::format("{{'descr': '{}{}', 'fortran_order': False, 'shape': {}, }}", order, codes[dtype], extents);
    const std::size_t total_bytes = std::max(least_bytes, (preamble + header.size() + 1 + 63) / 64 * 64);
    header.resize(total_bytes - preamble - 1, ' ');
    header += '\n';
    const std::size_t header_bytes = total_bytes - preamble;
    return fmt::format("{}{}{}{}{}{}", npy_magic, '\1', '\0', static_cast<char>(header_bytes & 0xff),
                       static_cast<char>(header_bytes >> 8), header);
}

} // namespace upsweep::files
