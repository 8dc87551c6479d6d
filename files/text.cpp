// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "text.hpp"

#include "plain_run.hpp"

namespace upsweep::files {

namespace {

const char* skip_space(const char* p, const char* end)
{
    while (p != end && is_space(*p))
        ++p;
    return p;
}

const char* token_end(const char* p, const char* end)
{
    while (p != end && !is_space(*p))
        ++p;
    return p;
}

} // namespace

std::uint64_t count_new_lines(std::string_view text)
{
    // In pieces whose counts fit a byte, so that the compiler can add sixteen and more at once.
    std::uint64_t total = 0;
    while (!text.empty()) {
        const std::string_view piece = text.substr(0, 255);
        std::uint8_t count = 0;
        for (const char c : piece)
            count = static_cast<std::uint8_t>(count + (c == '\n'));
        total += count;
        text.remove_prefix(piece.size());
    }
    return total;
}

std::size_t cut_after_space(std::string_view text)
{
    std::size_t length = text.size();
    while (length > 0 && !is_space(text[length - 1]))
        --length;
    return length;
}

template <class T>
parse_result parse_text(std::string_view text, T* values)
{
    parse_result result;
    const char* p = text.data();
    const char* const end = p + text.size();
    const char* const safe_end = p + cut_after_space(text); // before it, every token is followed by a white space
    T* out = values;
    if constexpr (has_plain_numbers<T>)
        p = parse_plain_run(p, end, out);
    for (;;) {
        if constexpr (has_plain_numbers<T>) {
            while (p < safe_end) {
                if (is_space(*p)) {
                    ++p;
                    continue;
                }
                const char* const next = parse_plain(p, *out);
                if (next == nullptr || !is_space(*next))
                    break;
                ++out;
                p = next + 1;
            }
        }
        p = skip_space(p, end);
        if (p == end)
            break;
        const char* const stop = token_end(p, end);
        const std::string_view token(p, static_cast<std::size_t>(stop - p));
        result.error = parse_number(token, *out);
        if (result.error != number_error::none) {
            result.token = token;
            break;
        }
        ++out;
        p = stop;
    }
    result.count = static_cast<std::uint64_t>(out - values);
    result.new_lines = count_new_lines(text.substr(0, static_cast<std::size_t>(p - text.data())));
    return result;
}

template parse_result parse_text(std::string_view, bool*);
template parse_result parse_text(std::string_view, std::int8_t*);
template parse_result parse_text(std::string_view, std::int16_t*);
template parse_result parse_text(std::string_view, std::int32_t*);
template parse_result parse_text(std::string_view, std::int64_t*);
template parse_result parse_text(std::string_view, std::uint8_t*);
template parse_result parse_text(std::string_view, std::uint16_t*);
template parse_result parse_text(std::string_view, std::uint32_t*);
template parse_result parse_text(std::string_view, std::uint64_t*);
template parse_result parse_text(std::string_view, f16*);
template parse_result parse_text(std::string_view, bf16*);
template parse_result parse_text(std::string_view, float*);
template parse_result parse_text(std::string_view, double*);

} // namespace upsweep::files
