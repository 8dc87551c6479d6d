// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "encoding.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

#include <fmt/core.h>
#include <upsweep/files.hpp>

#include "text.hpp"

namespace upsweep::files {

namespace {

constexpr std::string_view utf16_little_mark = "\xff\xfe";
constexpr std::string_view utf16_big_mark = "\xfe\xff";
constexpr std::string_view utf32_little_mark{"\xff\xfe\0\0", 4};
constexpr std::string_view utf32_big_mark{"\0\0\xfe\xff", 4};

// A text without LF in so many bytes has lines that end with CR, or is no text.
constexpr std::size_t line_end_bytes = std::size_t{1} << 16;

enum class byte_order : std::uint8_t { little, big };

bool begins_with(std::string_view text, std::string_view front) { return text.substr(0, front.size()) == front; }

// By its mark. Of UTF-32 the first bytes are the same in little-endian, and a text has no NUL.
std::optional<byte_order> order_of_utf16(std::string_view front)
{
    if (begins_with(front, utf16_little_mark) && !begins_with(front, utf32_little_mark))
        return byte_order::little;
    if (begins_with(front, utf16_big_mark))
        return byte_order::big;
    return std::nullopt;
}

unsigned unit_at(const char* bytes, byte_order order)
{
    const unsigned first = static_cast<unsigned char>(bytes[0]);
    const unsigned second = static_cast<unsigned char>(bytes[1]);
    return order == byte_order::little ? second << 8 | first : first << 8 | second;
}

constexpr bool is_high_surrogate(unsigned unit) { return (unit & 0xfc00U) == 0xd800U; }
constexpr bool is_low_surrogate(unsigned unit) { return (unit & 0xfc00U) == 0xdc00U; }

void append_utf8(std::string& text, std::uint32_t point)
{
    const auto byte = [](std::uint32_t bits) { return static_cast<char>(bits); };
    const auto tail = [&](int shift) { return byte(0x80U | (point >> shift & 0x3fU)); };
    if (point < 0x80U)
        text += byte(point);
    else if (point < 0x800U)
        text += {byte(0xc0U | point >> 6), tail(0)};
    else if (point < 0x10000U)
        text += {byte(0xe0U | point >> 12), tail(6), tail(0)};
    else
        text += {byte(0xf0U | point >> 18), tail(12), tail(6), tail(0)};
}

class utf16_stream final : public byte_stream {
public:
    utf16_stream(byte_input& from, std::size_t piece_bytes)
        : from_(from), pieces_(from, std::max(piece_bytes, utf16_little_mark.size()))
    {
        order_ = order_of_utf16(from.peek(utf32_little_mark.size())).value_or(byte_order::little);
    }

    std::size_t read(char* buffer, std::size_t capacity) override
    {
        std::size_t done = 0;
        while (done < capacity) {
            if (used_ == text_.size() && !convert_piece())
                break;
            const std::size_t taken = std::min(capacity - done, text_.size() - used_);
            std::memcpy(buffer + done, text_.data() + used_, taken);
            done += taken;
            used_ += taken;
        }
        return done;
    }

    void interrupt() override { from_.interrupt(); }

private:
    // Makes text_ of the next pieces; false at the end.
    bool convert_piece()
    {
        text_.clear();
        used_ = 0;
        while (text_.empty()) {
            const std::uint64_t position = pieces_.position();
            const std::string_view piece = pieces_.next();
            if (piece.empty()) {
                refuse_half();
                return false;
            }
            convert(piece, position);
        }
        return true;
    }

    // Of a unit and of a pair of surrogates the front may be in one piece and the rest in the next.
    void convert(std::string_view piece, std::uint64_t position)
    {
        std::size_t i = 0;
        if (odd_byte_) {
            const std::array both = {*odd_byte_, piece[0]};
            odd_byte_.reset();
            add(unit_at(both.data(), order_), position - 1);
            i = 1;
        }
        for (; i + 1 < piece.size(); i += 2) {
            const unsigned unit = unit_at(piece.data() + i, order_);
            if (unit < 0x80U && high_ == 0)
                text_ += static_cast<char>(unit);
            else
                add(unit, position + i);
        }
        if (i < piece.size())
            odd_byte_ = piece[i];
    }

    void add(unsigned unit, std::uint64_t position)
    {
        constexpr unsigned mark = 0xfeff;
        if (unit == mark && position == 0)
            return;
        if (high_ != 0) {
            if (!is_low_surrogate(unit))
                refuse_lone(position - 2);
            append_utf8(text_, 0x10000U + ((high_ & 0x3ffU) << 10 | (unit & 0x3ffU)));
            high_ = 0;
        } else if (is_high_surrogate(unit)) {
            high_ = unit;
        } else if (is_low_surrogate(unit)) {
            refuse_lone(position);
        } else {
            append_utf8(text_, unit);
        }
    }

    void refuse_half() const
    {
        const std::uint64_t end = pieces_.position();
        if (odd_byte_)
            throw failure(from_.name(), {.byte = end - 1},
                          {"the UTF-16 text ends inside a character; copy or save the file again"});
        if (high_ != 0)
            refuse_lone(end - 2);
    }

