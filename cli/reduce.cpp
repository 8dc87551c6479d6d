// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "command.hpp"

#include <fmt/core.h>

#include "conversion.hpp"
#include "inputs.hpp"
#include "integer_sum.hpp"
#include "options.hpp"
#include "report.hpp"
#include "runtime_call.hpp"

namespace upsweep::cli {

namespace {

struct reduce_options : common_options {
    std::string op = "sum";
    std::string out_dtype;
};

void run_reduce(const reduce_options& options)
{
    const upsweep_op op = op_of_name(options.op);
    check_where(options);
    const auto limit = limit_threads(options);
    const std::optional<upsweep_dtype> wanted = out_dtype_option(options.out_dtype);
    const inputs in = inputs::open(options);

    const upsweep_dtype folded = wanted ? folded_dtype(op, in.dtype(), *wanted, in.name()) : in.dtype();
    upsweep_dtype result_dtype{};
    check(upsweep_reduce_dtype(op, folded, &result_dtype), in.name());
    const context_ptr context = in.context(options);
    upsweep_reducer* created = nullptr;
    check(upsweep_reducer_create(context.get(), op, folded, &created), in.name());
    const reducer_ptr reducer(created);
    const bool is_integer_sum = op == UPSWEEP_PLUS && !wanted && is_integer(in.dtype());
    integer_sum sum(context.get(), in.dtype(),
                    place_of(options) == UPSWEEP_CUDA ? integer_sum::piece_level_of_gpu
                                                      : integer_sum::piece_level_of_cpu);
    element_converter as_folded(in.dtype(), folded);

    const stopwatch watch;
    measurement done = in.stream([&](const std::string& file, const void* elements, std::uint64_t count) {
        if (is_integer_sum)
            return sum.feed(file, elements, count);
        as_folded(elements, count, [&](const void* converted, std::uint64_t converted_count) {
            const auto size = static_cast<std::int64_t>(converted_count);
            const upsweep_array piece = upsweep_array_of(converted, folded, &size);
            check(upsweep_reducer_feed(reducer.get(), &piece), file);
        });
    });
    scalar result{};
    if (is_integer_sum)
        result.u64 = sum.low();
    else
        check(upsweep_reducer_result(reducer.get(), &result), in.name());
    done.seconds = watch.seconds(); // a GPU is not done before
    if (wanted) {
        convert_value(result_dtype, &result, *wanted, &result);
        result_dtype = *wanted;
    }
    // A sum that 64 bits do not hold is told all the same.
    const bool is_wider = is_integer_sum && !sum.fits();
    const std::string text = is_wider ? sum.digits() : files::value_text(result_dtype, &result);
    const std::string type = is_wider ? "i128" : upsweep_dtype_name(result_dtype);

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
        object.add("result_dtype", type);
        if (is_wider)
            object.add_digits("result", text);
        else
            object.add("result", result_dtype, &result);
        object.add(done);
        print(object.text() + '\n');
    } else if (wants_table(options)) {
        print(table({{options.op, text},
                     {"type", type},
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
    add_common_options(command, *options);
    command.footer(R"(Prints the bare value, and more about it on a terminal or with --verbose.
Sums of integers are exact, however large; products are 64 bits wide, of f16 and bf16 they are
f32; --out-dtype chooses another type, to which the elements are converted before they are folded.
The bits of a floating-point result depend on the elements alone, never on the machine or the
threads.
Arrays of several dimensions are folded in C order, whichever way they are stored.

Examples:
  upsweep reduce samples.npy                        the sum of an array, mapped and not copied
  upsweep reduce --op max --column price sales.csv  the largest number of a column
  seq 1000000 | upsweep reduce -                    the sum of what comes through a pipe
  upsweep reduce --out-dtype f64 samples.f32        summed in f64, so that nothing small is lost
  upsweep reduce --dtype f32 part1.raw part2.raw    several files as one array)");
    command.callback([options] { run_reduce(*options); });
}

} // namespace upsweep::cli
