// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "command.hpp"

#include <fmt/core.h>

#include "fold.hpp"
#include "inputs.hpp"
#include "options.hpp"
#include "report.hpp"
#include "runtime_call.hpp"

namespace upsweep::cli {

namespace {

struct reduce_options : common_options {
    std::string op = "sum";
    std::string out_dtype;
    bool wrap = false;
};

void run_reduce(const reduce_options& options)
{
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
Arrays of several dimensions are folded in C order, whichever way they are stored.

Examples:
  upsweep reduce samples.npy                        the sum of an array, mapped and not copied
  upsweep reduce --op max --column price sales.csv  the largest number of a column
  seq 1000000 | upsweep reduce -                    the sum of what comes through a pipe
  upsweep reduce --out-dtype f64 samples.f32        summed in f64, so that nothing small is lost
  upsweep reduce --dtype f32 part1.raw part2.raw    several files as one array)");
    command.callback([options] { run_with_types_of_numbers(*options, [&] { run_reduce(*options); }); });
}

} // namespace upsweep::cli