    [[noreturn]] void refuse_lone(std::uint64_t position) const
    {
        throw failure(from_.name(), {.byte = position},
                      {"half of a character (a lone surrogate) in the UTF-16 text; save the file again, as UTF-8"});
    }

    byte_input& from_;
    byte_pieces pieces_;
    byte_order order_;
    std::optional<char> odd_byte_; // the first of a unit
    unsigned high_ = 0;            // the first of a pair of surrogates, or 0
    std::string text_;
    std::size_t used_ = 0;
};

class line_feed_stream final : public byte_stream {
public:
    line_feed_stream(byte_input& from, std::size_t piece_bytes) : from_(from), pieces_(from, piece_bytes) {}

    std::size_t read(char* buffer, std::size_t capacity) override
    {
        std::size_t done = 0;
        while (done < capacity) {
            if (piece_.empty())
                piece_ = pieces_.next();
            if (piece_.empty())
                break;
            const std::string_view taken = piece_.substr(0, capacity - done);
            std::replace_copy(taken.begin(), taken.end(), buffer + done, '\r', '\n');
            done += taken.size();
            piece_.remove_prefix(taken.size());
        }
        return done;
    }

    void interrupt() override { from_.interrupt(); }

private:
    byte_input& from_;
    byte_pieces pieces_;
    std::string_view piece_;
};

// An input of what `make` makes of another one.
std::unique_ptr<byte_input> converted(std::unique_ptr<byte_input> from,
                                      std::unique_ptr<byte_stream> (*make)(byte_input&, std::size_t))
{
    const std::string name = from->name();
    const bool rereadable = from->rereadable();
    const auto open = [make, source = std::shared_ptr<byte_input>(std::move(from))] {
        return make(*source, byte_pieces::usual_bytes);
    };
    return std::make_unique<byte_input>(name, open, rereadable);
}

[[noreturn]] void refuse_encoding(const byte_input& input, std::string_view what, std::string_view encoding)
{
    const std::string_view file =
        input.is_decoded() || input.name() == "standard input" ? "FILE" : std::string_view(input.name());
    throw failure(input.name(), {}, {fmt::format("is {}; convert it: iconv -f {} -t UTF-8 {}", what, encoding, file)});
}

// Whether characters of ASCII stand at every second byte, and zeros between them.
bool is_unmarked_utf16(std::string_view front, byte_order order)
{
    if (front.size() < 2)
        return false;
    for (std::size_t i = 0; i < front.size(); ++i) {
        const bool is_zero = (i % 2 == 1) == (order == byte_order::little);
        const bool is_text = is_space(front[i]) || (front[i] >= 0x20 && front[i] < 0x7f);
        if (is_zero ? front[i] != '\0' : !is_text)
            return false;
    }
    return true;
}

} // namespace

bool looks_like_utf16(std::string_view front)
{
    const auto order = order_of_utf16(front);
    if (!order)
        return false;
    std::size_t ascii = 0;
    std::size_t others = 0;
    for (std::size_t i = utf16_little_mark.size(); i + 1 < front.size(); i += 2) {
        const unsigned unit = unit_at(front.data() + i, *order);
        const bool is_control = unit < 0x20U && !is_space(static_cast<char>(unit));
        if (is_control || unit == 0x7fU)
            return false;
        unit < 0x80U ? ++ascii : ++others;
    }
    return ascii >= others;
}

void refuse_other_encodings(byte_input& input)
{
    constexpr std::size_t enough = 64;
    const std::string_view front = input.peek(enough);
    if (begins_with(front, utf32_little_mark) || begins_with(front, utf32_big_mark))
        refuse_encoding(input, "text in UTF-32", "UTF-32");
    if (is_unmarked_utf16(front, byte_order::little))
        refuse_encoding(input, "text in UTF-16 without a byte order mark", "UTF-16LE");
    if (is_unmarked_utf16(front, byte_order::big))
        refuse_encoding(input, "text in UTF-16 without a byte order mark", "UTF-16BE");
}

std::unique_ptr<byte_input> as_plain_text(std::unique_ptr<byte_input> input)
{
    refuse_other_encodings(*input);
    if (order_of_utf16(input->peek(utf32_little_mark.size())))
        input = converted(std::move(input), utf8_of_utf16);

    // A CR at the end of the window may belong to an LF after it.
    const std::string_view front = input->peek(line_end_bytes + 1);
    if (front.substr(0, line_end_bytes).find('\r') != front.npos && front.find('\n') == front.npos)
        input = converted(std::move(input), line_feeds_of_returns);
    return input;
}

std::unique_ptr<byte_stream> utf8_of_utf16(byte_input& from, std::size_t piece_bytes)
{
    return std::make_unique<utf16_stream>(from, piece_bytes);
}

std::unique_ptr<byte_stream> line_feeds_of_returns(byte_input& from, std::size_t piece_bytes)
{
    return std::make_unique<line_feed_stream>(from, piece_bytes);
}

} // namespace upsweep::files
