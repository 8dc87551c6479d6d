// Copyright The Upsweep Authors. SPDX-License-Identifier: Apache-2.0
//
// Measures Upsweep, CUB and the roofs of a GPU side by side.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <upsweep/types.hpp>

#include "contenders.hpp"

namespace {

const std::vector<std::string> all_types{"u8",   "i8",  "i16", "i32",   "i64",  "f16",
                                         "bf16", "f32", "f64", "2xf32", "4xf32"};

// "10:30"
void set_sizes(bench::settings& chosen, const std::string& sizes)
{
    constexpr unsigned most = 34;
    char end = 0;
    if (std::sscanf(sizes.c_str(), "%u:%u%c", &chosen.lowest, &chosen.highest, &end) != 2 || chosen.lowest < 4 ||
        chosen.lowest > chosen.highest || chosen.highest > most)
        throw CLI::ValidationError("--sizes",
                                   fmt::format("{}: not two exponents LO:HI with 4 <= LO <= HI <= {}", sizes, most));
}

template <class T>
void measure_scan_axes(bench::session& session, const std::string& type)
{
    bench::measure_scan_places<T>(session, type);
    bench::measure_scans_by_arithmetic<T>(session, type);
    bench::measure_scans_by_logic<T>(session, type);
}

bool run(bench::settings chosen, std::FILE* rows)
{
    cudaDeviceProp gpu{};
    bench::check(cudaGetDeviceProperties(&gpu, 0), "no GPU");
    if (chosen.machine.empty())
        chosen.machine = gpu.name;
    bench::session session(std::move(chosen), rows);
    bench::measure_narrow_integers(session);
    bench::measure_wide_integers(session);
    bench::measure_half_floats(session);
    bench::measure_floats(session);
    bench::measure_max_plus(session);
    bench::measure_affine(session);
    bench::measure_matrices(session);
    measure_scan_axes<std::int8_t>(session, "i8");
    measure_scan_axes<std::int16_t>(session, "i16");
    measure_scan_axes<std::int32_t>(session, "i32");
    measure_scan_axes<std::int64_t>(session, "i64");
    measure_scan_axes<float>(session, "f32");
    measure_scan_axes<double>(session, "f64");
    measure_scan_axes<upsweep::f16>(session, "f16");
    measure_scan_axes<upsweep::bf16>(session, "bf16");
    bench::measure_line_sums(session);
    bench::measure_line_scans(session);
    bench::measure_segments(session);
    bench::measure_keys(session);
    bench::measure_selections(session);
    bench::measure_histograms_of_integers(session);
    bench::measure_histograms_of_wide_integers(session);
    bench::measure_histograms_of_floats(session);
    bench::measure_histograms_by_edges(session);
    bench::measure_weighted_histograms(session);
    bench::measure_joint_histograms(session);
    bench::measure_histograms_of_matrices(session);
    bench::measure_histograms_of_lines(session);
    session.print_summary();
    return session.all_right();
}

} // namespace

int main(int argc, char** argv)
{
    bench::settings chosen;
    std::string sizes = "10:30";
    std::string out;
    std::FILE* rows = nullptr;

    CLI::App app("Measures Upsweep, CUB and the roofs of a GPU side by side, in interleaved rounds.");
    app.name("upsweep-bench-gpu");
    app.add_option("--types", chosen.types,
                   "u8,i8,i16,i32,i64,f16,bf16,f32,f64,2xf32,4xf32; u8 is for histograms, the last two for operators "
                   "of the user")
        ->delimiter(',')
        ->check(CLI::IsMember(all_types));
    app.add_option("--algorithms", chosen.algorithms,
                   "reduce,scan,lines,segments,keys,selections,histogram; the first two where none is given")
        ->delimiter(',')
        ->check(CLI::IsMember({"reduce", "scan", "lines", "segments", "keys", "selections", "histogram"}));
    app.add_option("--kinds", chosen.kinds,
                   "even,integer,edges,weights,joint,rows,channels,pitched,axis,segments: which histograms; all where "
                   "none is given")
        ->delimiter(',')
        ->check(CLI::IsMember(chosen.kinds));
    app.add_option("--bins", chosen.bins, "of histograms, in each dimension; those of each kind where none are given")
        ->delimiter(',')
        ->check(CLI::Range(1U, 1U << 24));
    app.add_option("--distributions", chosen.distributions,
                   "uniform,constant,two,zipf,normal,sorted,hot: of the samples of histograms")
        ->delimiter(',')
        ->check(CLI::IsMember(chosen.distributions));
    app.add_option("--sizes", sizes, "LO:HI, for 2^LO, 2^(LO+2), ... elements up to 2^HI")->capture_default_str();
    app.add_option("--counts", chosen.counts, "numbers of elements in place of --sizes, ascending")
        ->delimiter(',')
        ->check(CLI::Range(std::size_t{16}, std::size_t{1} << 34));
    app.add_option(
           "--axes", chosen.axes,
           "place,operator: scans from and to any address, in place, exclusive with and without an initial value; "
           "scans by every operator")
        ->delimiter(',')
        ->check(CLI::IsMember({"place", "operator"}));
    app.add_option("--machine", chosen.machine, "its name in the rows; the name of the GPU if it is not given");
    app.add_option("--commit", chosen.commit, "its name in the rows");
    app.add_option("--out", out, "where the rows go, as JSON, one a line");
    try {
        app.parse(argc, argv);
        set_sizes(chosen, sizes);
    } catch (const CLI::ParseError& problem) {
        return app.exit(problem);
    }

    try {
        if (!out.empty() && (rows = std::fopen(out.c_str(), "w")) == nullptr)
            throw std::runtime_error("cannot write " + out);
        const bool right = run(std::move(chosen), rows);
        if (rows != nullptr && std::fclose(rows) != 0)
            throw std::runtime_error("cannot write " + out);
        return right ? 0 : 1;
    } catch (const std::exception& problem) {
        fmt::print(stderr, "upsweep-bench-gpu: {}\n", problem.what());
        return 1;
    }
}
