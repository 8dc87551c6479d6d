// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "command.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include <fmt/core.h>

#include "../runtime/element_type.hpp"
#include "inputs.hpp"
#include "options.hpp"
#include "report.hpp"
#include "runtime_call.hpp"

namespace upsweep::cli {

namespace {

// Runs are written as they end. Those of a piece of the elements come from libupsweep; the last of them may go on in the next
// piece.
class run_writer {
public:
    run_writer(upsweep_context& context, upsweep_dtype dtype, bool json)
        : context_(context), dtype_(dtype), json_(json), size_(upsweep_dtype_size(dtype)), values_(most),
          lengths_(most + 1)
    {
    }

    std::uint64_t runs() const { return written_; }

    void feed(const input_chunk& chunk)
    {
        const auto* const elements = static_cast<const std::byte*>(chunk.elements);
        for (std::uint64_t first = 0; first < chunk.count; first += most)
            feed_piece(chunk.file, elements + first * size_, std::min(most, chunk.count - first));
    }

    void finish()
    {
        if (last_length_ != 0)
            write(&last_, &last_length_, 1);
    }

private:
    static constexpr std::uint64_t most = std::uint64_t{1} << 18;

    void feed_piece(const std::string& file, const std::byte* elements, std::uint64_t count)
    {
        const auto size = static_cast<std::int64_t>(count);
        const upsweep_array from = upsweep_array_of(elements, dtype_, &size);
        const upsweep_array values = upsweep_array_of(values_.data(), dtype_, &size);
        const upsweep_array lengths = upsweep_array_of(lengths_.data(), UPSWEEP_U64, &size);
        std::uint64_t found = 0;
        check(upsweep_run_length_encode(&context_, &from, &values, &lengths, &found), file);

        const auto* const first = reinterpret_cast<const std::byte*>(values_.data());
        std::uint64_t done = 0;
        if (last_length_ != 0 && goes_on(first)) {
            last_length_ += lengths_[0];
            done = 1;
        }
        if (done == found)
            return;
        if (last_length_ != 0)
            write(&last_, &last_length_, 1);
        write(first + done * size_, &lengths_[done], found - 1 - done);
        std::memcpy(&last_, first + (found - 1) * size_, size_);
        last_length_ = lengths_[found - 1];
    }

    bool goes_on(const void* next) const
    {
        return runtime::with_type(dtype_, [&]<class T>(std::type_identity<T>) {
            T a;
            T b;
            std::memcpy(&a, static_cast<const void*>(&last_), sizeof a);
            std::memcpy(&b, next, sizeof b);
            return a == b;
        });
    }

    void write(const void* values, const std::uint64_t* lengths, std::uint64_t count)
    {
        if (count == 0)
            return;
        const auto texts = runtime::with_type(dtype_, [&]<class T>(std::type_identity<T>) {
            return files::write_slices(count, [&](std::string& text, std::uint64_t first, std::uint64_t last) {
                for (std::uint64_t i = first; i < last; ++i) {
                    T value;
                    std::memcpy(&value, static_cast<const std::byte*>(values) + i * sizeof value, sizeof value);
                    json_ ? append_json(text, value, lengths[i], written_ + i == 0) : append(text, value, lengths[i]);
                }
            });
        });
        for (const std::string& text : texts)
            print(text);
        written_ += count;
    }

    template <class T>
    static void append(std::string& text, const T& value, std::uint64_t length)
    {
        files::append_value(text, value);
        text += '\t';
        files::append_value(text, length);
        text += '\n';
    }

    // [value, length]
    template <class T>
    static void append_json(std::string& text, const T& value, std::uint64_t length, bool is_first)
    {
        text += is_first ? "[" : ",[";
        bool is_number = true; // of JSON, which has no infinities and no NaN
        if constexpr (!std::is_integral_v<T>)
            is_number = std::isfinite(convert<double>(value));
        text += is_number ? "" : "\"";
        files::append_value(text, value);
        text += is_number ? "," : "\",";
        files::append_value(text, length);
        text += ']';
    }

    upsweep_context& context_;
    upsweep_dtype dtype_;
    bool json_;
    std::size_t size_;
    std::vector<std::uint64_t> values_; // words, so that elements of every type are aligned
    std::vector<std::uint64_t> lengths_;
    scalar last_{}; // the run that may go on, which has this value
    std::uint64_t last_length_ = 0;
    std::uint64_t written_ = 0;
};

void run_runs(const common_options& options)
{
    check_common_options(options);
    check_runs_on_cpu(options, "runs");
    const auto limit = limit_threads(options);
    const context_ptr context = context_of(options);
    const inputs in = inputs::open(options);
    in.share_cores(*context);

    json_object object;
    object.add("command", "runs");
    object.add("files", options.files);
    in.add_table_to(object);
    object.add("dtype", upsweep_dtype_name(in.dtype()));
    if (options.json) // streamed, so the object is written in two halves
        print('{' + object.members() + ",\"runs\":[");
    run_writer writer(*context, in.dtype(), options.json);
    const measurement done = in.stream([&](const input_chunk& chunk) { writer.feed(chunk); });
    writer.finish();
    if (!options.json)
        return in.tell_missing(done);
    json_object rest;
    rest.add("run_count", writer.runs());
    rest.add("count", done.count);
    rest.add(done);
    print("]," + rest.members() + "}\n");
}

} // namespace

void add_runs(command_line& line)
{
    subcommand command = line.add_subcommand("runs", "Count how often each value comes in a row");
    const auto options = std::make_shared<common_options>();
    options->prints_as_it_reads = true;
    add_common_options(command, *options);
    command.footer(R"(Prints the value of each run of equal elements and its length, with a tab between them, a run a
line. Runs go on from file to file. -0 and 0 are equal, and the first is printed; NaN is equal
to nothing, so that each is a run of its own.
Arrays of several dimensions are taken in C order.

Examples:
  upsweep runs labels.npy                           where a labelling changes, and how long it stays
  upsweep runs --column state log.csv               how long a sensor told each state
  printf '%s\n' 7 7 7 2 2 | upsweep runs -          7 3, 2 2)");
    command.callback([options] { run_with_types_of_numbers(*options, [&] { run_runs(*options); }); });
}

} // namespace upsweep::cli
