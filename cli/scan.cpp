// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "command.hpp"

#include <algorithm>
#include <vector>

#include <fmt/core.h>
#include <unistd.h>

#include "../runtime/element_type.hpp"
#include "axis.hpp"
#include "inputs.hpp"
#include "options.hpp"
#include "overflow.hpp"
#include "report.hpp"
#include "runtime_call.hpp"
#include "terminal.hpp"
#include "value_writer.hpp"

namespace upsweep::cli {

namespace {

struct scan_options : common_options {
    std::string op = "sum";
    std::string axis;
    bool exclusive = false;
    std::string init;
    std::string output;
    std::string out_dtype;
    bool wrap = false;
};

// Results pass through a buffer: of the CPU, one that stays in the caches until it is written; of the GPU, one that has
// room for several blocks on their way.
std::uint64_t buffer_bytes(upsweep_place place)
{
    return place == UPSWEEP_CUDA ? std::uint64_t{64} << 20 : std::uint64_t{4} << 20;
}

// What is no number of any type is told before anything is read.
void check_init(const std::string& text)
{
    double number = 0;
    bool flag = false;
    const files::number_error error = files::parse_number(text, number);
    if (!text.empty() && error == files::number_error::malformed &&
        files::parse_number(text, flag) != files::number_error::none)
        throw usage_error("--init: " + message_of(files::number_problem(error, text, UPSWEEP_F64)));
}

scalar init_value(const std::string& text, upsweep_dtype dtype)
{
    scalar init{};
    runtime::with_type(dtype, [&]<class T>(std::type_identity<T>) {
        T value{};
        const files::number_error error = files::parse_number(text, value);
        if (error != files::number_error::none)
            throw usage_error("--init: " + message_of(files::number_problem(error, text, dtype)));
        std::memcpy(&init, &value, sizeof value);
    });
    return init;
}

// What is looked through before values are written, so that nobody takes wrapped ones for right: of sums and products the values, for
// other operators the elements.
struct scan_checks {
    bool elements = false;
    std::optional<scan_check> values = {};
};

scan_checks checks_of(const scan_options& options, upsweep_op op, upsweep_dtype in, upsweep_dtype out,
                      const scalar* init)
{
    scan_checks checks;
    if (options.wrap || !is_integral(in) || !is_integer(out))
        return checks;
    if (op == UPSWEEP_PLUS || op == UPSWEEP_MULTIPLIES)
        checks.values.emplace(op, options.exclusive, in, out, init);
    else
        checks.elements = true;
    return checks;
}

// Scans everything into the writer. Returns what was read and written.
measurement scan_into(files::writer& writer, const inputs& in, upsweep_scanner& scanner, upsweep_dtype out_dtype,
                      std::uint64_t buffer_bytes, scan_checks checks)
{
    const std::uint64_t in_size = upsweep_dtype_size(in.dtype());
    const std::uint64_t out_size = upsweep_dtype_size(out_dtype);
    const std::uint64_t most = buffer_bytes / out_size;
    std::vector<std::uint64_t> buffer(buffer_bytes / sizeof(std::uint64_t));
    measurement done = in.stream([&](const input_chunk& chunk) {
        if (checks.elements)
            check_elements_fit(chunk, in.dtype(), out_dtype);
        const char* const elements = static_cast<const char*>(chunk.elements);
        for (std::uint64_t first = 0; first < chunk.count; first += most) {
            const std::uint64_t piece = std::min(chunk.count - first, most);
            const auto size = static_cast<std::int64_t>(piece);
            const upsweep_array from = upsweep_array_of(elements + first * in_size, in.dtype(), &size);
            const upsweep_array to = upsweep_array_of(buffer.data(), out_dtype, &size);
            check(upsweep_scanner_feed(&scanner, &from, &to), chunk.file);
            if (checks.values)
                checks.values->feed(chunk, first, piece, buffer.data());
            writer.append(buffer.data(), piece);
        }
    });
    done.bytes += done.count * out_size;
    return done;
}

void run_scan(const scan_options& options)
{
    const bool to_file = !options.output.empty() && options.output != "-";
    const upsweep_op op = op_of_name(options.op);
    check_common_options(options);
    if (!options.axis.empty())
        check_runs_on_cpu(options, "--axis");
    const auto limit = limit_threads(options);
    const std::optional<upsweep_dtype> wanted = out_dtype_option(options.out_dtype);
    check_init(options.init);
    if (to_file)
        files::check_output(options.output, wanted);
    const context_ptr context = context_of(options);
    const inputs in = inputs::open(options);
    std::optional<array_along_axis> array;
    if (!options.axis.empty())
        array.emplace(in, options.axis);
    else
        in.share_cores(*context);

    // As wide as the result of a reduce, so that a running sum of small integers does not wrap unasked.
    upsweep_dtype out_dtype{};
    check(upsweep_reduce_dtype(op, in.dtype(), &out_dtype), in.name());
    out_dtype = wanted.value_or(out_dtype);

    const scalar init = options.init.empty() ? scalar{} : init_value(options.init, out_dtype);
    const scalar* const init_or_none = options.init.empty() ? nullptr : &init;
    upsweep_scanner* created = nullptr;
    check(upsweep_scanner_create(context.get(), op, options.exclusive, in.dtype(), out_dtype, init_or_none, &created),
          in.name());
    const scanner_ptr scanner(created);
    std::optional<array_values> values_of_lines;
    if (array)
        values_of_lines = array->scan(*context, {op, options.exclusive, out_dtype, init_or_none, options.wrap});

    const bool preview = options.output.empty() && !options.json && is_terminal(STDOUT_FILENO);
    json_object summary;
    summary.add("command", "scan");
    summary.add("op", options.op);
    summary.add("exclusive", options.exclusive);
    summary.add("files", options.files);
    in.add_table_to(summary);
    summary.add("dtype", upsweep_dtype_name(in.dtype()));
    summary.add("out_dtype", upsweep_dtype_name(out_dtype));
    if (array) {
        summary.add("shape", array->shape());
        summary.add("axis", array->axis());
    }

    std::unique_ptr<files::writer> writer;
    constexpr std::size_t lines_around = 4; // the prompt, the gap between head and tail
    const std::size_t rows = screen_of(STDOUT_FILENO).rows;
    if (to_file) {
        writer =
            files::create(options.output, out_dtype, in.count(), array ? array->shape() : std::vector<std::uint64_t>());
        summary.add("output", options.output);
    } else if (options.json) {
        // The values are streamed, so the object is written in two halves.
        print('{' + summary.members() + ",\"values\":[");
        writer = write_json_elements(out_dtype);
    } else if (preview) {
        writer = write_head_and_tail(out_dtype, rows > lines_around ? rows - lines_around : 1);
    } else {
        writer = files::create("-", out_dtype, in.count());
    }

    measurement done;
    if (array) {
        write_values(*writer, *values_of_lines);
        done = array->done();
        done.bytes += done.count * upsweep_dtype_size(out_dtype);
    } else {
        done = scan_into(*writer, in, *scanner, out_dtype, buffer_bytes(place_of(options)),
                         checks_of(options, op, in.dtype(), out_dtype, init_or_none));
    }
    writer->finish();
    if (!options.json)
        in.tell_missing(done);

    json_object result = options.json && to_file ? summary : json_object();
    result.add("count", done.count);
    result.add(done);
    if (options.json && to_file) {
        print(result.text() + '\n');
    } else if (options.json) {
        print("]," + result.members() + "}\n");
    } else if (to_file && wants_table(options)) {
        print(table({{"output", options.output},
                     {"type", upsweep_dtype_name(out_dtype)},
                     {"input", in.name()},
                     {"elements", fmt::format("{} x {}", grouped(done.count), upsweep_dtype_name(in.dtype()))},
                     {"time", fmt::format("{}, {} read and written", seconds_text(done.seconds), rate_text(done))}}));
    }
}

} // namespace

void add_scan(command_line& line)
{
    subcommand command = line.add_subcommand("scan", "Fold every prefix: running sums, running maxima");
    const auto options = std::make_shared<scan_options>();
    add_op_option(command, options->op);
    command.add_option("--axis", options->axis, "Scan a .npy array along this axis, line by line").type_name("K");
    command.add_flag("--exclusive", options->exclusive, "Leave the element itself out of its prefix");
    command.add_option("--init", options->init, "A value before the first element").type_name("VALUE");
    command
        .add_option("-o,--output", options->output,
                    "File for the values: .npy, raw for .raw, .bin, .f32, .i64, ...,\n"
                    "otherwise text; - prints")
        .type_name("OUT");
    add_out_dtype_option(command, options->out_dtype, "Type of the values (default: what reduce would give)");
    add_wrap_option(command, options->wrap);
    add_common_options(command, *options);
    command.footer(R"(Without -o the values are printed, one a line; on a terminal the first and the last of them.
OUT appears whole or not at all, and may be one of the inputs. Arrays of several dimensions
are scanned in C order into an array of one, or with --axis each line alone into an array of the
same shape, for which there must be memory. A sum or product that integers of the output's
width do not hold is an error, unless --wrap is given.

Examples:
  upsweep scan increments.npy -o positions.npy      running sums of an array
  upsweep scan --exclusive sizes.npy -o offsets.npy where each item begins
  upsweep scan --op max --column close prices.csv   the highest price so far
  upsweep scan --axis 0 image.npy -o sums.npy       running sums down each column
  seq 5 | upsweep scan --op product -               1 2 6 24 120)");
    command.callback([options] {
        options->prints_as_it_reads = options->output.empty() || options->output == "-";
        run_with_types_of_numbers(*options, [&] { run_scan(*options); });
    });
}

} // namespace upsweep::cli
