// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "command.hpp"

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include <fmt/core.h>

#include "axis.hpp"
#include "histogram_report.hpp"
#include "inputs.hpp"
#include "report.hpp"
#include "runtime_call.hpp"
#include "sample_range.hpp"

namespace upsweep::cli {

namespace {

// The file for the counts, if one is asked for: opened before anything is counted, so that a name under which it cannot
// be written is told at once.
std::unique_ptr<files::writer> counts_writer(const histogram_options& options, std::uint64_t bins)
{
    if (options.output.empty())
        return nullptr;
    try {
        return files::create(options.output, UPSWEEP_U64, bins);
    } catch (const files::failure& error) {
        throw failure(error.what()); // without the remedy of another type, which counts do not have
    }
}

void write_counts(files::writer* writer, const std::vector<std::uint64_t>& counts)
{
    if (writer == nullptr)
        return;
    writer->append(counts.data(), counts.size());
    writer->finish();
}

// Counts all elements.
measurement count_into(upsweep_counter& counter, const inputs& in, std::vector<std::uint64_t>& counts,
                       upsweep_outside& outside)
{
    const stopwatch watch;
    measurement done = in.stream([&](const input_chunk& chunk) {
        const auto size = static_cast<std::int64_t>(chunk.count);
        const upsweep_array piece = upsweep_array_of(chunk.elements, in.dtype(), &size);
        check(upsweep_counter_feed(&counter, &piece), chunk.file);
    });
    check(upsweep_counter_result(&counter, counts.data(), &outside), in.name());
    done.seconds = watch.seconds(); // a GPU is not done before
    return done;
}

void check_options(const histogram_options& options)
{
    check_common_options(options);
    if (options.json && options.output == "-")
        throw usage_error("--output: the counts and --json would both go to standard output; leave out one of them");
}

// The bins that the options ask for, but for a range that is that of the samples.
sample_bins bins_of(const histogram_options& options)
{
    sample_bins bins;
    bins.count = count_option("--bins", options.bins, std::numeric_limits<std::uint64_t>::max());
    if (!options.edges.empty()) {
        bins.edges = edges_option(options.edges);
        bins.count = bins.edges.size() - 1;
    }
    if (!options.range.empty())
        bins.range = range_option(options.range);
    check_memory(bins.count);
    return bins;
}

// Counts each line of an array for itself.
void run_lines(const histogram_options& options)
{
    check_options(options);
    check_runs_on_cpu(options, "--axis");
    const auto limit = limit_threads(options);
    sample_bins bins = bins_of(options);
    if (!options.output.empty() && options.output != "-")
        files::check_output(options.output, UPSWEEP_U64);
    const context_ptr context = context_of(options);
    inputs in = inputs::open(options);
    std::vector<double> edges = bins.edges;
    if (options.edges.empty() && options.range.empty()) {
        in.keep();
        bins.range = find_sample_range(in);
        if (in.dtype() == UPSWEEP_F32)
            edges = take_single_edges(bins);
    }
    const array_along_axis array(in, options.axis);
    upsweep_outside outside{};
    const array_values counts = array.histogram(*context, {bins.count, bins.range.lo, bins.range.hi, edges}, outside);
    report_lines(options, in, array, bins, counts, outside);
}

void run_samples(const histogram_options& options)
{
    if (!options.axis.empty())
        return run_lines(options);
    check_options(options);
    const auto limit = limit_threads(options);
    sample_bins bins = bins_of(options);
    const auto writer = counts_writer(options, bins.count);
    const context_ptr context = context_of(options);
    inputs in = inputs::open(options);

    std::vector<double> edges = bins.edges;
    double seconds_for_range = 0;
    if (options.edges.empty() && options.range.empty()) {
        const stopwatch watch;
        in.keep();
        bins.range = find_sample_range(in);
        seconds_for_range = watch.seconds();
        // Bounds that are f32 have NumPy 2 compute the edges in f32, those of the user in f64.
        if (in.dtype() == UPSWEEP_F32)
            edges = take_single_edges(bins);
    }
    in.share_cores(*context);
    std::vector<std::uint64_t> counts(bins.count);
    upsweep_outside outside{};
    upsweep_counter* created = nullptr;
    check(edges.empty() ? upsweep_counter_create_even(context.get(), in.dtype(), bins.range.lo, bins.range.hi,
                                                      bins.count, &created)
                        : upsweep_counter_create_edges(context.get(), in.dtype(), edges.data(), edges.size(), &created),
          in.name());
    const counter_ptr counter(created);
    measurement done = count_into(*counter, in, counts, outside);
    done.seconds += seconds_for_range;
    if (!options.json)
        in.tell_missing(done);
    write_counts(writer.get(), counts);
    report_samples(options, in, bins, counts, outside, done);
}

void run_letters(const histogram_options& options)
{
    check_options(options);
    const auto limit = limit_threads(options);
    const std::uint64_t group = group_option(options);
    constexpr std::uint64_t letters = 26;
    std::vector<std::uint64_t> counts((letters + group - 1) / group);
    const auto writer = counts_writer(options, counts.size());
    const context_ptr context = context_of(options);
    const inputs in = inputs::open_as_bytes(options);
    in.share_cores(*context);
    upsweep_outside outside{};
    upsweep_counter* created = nullptr;
    check(upsweep_counter_create_letters(context.get(), group, &created), in.name());
    const counter_ptr counter(created);
    const measurement done = count_into(*counter, in, counts, outside);
    write_counts(writer.get(), counts);
    report_letters(options, in, counts, outside.below, done);
}

} // namespace

void add_histogram(command_line& line)
{
    subcommand command = line.add_subcommand("histogram", "Count samples in bins, or the letters of a text");
    const auto options = std::make_shared<histogram_options>();
    option bins = command.add_option("--bins", options->bins, "Bins of equal width (default: 10)");
    bins.type_name("N");
    option range = command.add_option("--range", options->range,
                                      "Bounds of the bins (default: the least and the greatest sample)");
    range.type_name("LO:HI");
    option edges = command.add_option("--edges", options->edges, "Ascending borders of bins of any width");
    edges.type_name("A,B,...").excludes(bins).excludes(range);
    option axis = command.add_option("--axis", options->axis, "Count a .npy array along this axis, line by line");
    axis.type_name("K");
    option text = command.add_flag("--text", options->text, "Count the letters A-Z and a-z of files of any kind");
    text.excludes(bins).excludes(range).excludes(edges).excludes(axis);
    command.add_option("--group", options->group, "How many letters share a bin (default: 4: a-d, e-h, ...)")
        .type_name("N")
        .needs(text);
    command.add_option("-o,--output", options->output, "File for the counts: .npy, .u64, .raw, .bin, otherwise text")
        .type_name("OUT");
    add_common_options(command, *options);
    command.footer(R"(A bin holds its lower bound, not its upper one, which belongs to the next; the last bin holds
both. Samples below, above and NaN are counted apart. On a terminal or with --verbose the
counts are drawn as bars; otherwise each bin is a line: lower bound, upper bound, count.
With --axis the counts of each line take the place of the axis; they are printed in C order, or
written to an array of that shape.

Examples:
  upsweep histogram --bins 20 samples.npy           between the least and the greatest sample
  seq 1000 | upsweep histogram --bins 4 -           of what comes through a pipe
  upsweep histogram --range 0:1 --bins 4 samples.npy
  upsweep histogram --edges 0,18,65,120 --column age people.csv
  upsweep histogram --axis 0 --range 0:256 --bins 16 image.npy -o counts.npy  of each column
  upsweep histogram --text --group 1 book.txt       how often each letter occurs)");
    command.callback([options] {
        run_with_types_of_numbers(*options, [&] { options->text ? run_letters(*options) : run_samples(*options); });
    });
}

} // namespace upsweep::cli
