// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "command.hpp"

#include <fmt/core.h>

#include "axis.hpp"
#include "failure.hpp"
#include "fold.hpp"
#include "inputs.hpp"
#include "options.hpp"
#include "report.hpp"
#include "runtime_call.hpp"
#include "value_writer.hpp"

namespace upsweep::cli {

namespace {

struct reduce_options : common_options {
    std::string op = "sum";
    std::string axis;
    std::string output;
    std::string out_dtype;
    bool wrap = false;
};

// One value a line.
void reduce_along_axis(const reduce_options& options)
{
    const bool is_mean = options.op == "mean";
    const bool to_file = !options.output.empty() && options.output != "-";
    const upsweep_op op = is_mean ? UPSWEEP_PLUS : op_of_name(options.op);
    check_common_options(options);
    check_runs_on_cpu(options, "--axis");
    const auto limit = limit_threads(options);
    const std::optional<upsweep_dtype> wanted = out_dtype_option(options.out_dtype);
    if (is_mean && wanted && *wanted < UPSWEEP_F16)
        throw usage_error(fmt::format("--out-dtype: a mean is no {}; give f32 or f64", upsweep_dtype_name(*wanted)));
    if (to_file)
        files::check_output(options.output, wanted);
    const context_ptr context = context_of(options);
    const inputs in = inputs::open(options);
    const array_along_axis array(in, options.axis);
    const array_values results = array.fold(*context, {op, is_mean, wanted, options.wrap});

    json_object object;
    object.add("command", "reduce");
    object.add("op", options.op);
    object.add("files", options.files);
    object.add("dtype", upsweep_dtype_name(in.dtype()));
    object.add("shape", array.shape());
    object.add("axis", array.axis());
    object.add("result_dtype", upsweep_dtype_name(results.dtype));
    object.add("result_shape", results.shape);
    if (to_file)
        object.add("output", options.output);
    if (options.json && !to_file) {
        print('{' + object.members() + ",\"results\":[");
        const auto writer = write_json_elements(results.dtype);
        write_values(*writer, results);
    } else {
        const auto writer =
            files::create(to_file ? options.output : "-", results.dtype, results.count(), results.shape);
        write_values(*writer, results);
        writer->finish();
    }
    const measurement done = array.done();
    json_object rest = to_file ? object : json_object();
    rest.add("count", done.count);
    rest.add(done);
    if (options.json)
        print(to_file ? rest.text() + '\n' : "]," + rest.members() + "}\n");
    else if (to_file && wants_table(options))
        print(table({{"output", options.output},
                     {"type", upsweep_dtype_name(results.dtype)},
                     {"input", in.name()},
                     {"elements", fmt::format("{} x {}", grouped(done.count), upsweep_dtype_name(in.dtype()))},
                     {"results", grouped(results.count())},
                     {"time", fmt::format("{}, {}", seconds_text(done.seconds), rate_text(done))}}));
}

void run_reduce(const reduce_options& options)
{
    if (!options.axis.empty())
        return reduce_along_axis(options);
    if (!options.output.empty())
        throw usage_error("--output is for the results along an --axis; a shell writes one value with >");
    const upsweep_op op = op_of_name(options.op);
    check_common_options(options);
    const auto limit = limit_threads(options);
    const std::optional<upsweep_dtype> wanted = out_dtype_option(options.out_dtype);
    const context_ptr context = context_of(options);
    const inputs in = inputs::open(options);

    in.share_cores(*context);
    const auto folded =
        make_fold(context.get(), {op, in.dtype(), wanted, options.wrap, place_of(options) == UPSWEEP_CUDA, in.name()});

    const stopwatch watch;
    measurement done = in.stream([&](const input_chunk& chunk) { folded->feed(chunk); });
    const fold_result result = folded->result();
    done.seconds = watch.seconds(); // a GPU is not done before
    const std::string text = result.text();

    if (!options.json)
        in.tell_missing(done);
    if (options.json) {
        json_object object;
        object.add("command", "reduce");
        object.add("op", options.op);
        object.add("files", options.files);
        in.add_table_to(object);
        object.add("dtype", upsweep_dtype_name(in.dtype()));
        object.add("count", done.count);
        object.add("result_dtype", result.type());
        if (result.i128_digits.empty())
            object.add("result", result.dtype, &result.value);
        else
            object.add_digits("result", result.i128_digits);
        object.add(done);
        print(object.text() + '\n');
    } else if (wants_table(options)) {
        print(table({{options.op, text},
                     {"type", result.type()},
                     {"input", in.name()},
                     {"elements", fmt::format("{} x {}", grouped(done.count), upsweep_dtype_name(in.dtype()))},
                     {"time", fmt::format("{}, {}", seconds_text(done.seconds), rate_text(done))}}));
    } else {
        print(text + '\n');
    }
}

} // namespace

void add_reduce(command_line& line)
{
    subcommand command = line.add_subcommand("reduce", "Fold all elements into one value");
    const auto options = std::make_shared<reduce_options>();
    add_op_option(command, options->op);
    command
        .add_option("--axis", options->axis,
                    "Fold a .npy array along this axis alone: a value for each line; --op may\n"
                    "be mean, too")
        .type_name("K");
    command.add_option("-o,--output", options->output, "File for the values along an axis, as for scan")
        .type_name("OUT");
    add_out_dtype_option(command, options->out_dtype,
                         "Type of the result, and of all that is folded: f64 for f32, say");
    add_wrap_option(command, options->wrap);
    add_common_options(command, *options);
    command.footer(R"(Prints the bare value, and more about it on a terminal or with --verbose.
Sums and products of integers are exact, up to 128 bits, beyond which products are errors; of
f16 and bf16 they are f32. --out-dtype chooses another type, to which the elements are converted
before they are folded; an integer that it does not hold is an error, unless --wrap is given.
The bits of a floating-point result depend on the elements alone, never on the machine or the
threads.
Arrays of several dimensions are folded in C order, whichever way they are stored; with --axis,
line by line, each to the bits that it would have alone.

Examples:
  upsweep reduce samples.npy                        the sum of an array, mapped and not copied
  upsweep reduce --op max --column price sales.csv  the largest number of a column
  seq 1000000 | upsweep reduce -                    the sum of what comes through a pipe
  upsweep reduce --out-dtype f64 samples.f32        summed in f64, so that nothing small is lost
  upsweep reduce --dtype f32 part1.raw part2.raw    several files as one array
  upsweep reduce --axis 0 --op mean image.npy -o mean.npy  the mean of each column)");
    command.callback([options] { run_with_types_of_numbers(*options, [&] { run_reduce(*options); }); });
}

} // namespace upsweep::cli
