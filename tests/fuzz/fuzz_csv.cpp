// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
// A table gives the same values and the same first error in one piece as in two, and nothing but a failure is thrown.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "csv.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    namespace files = upsweep::files;
    if (size < 3)
        return 0;
    const std::vector<char> bytes(data + 3, data + size);
    const std::string_view all(bytes.data(), bytes.size());

    files::csv_options options;
    if (data[0] & 32)
        options.delimiter = ",;\t| "[data[0] % 5];
    if (data[0] & 4)
        options.missing.reset();
    if (data[1] & 8)
        options.comment = "#";
    options.decimal = data[1] & 16 ? ',' : '.';
    options.skip_lines = data[1] >> 5;
    if (data[0] & 8)
        options.header = data[0] & 16;
    if (data[1] % 8 != 0)
        options.column = data[1] % 8 == 7 ? "name" : std::to_string(data[1] % 8);
    const std::size_t before = files::length_of_lines(all, options.skip_lines);
    if (before > all.size())
        std::abort();
    const std::string_view text = all.substr(before);
    files::csv_layout layout;
    try {
        layout = files::find_layout("fuzzed", text, 1, options);
    } catch (const files::failure&) {
        return 0;
    }
    if (files::first_record_length(text, layout) > text.size())
        std::abort();
    if (layout.column >= layout.columns)
        std::abort();

    std::vector<double> whole(files::most_numbers(text.size()));
    std::vector<double> pieces(whole.size());
    const files::parse_result block = files::parse_csv(text, layout, whole.data());
    if (block.count > whole.size())
        std::abort();

    const std::size_t cut =
        files::cut_after_record(text.substr(0, text.empty() ? 0 : std::size_t{data[2]} * 3 % text.size()), layout);
    const files::parse_result front = files::parse_csv(text.substr(0, cut), layout, pieces.data());
    files::parse_result back;
    if (front.error == files::number_error::none)
        back = files::parse_csv(text.substr(cut), layout, pieces.data() + front.count);
    const auto error = front.error != files::number_error::none ? front.error : back.error;
    const files::problem& other = front.error != files::number_error::none ? front.other : back.other;
    if (error != block.error || other.reason != block.other.reason || front.count + back.count != block.count)
        std::abort();
    if (front.new_lines + back.new_lines != block.new_lines || front.missing + back.missing != block.missing)
        std::abort();
    if (std::memcmp(whole.data(), pieces.data(), block.count * sizeof(double)) != 0)
        std::abort();
    return 0;
}
