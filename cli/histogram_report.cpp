// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
#include "histogram_report.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include <fmt/core.h>
#include <unistd.h>

#include "bar_plot.hpp"
#include "failure.hpp"
#include "terminal.hpp"
#include "value_writer.hpp"

namespace upsweep::cli {

namespace {

struct named_count {
    std::string name;
    std::uint64_t count;
};

// Lines of the screen that are not bars: the summary, the note on merged bins, the prompt.
constexpr std::size_t lines_around_bars = 8;

// Floating-point samples of up to 32 bits are compared with edges that are rounded to f32, but for the user's own.
std::string edge_text(const sample_bins& bins, std::uint64_t k, upsweep_dtype dtype)
{
    std::string text;
    if (bins.edges.empty() && is_narrow_float(dtype))
        files::append_value(text, static_cast<float>(bins.edge(k)));
    else
        files::append_value(text, bins.edge(k));
    return text;
}

// Edge k of `count` bins by NumPy's linspace, as in the library.
template <class Float>
Float even_edge(Float lo, Float hi, std::uint64_t count, std::uint64_t k)
{
    if (k == count)
        return hi;
    const Float width = hi - lo;
    const auto bins = static_cast<Float>(count);
    const Float step = width / bins;
    const auto index = static_cast<Float>(k);
    return (step == 0 ? index / bins * width : index * step) + lo;
}

std::string letters_label(std::uint64_t bin, std::uint64_t group)
{
    const char first = static_cast<char>('a' + bin * group);
    const char last = static_cast<char>('a' + std::min<std::uint64_t>(bin * group + group, 26) - 1);
    return first == last ? std::string(1, first) : fmt::format("{}-{}", first, last);
}

// Bars of as many bins as fit the screen; neighbours share a row where there are more. `label` names the bins
// [first, last).
template <class Label>
std::string bars(const std::vector<std::uint64_t>& counts, const Label& label)
{
    const screen size = screen_of(STDOUT_FILENO);
    const std::size_t rows = size.rows > lines_around_bars ? size.rows - lines_around_bars : 1;
    const std::uint64_t merged = bins_per_row(counts.size(), rows);
    std::vector<bar_row> drawn;
    for (std::uint64_t first = 0; first < counts.size(); first += merged) {
        const std::uint64_t last = std::min<std::uint64_t>(first + merged, counts.size());
        std::uint64_t sum = 0;
        for (std::uint64_t bin = first; bin < last; ++bin)
            sum += counts[bin];
        drawn.push_back({label(first, last), sum});
    }
    std::string text = bar_plot(drawn, size.columns, locale_is_utf8());
    if (merged > 1) {
        const std::uint64_t in_last = counts.size() - (drawn.size() - 1) * merged;
        text +=
            fmt::format("{} bins, {} to a row{}; all of them with --json, or through a pipe\n", grouped(counts.size()),
                        merged, in_last < merged ? fmt::format(" and {} in the last", in_last) : "");
    }
    return text;
}

std::string summary(const inputs& in, const std::string& what, const std::vector<named_count>& apart,
                    const measurement& done)
{
    std::vector<std::pair<std::string, std::string>> rows = {{"input", in.name()}, {what, grouped(done.count)}};
    for (const named_count& group : apart)
        if (group.count > 0)
            rows.emplace_back(group.name, grouped(group.count));
    rows.emplace_back("time", fmt::format("{}, {}", seconds_text(done.seconds), rate_text(done)));
    return table(rows);
}

// Where the counts go to a program, what was not counted in a bin must not go unseen.
void note_samples_apart(const inputs& in, const std::vector<named_count>& apart)
{
    std::string note;
    for (const named_count& group : apart)
        if (group.count > 0)
            note += fmt::format("{}{} {}", note.empty() ? "" : ", ", group.count, group.name);
    if (!note.empty())
        std::fputs(fmt::format("upsweep: {}: in no bin: {}\n", files::escaped(in.name()), note).c_str(), stderr);
}

} // namespace

double sample_bins::edge(std::uint64_t k) const
{
    if (!edges.empty())
        return edges[k];
    if (single)
        return even_edge(static_cast<float>(range.lo), static_cast<float>(range.hi), count, k);
    return even_edge(range.lo, range.hi, count, k);
}

std::vector<double> take_single_edges(sample_bins& bins)
{
    sample_bins single = bins;
    single.single = true;
    std::vector<double> edges(bins.count + 1);
    bool same = true;
    for (std::uint64_t k = 0; k <= bins.count; ++k) {
        edges[k] = single.edge(k);
        if (!std::isfinite(edges[k]) || (k > 0 && edges[k] <= edges[k - 1]))
            return {};
        same = same && static_cast<float>(edges[k]) == static_cast<float>(bins.edge(k));
    }
    bins.single = true;
    return same ? std::vector<double>() : edges;
}

std::uint64_t group_option(const histogram_options& options)
{
    constexpr std::uint64_t letters = 26;
    return count_option("--group", options.group, letters);
}

sample_range range_option(std::string_view text)
{
    const std::size_t colon = text.find(':');
    if (colon == text.npos)
        throw usage_error(
            fmt::format("--range: {} is not LO:HI; give two numbers such as 0:1", files::in_quotes(text)));
    const sample_range range{number_option("--range", text.substr(0, colon)),
                             number_option("--range", text.substr(colon + 1))};
    if (!std::isfinite(range.lo) || !std::isfinite(range.hi))
        throw usage_error(fmt::format("--range: {} is not finite; give finite bounds", files::in_quotes(text)));
    if (range.lo >= range.hi)
        throw usage_error(fmt::format("--range: {} is empty; LO must be less than HI", files::in_quotes(text)));
    return range;
}

std::vector<double> edges_option(std::string_view text)
{
    std::vector<double> edges;
    for (std::string_view rest = text;;) {
        const std::size_t comma = rest.find(',');
        edges.push_back(number_option("--edges", rest.substr(0, comma)));
        if (comma == rest.npos)
            break;
        rest.remove_prefix(comma + 1);
    }
    if (edges.size() < 2)
        throw usage_error("--edges: one edge bounds no bin; give two or more, separated by commas");
    for (std::size_t i = 1; i < edges.size(); ++i)
        if (!(edges[i - 1] < edges[i]))
            throw usage_error(
                fmt::format("--edges: {} does not ascend from {}; sort the edges and leave out doubles and NaN",
                            edges[i], edges[i - 1]));
    return edges;
}

void check_memory(std::uint64_t bins)
{
    const auto memory =
        static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
    // The counts that are printed, those of all samples and those of a piece, a bound, and one thread's 32-bit count.
    constexpr std::uint64_t bytes = 3 * sizeof(std::uint64_t) + sizeof(double) + sizeof(std::uint32_t);
    if (bins > memory / bytes)
        throw failure(fmt::format("--bins: {} bins need {} bytes each and this machine has {}; ask for fewer",
                                  grouped(bins), bytes, bytes_text(memory)));
}

void report_samples(const histogram_options& options, const inputs& in, const sample_bins& bins,
                    const std::vector<std::uint64_t>& counts, const upsweep_outside& outside, const measurement& done)
{
    const std::vector<named_count> apart = {{"below", outside.below}, {"above", outside.above}, {"nan", outside.nan}};

    if (options.json) {
        json_object object;
        object.add("command", "histogram");
        object.add("files", options.files);
        in.add_table_to(object);
        object.add("dtype", upsweep_dtype_name(in.dtype()));
        object.add("count", done.count);
        object.add("bins", bins.count);
        if (!bins.edges.empty())
            object.add("edges", bins.edges);
        else if (options.range.empty() && is_narrow_float(in.dtype()))
            object.add("range", std::vector{static_cast<float>(bins.range.lo), static_cast<float>(bins.range.hi)});
        else
            object.add("range", std::vector{bins.range.lo, bins.range.hi});
        object.add("counts", counts);
        for (const named_count& group : apart)
            object.add(group.name, group.count);
        object.add(done);
        print(object.text() + '\n');
        return;
    }
    if (wants_table(options)) {
        const auto label = [&](std::uint64_t first, std::uint64_t last) {
            return fmt::format("[{:.6g}, {:.6g}{}", bins.edge(first), bins.edge(last), last == bins.count ? ']' : ')');
        };
        print(bars(counts, label) + summary(in, "samples", apart, done));
        return;
    }
    note_samples_apart(in, apart);
    if (!options.output.empty())
        return;
    std::string text;
    for (std::uint64_t bin = 0; bin < counts.size(); ++bin)
        text += fmt::format("{}\t{}\t{}\n", edge_text(bins, bin, in.dtype()), edge_text(bins, bin + 1, in.dtype()),
                            counts[bin]);
    print(text);
}

void report_lines(const histogram_options& options, const inputs& in, const array_along_axis& array,
                  const sample_bins& bins, const array_values& counts, const upsweep_outside& outside)
{
    const std::vector<named_count> apart = {{"below", outside.below}, {"above", outside.above}, {"nan", outside.nan}};
    const bool to_file = !options.output.empty() && options.output != "-";
    json_object object;
    object.add("command", "histogram");
    object.add("files", options.files);
    object.add("dtype", upsweep_dtype_name(in.dtype()));
    object.add("shape", array.shape());
    object.add("axis", array.axis());
    object.add("bins", bins.count);
    if (bins.edges.empty())
        object.add("range", std::vector{bins.range.lo, bins.range.hi});
    else
        object.add("edges", bins.edges);
    object.add("result_shape", counts.shape);
    for (const named_count& group : apart)
        object.add(group.name, group.count);
    if (to_file)
        object.add("output", options.output);
    if (options.json && !to_file) {
        print('{' + object.members() + ",\"counts\":[");
        const auto writer = write_json_elements(counts.dtype);
        write_values(*writer, counts);
    } else {
        const auto writer = files::create(to_file ? options.output : "-", counts.dtype, counts.count(), counts.shape);
        write_values(*writer, counts);
        writer->finish();
    }
    const measurement done = array.done();
    json_object rest = to_file ? object : json_object();
    rest.add("count", done.count);
    rest.add(done);
    if (options.json)
        print(to_file ? rest.text() + '\n' : "]," + rest.members() + "}\n");
    else if (to_file && wants_table(options))
        print(summary(in, "samples", apart, done));
    else
        note_samples_apart(in, apart);
}

void report_letters(const histogram_options& options, const inputs& in, const std::vector<std::uint64_t>& counts,
                    std::uint64_t others, const measurement& done)
{
    const std::uint64_t group = group_option(options);
    if (options.json) {
        std::vector<std::string> groups;
        for (std::uint64_t bin = 0; bin < counts.size(); ++bin)
            groups.push_back(letters_label(bin, group));
        json_object object;
        object.add("command", "histogram");
        object.add("files", options.files);
        object.add("count", done.count);
        object.add("groups", groups);
        object.add("counts", counts);
        object.add("others", others);
        object.add(done);
        print(object.text() + '\n');
        return;
    }
    if (wants_table(options)) {
        const auto label = [&](std::uint64_t first, std::uint64_t last) {
            const std::string from = letters_label(first, group);
            const std::string to = letters_label(last - 1, group);
            return from == to ? from : fmt::format("{}-{}", from.front(), to.back());
        };
        print(bars(counts, label) + summary(in, "bytes", {{"no letters", others}}, done));
        return;
    }
    if (!options.output.empty())
        return;
    std::string text;
    for (std::uint64_t bin = 0; bin < counts.size(); ++bin)
        text += fmt::format("{}\t{}\n", letters_label(bin, group), counts[bin]);
    print(text);
}

} // namespace upsweep::cli
