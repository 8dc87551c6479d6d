// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
// The fast parser of a text agrees with one that takes it word by word, in one piece or cut in two.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "dtype.hpp"
#include "text.hpp"

namespace {

namespace files = upsweep::files;

template <class T>
bool begins_with(const std::vector<T>& values, const std::vector<T>& expected)
{
    return expected.empty() || std::memcmp(values.data(), expected.data(), expected.size() * sizeof(T)) == 0;
}

// The first byte of an input chooses the type and where to cut.
template <class T>
void check(std::string_view text, std::size_t cut_seed)
{
    std::vector<T> values(files::most_numbers(text.size()));
    const files::parse_result block = files::parse_text(text, values.data());

    std::vector<T> expected;
    auto error = files::number_error::none;
    std::uint64_t lines = 0;
    for (std::size_t i = 0; i < text.size() && error == files::number_error::none;) {
        if (files::is_space(text[i])) {
            lines += text[i++] == '\n';
            continue;
        }
        std::size_t end = i;
        while (end < text.size() && !files::is_space(text[end]))
            ++end;
        T value{};
        error = files::parse_number(text.substr(i, end - i), value);
        if (error == files::number_error::none)
            expected.push_back(value);
        i = end;
    }
    if (block.error != error || block.count != expected.size() || block.new_lines != lines)
        std::abort();
    if (!begins_with(values, expected))
        std::abort();
    if (error != files::number_error::none)
        if (files::number_problem(error, block.token, UPSWEEP_F64).reason.empty())
            std::abort();

    const std::size_t cut = files::cut_after_space(text.substr(0, text.empty() ? 0 : cut_seed % text.size()));
    const files::parse_result front = files::parse_text(text.substr(0, cut), values.data());
    if (front.error != files::number_error::none)
        return;
    const files::parse_result back = files::parse_text(text.substr(cut), values.data() + front.count);
    if (back.error != error || front.count + back.count != expected.size() || front.new_lines + back.new_lines != lines)
        std::abort();
    if (!begins_with(values, expected))
        std::abort();
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    if (size == 0)
        return 0;
    // A copy of the exact size, so that reading past its end is noticed.
    const std::vector<char> bytes(data + 1, data + size);
    const std::string_view text(bytes.data(), bytes.size());
    constexpr unsigned dtypes = 13;
    files::with_type(static_cast<upsweep_dtype>(data[0] % dtypes), [&]<class T>(std::type_identity<T>) {
        if constexpr (!std::is_same_v<T, bool>)
            check<T>(text, std::size_t{data[0]} * 7);
        else
            check<double>(text, std::size_t{data[0]} * 7);
    });
    return 0;
}
