// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
// A table gives the same values and the same first error in one piece as in two, and nothing but a failure is thrown.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "csv.hpp"
#include "failure.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    namespace cli = upsweep::cli;
    if (size < 3)
        return 0;
    const std::vector<char> bytes(data + 3, data + size);
    const std::string_view text(bytes.data(), bytes.size());

    cli::csv_options options;
    options.delimiter = ",;\t|"[data[0] % 4];
    options.skip_empty = data[0] & 4;
    if (data[0] & 8)
        options.header = data[0] & 16;
    if (data[1] % 8 != 0)
        options.column = data[1] % 8 == 7 ? "name" : std::to_string(data[1] % 8);
    const std::size_t first = cli::first_record_length(text, options.delimiter);
    if (first > text.size())
        std::abort();
    cli::csv_layout layout;
    try {
        layout = cli::find_layout(text.substr(0, first), options);
    } catch (const cli::failure&) {
        return 0;
    }
    if (layout.column >= layout.columns)
        std::abort();

    std::vector<double> whole(cli::most_numbers(text.size()));
    std::vector<double> pieces(whole.size());
    const cli::parsed_block block = cli::parse_csv(text, layout, whole.data());
    if (block.count > whole.size())
        std::abort();

    const std::size_t cut = cli::cut_after_record(
        text.substr(0, text.empty() ? 0 : std::size_t{data[2]} * 3 % text.size()), layout.delimiter);
    const cli::parsed_block front = cli::parse_csv(text.substr(0, cut), layout, pieces.data());
    cli::parsed_block back;
    if (front.error == cli::number_error::none)
        back = cli::parse_csv(text.substr(cut), layout, pieces.data() + front.count);
    const auto error = front.error != cli::number_error::none ? front.error : back.error;
    const std::string& message = front.error != cli::number_error::none ? front.message : back.message;
    if (error != block.error || message != block.message || front.count + back.count != block.count)
        std::abort();
    if (front.new_lines + back.new_lines != block.new_lines)
        std::abort();
    if (std::memcmp(whole.data(), pieces.data(), block.count * sizeof(double)) != 0)
        std::abort();
    return 0;
}
